"""Results and failures in words, as plain text of at most 80 columns.

Only the line with the command that replays a failure may be longer, so that it can be copied.
"""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Iterator, Sequence

from treadle.errors import ScheduleMismatch
from treadle.program import StepRecord, Wait
from treadle.report.columns import WIDTH, printable, trace_in_columns
from treadle.result import Failure, Result

ROWS = 40
"""Steps of a long trace that are shown unless all are asked for."""


_GRANULARITY = {
    "access": "Granularity: access. Threads switch between any two accesses, as the language\n"
    "  allows and free-threaded Python does.",
    "gil": "Granularity: gil. It happens on a Python with a global interpreter lock too.",
}


# Results


def verdict(result: Result) -> str:
    """Return `VERIFIED`, `FAILED` or `INCOMPLETE`."""
    if result.failures:
        return "FAILED"
    return "VERIFIED" if result.complete else "INCOMPLETE"


def verdict_in_words(result: Result, *, target: str = "") -> str:
    """Return the verdict and its reason, as one line."""
    return f"{verdict(result)}: {target or result.program}, {_reason(result)}"


def _reason(result: Result) -> str:
    if result.failures:
        return ", ".join(f"{count} {kind}" for kind, count in result.failure_kinds.items())
    if result.complete:
        return "no interleaving fails"
    return f"no failure found before {result.stopped_by or 'the search ended'}"


def result_in_words(result: Result, *, target: str = "") -> str:
    """Return a summary of an exploration: the verdict, then the figures."""
    rows = {
        "algorithm": result.algorithm,
        "executions": f"{result.executions:,} complete, {result.blocked:,} blocked",
        "events": f"{result.events:,} executed, {result.replayed:,} replayed",
        "time": f"{result.seconds:.2f} s{_rate(result)}",
    }
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
        rows["cut"] = f"{result.cut:,} executions, by treadle.assume"
    figures = [f"  {name:<12}{text}" for name, text in rows.items()]
    notes = [_wrapped(f"  note        {note}", indent=14) for note in result.notes]
    return "\n".join([verdict_in_words(result, target=target), *figures, *notes])


def _rate(result: Result) -> str:
    runs = result.executions + result.blocked
    if not runs or not result.seconds:
        return ""
    return f", {runs / result.seconds:,.0f} executions per second"


# Failures


def failure_in_words(failure: Failure, *, target: str = "", rows: int | None = ROWS) -> str:
    """Return what failed, the failing execution, and how to replay it.

    `target` is what the command line calls the program; `rows` is how many steps to show.
    """
    try:
        steps: Sequence[StepRecord] = failure.trace[: failure.step + 1]
    except ScheduleMismatch:  # of a nondeterministic program: it went elsewhere this time
        steps = []
    parts = [_headline(failure, steps)]
    if failure.waits:
        parts.append(_waits_in_words(failure.waits))
    if failure.pair is not None and steps:
        parts.append(_pair_in_words(failure.pair, steps))
    if steps:
        parts.append("\n".join(trace_in_columns(steps, failure.step, rows=rows)))
    if failure.granularity:
        parts.append(_GRANULARITY[failure.granularity])
    parts.append(f"Replay: {replay_command(failure, target)}")
    return "\n\n".join(parts)


def replay_command(failure: Failure, target: str = "") -> str:
    """Return the command that replays a failure; without a target, the call that does."""
    schedule = str(failure.schedule.upto(failure.step + 1))
    if target:
        flags = "".join(f" {flag}" for flag in _flags(failure.options))
        return f"treadle replay {shlex.quote(target)} {shlex.quote(schedule)}{flags}"
    called = "test" if failure.granularity else "program"
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


def _headline(failure: Failure, steps: Sequence[StepRecord]) -> str:
    """Return what failed, where and why, in lines of at most 80 columns."""
    where = f" at {steps[-1].where}" if steps and steps[-1].where else ""
    if failure.kind == "assertion":
        why = failure.message.removeprefix("AssertionError").removeprefix(": ")
        source = steps[-1].source if steps else ""
        text = f"Assertion failed in {failure.process}{where}: {why or source}"
    elif failure.kind == "exception":
        text = f"Exception in {failure.process}{where}: {failure.message}"
    elif failure.kind in ("deadlock", "livelock"):
        text = (
            f"{failure.kind.capitalize()} after {failure.step} steps: {_who_waits(failure.waits)}"
        )
    else:
        text = f"{failure.kind.capitalize()}: {failure.message}"
    return _wrapped(text)


def _wrapped(text: str, indent: int = 2) -> str:
    return "\n".join(
        textwrap.wrap(
            printable(text), WIDTH, subsequent_indent=" " * indent, break_on_hyphens=False
        )
    )


def _pair_in_words(pair: tuple[int, int], steps: Sequence[StepRecord]) -> str:
    """Return the two accesses of a data race, each with its source line."""
    lines = []
    for event in pair:
        step = steps[event]
        accesses = "; ".join(map(str, step.accesses))
        lines.append(_wrapped(f"  {step.process} at {step.where}: {accesses}"))
        lines.append(f"    {printable(step.source)}"[:WIDTH])
    return "\n".join(lines)


# Deadlocks


def _who_waits(waits: Sequence[Wait]) -> str:
    cycle = waiting_cycle(waits)
    if cycle:
        return " -> ".join([*cycle, cycle[0]]) + " wait for each other in a cycle"
    names = ", ".join(wait.process for wait in waits)
    return f"{names} {'waits' if len(waits) == 1 else 'wait'} for ever"


def _waits_in_words(waits: Sequence[Wait]) -> str:
    return "\n".join(
        _wrapped(f"  {wait}{', at ' if wait.where else ''}{wait.where}") for wait in waits
    )


def waiting_cycle(waits: Sequence[Wait]) -> list[str]:
    """Return processes each of which waits for something that the next one holds, or nothing.

    >>> waiting_cycle([Wait("p", "a", ("q",)), Wait("q", "b", ("r",)), Wait("r", "c", ("q",))])
    ['q', 'r']
    """
    holders = {wait.process: wait.holders for wait in waits}
    for start in holders:
        if cycle := _path_back(start, start, holders, set()):
            return cycle
    return []


def _path_back(
    process: str, start: str, holders: dict[str, tuple[str, ...]], seen: set[str]
) -> list[str]:
    """Return the processes on a way from `process` back to `start`, if there is one."""
    seen.add(process)
    for holder in holders.get(process, ()):
        if holder == start:
            return [process]
        if holder not in seen and (rest := _path_back(holder, start, holders, seen)):
            return [process, *rest]
    return []
