"""The plan of a section: one execution of each of its traces (`section-rep(u)`, "Eager POR").

A section's events are numbered in the order in which they were first executed. The plan are the
solutions of its trace constraint systems in ascending order; the first one is what was executed.
So executions come depth first, each sharing as much as it can with the one before. And the order
has what sleep sets need: a solution begins with `x.p` only if no process that is scheduled after
`x` before `p` could also begin it, up to equivalence.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from treadle.core.happens_before import bits
from treadle.explore.eager.constraint_systems import Solution, Traces
from treadle.explore.eager.normal_forms import NormalForms

FEW = 48
"""Constraints of a section whose solutions are listed at all."""


class Plan:
    """The solutions of a section, one after the other.

    >>> plan = Plan([-1, 0, -1], [0b000, 0b100, 0b010], learn=True, room=10)
    >>> list(plan.solution), plan.shared
    ([0, 1, 2], 1)
    >>> plan.advance()
    >>> list(plan.solution), plan.shared
    ([0, 2, 1], -1)
    """

    def __init__(
        self,
        previous: Sequence[int],
        dependent: Sequence[int],
        *,
        learn: bool,
        room: int,
        is_over: Callable[[], bool] = lambda: False,
    ) -> None:
        """`previous` is the program order, `dependent` has a mask of events for each event.

        The solutions are listed in advance if they are at most `room`, and found before it
        `is_over`; else they are walked as a tree, one at a time.
        """
        self.solution: Solution = bytes(range(len(previous)))
        """The order of the current execution."""
        self.unsatisfiable = 0
        """Constraint systems that turned out to have no solution, if all were tried."""
        self._tree: NormalForms | None = None
        self._listed = [self.solution]
        solutions = iter(self._listed)
        constraints = [
            (event, other)
            for event, mask in enumerate(dependent)
            if mask
            for other in bits(mask >> event << event)
        ]
        if constraints:
            traces = Traces(previous, constraints, learn=learn, is_over=is_over)
            solutions = self._solutions(traces, room, NormalForms(previous, dependent))
        self._following = islice(solutions, 1, None)
        self._prepare_next()

    def _solutions(self, traces: Traces, room: int, tree: NormalForms) -> Iterator[Solution]:
        """Return all solutions in ascending order, from a list if they are not too many."""
        if traces.length <= FEW:
            self._listed = sorted(islice(traces.solutions(), max(room, 0) + 1))
            if len(self._listed) <= room and not traces.gave_up:
                self.unsatisfiable = traces.unsatisfiable
                return iter(self._listed)
        self._listed, self._tree = [], tree
        return tree.solutions()

    @property
    def listed(self) -> int:
        """How many solutions are kept."""
        return len(self._listed)

    def _prepare_next(self) -> None:
        self._upcoming = next(self._following, None)
        self.shared = -1
        """How many events the next solution shares with this one; -1 if there is none."""
        if self._upcoming is not None:
            self.shared = 0
            while self.solution[self.shared] == self._upcoming[self.shared]:
                self.shared += 1

    def advance(self) -> None:
        """Take the next solution."""
        assert self._upcoming is not None
        self.solution = self._upcoming
        self._prepare_next()

    def scheduled(self, depth: int) -> list[int]:
        """Return the events with which solutions go on after the first `depth` of this one."""
        prefix = self.solution[:depth]
        if self._tree is not None:
            return self._tree.children(prefix)
        listed = self._listed
        found = []
        index = bisect_left(listed, prefix)
        while index < len(listed) and listed[index].startswith(prefix):
            found.append(listed[index][depth])
            index = bisect_left(listed, prefix + bytes([found[-1] + 1]), index)
        return found
