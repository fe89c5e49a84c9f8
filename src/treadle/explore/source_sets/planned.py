"""A sequence on its way into a wakeup tree.

What is inserted is not all of `v = notdep(e, E).e'`, only the *short leaf*: `e'` with what happens
before it, plus what makes each sleeping process, and each branch passed on the way, no weak initial
of it. That is consistent with `v`, disjoint from the sleep set, and much smaller; the specification
of `insert` ("Source Sets", J. ACM 2017, section 6.2) asks for no more. With all of `v`,
filesystem(22) takes 1.75 times as long and lastzero(11) 1.2 times, with trees 1500 and 7 times as
large.
"""

from __future__ import annotations

from treadle.core.happens_before import EVERYTHING, Sleep, Trace, bits, lowest


class Planned:
    """A sequence, as a mask of the events of a trace, and its short leaf."""

    __slots__ = ("keep", "last", "left", "order", "rests_on")

    def __init__(self, order: Trace, v: int, keep: int, last: int) -> None:
        self.order = order
        """The trace that has the events."""
        self.left = v
        """What is left of the sequence on the way down the tree."""
        self.keep = keep
        """The events of the short leaf, as far as they are known."""
        self.last = last
        """The event that comes after all others in the leaf, or `NONE`."""
        self.rests_on = 0
        """Events that make processes weak initials; what makes others none is in `keep`."""

    def begins_with_any(self, steps: Sleep) -> bool:
        """Tell whether one of some processes is a weak initial; if not, keep what tells so."""
        order, left = self.order, self.left
        for process, step in steps.items():
            obstacles = order.obstacles(process, step, left)
            if not obstacles:
                own = order.of_process[process] & left
                self.rests_on = own & -own or EVERYTHING
                return True
            if not obstacles & self.keep:
                self.keep_first_of(obstacles, left)
        return False

    def keep_first_of(self, obstacles: int, left: int) -> None:
        """Keep the first of some events, with what happens before it."""
        self.keep |= self.order.before[lowest(obstacles)] & left

    def leaf(self) -> list[int]:
        """Return the events that have to be planned behind the steps taken so far, in order."""
        events = self.left & self.keep
        if self.last < 0 or not events >> self.last & 1:
            return bits(events)
        return [*bits(events ^ 1 << self.last), self.last]
