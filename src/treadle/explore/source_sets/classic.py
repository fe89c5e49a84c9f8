"""Classic DPOR (Flanagan and Godefroid 2005) with sleep sets, as "Source Sets" states it.

The test of source-DPOR strengthened ("Source Sets", J. ACM 2017, end of section 5.1): an initial
counts only if its event happens before `e'`, or is `e'`. That makes the backtrack sets persistent,
and larger.
"""

from __future__ import annotations

from typing import ClassVar

from treadle.core.program import Run
from treadle.explore.basic.backtracking import Backtracking
from treadle.explore.reversals import reversals


class Classic(Backtracking):
    """Source-DPOR restricted to initials that happen before the second event of the race."""

    divides: ClassVar[bool] = True
    begins_with_one: ClassVar[bool] = True

    def analyse(self, run: Run, outcome: int) -> None:
        """Reverse the races that the new part of the execution closes."""
        del outcome
        trace = self.search.trace
        for race in reversals(self.search, run, since=self.search.shared):
            for last in race.lasts:
                self.explore_one_of(race.e, trace.initials(race.upto(last) & trace.before[last]))
