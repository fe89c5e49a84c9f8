"""Optimal context-sensitive DPOR with observers, ODPOR-cs-ob (seed 000, section 4, algorithm 2).

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

from treadle.core.events import Footprint
from treadle.core.happens_before import Trace, bits
from treadle.core.program import Run
from treadle.core.steps import Steps
from treadle.explore.context.dontdo import DontDo
from treadle.explore.context.optimal_context import OptimalContext
from treadle.explore.context.planned_order import Imagined, ImaginedObserved
from treadle.explore.context.state_check import Reordering
from treadle.explore.observers.observation import ObservedTrace
from treadle.explore.observers.observers import (
    depends_observably,
    looking,
    notobs,
    observed,
    reverse_observed,
)


class OptimalContextObservers(OptimalContext):
    """ODPOR with don't-do sets over happens-before modulo observability."""

    trace_type: ClassVar[type[Trace]] = ObservedTrace
    imagined_type: ClassVar[type[Imagined]] = ImaginedObserved

    def depends_on_any(
        self, step: Footprint, footprints: list[Footprint], first: int, position: int
    ) -> bool:
        """Tell whether a step depends on one of those before it, given who looks later."""
        return depends_observably(step, footprints, first, position)

    def detect_races(self, run: Run) -> None:
        """Reverse the races of the trace (algorithm 2, `RaceDetection`)."""
        trace = observed(self)
        trace.await_end(run.blocked())
        trace.extend()
        after = trace.after()
        for e, last in list(trace.races):
            observers = trace.observers(e, last)
            if observers:
                self._reverse_and_check(e, last, observers, after)
            elif trace.waiting(e, last):
                reverse_observed(self, e, last, [], after)
            else:
                self.reverse_race(e, last, self.notdep(e, after))
        for e, w, last in self.imagined(run, after):
            self.reverse_race(e, last, w)

    def _reverse_and_check(self, e: int, last: int, observers: list[int], after: list[int]) -> None:
        """Plan `v` with the last observer, and forbid it with all of them (lines 70 to 74)."""
        trace = observed(self)
        unobserving = notobs(self, e, last, observers, after)
        end, can_look = looking(self, e, last, unobserving, observers[-1])
        both = 1 << e | 1 << last
        lookers = seen = 0
        for o in observers:
            lookers |= 1 << o
            seen |= trace.before[o]
        before = trace.before[last] & self.notdep(e, after) & ~both
        meanwhile = seen & ~(before | both | lookers) & -1 << e
        ance, between = bits(before), bits(meanwhile)
        rest = bits(unobserving & ~(before | both | meanwhile))
        v = [*self.steps([*ance, last, e, *between, *rest]), end]
        self.plan(e, v, is_end_possible=can_look)
        if can_look and self.contexts.can_agree(e, last, *between, *observers):
            *others, o = observers
            reordering = Reordering(
                depth=e,
                ance=ance,
                usual=[e, last, *between, o, *others],
                other=[last, e, *between, o, *others],
                indifferent=frozenset(between),
                unobserved=self._written_by_both(e, last),
            )
            dont = self.contexts.agree(reordering)
            if dont is not None:
                self.forbid(e, [*self.steps(ance), *dont])

    def _written_by_both(self, e: int, last: int) -> frozenset[int]:
        trace = self.search.trace
        keys = trace.footprints[e].overwrites & trace.footprints[last].overwrites
        return frozenset(key >> 2 for key in keys)

    # Inheritance

    def inherited(self, dnd: DontDo, process: int, footprint: Footprint) -> DontDo:
        """Return what the next state inherits of a don't-do set (lines 61 and 62)."""
        passed = []
        for sequence in dnd:
            rest = _without(sequence, process, footprint)
            if rest:
                passed.append(rest)
        return passed


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
        if any(own & ~3 == key & ~3 for own in step.own):
            return False
    return False
