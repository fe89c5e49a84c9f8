"""Constrained DPOR on source sets, over the conditional happens-before relation of `dependence`.

Algorithm 1 of "Constrained DPOR" (CAV 2018), with `D` in the place of its uniformity test in the
state at hand (lines 6 to 9, and 17), and with a look behind forbidden steps: what the paper prints
misses final states. Two racing steps that reach the same state in either order where they meet are
reversed, but not to their end: that sequence goes into the don't-do set (lines 11 to 14), as in
`context`, which is what explores a program without constraints.
"""

from __future__ import annotations

from typing import ClassVar

from treadle.core.events import Footprint
from treadle.core.happens_before import Trace
from treadle.core.program import Run
from treadle.core.result import Result
from treadle.explore.constrained.dependence import ConditionalTrace, Uniform
from treadle.explore.constrained.optimal_constrained import conditional, still_asleep, trusting
from treadle.explore.context.context import Context
from treadle.explore.context.dontdo import forbidden, inherited
from treadle.explore.strategy import Algorithm


class Constrained(Context):
    """Source-DPOR with sequences in its sleep sets, over the conditional relation."""

    trace_type: ClassVar[type[Trace]] = ConditionalTrace
    without_constraints: ClassVar[type[Algorithm] | None] = Context

    def prepare(self) -> None:
        """Begin with nothing asleep or forbidden."""
        super().prepare()
        self.trace = conditional(self.search.trace)
        self.trace.uniform = Uniform(self.search.program)

    def analyse(self, run: Run, outcome: int) -> None:
        """Reverse the races that the new part of the execution, or a forbidden step, closes."""
        self.trace.uniform.states.depth = len(self.trace)
        with trusting(self.trace):
            super().analyse(run, outcome)

    def backtrack(self) -> int:
        """Find the deepest state with a process left to explore that is not forbidden there."""
        depth = super().backtrack()
        self.trace.uniform.states.leave(depth)
        return depth

    def report(self, result: Result) -> None:
        """Say what it took to get to the states that were asked about."""
        super().report(result)
        self.trace.uniform.report(result)

    def executed(self, process: int, footprint: Footprint) -> None:
        """Pass on to `E.p` what is asleep or forbidden at `E` (lines 16 and 17)."""
        self._next_sleep = still_asleep(self.trace, self.sleep[-1]) if self.sleep[-1] else {}
        if self._here:
            single = {q: step for q, step in forbidden(self._here).items() if q != process}
            longer = [sequence for sequence in self._here if len(sequence) > 1]
            self._here = [
                *inherited(longer, process, footprint),
                *((step,) for step in still_asleep(self.trace, single).items()),
            ]
