"""Optimal context-sensitive DPOR, ODPOR-cs (seed 000, section 3 and algorithm 1).

When two racing steps reach the same state in either order, the reversed race is planned, as its
beginning may be needed for other races, and put into the don't-do set, so that its end is not
explored (lines 28 to 32).

A plan is `ance(e, e', E).e'.Ifut`: what has to come before `e'`, and the future initials (section
3.3). Whether it is redundant is asked of the longer `notdep(e, E).e'`: what the paper leaves out
may be what makes a done process no weak initial, and then it is kept in the plan.
"""

from __future__ import annotations

from treadle.core.happens_before import bits
from treadle.core.program import Run
from treadle.explore.context.dontdo import DontDoSets
from treadle.explore.context.state_check import Reordering


class OptimalContext(DontDoSets):
    """ODPOR that does not follow a reversed race to its end if the two steps commute."""

    def detect_races(self, run: Run) -> None:
        """Reverse the races of the trace (algorithm 1, `RaceDetection`)."""
        trace = self.search.trace
        trace.extend()
        after = trace.after()
        for e, last in list(trace.races):
            self.reverse_race(e, last, self.notdep(e, after))
        for e, w, last in self.imagined(run, after):
            self.reverse_race(e, last, w)

    def reverse_race(self, e: int, last: int, notdep: int) -> None:
        """Plan `v` after `pre(E, e)`, and forbid `v.e` if it leads nowhere new (lines 26 to 32)."""
        trace = self.search.trace
        before = trace.before[last] & notdep & ~(1 << last)
        ance = bits(before)
        self.plan_with_future(e, [*ance, last], notdep & ~(before | 1 << last))
        if self.contexts.can_agree(e, last):
            dont = self.contexts.agree(Reordering(e, ance, [e, last], [last, e]))
            if dont is not None:
                self.forbid(e, [*self.steps(ance), *dont])
