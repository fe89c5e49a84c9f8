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

from treadle.explore.constraints import Solution


class NormalForms:
    """The tree of a section: `previous` is the program order, `dependent` a mask for each event."""

    def __init__(self, previous: Sequence[int], dependent: Sequence[int]) -> None:
        self._previous = previous
        self._dependent = dependent

    def children(self, prefix: Solution) -> list[int]:
        """Return the events that are scheduled after a prefix of a solution, in ascending order."""
        done, asleep = 0, 0
        for event in prefix:
            asleep = self._asleep_after(event, asleep, self._enabled(done))
            done |= 1 << event
        return self._children(done, asleep)

    def solutions(self) -> Iterator[Solution]:
        """Yield all smallest linear extensions in ascending order."""
        length = len(self._previous)
        order: list[int] = []
        # For each prefix: its events, what sleeps after it, and the children still to be tried.
        path = [(0, 0, iter(self._children(0, 0)))]
        while path:
            done, asleep, children = path[-1]
            event = next(children, -1)
            if event < 0:
                path.pop()
                if order:
                    order.pop()
                continue
            order.append(event)
            if len(order) == length:
                yield bytes(order)
                order.pop()
                continue
            asleep = self._asleep_after(event, asleep, self._enabled(done))
            done |= 1 << event
            path.append((done, asleep, iter(self._children(done, asleep))))

    def _children(self, done: int, asleep: int) -> list[int]:
        enabled = self._enabled(done)
        return [
            event
            for event in enabled
            if not asleep >> event & 1
            and self._all_wake(done | 1 << event, self._asleep_after(event, asleep, enabled))
        ]

    def _enabled(self, done: int) -> list[int]:
        """Return the next event of each process, in ascending order."""
        return [
            event
            for event, earlier in enumerate(self._previous)
            if not done >> event & 1 and (earlier < 0 or done >> earlier & 1)
        ]

    def _asleep_after(self, event: int, asleep: int, enabled: list[int]) -> int:
        """Return what sleeps after an event that was preferred to smaller enabled ones."""
        for smaller in enabled:
            if smaller < event:
                asleep |= 1 << smaller
        return asleep & ~self._dependent[event]

    def _all_wake(self, done: int, asleep: int) -> bool:
        """Tell whether everything that sleeps can be woken by events that are awake."""
        progress = True
        while asleep and progress:
            progress = False
            for event in self._enabled(done):
                if not asleep >> event & 1:
                    done |= 1 << event
                    asleep &= ~self._dependent[event]
                    progress = True
        return not asleep
