"""Optimal-DPOR with observers, ODPOR-ob (JSS 2023, section 4.1 and figure 5).

The happens-before order is that of `observation`: writes that nobody looks at later are not
ordered. A race between two of them that somebody does look at is reversed together with the last
observer, for without it the two would not be ordered, and the reversal redundant.
"""

from __future__ import annotations

from typing import ClassVar

from treadle.core.happens_before import Trace
from treadle.core.program import Run
from treadle.explore.context.done import Depends
from treadle.explore.context.exploration import Exploration, Reversing
from treadle.explore.context.planned_order import Imagined
from treadle.explore.observers.observation import ObservedTrace
from treadle.explore.observers.observed_races import ObservedRaces, depends_observably
from treadle.explore.observers.planned_order import ImaginedObserved


class ObservedReversing(Reversing):
    """Reverse each race together with who observes it."""

    def detect(self, run: Run) -> None:
        """Reverse the races of the execution that has just ended (figure 5)."""
        exploration = self.exploration
        races = ObservedRaces(exploration, run)
        for race in races.found:
            races.reverse(race, races.trace.observers(race))
        for imagined in exploration.imagined(run, races.after):
            sequence = races.sequence(imagined.w, imagined.lasts[0])
            exploration.plan(imagined.e, exploration.steps(sequence))


class Observers(Exploration):
    """One execution per happens-before class modulo observability."""

    never_blocks: ClassVar[bool] = True
    trace_type: ClassVar[type[Trace]] = ObservedTrace
    order_type: ClassVar[type[Imagined]] = ImaginedObserved
    forbids: ClassVar[bool] = False
    reversing_type: ClassVar[type[Reversing]] = ObservedReversing

    def dependence(self) -> Depends:
        """Return how steps depend on each other, given who looks later."""
        return depends_observably
