"""Source-DPOR ("Source Sets", J. ACM 2017, algorithms 1, 3 and 5).

Source sets instead of persistent sets. For a reversible race `(e, e')` let `E' = pre(E, e)` and
`v = notdep(e, E).e'`. If no initial of `v` is in `backtrack(E')`, one is added (lines 8 and 9).
Complete executions are one per class; others may be begun and blocked.
"""

from __future__ import annotations

from typing import ClassVar

from treadle.core.program import Run
from treadle.explore.basic.backtracking import Backtracking
from treadle.explore.reversals import reversals


class Source(Backtracking):
    """Add an initial of each reversed race to the backtrack set, unless one is there."""

    divides: ClassVar[bool] = True
    begins_with_one: ClassVar[bool] = True

    def analyse(self, run: Run, outcome: int) -> None:
        """Reverse the races that the new part of the execution closes."""
        del outcome
        trace = self.search.trace
        for race in reversals(self.search, run, since=self.search.shared):
            for last in race.lasts:
                self.explore_one_of(race.e, trace.initials(race.upto(last)))
