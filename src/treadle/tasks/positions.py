"""Positions: when the steps of a FIFO loop run, by arithmetic.

An arrival a has two unknowns: the poll `t(a)` at which it comes, and its place among those of the
same poll; `a < b` compares both. A step is `(a, k)`: k turns of the loop after arrival a. It runs
in iteration `t(a) + k`, behind all steps of this iteration that have more hops. So "(a, k) runs
before (b, m)" is one constraint, and so is its negation.

What a countdown wakes (`countdowns`) runs a turn after the last of its callbacks, whichever that
is: it has several positions, and runs at the latest of them. "The latest of X is before the latest
of Y" is: for some one of Y, all of X are before it. Those are alternatives, and whichever of Y is
the latest tells which one it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

_KNOWN = 1 << 14
"""Answers that are kept: most runs ask what others asked."""
START = 0
"""Stands for the beginning of the execution: `t(START) = 0`."""


class Position(NamedTuple):
    """An arrival, how many turns after it a step runs, and its place among those of that turn."""

    arrival: int
    hops: int
    place: tuple[int, ...]

    def next_turn(self, place: int) -> Position:
        """Return when something runs that a step has scheduled, as the first, second, ..."""
        return Position(self.arrival, self.hops + 1, (*self.place, place))


class Constraint(NamedTuple):
    """`t(a) - t(b) <= most`; if it is an order, also `a < b` where they come at the same poll."""

    a: int
    b: int
    most: int
    is_order: bool = False

    @property
    def negation(self) -> Constraint:
        """What holds if this does not."""
        if self.is_order:
            return Constraint(self.b, self.a, 0, True)
        return Constraint(self.b, self.a, -self.most - 1)


class Alternative(NamedTuple):
    """Constraints that all hold."""

    all_of: tuple[Constraint, ...]
    only: tuple[Constraint, ...] = ()
    """What holds besides if no other alternative is meant; some alternative has it always."""


Formula = tuple[Alternative, ...]
"""Alternatives, at least one of which holds."""
ALWAYS: Formula = (Alternative(()),)


@lru_cache(_KNOWN)
def next_turns(found: tuple[Position, ...], place: int) -> tuple[Position, ...]:
    """Return when something runs that a step with these positions has scheduled."""
    return tuple(one.next_turn(place) for one in found)


def latest_positions(found: Iterable[Position]) -> tuple[Position, ...]:
    """Leave out positions that are never the latest: of each arrival one is left."""
    kept: dict[int, Position] = {}
    for one in found:
        known = kept.get(one.arrival)
        if known is None or known < one:
            kept[one.arrival] = one
    return tuple(kept.values())


@lru_cache(_KNOWN)
def before(first: tuple[Position, ...], second: tuple[Position, ...]) -> Formula:
    """Return when one step runs before another."""
    found: list[Alternative] = []
    for y in second:
        if any(x.arrival == y.arrival and not x < y for x in first):
            continue
        all_of = tuple(_before(x, y) for x in first if x.arrival != y.arrival)
        if not all_of:
            return ALWAYS
        others = second if len(first) > 1 else ()
        found.append(Alternative(all_of, tuple(_before(z, y) for z in others if z is not y)))
    return tuple(found)


def _before(x: Position, y: Position) -> Constraint:
    (a, k, _), (b, m, _) = x, y
    if k == m:
        return Constraint(a, b, 0, True)
    return Constraint(a, b, m - k - 1 if k < m else m - k)


def polled_after(firsts: Iterable[tuple[Position, ...]], arrival: int) -> Formula:
    """Return when an arrival comes at a poll after one of some steps has run."""
    found = tuple(
        Alternative(tuple(Constraint(a, arrival, -k - 1) for a, k, _ in first if a != arrival))
        for first in firsts
    )
    return found if all(one.all_of for one in found) else ALWAYS
