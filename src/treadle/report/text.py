"""Results and failures in words, as plain text of at most 80 columns.

Only the line with the command that replays a failure may be longer, so that it can be copied.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from treadle.core.counting import count
from treadle.core.failure import Failure
from treadle.core.result import Result
from treadle.report.failure import ROWS, lines_of
from treadle.report.line import ASCII, WIDTH, plain, wrapped

_MOST_NAMED = 3
"""Escapes that a verdict names; all of them are listed below it."""

# Results


def verdict(result: Result) -> str:
    """Return `VERIFIED`, `FAILED` or `INCOMPLETE`."""
    if result.failures:
        return "FAILED"
    return "VERIFIED" if result.complete else "INCOMPLETE"


def verdict_in_words(result: Result, *, target: str = "") -> str:
    """Return the verdict, what it does not cover, and its reason, as one line."""
    escaped = "" if result.failures else except_for(result.escapes)
    granted = [] if result.failures else result.rests_on
    return "; ".join(
        [f"{verdict(result)}{escaped}: {target or result.program}, {_reason(result)}", *granted]
    )


def except_for(escapes: Sequence[str]) -> str:
    """Return what a verdict does not cover; nothing if nothing escaped.

    >>> except_for(["socket.socket at a.py:12: what sockets carry is not seen"])
    ', except for what went through socket.socket at a.py:12'
    """
    if not escapes:
        return ""
    named = [escape.partition(": ")[0] for escape in escapes[:_MOST_NAMED]]
    if len(escapes) > _MOST_NAMED:
        named.append(f"{len(escapes) - _MOST_NAMED} more")
    *first, last = named
    return f", except for what went through {', '.join(first)}{' and ' if first else ''}{last}"


def _reason(result: Result) -> str:
    if result.failures:
        return ", ".join(f"{count} {kind}" for kind, count in result.failure_kinds.items())
    scope = f" {result.scope}" if result.scope else ""
    if result.complete:
        return f"no interleaving fails{scope}"
    return f"no failure found{scope} before {result.stopped_by or 'the search ended'}"


def result_in_words(result: Result, *, target: str = "") -> str:
    """Return a summary of an exploration: the verdict, then the figures."""
    rows = {
        "algorithm": result.algorithm,
        "executions": f"{result.executions:,} complete, {result.blocked:,} blocked",
        "events": f"{result.events:,} executed, {result.replayed:,} replayed",
        "time": f"{result.seconds:.2f} s{_rate(result)}",
    }
    if result.pairs_asked:
        used, asked = f"{result.constraints_used:,}", f"{result.pairs_asked:,}"
        rows["constraints"] = f"{used} of {asked} pairs of steps made independent"
    if result.workers > 1 or result.parts:
        rows["workers"] = _workers(result)
    if result.failing > len(result.failures):
        rows["failing"] = f"{result.failing:,} times, each failure is shown once"
    if result.failures and not result.complete:
        rows["stopped"] = f"by {result.stopped_by}, there may be more failures"
    if not result.complete and result.estimate and result.estimate > result.executions:
        rows["estimate"] = (
            f"about {result.estimate:,.0f} executions in all or more, "
            f"{result.executions / result.estimate:.1%} of them done or less"
        )
    if result.cut:
        rows["cut"] = f"{count(result.cut, 'execution')}, by treadle.assume, max_rounds or guided"
    figures = [f"  {name:<12}{text}" for name, text in rows.items()]
    told = [("escape", one) for one in result.escapes] + [("note", one) for one in result.notes]
    remarks = [plain(wrapped(f"  {name:<12}{text}", indent=14)) for name, text in told]
    return "\n".join([verdict_in_words(result, target=target), *figures, *remarks])


def _workers(result: Result) -> str:
    """Say who explored, and what it took beyond what is counted."""
    parts = count(result.parts, "part")
    wasted = [
        f"{count(number, 'execution')} {what}"
        for number, what in ((result.lost, "given up"), (result.elsewhere, "in vain"))
        if number
    ]
    return ", ".join([str(result.workers), parts, *wasted])


def report_in_text(result: Result, target: str, replays: Sequence[str]) -> str:
    """Return the summary and all failures, each with the command that replays it."""
    parts = [result_in_words(result, target=target)]
    for failure, command in zip(result.failures, replays, strict=True):
        parts.append(f"{plain(lines_of(failure, marks=ASCII))}\n\nReplay: {command}")
    return "\n\n".join(parts) + "\n"


def _rate(result: Result) -> str:
    runs = result.executions + result.blocked
    if not runs or not result.seconds:
        return ""
    return f", {runs / result.seconds:,.0f} executions per second"


# Failures


def failure_in_words(
    failure: Failure, *, target: str = "", rows: int | None = ROWS, width: int = WIDTH
) -> str:
    """Return what failed, the failing execution, why, and how to replay it.

    `target` is what the command line calls the program; `rows` is how long an execution may be to
    be shown in full.
    """
    report = plain(lines_of(failure, rows=rows, width=width))
    return f"{report}\n\nReplay: {replay_command(failure, target)}"


def replay_command(failure: Failure, target: str = "") -> str:
    """Return the command that replays a failure; without a target, the call that does."""
    schedule = str(failure.schedule.upto(failure.step + 1))
    if target:
        flags = "".join(f" {flag}" for flag in _flags(failure.options))
        return f"treadle replay {shlex.quote(target)} {shlex.quote(schedule)}{flags}"
    called = "test" if callable(failure.test) else "program"
    options = "".join(f", {name}={value!r}" for name, value in failure.options.items())
    return f"treadle.replay({called}, {schedule!r}{options})"


def _flags(options: dict[str, object]) -> Iterator[str]:
    """Yield the options of a replay as the command line takes them."""
    for name, value in options.items():
        if value is True:
            yield f"--{name}"
        else:
            for one in value if isinstance(value, tuple) else (value,):
                yield f"--{name} {one}"
