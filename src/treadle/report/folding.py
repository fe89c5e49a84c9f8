"""Which steps of a long execution are shown.

A stretch is a sequence of steps of one process. Its first and its last step are where processes
take turns, so they are always shown, as is every step that somebody asks to keep: those of the
race, the failing one. The rest of a long stretch is folded. Steps that repeat the one before
them, as in a loop that spins, are folded wherever they are.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from treadle.core.records import StepRecord

_SHORTEST = 3
"""Steps that are worth a line that stands for them."""
_MOST = 120
"""Rows of an execution of very many turns."""


@dataclass(frozen=True, slots=True)
class Fold:
    """Steps that are not shown."""

    start: int
    count: int
    words: str


def fold(
    records: Sequence[StepRecord], kept: Collection[int], rows: int | None
) -> list[int | Fold]:
    """Return the steps to show by index, and what stands for the others.

    `rows` is how many steps an execution may have whose stretches are shown in full, None for any.
    """
    shown = _without_repetitions(records, kept)
    if rows is None or len(shown) <= rows:
        return shown
    shown = _without_middles(records, shown, kept)
    return shown if len(shown) <= _MOST else _without_turns(shown, kept)


def _without_repetitions(records: Sequence[StepRecord], kept: Collection[int]) -> list[int | Fold]:
    """Fold the steps in a row that are the same."""
    shown: list[int | Fold] = []
    index = 0
    while index < len(records):
        end = index + 1
        while end < len(records) and end not in kept and records[end] == records[index]:
            end += 1
        shown.append(index)
        shown += _folded(index + 1, end, "steps like this one")
        index = end
    return shown


def _without_middles(
    records: Sequence[StepRecord], shown: list[int | Fold], kept: Collection[int]
) -> list[int | Fold]:
    """Fold the middle of each stretch."""
    last = len(records) - 1
    found: list[int | Fold] = []
    start = 0
    for item in [*shown, last + 1]:
        if isinstance(item, Fold):
            continue
        is_middle = (
            0 < item < last
            and item not in kept
            and records[item - 1].process == records[item].process == records[item + 1].process
        )
        if not is_middle:
            process = records[start].process if start <= last else ""
            found += _folded(start, item, f"steps of {process}")
            found += [item] if item <= last else []
            start = item + 1
    return found


def _without_turns(shown: list[int | Fold], kept: Collection[int]) -> list[int | Fold]:
    """Leave out the middle of an execution of very many turns, except for what is kept."""
    begin, end = _MOST // 4, len(shown) - _MOST * 3 // 4
    found: list[int | Fold] = []
    missing: list[int | Fold] = []
    for at, item in enumerate([*shown, -1]):
        if begin <= at < end and item not in kept:
            missing.append(item)
            continue
        if missing:
            count = sum(other.count if isinstance(other, Fold) else 1 for other in missing)
            first = missing[0]
            start = first.start if isinstance(first, Fold) else first
            found.append(Fold(start, count, "steps of several processes"))
            missing = []
        found += [item] if item != -1 else []
    return found


def _folded(start: int, end: int, words: str) -> list[int | Fold]:
    """Return what stands for some steps: themselves, if they are few."""
    if end - start < _SHORTEST:
        return list(range(start, end))
    return [Fold(start, end - start, words)]
