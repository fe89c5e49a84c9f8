"""Plans that rely on other steps, and are made again if one of those turns out to be forbidden.

A sequence is inserted behind steps of the wakeup tree that are independent of it, or not at all if
such steps lead to it. With don't-do sets, a run may stop before such a step; then what was to come
before it has to be planned anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from treadle.core.events import Footprint
from treadle.core.happens_before import Trace, bits
from treadle.core.steps import Step
from treadle.explore.source_sets.planned import Planned


class PlannedAhead(Planned):
    """A planned sequence that takes note of the steps ahead of it which are not in it."""

    __slots__ = ("_impossible", "_way", "relied_on")

    def __init__(self, order: Trace, v: int, keep: int, impossible: int) -> None:
        super().__init__(order, v, keep, -1)
        self._impossible = impossible
        """Events that cannot be planned: who would have to wait."""
        self._way: list[int] = []
        self.relied_on: set[tuple[int, ...]] = set()
        """Ways down the tree that must not turn out to be forbidden at their last step."""

    def take(self, process: int, step: Footprint) -> bool:
        """Go on behind a step of the tree, if `u.p ~ v`; tell whether that was so."""
        is_ahead = not self.order.of_process[process] & self.left
        if not super().take(process, step):
            return False
        self._way.append(process)
        if is_ahead:
            self.relied_on.add(tuple(self._way))
        return True

    def leaf(self) -> list[int]:
        """Return the events that have to be planned, and can be."""
        return bits(self.left & self.keep & ~self._impossible)


@dataclass(frozen=True, slots=True)
class Plan:
    """What was planned: see `Exploration.plan`."""

    v: Sequence[Step]
    keep: int
    is_end_possible: bool


class Reliance:
    """The plans that rely on something, by the length of the prefix that they were made for."""

    def __init__(self) -> None:
        self._plans: dict[int, list[tuple[Plan, frozenset[tuple[int, ...]]]]] = {}

    def add(self, e: int, plan: Plan, relied_on: set[tuple[int, ...]]) -> None:
        """Take note of a plan and of the ways that must not turn out to be forbidden."""
        self._plans.setdefault(e, []).append((plan, frozenset(relied_on)))

    def lose(self, way: list[int]) -> Iterator[tuple[int, Plan]]:
        """Yield the plans that relied on a way of the current execution, and forget them."""
        for e, plans in sorted(self._plans.items()):
            here = tuple(way[e:])
            self._plans[e] = [entry for entry in plans if here not in entry[1]]
            for plan, relied_on in plans:
                if here in relied_on:
                    yield e, plan

    def leave(self, depth: int) -> None:
        """Forget the plans for longer prefixes."""
        self._plans = {e: plans for e, plans in self._plans.items() if e <= depth}
