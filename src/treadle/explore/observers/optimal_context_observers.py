"""Optimal context-sensitive DPOR with observers, ODPOR-cs-ob (JSS 2023, section 4).

The union of `observers` and `optimal-context`, and two refinements:

- The check of a race that is observed has the observers follow in both orders (section 4.3). The
  paper then asks only whether they do the same, every one of them, and leaves what the two steps
  wrote out of the comparison. That is not sound: who looks at it later, behind an observer, is no
  observer, and the two prunings that would have to cover for each other can both take place
  (docs/soundness.md has the program). So here what was written is compared too, unless the
  execution is over then and nobody can look any more.
- A don't-do sequence `u.p.v` is passed on as `u.v` if `p` has nothing to do with `u`, or nothing
  but writes that a later step of `v` overwrites before anybody looks (section 4.4, line 62).
"""

from __future__ import annotations

from typing import ClassVar

from treadle.core.events import Footprint, location_of_key
from treadle.core.happens_before import Race, Trace, bits
from treadle.core.program import Run
from treadle.core.steps import Steps
from treadle.explore.context.done import Depends
from treadle.explore.context.dontdo import DontDo, Inherit
from treadle.explore.context.exploration import Exploration, Reversing
from treadle.explore.context.optimal_context import ContextReversing
from treadle.explore.context.planned_order import Imagined
from treadle.explore.context.state_check import Reordering
from treadle.explore.observers.observation import ObservedTrace
from treadle.explore.observers.observed_races import ObservedRaces, depends_observably
from treadle.explore.observers.planned_order import ImaginedObserved


class ObservedContextReversing(Reversing):
    """Reverse races with who observes them, and not to their end where that leads nowhere new."""

    def __init__(self, exploration: Exploration) -> None:
        super().__init__(exploration)
        self.unobserved = ContextReversing(exploration)
        """How races are reversed that nobody observes."""
        self.contexts = self.unobserved.contexts

    def begin(self, run: Run, outcome: int) -> None:
        """Take note of the execution that is going to be analysed."""
        self.contexts.follow(run, outcome)

    def go_on(self) -> None:
        """Take note that a forbidden step was added to it, as if it had been taken."""
        self.contexts.go_on()

    def detect(self, run: Run) -> None:
        """Reverse the races of the trace (algorithm 2, `RaceDetection`)."""
        races = ObservedRaces(self.exploration, run)
        trace = races.trace
        for race in races.found:
            observers = trace.observers(race)
            if observers:
                self._reverse_and_check(races, race, observers)
            elif trace.waiting(race):
                races.reverse(race, [])
            else:
                self.unobserved.reverse(*race, races.notdep(race.first))
        for imagined in self.exploration.imagined(run, races.after):
            self.unobserved.reverse(imagined.e, imagined.lasts[0], imagined.w)

    def _reverse_and_check(self, races: ObservedRaces, race: Race, observers: list[int]) -> None:
        """Plan `v` with the last observer, and forbid it with all of them (lines 70 to 74)."""
        trace = races.trace
        e, last = race
        unobserving = races.notobs(race, observers)
        end, can_look = races.looking(race, unobserving, observers[-1])
        both = 1 << e | 1 << last
        lookers = seen = 0
        for o in observers:
            lookers |= 1 << o
            seen |= trace.before[o]
        before = trace.before[last] & races.notdep(e) & ~both
        meanwhile = seen & ~(before | both | lookers) & -1 << e
        ance, between = bits(before), bits(meanwhile)
        rest = bits(unobserving & ~(before | both | meanwhile))
        v = [*self.exploration.steps([*ance, last, e, *between, *rest]), end]
        self.exploration.plan(e, v, is_end_possible=can_look)
        if can_look and self.contexts.can_agree(e, last, *between, *observers):
            *others, o = observers
            self.unobserved.forbid(
                Reordering(
                    depth=e,
                    ance=ance,
                    usual=[e, last, *between, o, *others],
                    other=[last, e, *between, o, *others],
                    indifferent=frozenset(between),
                    unobserved=self._unobserved(trace, e, last),
                )
            )

    def _unobserved(self, trace: Trace, e: int, last: int) -> frozenset[int]:
        """Return what both write, unless somebody looks at it when all is over."""
        if self.exploration.search.program.looks_at_end:
            return frozenset()
        keys = trace.footprints[e].overwrites & trace.footprints[last].overwrites
        return frozenset(map(location_of_key, keys))


class OptimalContextObservers(Exploration):
    """ODPOR with don't-do sets over happens-before modulo observability."""

    trace_type: ClassVar[type[Trace]] = ObservedTrace
    order_type: ClassVar[type[Imagined]] = ImaginedObserved
    reversing_type: ClassVar[type[Reversing]] = ObservedContextReversing

    def dependence(self) -> Depends:
        """Return how steps depend on each other, given who looks later."""
        return depends_observably

    def inheritance(self) -> Inherit:
        """Return what the next state inherits of a don't-do set."""
        return inherited_observably


def inherited_observably(dnd: DontDo, process: int, step: Footprint) -> DontDo:
    """Return what `E.p` inherits of `dnd(E)` (lines 61 and 62)."""
    passed = [_without(sequence, process, step) for sequence in dnd]
    return [sequence for sequence in passed if sequence]


def _without(sequence: Steps, process: int, step: Footprint) -> Steps | None:
    """Return what is left of a sequence behind a step; None if it means nothing there."""
    position = next((i for i, (p, _) in enumerate(sequence) if p == process), None)
    if position is None:
        return None if any(step.conflicts_with(other) for _, other in sequence) else sequence
    rest = sequence[position + 1 :]
    for _, other in sequence[:position]:
        written = _shared_writes(step, other)
        if written is None or not all(_is_overwritten(key, rest) for key in written):
            return None
    return (*sequence[:position], *rest)


def _shared_writes(step: Footprint, other: Footprint) -> frozenset[int] | None:
    """Return the writer keys of what two steps both overwrite; None if they are dependent."""
    both = step.overwrites & other.overwrites
    conflicts = step.conflict_set if not both else step.conflict_set - both
    return both if conflicts.isdisjoint(other.own) else None


def _is_overwritten(key: int, rest: Steps) -> bool:
    """Tell whether a location is overwritten before anybody looks at it."""
    for _, step in rest:
        if key in step.overwrites:
            return True
        if key in step.looks:
            return False
    return False
