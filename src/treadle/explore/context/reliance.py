"""Plans that rely on other steps, and are made again if one of those turns out to be forbidden.

A sequence is inserted behind steps of the wakeup tree that are independent of it, or not at all if
such steps lead to it. With don't-do sets, a run may stop before such a step; then what was to come
before it has to be planned anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from treadle.core.happens_before import NONE, Trace, bits
from treadle.core.steps import Step
from treadle.explore.context.planned_order import Imagined
from treadle.explore.source_sets.planned import Planned
from treadle.explore.source_sets.wakeup_tree import Branch, Tree

Way = tuple[int, ...]
"""Who takes steps, from a prefix of the current execution on."""


class PlannedInPart(Planned):
    """A sequence of which some events cannot be planned: who would have to wait."""

    __slots__ = ("_impossible",)

    def __init__(self, order: Trace, v: int, keep: int, impossible: int) -> None:
        super().__init__(order, v, keep, NONE)
        self._impossible = impossible

    def leaf(self) -> list[int]:
        """Return the events that have to be planned, and can be."""
        return bits(self.left & self.keep & ~self._impossible)


def relied_on(tree: Tree, order: Imagined, v: int) -> Iterator[tuple[Way, int]]:
    """Yield the ways down a tree to steps ahead of `v` that it does not begin with.

    They are not in it, or come first only as long as nobody looks at what others wrote before. If
    `v` is inserted, it relies on them: none must turn out to be forbidden at its last step. With
    each comes what is left of `v` before that step, which may be nothing.
    """
    way: list[int] = []
    branch = _consistent(tree, order, v)
    while branch is not None:
        for process, step in zip(branch.processes, branch.footprints, strict=True):
            left = order.left_of(v, process, step)
            if left is None:
                return
            way.append(process)
            if left == v or order.written_before(process, v):
                yield tuple(way), v
            v = left
        branch = _consistent(branch.children, order, v)


def _consistent(tree: Tree, order: Trace, v: int) -> Branch | None:
    """Return the first branch of a tree whose first step is consistent with `v`."""
    for branch in tree:
        if order.left_of(v, branch.processes[0], branch.footprints[0]) is not None:
            return branch
    return None


@dataclass(frozen=True, slots=True)
class Plan:
    """What was planned: see `Exploration.plan`."""

    v: Sequence[Step]
    keep: int
    is_end_possible: bool

    def part(self, events: int) -> Plan:
        """Return what is left of the plan: a mask of positions."""
        positions = bits(events & (1 << len(self.v)) - 1)
        keep = sum(1 << new for new, old in enumerate(positions) if self.keep >> old & 1)
        has_end = bool(events >> len(self.v) - 1 & 1)
        v = [self.v[old] for old in positions]
        return Plan(v, keep, self.is_end_possible or not has_end)


class Reliance:
    """What has to be planned where a way ends, by the length of the prefix that it begins at."""

    def __init__(self) -> None:
        self._plans: dict[int, list[tuple[Way, Plan]]] = {}

    def add(self, e: int, way: Way, plan: Plan) -> None:
        """Take note of what a plan has left where a way must not turn out to be forbidden."""
        self._plans.setdefault(e, []).append((way, plan))

    def lose(self, way: list[int]) -> Iterator[Plan]:
        """Yield what has to be planned before the last step of the current execution; forget it."""
        for e, plans in sorted(self._plans.items()):
            here = tuple(way[e:])
            self._plans[e] = [entry for entry in plans if entry[0] != here]
            for relied_on, plan in plans:
                if relied_on == here:
                    yield plan

    def leave(self, depth: int) -> None:
        """Forget the plans for longer prefixes."""
        self._plans = {e: plans for e, plans in self._plans.items() if e <= depth}
