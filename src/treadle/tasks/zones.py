"""Zones: sets of constraints on when things arrive at the polls of a loop.

An arrival a has two unknowns: the poll `t(a)` at which it comes, and its place among those of the
same poll; `a < b` compares both. A step is `(a, k)`: k turns of the loop after arrival a. It runs
in iteration `t(a) + k`, behind all steps of this iteration that have more hops. So "(a, k) runs
before (b, m)" is one constraint, and so is its negation. A zone is a difference-bound matrix over
`t`, kept closed, and a strict order of arrivals.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from treadle.tasks.steps import Step

START = 0
"""Stands for the beginning of the execution: `t(START) = 0`."""
_FAR = 1 << 40


class Constraint(NamedTuple):
    """`t(a) - t(b) <= most`; if it is an order, also `a < b` where they come at the same poll."""

    a: int
    b: int
    most: int
    is_order: bool = False


Position = tuple[int, int]
"""An arrival, and how many turns of the loop after it a step runs."""


def position(step: Step) -> Position:
    """Return when a step runs, from the arrival that it comes from."""
    anchor = step.anchor
    return (anchor.process + 1 if anchor.is_arrival else START), step.hops


def before(x: Position, y: Position) -> Constraint | None:
    """Return when one step runs before another; None if they come from the same arrival."""
    (a, k), (b, m) = x, y
    if a == b:
        return None
    if k == m:
        return Constraint(a, b, 0, True)
    return Constraint(a, b, m - k - 1 if k < m else m - k)


def polled_after(x: Position, arrival: int) -> Constraint | None:
    """Return when an arrival comes at a poll after a step has run."""
    a, k = x
    return None if a == arrival else Constraint(a, arrival, -k - 1)


class Zone:
    """A set of constraints, closed; `add` tells whether any point is left."""

    def __init__(self, constraints: Iterable[Constraint] = ()) -> None:
        self._most: dict[int, dict[int, int]] = {START: {START: 0}}
        """Upper bounds of `t(a) - t(b)`."""
        self._behind: dict[int, set[int]] = {}
        """What comes behind an arrival by order."""
        self.is_empty = False
        for constraint in constraints:
            self.add(constraint)

    def _enter(self, arrival: int) -> None:
        if arrival in self._most:
            return
        bounds = self._most
        bounds[arrival] = dict.fromkeys(bounds, _FAR)
        for other in bounds:
            bounds[other][arrival] = 0 if other == arrival else _FAR
        self._bound(START, arrival, -1)

    def admits(self, constraint: Constraint) -> bool:
        """Tell whether some point of the zone satisfies a constraint."""
        a, b, most, is_order = constraint
        if self.is_empty:
            return False
        self._enter(a)
        self._enter(b)
        if is_order and a in self._behind.get(b, ()):
            return False
        return self._most[b][a] + most >= 0

    def add(self, constraint: Constraint) -> bool:
        """Add a constraint; tell whether any point is left."""
        if not self.admits(constraint):
            self.is_empty = True
            return False
        a, b, most, is_order = constraint
        self._bound(a, b, most)
        if is_order:
            behind = {b, *self._behind.get(b, ())}
            for first in [a, *(one for one, others in self._behind.items() if a in others)]:
                self._behind.setdefault(first, set()).update(behind)
        return True

    def _bound(self, a: int, b: int, most: int) -> None:
        """Note that `t(a) - t(b) <= most`, and what follows."""
        bounds = self._most
        if bounds[a][b] <= most:
            return
        beyond = bounds[b]
        for row in bounds.values():
            through = row[a] + most
            if through < _FAR >> 1:
                for other, rest in beyond.items():
                    if through + rest < row[other]:
                        row[other] = through + rest

    def point(self) -> dict[int, tuple[int, int]]:
        """Return the earliest poll of each arrival that the zone names, and its place there."""
        names = [name for name in self._most if name != START]
        polls = {name: -self._most[START][name] for name in names}
        found: dict[int, tuple[int, int]] = {}
        for name in names:
            ahead = sum(name in behind for behind in self._behind.values())
            found[name] = polls[name], ahead
        return found
