"""The smallest linear extensions of a section's traces, as a tree that is searched without a list.

`constraints` generates all of them in advance. Here the tree is walked instead, depth first: below
a prefix, which events can follow so that some trace has its smallest linear extension there? A
smaller event that could also have come next, and is independent of what comes instead, *sleeps*: it
must not run before an event that is dependent with it. A branch is alive if no event has to sleep
for ever, and running whatever is awake tells.

This answers what is scheduled after a prefix, and it is how sections with too many traces to be
listed are explored.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from treadle.core.happens_before import bits
from treadle.explore.eager.constraint_systems import Solution


class NormalForms:
    """The tree of a section: `previous` is the program order, `dependent` a mask for each event."""

    def __init__(self, previous: Sequence[int], dependent: Sequence[int]) -> None:
        self._length = len(previous)
        self._dependent = dependent
        self._first = 0
        """The mask of the first events of the processes."""
        self._following = [0] * len(previous)
        """For each event the mask of the next one of its process, if there is one."""
        for event, earlier in enumerate(previous):
            if earlier < 0:
                self._first |= 1 << event
            else:
                self._following[earlier] |= 1 << event

    def children(self, prefix: Solution) -> list[int]:
        """Return the events that are scheduled after a prefix of a solution, in ascending order."""
        enabled, asleep = self._first, 0
        for event in prefix:
            enabled, asleep = self._after(event, enabled, asleep)
        return self._children(enabled, asleep)

    def solutions(self) -> Iterator[Solution]:
        """Yield all smallest linear extensions in ascending order."""
        order: list[int] = []
        # For each prefix: what is enabled and what sleeps after it, and the children to be tried.
        path = [(self._first, 0, iter(self._children(self._first, 0)))]
        while path:
            enabled, asleep, children = path[-1]
            event = next(children, -1)
            if event < 0:
                path.pop()
                if order:
                    order.pop()
                continue
            order.append(event)
            if len(order) == self._length:
                yield bytes(order)
                order.pop()
                continue
            enabled, asleep = self._after(event, enabled, asleep)
            path.append((enabled, asleep, iter(self._children(enabled, asleep))))

    def _children(self, enabled: int, asleep: int) -> list[int]:
        return [
            event
            for event in bits(enabled & ~asleep)
            if self._all_wake(*self._after(event, enabled, asleep))
        ]

    def _after(self, event: int, enabled: int, asleep: int) -> tuple[int, int]:
        """Return what is enabled after an event, and what sleeps: smaller ones that could run."""
        bit = 1 << event
        asleep = (asleep | enabled & bit - 1) & ~self._dependent[event]
        return enabled ^ bit | self._following[event], asleep

    def _all_wake(self, enabled: int, asleep: int) -> bool:
        """Tell whether everything that sleeps can be woken by events that are awake."""
        while asleep:
            awake = enabled & ~asleep
            if not awake:
                return False
            for event in bits(awake):
                enabled = enabled ^ 1 << event | self._following[event]
                asleep &= ~self._dependent[event]
        return True
