"""Optimal context-sensitive DPOR, ODPOR-cs (JSS 2023, section 3 and algorithm 1).

When two racing steps reach the same state in either order, the reversed race is planned, as its
beginning may be needed for other races, and put into the don't-do set, so that its end is not
explored (lines 28 to 32).

A plan is `ance(e, e', E).e'.Ifut`: what has to come before `e'`, and the future initials (section
3.3). Whether it is redundant is asked of the longer `notdep(e, E).e'`: what the paper leaves out
may be what makes a done process no weak initial, and then it is kept in the plan.
"""

from __future__ import annotations

from typing import ClassVar

from treadle.core.happens_before import bits
from treadle.core.program import Run
from treadle.explore.context.exploration import Exploration, Reversing
from treadle.explore.context.state_check import Contexts, Reordering
from treadle.explore.reversals import everything_after


class ContextReversing(Reversing):
    """Reverse races, and do not follow them to their end if the two steps commute."""

    def __init__(self, exploration: Exploration) -> None:
        super().__init__(exploration)
        self.contexts = Contexts(exploration.search)

    def begin(self, run: Run, outcome: int) -> None:
        """Take note of the execution that is going to be analysed."""
        self.contexts.follow(run, outcome)

    def go_on(self) -> None:
        """Take note that a forbidden step was added to it, as if it had been taken."""
        self.contexts.go_on()

    def detect(self, run: Run) -> None:
        """Reverse the races of the trace (algorithm 1, `RaceDetection`)."""
        trace = self.exploration.search.trace
        trace.extend()
        after = trace.after()
        for e, last in list(trace.races):
            self.reverse(e, last, self.exploration.notdep(e, after))
        for race in self.exploration.imagined(run, after):
            self.reverse(race.e, race.lasts[0], race.w)

    def reverse(self, e: int, last: int, notdep: int) -> None:
        """Plan `v` after `pre(E, e)`, and forbid `v.e` if it leads nowhere new (lines 26 to 32)."""
        before = self.exploration.search.trace.before[last] & notdep & ~(1 << last)
        ance = bits(before)
        self._plan_with_future(e, [*ance, last], notdep & ~(before | 1 << last))
        if self.contexts.can_agree(e, last):
            self.forbid(Reordering(e, ance, [e, last], [last, e]))

    def _plan_with_future(self, e: int, beginning: list[int], others: int) -> None:
        """Plan the reversal of a race that begins like this, with `Ifut(E', v, E)`.

        `others` has the other events that belong to the reversal.
        """
        trace = self.exploration.search.trace
        rest = bits(others)
        w = everything_after(trace, e) | 1 << e
        busy = {trace.processes[event] for event in beginning}
        planned = (1 << len(beginning)) - 1
        for position, event in enumerate(rest, len(beginning)):
            if trace.before[event] & w == 1 << event and trace.processes[event] not in busy:
                planned |= 1 << position
        self.exploration.plan(e, self.exploration.steps([*beginning, *rest]), planned)

    def forbid(self, reordering: Reordering) -> None:
        """Forbid the end of a reversal if it leads to the state that the race led to."""
        dont = self.contexts.agree(reordering)
        if dont is not None:
            ance = self.exploration.steps(reordering.ance)
            self.exploration.forbid(reordering.depth, (*ance, *dont))


class OptimalContext(Exploration):
    """ODPOR that does not follow a reversed race to its end if the two steps commute."""

    reversing_type: ClassVar[type[Reversing]] = ContextReversing
