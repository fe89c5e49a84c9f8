"""Source-DPOR (seed 002, algorithms 1, 3 and 5): source sets instead of persistent sets.

For a reversible race `(e, e')` let `E' = pre(E, e)` and `v = notdep(e, E).e'`. If no initial of `v`
is in `backtrack(E')`, one is added (lines 8 and 9). Complete executions are one per class; others
may be begun and blocked.
"""

from __future__ import annotations

from treadle.core.happens_before import bits
from treadle.core.program import Run
from treadle.explore.basic.backtracking import Backtracking


class Source(Backtracking):
    """Add an initial of each reversed race to the backtrack set, unless one is there."""

    def analyse(self, run: Run, outcome: int) -> None:
        """Reverse the races that the new part of the execution closes."""
        del outcome
        for e, w, lasts, seen in self.search.reversals(run):
            for last in lasts:
                # E ends with e' when algorithm 1 looks at the race.
                self._add_initial(e, last, w & seen & (1 << last) - 1 | 1 << last)

    def _add_initial(self, e: int, last: int, v: int) -> None:
        """Make sure that `backtrack(pre(E, e))` has an initial of `v` (lines 8 and 9)."""
        trace = self.search.trace
        initials = [
            trace.processes[event]
            for event in bits(v & self.relevant(last))
            if trace.before[event] & v == 1 << event
        ]
        backtrack = self.backtrack_sets[e]
        if not any(process in backtrack for process in initials):
            backtrack.append(initials[0])

    def relevant(self, last: int) -> int:
        """Return the events among which `analyse` looks for initials: all."""
        del last
        return -1
