"""What pytest shows of a test that failed: its own traceback, then Treadle's report."""

from __future__ import annotations

import os
import shlex
import textwrap

import pytest
from _pytest._code.code import (
    ExceptionChainRepr,
    ExceptionRepr,
    ReprEntryNative,
    ReprFileLocation,
    ReprTraceback,
)
from _pytest._io import TerminalWriter

from treadle.core.errors import TreadleError
from treadle.core.failure import Failure
from treadle.plugin.checking import Checked
from treadle.plugin.verdict import Verdict
from treadle.report.cast import Cast
from treadle.report.colour import coloured
from treadle.report.line import WIDTH, Line, joined, plain
from treadle.report.waits import who_waits

_TITLE = "Treadle"
STYLED = "treadle_lines"
"""The attribute of a report that holds Treadle's part of it with its styles."""


class Found(AssertionError):
    """A finding that is no exception of the test's: a deadlock, a race, a space not covered."""


def found_of(failure: Failure) -> Found:
    """Return what stands for a failure without an exception."""
    waits = failure.waits
    return Found(
        f"{failure.kind}: {who_waits(waits, Cast((), waits)) if waits else failure.message}"
    )


def skipped_by_thread(thread: str, skip: BaseException) -> AssertionError:
    """Return what a test fails with that was skipped by a thread which it had started."""
    return AssertionError(
        f"the thread {thread} ended by skipping the test ({skip}): only the test's own thread can "
        f"do that"
    ).with_traceback(skip.__traceback__)


def not_covered(verdict: Verdict) -> Found:
    """Return what a strict test fails with whose space was not covered."""
    return Found(
        f"{verdict} (stopped by {verdict.stopped_by}): it is strict, so that is a failure; raise "
        f"the budget, make the test smaller, or choose strict=False"
    )


def amend(
    report: pytest.TestReport, item: pytest.Item, error: BaseException, lines: list[Line]
) -> None:
    """Add Treadle's report to pytest's; leave out what only shows Treadle's own code."""
    if isinstance(error, TreadleError):
        report.longrepr = _without_frames(item, f"treadle: error: {error}")
    elif isinstance(error, Found):
        report.longrepr = _without_frames(item, str(error), is_shown=not lines)
    if not lines:
        return
    if isinstance(report.longrepr, ExceptionRepr):
        report.longrepr.addsection(_TITLE, plain(lines))
        report.__dict__[STYLED] = lines
    else:
        report.longrepr = f"{report.longrepr}\n\n{plain(lines)}"


class _Coloured(ExceptionChainRepr):
    """What pytest shows of a failure, with Treadle's report in colour if the terminal has it."""

    def __init__(self, shown: ExceptionChainRepr, lines: list[Line]) -> None:
        super().__init__(shown.chain)
        self.sections = shown.sections
        self._lines = lines

    def toterminal(self, tw: TerminalWriter) -> None:
        """Write it; into a file, as it is."""
        shown = ExceptionChainRepr(self.chain)
        for name, content, separator in self.sections:
            is_ours = tw.hasmarkup and name == _TITLE
            shown.addsection(name, coloured(self._lines) if is_ours else content, separator)
        shown.toterminal(tw)


def colour(report: pytest.TestReport) -> None:
    """Let a report be shown in colour; it may have come from a worker of pytest-xdist."""
    lines = report.__dict__.pop(STYLED)
    if isinstance(report.longrepr, ExceptionChainRepr):
        report.longrepr = _Coloured(report.longrepr, lines)


def _without_frames(item: pytest.Item, message: str, *, is_shown: bool = True) -> ExceptionRepr:
    """Return what has a message for the short summary, and shows only that, if anything."""
    path, line, _ = item.location
    crash = ReprFileLocation(path, (line or 0) + 1, message)
    lines = [
        ReprEntryNative(
            [wrapped + "\n" for wrapped in textwrap.wrap(message, WIDTH, break_on_hyphens=False)]
        )
    ]
    traceback = ReprTraceback(lines if is_shown else [], None, "native")
    return ExceptionChainRepr([(traceback, crash, None)])


def report_of(checked: Checked, item: pytest.Item) -> list[Line]:
    """Return Treadle's report of a failure: the interleaving, and how to see it again.

    With `--tb=line` it is only the latter.
    """
    failure = checked.failure
    if failure is None or not checked.report:
        return []
    is_brief = item.config.getoption("tbstyle", None) == "line"
    replay: list[Line] = [((f"Replay: {replay_line(checked.token, item)}", "cyan"),)]
    return joined(
        [
            [] if is_brief else [*checked.report],
            [] if failure.kind == "nondeterminism" else replay,  # no replay would be the same
        ]
    )


def replay_line(token: str, item: pytest.Item) -> str:
    """Return the command that runs exactly the failing interleaving."""
    return f"pytest {shlex.quote(_target(item))} --treadle-replay {token}"


def _target(item: pytest.Item) -> str:
    """Return how the test is named on the command line, from where pytest was started."""
    _, separator, name = item.nodeid.partition("::")
    return os.path.relpath(item.path, item.config.invocation_params.dir) + separator + name
