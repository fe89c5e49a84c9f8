"""What runs a program for `treadle web`: one process for each, `python -m treadle.cli.web_worker`.

It reads a wish from its standard input, and writes what happens to its standard output, which the
program itself cannot reach. An interrupt ends the search with what was found so far.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from treadle.cli.deadlocks import look
from treadle.cli.loading import Found, find, find_code
from treadle.cli.showing import replay_line
from treadle.core.deadlocks import Deadlocks
from treadle.core.errors import TreadleError
from treadle.core.exploration import Exploration
from treadle.core.failure import Failure
from treadle.core.result import Result
from treadle.explore.progress import Progress
from treadle.findings.executions import executions_of
from treadle.findings.replay import Replayed
from treadle.report.as_json import execution_as_dict, report_as_dict, sources_as_dict
from treadle.report.deadlocks import deadlocks_as_dict
from treadle.report.live import progress_in_words
from treadle.session.deadlocks import GUIDED_BY_DEFAULT
from treadle.session.deadlocks import Wish as DeadlockWish
from treadle.session.session import Session
from treadle.session.settings import Settings, for_command_line
from treadle.session.workers.forked import die_with_parent
from treadle.web.checking import line_of
from treadle.web.form import read_options
from treadle.web.sent import OFF, Wish, message, read_wish

MOST_EXECUTIONS = 200
"""That are taken down step by step."""
_AFTER_STOP = 1.5
"""Seconds for that if somebody waits for the end."""


class _Worker:
    """One wish, and where to say what becomes of it."""

    interval = 0.2

    def __init__(self, wish: Wish, out: TextIO) -> None:
        self.wish, self._out = wish, out
        self.is_interrupted = False
        signal.signal(signal.SIGINT, self._interrupt)

    def _interrupt(self, *_: object) -> None:
        self.is_interrupted = True

    def __call__(self, progress: Progress) -> None:
        """Tell how far the search is."""
        self.tell("progress", progress_in_words(progress))

    def tell(self, kind: str, content: object) -> None:
        self._out.write(message(kind, content))
        self._out.flush()

    def work(self) -> dict[str, Any]:
        """Do what was wished for."""
        self.tell("progress", "starting")  # from now on it is the program's time
        project = for_command_line(Path(self.wish.project or "."))
        if self.wish.contexts:
            return self._deadlocks_in_contexts()
        found = find(self.wish.target)
        options = read_options(self.wish.options)
        if self.wish.guided != OFF:
            return self._deadlocks(found, project.changed({**GUIDED_BY_DEFAULT, **options}))
        asked = {**found.asks_for, **options, "database": False}
        settings = project.changed(asked, for_this_test=True)
        with found.opened(settings) as session:
            return self._explored(session, found)

    def _explored(self, session: Session, found: Found) -> dict[str, Any]:
        result = session.explore(
            listener=self, is_enough=lambda *_: self.is_interrupted, observe=True
        )
        self.tell("progress", "taking down executions")
        if self.is_interrupted and not result.complete:
            result.stopped_by = "the interruption"
        session.record(*result.failures)
        assert result.exploration is not None
        executions = list(self._taken_down(session, result.exploration))
        replays = [replay_line(failure, found) for failure in result.failures]
        report = report_as_dict(result, str(found), replays)
        return _told(report["summary"], report["verdict"], executions, _total(result), report)

    def _taken_down(self, session: Session, exploration: Exploration) -> Iterator[Replayed]:
        """Yield executions step by step; after a stop, for as long as somebody may wait."""
        started = told = time.monotonic()
        executions = executions_of(session.program, exploration, MOST_EXECUTIONS)
        for number, execution in enumerate(executions, start=1):
            yield execution
            now = time.monotonic()
            if self.is_interrupted and now - started > _AFTER_STOP:
                return
            if now - told > self.interval:
                self.tell("progress", f"taking down executions, {number} of them so far")
                told = now

    def _deadlocks(self, found: Found, settings: Settings) -> dict[str, Any]:
        """Look for the deadlock cycles of a program."""
        wish = DeadlockWish(self.wish.guided)
        with found.running():
            return _told_of_deadlocks(
                look(found, settings, wish, self, lambda: self.is_interrupted)
            )

    def _deadlocks_in_contexts(self) -> dict[str, Any]:
        """Look for the deadlock cycles of classes, whatever the main program is."""
        from treadle.session.contexts import ContextWish, look_in_contexts

        found = find_code(self.wish.target)
        criterion = "cycle" if self.wish.guided == OFF else self.wish.guided
        with found.running():
            outcome = look_in_contexts(
                found.test,
                ContextWish(self.wish.contexts, criterion),
                name=str(found),
                progress=lambda words: self.tell("progress", words),
                is_stopped=lambda: self.is_interrupted,
            )
        return _told_of_deadlocks(outcome)


def _told_of_deadlocks(outcome: Deadlocks) -> dict[str, Any]:
    failures = {
        str(one.schedule): one for cycle in outcome.confirmed for one in cycle.failures
    }.values()
    summary = str(outcome).partition("\n")[0]
    verdict = "failed" if outcome.confirmed else "verified"
    if not outcome.confirmed and not outcome.is_settled:
        verdict = "incomplete"
    executions = [_as_execution(one) for one in failures]
    told = _told(summary, verdict, executions, len(executions), None)
    return {**told, "deadlocks": deadlocks_as_dict(outcome)}


def _total(result: Result) -> int:
    return max(result.executions, result.failing)


def _as_execution(failure: Failure) -> Replayed:
    return Replayed(failure, failure.trace, [], links=failure.links, graph=failure.graph)


def _told(
    summary: str,
    verdict: str,
    executions: list[Replayed],
    total: int,
    report: dict[str, Any] | None,
) -> dict[str, Any]:
    places = [step.where for execution in executions for step in execution.steps]
    return {
        "summary": summary,
        "verdict": verdict,
        "executions": [execution_as_dict(one) for one in executions],
        "total": total,
        "sources": sources_as_dict(places),
        "report": report,
        "deadlocks": None,
    }


def _in_words(error: Exception, wish: Wish) -> str:
    """Return what went wrong; the directory that the worker is in is nobody's business."""
    words = str(error).replace(f"{Path.cwd()}/", "")
    if isinstance(error, MemoryError) or isinstance(error.__cause__, MemoryError):
        line = line_of(words, wish.file)
        place = f" at {wish.file}:{line}" if line else ""
        return f"the program needs more than {wish.memory} MB{place}, the limit of this server"
    return words


def _limit(wish: Wish) -> None:
    """Take away what a program may not use."""
    if wish.memory:
        most = wish.memory * 1024 * 1024
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    if wish.seconds:
        seconds = int(wish.seconds) + 2
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 2))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def main() -> None:
    """Answer one wish."""
    die_with_parent()
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what the program prints is not what we say
    wish = read_wish(sys.stdin.readline())
    sys.path += wish.places  # last: a file there may be called as a module of Python's own
    _limit(wish)
    worker = _Worker(wish, out)
    try:
        worker.tell("result", worker.work())
    except (MemoryError, TreadleError) as error:
        worker.tell("error", _in_words(error, wish))
    out.flush()
    os._exit(0)  # threads of the program, if any, are not waited for


if __name__ == "__main__":
    main()
