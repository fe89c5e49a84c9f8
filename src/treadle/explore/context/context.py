"""Context-sensitive DPOR, DPOR-cs, on source-DPOR (JSS 2023, section 3.1).

Two racing steps that reach the same state in either order are independent in that context. The race
is reversed all the same, because what comes before may matter; but the sequence that reverses it
goes into the don't-do set of the state before it, and is not explored to its end. A don't-do set is
passed on like a sleep set (`dontdo.inherited`); the step that is left of a sequence is asleep.
"""

from __future__ import annotations

from typing import ClassVar

from treadle.core.events import Footprint
from treadle.core.happens_before import bits
from treadle.core.program import Run
from treadle.explore.basic.backtracking import Backtracking
from treadle.explore.context.dontdo import DontDo, forbidden, inherited
from treadle.explore.context.state_check import Contexts, Reordering
from treadle.explore.reversals import reversals


class Context(Backtracking):
    """Source-DPOR with sequences in its sleep sets."""

    sees_every_order: ClassVar[bool] = False

    def prepare(self) -> None:
        """Begin with nothing forbidden."""
        super().prepare()
        self.contexts = Contexts(self.search)
        self.dnd: list[DontDo] = []
        self._here: DontDo = []

    def decide(self, run: Run, last: int) -> int:
        """Take the branch that `backtrack` chose, or one that is neither asleep nor forbidden."""
        self._next_sleep.update(forbidden(self._here))
        self.dnd.append(list(self._here))
        return super().decide(run, last)

    def executed(self, process: int, footprint: Footprint) -> None:
        """Pass on to `E.p` what is asleep or forbidden at `E`."""
        super().executed(process, footprint)
        self._here = self._here and inherited(self._here, process, footprint)

    def analyse(self, run: Run, outcome: int) -> None:
        """Reverse the races that the new part of the execution closes."""
        self.contexts.follow(run, outcome)
        for race in reversals(self.search, run, since=self.search.shared):
            for last in race.lasts:
                self._reverse(race.e, last, race.upto(last))

    def _reverse(self, e: int, last: int, v: int) -> None:
        """Reverse the race `(e, e')`, and forbid its end if that leads nowhere new."""
        trace = self.search.trace
        self.explore_one_of(e, trace.initials(v))
        if self.contexts.can_agree(e, last):
            ance = bits(trace.before[last] & v & ~(1 << last))
            dont = self.contexts.agree(Reordering(e, ance, [e, last], [last, e]))
            if dont is not None:
                steps = [(trace.processes[event], trace.footprints[event]) for event in ance]
                sequence = (*steps, *dont)
                if sequence not in self.dnd[e]:
                    self.dnd[e].append(sequence)

    def backtrack(self) -> int:
        """Find the deepest state with a process left to explore that is not forbidden there."""
        for depth in range(len(self.search.trace)):
            self.sleep[depth].update(forbidden(self.dnd[depth]))
        depth = super().backtrack()
        if depth >= 0:
            self._here = self.dnd[depth]
            del self.dnd[depth:]
        return depth
