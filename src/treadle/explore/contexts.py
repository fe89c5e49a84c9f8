"""States of other orders: whether racing steps commute where they met (seed 000, section 3).

The context-sensitive check of a race `(e, e')` compares the state after `E'.u.e.e'` with that after
`E'.u.e'.e`, where `E'` is what comes before `e` and `u` the ancestors of `e'` after it. Both are
the states of runs made for the purpose. Only what these steps touch can differ: the locations that
one of them writes in one of the orders, where their processes stand then, and how they failed. That
is the refined check of section 3.4, and the default; without it, whole states are compared.

The paper compares with the state at `e'` of the explored execution instead, in which other steps
have been taken meanwhile, and has them follow in the other order. That is not sound: these steps
can hide a difference that somebody would have seen who came before them (docs/soundness.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from treadle.events import Codes, Mode, location_of, mode_of
from treadle.explore.steps import Step
from treadle.program import Run

if TYPE_CHECKING:
    from treadle.explore.search import Search

_NO_WRITE = {
    Mode.READ, Mode.NEED, Mode.AWAIT,
    Mode.SPAWN, Mode.JOIN, Mode.WATCH, Mode.OPEN, Mode.SWAP,
}  # fmt: skip

_KEPT = 100_000
_Order = tuple[int, ...]
"""Who takes steps, one after the other."""


@dataclass(frozen=True, slots=True)
class Reordering:
    """Events of the trace in the order that they had, and in another one."""

    prefix: list[int]
    """What comes before, as recorded."""
    usual: list[int]
    other: list[int]
    indifferent: frozenset[int] = frozenset()
    """Events among them that do the same in both orders."""
    unobserved: frozenset[int] = frozenset()
    """Locations whose values may differ if the execution is over then."""


class Contexts:
    """Runs of sequences other than the explored ones, and the states that they reach."""

    def __init__(self, search: Search, *, refined: bool) -> None:
        self._search = search
        self._refined = refined
        self.checks = 0
        """How many reorderings were run."""
        self._known: dict[tuple[_Order, _Order, _Order], list[Step] | None] = {}

    def agree(self, reordering: Reordering) -> list[Step] | None:
        """Return what events do in the other order, if they reach the same state in both.

        Different executions ask the same: only who takes the steps, in which order, matters. And
        when the race is met the other way round, the answer is known.
        """
        prefix, usual, other = (
            self._processes(events)
            for events in (reordering.prefix, reordering.usual, reordering.other)
        )
        if (prefix, usual, other) not in self._known:
            if len(self._known) >= _KEPT:
                self._known.clear()
            found = self._check(reordering)
            self._known[prefix, usual, other] = found and found[0]
            self._known[prefix, other, usual] = found and found[1]
        return self._known[prefix, usual, other]

    def _processes(self, events: list[int]) -> tuple[int, ...]:
        processes = self._search.trace.processes
        return tuple([processes[event] for event in events])

    def _check(self, reordering: Reordering) -> tuple[list[Step], list[Step]] | None:
        """Return what events do in the other and in the usual order, if both lead to one state."""
        self.checks += 1
        trace = self._search.trace
        affected = [event for event in reordering.usual if event not in reordering.indifferent]
        other = self._run(reordering, reordering.other)
        if other is None:
            return None
        written = _written([*other.codes_of(affected), *(trace.codes[e] for e in affected)])
        if reordering.unobserved and self.is_over(other.run):
            written -= reordering.unobserved
        processes = sorted({trace.processes[event] for event in affected})
        reached = self._state(other.run, processes, sorted(written))
        usual = self._run(reordering, reordering.usual)
        if usual is None:
            return None
        state = self._state(usual.run, processes, sorted(written))
        if other.seen != usual.seen or reached != state:
            return None
        if not _written(usual.codes_of(affected)) - reordering.unobserved <= written:
            return None
        return self._steps(other, reordering.other), self._steps(usual, reordering.usual)

    def _steps(self, taken: _Taken, events: list[int]) -> list[Step]:
        trace = self._search.trace
        footprint = trace.vocabulary.footprint
        return [(trace.processes[event], footprint(taken.codes[event])) for event in events]

    def can_agree(self, *events: int) -> bool:
        """Tell whether it makes sense to run events in another order: they create no process."""
        return not any(self._search.trace.footprints[event].spawns for event in events)

    def is_over(self, run: Run) -> bool:
        """Tell whether all processes have ended, so that nobody looks at anything any more."""
        return not run.enabled() and not run.blocked()

    def _state(self, run: Run, processes: list[int], locations: list[int]) -> object:
        """Return what is compared of a run's state, and end the run."""
        state = run.effect(processes, locations) if self._refined else run.fingerprint()
        run.close()
        return state

    def _run(self, reordering: Reordering, last: Sequence[int]) -> _Taken | None:
        """Run some events as they are recorded, then others; None if one of these is disabled."""
        trace, prefix = self._search.trace, reordering.prefix
        run = self._search.program.start()
        taken = _Taken(run)
        processes = [trace.processes[event] for event in prefix]
        if run.replay(processes, [trace.codes[event] for event in prefix], len(prefix)) < 0:
            for event in last:
                process = trace.processes[event]
                if not run.is_enabled(process):
                    break
                if event in reordering.indifferent:
                    taken.codes[event] = run.step(process)
                else:
                    taken.codes[event], taken.seen[event] = run.watched_step(process)
            else:
                return taken
        run.close()
        return None


@dataclass(slots=True)
class _Taken:
    """A run, and what its last steps accessed and saw, by event."""

    run: Run
    codes: dict[int, Codes] = field(default_factory=dict)
    seen: dict[int, object] = field(default_factory=dict)

    def codes_of(self, events: Iterable[int]) -> list[Codes]:
        return [self.codes[event] for event in events]


def _written(steps: Iterable[Codes]) -> set[int]:
    """Return the locations that steps write."""
    return {
        location_of(access)
        for codes in steps
        for access in codes
        if mode_of(access) not in _NO_WRITE
    }
