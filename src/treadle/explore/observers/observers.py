"""Optimal-DPOR with observers, ODPOR-ob (seed 000, section 4.1 and figure 5).

The happens-before order is that of `observation`: writes that nobody looks at later are not
ordered. A race between two of them that somebody does look at is reversed together with the last
observer, for without it the two would not be ordered, and the reversal redundant.
"""

from __future__ import annotations

from typing import ClassVar

from treadle.core.events import Footprint
from treadle.core.happens_before import Trace, bits
from treadle.core.program import Run
from treadle.core.steps import Step
from treadle.explore.context.done import DoneSets
from treadle.explore.context.planned_order import Imagined, ImaginedObserved
from treadle.explore.observers.observation import ObservedTrace, is_looked_at
from treadle.explore.probing import everything_after


class Observers(DoneSets):
    """One execution per happens-before class modulo observability."""

    sees_every_order: ClassVar[bool] = False
    trace_type: ClassVar[type[Trace]] = ObservedTrace
    imagined_type: ClassVar[type[Imagined]] = ImaginedObserved

    def analyse(self, run: Run, outcome: int) -> None:
        """Reverse the races of the execution that has just ended (figure 5)."""
        del outcome
        trace = observed(self)
        trace.await_end(run.blocked())
        trace.extend()
        after = trace.after()
        for e, last in list(trace.races):
            reverse_observed(self, e, last, trace.observers(e, last), after)
        for e, w, last in self.imagined(run, after):
            self.plan(e, self.steps([*bits(w), last]))

    def depends_on_any(
        self, step: Footprint, footprints: list[Footprint], first: int, position: int
    ) -> bool:
        """Tell whether a step depends on one of those before it, given who looks later."""
        return depends_observably(step, footprints, first, position)


# What every algorithm with observers does; functions, as an algorithm can derive from one class


def observed(algorithm: DoneSets) -> ObservedTrace:
    """Return the execution with its order modulo observability."""
    trace = algorithm.search.trace
    assert isinstance(trace, ObservedTrace)
    return trace


def reverse_observed(
    algorithm: DoneSets, e: int, last: int, observers: list[int], after: list[int]
) -> None:
    """Plan `v`: the race reversed, and observed if it was (lines 3 to 10)."""
    notdep = algorithm.notdep(e, after)
    waiting = observed(algorithm).waiting(e, last)
    unobserving = notobs(algorithm, e, last, observers, after)
    if observers:
        o, can_look = looking(algorithm, e, last, unobserving, observers[-1])
    elif waiting is not None:
        o, can_look = waiting, False
    else:
        algorithm.plan(e, algorithm.steps([*bits(notdep & ~(1 << last)), last]))
        return
    v = algorithm.steps([*bits(notdep), last, e, *bits(unobserving & ~notdep)])
    algorithm.plan(e, [*v, o], is_end_possible=can_look)


def depends_observably(
    step: Footprint, footprints: list[Footprint], first: int, position: int
) -> bool:
    """Tell whether a step depends on one of those from `first` to its own position.

    Nothing depends on what both overwrite unless somebody looks later.
    """
    conflicts = step.conflict_set
    for other in footprints[first:position]:
        if not conflicts.isdisjoint(other.own):
            both = step.overwrites & other.overwrites
            if not (conflicts - both).isdisjoint(other.own):
                return True
            later = footprints[position + 1 :]
            for key in both:
                if is_looked_at(key, later):
                    return True
    return False


def notobs(algorithm: DoneSets, e: int, last: int, observers: list[int], after: list[int]) -> int:
    """Return `notdep(e, E)` and `notobs(e, e', E)`: what does not come after an observer."""
    mask = everything_after(algorithm.search.trace, e) & ~(1 << last)
    for o in observers:
        mask &= ~(after[o] | 1 << o)
    return mask


def looking(algorithm: DoneSets, e: int, last: int, unobserving: int, o: int) -> tuple[Step, bool]:
    """Return what an observer does when the race is reversed, and whether it can do so.

    It cannot if its process waits for a value that is not there then. The race is observed all
    the same: by somebody who goes on waiting.
    """
    trace = observed(algorithm)
    if not trace.footprints[o].guarded:
        return (trace.processes[o], trace.footprints[o]), True
    ance = unobserving & trace.before[last]
    events = [*range(e), *bits(ance), last, e, *bits(unobserving & ~ance)]
    footprint = algorithm.search.probe(
        [trace.processes[event] for event in events],
        [trace.codes[event] for event in events],
        trace.processes[o],
    )
    if footprint is None:
        return trace.look_in_vain(e, last, o), False
    return (trace.processes[o], footprint), True
