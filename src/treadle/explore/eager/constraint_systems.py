"""Trace constraint systems ("Eager POR", ATVA 2016, section 3.3): all traces of a section.

A section's events are numbered `0 .. n-1` in the order in which they were first executed. `C` lists
its dependent pairs `(i, j)`, `i < j`; the program order is the same in every trace. A trace
constraint system says of each pair which event comes first: the pair as it is, or swapped. So it is
one integer here, the mask of the swapped constraints, and `traces(u)` are the numbers below
`2**len(C)`. Constraint 0 is the most significant bit, so that counting upwards tries both ways of
the last constraint before it touches the one before it.

A system is satisfiable if its constraints and the program order have no cycle; its solution is then
a linear extension, found by topological sorting. Of all linear extensions the smallest is taken,
in the order of the events' numbers: that makes the solutions of all systems, in ascending order,
the leaves of a tree that can be searched depth first with sleep sets (see `section`).

*Learning*, which the paper leaves to future work: an unsatisfiable system has a cycle, and every
system with the same swaps of the cycle's constraints has it too. The cycle is remembered as two
masks, and no system that contains it is generated again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import count

_CHECKED = 1 << 12
"""Systems after which the time is looked at."""

Pair = tuple[int, int]
Solution = bytes
"""The numbers of a section's events in the order of a linear extension."""


class Traces:
    """`traces(u)`: the trace constraint systems of a section, one after the other."""

    def __init__(
        self,
        previous: Sequence[int],
        constraints: Sequence[Pair],
        *,
        learn: bool,
        is_over: Callable[[], bool] = lambda: False,
    ) -> None:
        """`previous` has for each event the one before it in its process, or -1."""
        self._learn = learn
        self._is_over = is_over
        self._constraints = constraints
        self._bit_of = {
            pair: len(constraints) - 1 - index for index, pair in enumerate(constraints)
        }
        self._before = [0 if i < 0 else 1 << i for i in previous]
        """For each event, those that must come before it in the current system."""
        self._after = [0] * len(previous)
        for event, earlier in enumerate(previous):
            if earlier >= 0:
                self._after[earlier] |= 1 << event
        for i, j in constraints:
            self._before[j] |= 1 << i
            self._after[i] |= 1 << j
        self._cycles: list[list[Pair]] = [[] for _ in constraints]
        """Learned cycles as (mask, swapped), by their least significant constraint."""
        self.unsatisfiable = 0
        """Systems that turned out to have no solution."""
        self.gave_up = False
        """Whether there was no time for all systems."""

    @property
    def length(self) -> int:
        """The number of constraints."""
        return len(self._constraints)

    def solutions(self) -> Iterator[Solution]:
        """Yield a solution of each satisfiable system."""
        swapped, end = 0, 1 << len(self._constraints)
        for tried in count(1):
            if not tried % _CHECKED and self._is_over():
                self.gave_up = True
                return
            solution = self._solution()
            if solution is not None:
                yield solution
                following = swapped + 1
            else:
                self.unsatisfiable += 1
                following = swapped + 1
                if self._learn:
                    following = self._learn_cycle(swapped)
            following = self._without_known_cycles(swapped, following, end)
            if following >= end:
                return
            self._swap(swapped ^ following)
            swapped = following

    def _swap(self, mask: int) -> None:
        """Swap the constraints of a mask."""
        before, after, constraints = self._before, self._after, self._constraints
        last = len(constraints) - 1
        while mask:
            lowest = mask & -mask
            i, j = constraints[last + 1 - lowest.bit_length()]
            before[i] ^= 1 << j
            before[j] ^= 1 << i
            after[i] ^= 1 << j
            after[j] ^= 1 << i
            mask ^= lowest

    def _solution(self) -> Solution | None:
        """Return the smallest linear extension of the current system, or None if it has a cycle."""
        before, after = self._before, self._after
        ready = done = 0
        for event, earlier in enumerate(before):
            if not earlier:
                ready |= 1 << event
        order = []
        while ready:
            bit = ready & -ready
            event = bit.bit_length() - 1
            ready ^= bit
            done |= bit
            order.append(event)
            waiting = after[event]
            while waiting:
                bit = waiting & -waiting
                waiting ^= bit
                if not before[bit.bit_length() - 1] & ~done:
                    ready |= bit
        return bytes(order) if len(order) == len(before) else None

    # Learning

    def _learn_cycle(self, swapped: int) -> int:
        """Remember a cycle of the current system; return the next system without it."""
        mask = 0
        cycle = self._shortest_cycle()
        for earlier, later in zip(cycle, cycle[1:] + cycle[:1], strict=True):
            bit = self._bit_of.get((min(earlier, later), max(earlier, later)))
            if bit is not None:
                mask |= 1 << bit
        lowest = (mask & -mask).bit_length() - 1
        self._cycles[lowest].append((mask, swapped & mask))
        return (swapped >> lowest) + 1 << lowest

    def _shortest_cycle(self) -> list[int]:
        """Return the events of a shortest cycle of the current system, each before the next."""
        found: list[int] = []
        for event in range(len(self._after)):
            cycle = self._cycle_through(event, len(found))
            found = cycle or found
        return found

    def _cycle_through(self, event: int, limit: int) -> list[int]:
        """Return a shortest cycle through an event, if it is shorter than `limit` (0: any)."""
        target = 1 << event
        paths = [[event]]
        seen = 0
        while paths and (not limit or len(paths[0]) < limit):
            longer = []
            for path in paths:
                following = self._after[path[-1]]
                if following & target:
                    return path
                following &= ~seen
                seen |= following
                while following:
                    bit = following & -following
                    following ^= bit
                    longer.append([*path, bit.bit_length() - 1])
            paths = longer
        return []

    def _without_known_cycles(self, swapped: int, following: int, end: int) -> int:
        """Return the first system from `following` on that has no learned cycle."""
        cycles = self._cycles
        while following < end:
            # Only cycles with a constraint that was just swapped can be new in the system.
            highest = (swapped ^ following).bit_length()
            for lowest in range(min(highest, len(cycles)) - 1, -1, -1):
                if any(following & mask == bits for mask, bits in cycles[lowest]):
                    swapped, following = following, (following >> lowest) + 1 << lowest
                    break
            else:
                return following
        return following
