"""What runs a program for `treadle web`: one process for each, `python -m treadle.cli.web_worker`.

It reads a wish from its standard input, and writes what happens to its standard output, which the
program itself cannot reach. An interrupt ends the search with what was found so far.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
from pathlib import Path
from typing import Any, TextIO

from treadle.cli.loading import Found, find, find_code
from treadle.cli.showing import replay_line
from treadle.core.errors import TreadleError
from treadle.core.failure import Failure
from treadle.core.result import Result
from treadle.explore.progress import Progress
from treadle.findings.executions import executions_of
from treadle.findings.replay import Replayed
from treadle.report.as_json import execution_as_dict, report_as_dict, sources_as_dict
from treadle.report.deadlocks import deadlocks_as_dict
from treadle.report.live import progress_in_words
from treadle.session.deadlocks import GUIDED_BY_DEFAULT, look_for_deadlocks
from treadle.session.deadlocks import Wish as DeadlockWish
from treadle.session.session import Session
from treadle.session.settings import Settings
from treadle.web.form import read_options
from treadle.web.sent import OFF, Wish, message, read_wish

MOST_EXECUTIONS = 200
"""That are taken down step by step."""


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
        settings = Settings().changed(read_options(self.wish.options), for_this_test=True)
        if self.wish.guided != OFF or self.wish.contexts:
            return self._look_for_deadlocks(settings)
        found = find(self.wish.target)
        settings = Settings().changed(
            {**found.asks_for, **read_options(self.wish.options), "database": False},
            for_this_test=True,
        )
        with found.opened(settings) as session:
            return self._explored(session, found)

    def _explored(self, session: Session, found: Found) -> dict[str, Any]:
        def is_enough(*_: object) -> bool:
            return self.is_interrupted

        result = session.explore(listener=self, is_enough=is_enough, observe=True)
        if self.is_interrupted:
            result.stopped_by = "the interruption"
        session.record(*result.failures)
        assert result.exploration is not None
        executions = list(executions_of(session.program, result.exploration, MOST_EXECUTIONS))
        replays = [replay_line(failure, found) for failure in result.failures]
        report = report_as_dict(result, str(found), replays)
        return _told(report["summary"], report["verdict"], executions, _total(result), report)

    def _look_for_deadlocks(self, settings: Settings) -> dict[str, Any]:
        wish = self.wish
        criterion = "cycle" if wish.guided == OFF else wish.guided
        if wish.contexts:
            from treadle.session.contexts import ContextWish, look_in_contexts

            found = find_code(wish.target)
            asked = ContextWish(wish.contexts, criterion)
            with found.running():
                outcome = look_in_contexts(
                    found.test,
                    asked,
                    name=str(found),
                    progress=lambda words: self.tell("progress", words),
                )
        else:
            found = find(wish.target)
            guided = {**GUIDED_BY_DEFAULT, **read_options(wish.options)}
            with found.running():
                outcome = look_for_deadlocks(
                    found.test,
                    Settings().changed(guided),
                    DeadlockWish(criterion),
                    target=str(found),
                    listener=self,
                )
        failures = [one for cycle in outcome.confirmed for one in cycle.failures]
        words, _, rest = str(outcome).partition("\n")
        tests = [test for cycle in outcome.cycles for test in cycle.tests[:1]]
        told = _told(
            words,
            "failed" if outcome.confirmed else "verified",
            [_as_execution(one) for one in failures],
            len(failures),
            None,
        )
        return {
            **told,
            "words": "\n\n".join(filter(None, [rest.strip(), *tests])),
            "deadlocks": deadlocks_as_dict(outcome),
        }


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
        "words": "",
        "executions": [execution_as_dict(one) for one in executions],
        "total": total,
        "sources": sources_as_dict(places),
        "report": report,
        "deadlocks": None,
    }


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
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what the program prints is not what we say
    wish = read_wish(sys.stdin.readline())
    _limit(wish)
    worker = _Worker(wish, out)
    try:
        worker.tell("result", worker.work())
    except MemoryError:
        worker.tell("error", f"out of memory: more than {wish.memory} MB, the server's limit")
    except TreadleError as error:
        worker.tell("error", str(error).replace(f"{Path.cwd()}/", ""))
    out.flush()
    os._exit(0)  # threads of the program, if any, are not waited for


if __name__ == "__main__":
    main()
