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

from treadle.errors import TreadleError
from treadle.plugin.checking import Checked
from treadle.plugin.verdict import Verdict
from treadle.report.cast import Cast
from treadle.report.line import WIDTH
from treadle.report.waits import who_waits
from treadle.result import Failure


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


def amend(report: pytest.TestReport, item: pytest.Item, error: BaseException, words: str) -> None:
    """Add Treadle's report to pytest's; leave out what only shows Treadle's own code."""
    if isinstance(error, TreadleError):
        report.longrepr = _without_frames(item, f"treadle: error: {error}")
    elif isinstance(error, Found):
        report.longrepr = _without_frames(item, str(error), is_shown=not words)
    if isinstance(report.longrepr, ExceptionRepr):
        if words:
            report.longrepr.addsection("Treadle", words)
    elif words:
        report.longrepr = f"{report.longrepr}\n\n{words}"


def _without_frames(item: pytest.Item, message: str, *, is_shown: bool = True) -> ExceptionRepr:
    """Return what has a message for the short summary, and shows only that, if anything."""
    path, line, _ = item.location
    crash = ReprFileLocation(path, (line or 0) + 1, message)
    lines = [ReprEntryNative([wrapped + "\n" for wrapped in textwrap.wrap(message, WIDTH)])]
    traceback = ReprTraceback(lines if is_shown else [], None, "native")
    return ExceptionChainRepr([(traceback, crash, None)])


def report_of(checked: Checked, item: pytest.Item) -> str:
    """Return Treadle's report of a failure: the interleaving, and how to see it again."""
    failure = checked.failure
    if failure is None or not checked.report:
        return ""
    if failure.kind == "nondeterminism":  # no replay would be the same
        return checked.report
    return f"{checked.report}\n\nReplay: {replay_line(checked.token, item)}"


def replay_line(token: str, item: pytest.Item) -> str:
    """Return the command that runs exactly the failing interleaving."""
    return f"pytest {shlex.quote(_target(item))} --treadle-replay {token}"


def _target(item: pytest.Item) -> str:
    """Return how the test is named on the command line, from where pytest was started."""
    _, separator, name = item.nodeid.partition("::")
    return os.path.relpath(item.path, item.config.invocation_params.dir) + separator + name
