"""Deadlocks in words: who waits for what, who holds it, and since where."""

from __future__ import annotations

from collections.abc import Sequence

from treadle.core.records import StepRecord, Wait, WaitKind
from treadle.report.cast import Cast
from treadle.report.line import Line, enumerated, wrapped

_DONE_BY_SOMEBODY = (WaitKind.RESULT, WaitKind.ROUND)
"""Waits for what another process is to bring about: nobody holds it."""


def who_waits(waits: Sequence[Wait], cast: Cast) -> str:
    """Return the cycle of waiting processes in words, or who waits; not who waits for their end."""
    cycle = waiting_cycle(waits)
    if len(cycle) == 1:
        return f"{cast.name(cycle[0])} waits for itself"
    if cycle:
        return f"{enumerated([cast.name(process) for process in cycle])} wait for each other"
    stuck = [wait for wait in waits if not wait.is_for_an_end] or waits
    verb = "spin" if all(wait.spins for wait in stuck) else "wait"
    names = enumerated([cast.name(wait.process) for wait in stuck])
    return f"{names} {verb}{'s' if len(stuck) == 1 else ''} for ever"


def waits_in_lines(
    waits: Sequence[Wait], records: Sequence[StepRecord], cast: Cast, width: int
) -> list[Line]:
    """Return who waits for what, and who holds it.

    Those of a cycle come first, in its order; those who only wait for the end of others, last.
    """
    cycle = waiting_cycle(waits)
    order = {process: index for index, process in enumerate(cycle)}
    last = len(order)
    lines: list[Line] = []
    for wait in sorted(waits, key=lambda w: order.get(w.process, last + w.is_for_an_end)):
        verb = "spins, waiting for" if wait.spins else "waits for"
        at = f" at {wait.where}" if wait.where else ""
        text = f"{cast.name(wait.process)} {verb} {wait.resource}{at}"
        lines += wrapped(f"  {text}", cast.colour(wait.process), width=width, indent=6)
        if wait.is_for_an_end:
            continue
        for holder in wait.holders:
            step = acquisition(wait, records, holder)  # maybe before others knew of it
            verb = "run" if wait.kind in _DONE_BY_SOMEBODY else "held"
            text = f"{verb} by {cast.name(holder)}"
            if step is not None:
                text += f", which acquired it at {_place(step, records)}"
            lines += wrapped(f"    {text}", width=width, indent=6)
        if not wait.holders:
            step = acquisition(wait, records)
            if step is not None:
                who = cast.name(records[step].process)
                text = f"    last acquired by {who} at {_place(step, records)}"
                lines += wrapped(text, width=width, indent=6)
    return lines


def _place(step: int, records: Sequence[StepRecord]) -> str:
    return f"{records[step].where} (step {step + 1})"


def acquisition(
    wait: Wait, records: Sequence[StepRecord], process: str | None = None
) -> int | None:
    """Return the last step in which a process, or anybody, got hold of what is waited for."""
    for index in range(len(records) - 1, -1, -1):
        record = records[index]
        if process in (record.process, None) and any(
            access.held and access.held == wait.held for access in record.accesses
        ):
            return index
    return None


def acquisitions(waits: Sequence[Wait], records: Sequence[StepRecord]) -> set[int]:
    """Return the steps in which was acquired what somebody waits for."""
    found = {
        acquisition(wait, records, holder) for wait in waits for holder in wait.holders or (None,)
    }
    return {step for step in found if step is not None}


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
