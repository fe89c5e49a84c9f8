"""Races of an execution modulo observability, and who observes them (JSS 2023, section 4.1)."""

from __future__ import annotations

from collections.abc import Sequence

from treadle.core.events import Footprint
from treadle.core.happens_before import Race, bits
from treadle.core.program import Run
from treadle.core.steps import Step
from treadle.explore.context.exploration import Exploration
from treadle.explore.observers.observation import ObservedTrace, is_looked_at
from treadle.explore.reversals import everything_after


class ObservedRaces:
    """The races of the execution that is analysed, and what their reversals are."""

    def __init__(self, exploration: Exploration, run: Run) -> None:
        trace = exploration.search.trace
        assert isinstance(trace, ObservedTrace)
        looks = exploration.search.program.looks_at_end or bool(exploration.dnd.stopped)
        trace.await_end(run.blocked(), looks=looks)
        trace.extend()
        self._exploration = exploration
        self.trace = trace
        self.found = list(trace.races)
        self.after = trace.after()
        """For each event, the mask of what happens after it."""

    def notdep(self, e: int) -> int:
        """Return `notdep(e, E)`."""
        return everything_after(self.trace, e) & ~self.after[e]

    def notobs(self, race: Race, observers: list[int]) -> int:
        """Return `notdep(e, E)` and `notobs(e, e', E)`: what does not come after an observer."""
        mask = everything_after(self.trace, race.first) & ~(1 << race.second)
        for o in observers:
            mask &= ~(self.after[o] | 1 << o)
        return mask

    def sequence(self, w: int, last: int) -> list[int]:
        """Return the events of a mask, and then `e'`."""
        return [*bits(w & ~(1 << last)), last]

    def reverse(self, race: Race, observers: list[int]) -> None:
        """Plan `v`: the race reversed, and observed if it was (figure 5, lines 3 to 10)."""
        e, last = race
        notdep, steps = self.notdep(e), self._exploration.steps
        waiting = None if observers else self.trace.waiting(race)
        if not observers and waiting is None:
            self._exploration.plan(e, steps(self.sequence(notdep, last)))
            return
        unobserving = self.notobs(race, observers)
        if waiting is not None:
            o, can_look = waiting, False
        else:
            o, can_look = self.looking(race, unobserving, observers[-1])
        v = steps([*bits(notdep), last, e, *bits(unobserving & ~notdep)])
        self._exploration.plan(e, [*v, o], is_end_possible=can_look)

    def looking(self, race: Race, unobserving: int, o: int) -> tuple[Step, bool]:
        """Return what an observer does when the race is reversed, and whether it can do so.

        It cannot if its process waits for a value that is not there then. The race is observed all
        the same: by somebody who goes on waiting.
        """
        trace = self.trace
        if not trace.footprints[o].guarded:
            return (trace.processes[o], trace.footprints[o]), True
        e, last = race
        ance = unobserving & trace.before[last]
        events = [*range(e), *bits(ance), last, e, *bits(unobserving & ~ance)]
        footprint = self._exploration.search.probes.probe(trace, events, trace.processes[o])
        if footprint is None:
            return trace.look_in_vain(race, o), False
        return (trace.processes[o], footprint), True


def depends_observably(
    step: Footprint, steps: Sequence[Footprint], first: int, position: int
) -> bool:
    """Tell whether a step depends on one of those from `first` to its own position.

    Nothing depends on what both overwrite unless somebody looks later.
    """
    conflicts = step.conflict_set
    for other in steps[first:position]:
        if not conflicts.isdisjoint(other.own):
            both = step.overwrites & other.overwrites
            if not (conflicts - both).isdisjoint(other.own):
                return True
            later = steps[position + 1 :]
            if any(is_looked_at(key, later) for key in both):
                return True
    return False
