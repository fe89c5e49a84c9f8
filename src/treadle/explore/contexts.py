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

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from treadle.events import Codes, Footprint, Mode, location_of, mode_of
from treadle.explore.algorithm import BLOCKED
from treadle.explore.histories import Histories, Path, Standing
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
_Found = tuple[list[Step], list[Step]]
"""What events do in the other order, and in the usual one."""
_Touched = tuple[tuple[int, ...] | None, tuple[int, ...] | None]
"""Processes and locations on which an answer depends, besides who takes the steps; None: all."""
_Answers = dict[_Touched, dict[Hashable, list[Step] | None]]
"""By what they depend on, and its histories."""


@dataclass(frozen=True, slots=True)
class Reordering:
    """Events of the trace in the order that they had, and in another one."""

    depth: int
    """How many of the recorded steps come before."""
    ance: list[int]
    """What comes before besides: the ancestors of the second event."""
    usual: list[int]
    other: list[int]
    indifferent: frozenset[int] = frozenset()
    """Events among them that do the same in both orders."""
    unobserved: frozenset[int] = frozenset()
    """Locations whose values may differ if the execution is over then."""


class Contexts:
    """Runs of sequences other than the explored ones, and the states that they reach."""

    def __init__(self, search: Search) -> None:
        self._search = search
        self.checks = 0
        """How many reorderings were run."""
        self._forget()

    def _forget(self) -> None:
        self._histories = Histories()
        self._path = Path(self._histories)
        self._answers: dict[Hashable, _Answers] = {}
        self._values: dict[tuple[int, int], object] = {}
        """What is at a location with a history, if it can be compared."""

    def agree(self, reordering: Reordering) -> list[Step] | None:
        """Return what events do in the other order, if they reach the same state in both.

        Different executions ask the same: only the histories of those who take the steps matter,
        and of what they look at. And when the race is met the other way round, the answer is known.
        """
        standing = self._path.at(reordering.depth).after(self._recorded(reordering.ance))
        usual, other = self._processes(reordering.usual), self._processes(reordering.other)
        indifferent = tuple([event in reordering.indifferent for event in reordering.usual])
        who = tuple(sorted(set(usual)))
        where = (who, standing.of(who, ()), indifferent, reordering.unobserved)
        for touched, answers in self._answers.get((usual, other, where), {}).items():
            key = standing.of(*touched)
            if key in answers:
                return answers[key]
        if self._are_known_to_differ(standing, reordering):
            return None
        found, touched = self._check(standing, reordering)
        key = standing.of(*touched)
        there, back = found or (None, None)
        self._answers.setdefault((usual, other, where), {}).setdefault(touched, {})[key] = there
        self._answers.setdefault((other, usual, where), {}).setdefault(touched, {})[key] = back
        return there

    # Values that are known without a check

    def follow(self, run: Run, outcome: int) -> None:
        """Take note of the execution that questions will be about, and what is where at its end."""
        trace = self._search.trace
        if len(self._histories.numbers) > _KEPT:
            self._forget()
        self._path.follow(trace.processes, trace.footprints)
        if outcome != BLOCKED:
            self._learn_values(run, self._path.at(len(trace)), trace.footprints)

    def _learn_values(self, run: Run, standing: Standing, footprints: Iterable[Footprint]) -> None:
        """Learn what is now where steps have changed something."""
        changed = {place for step in footprints for place in self._histories.touched(step)[1]}
        places = [(place, standing.locations[place]) for place in sorted(changed)]
        unknown = [place for place in places if place not in self._values]
        values = run.values([location for location, _ in unknown])
        for place, value in zip(unknown, values, strict=True):
            if value == value:
                self._values[place] = value

    def _are_known_to_differ(self, standing: Standing, reordering: Reordering) -> bool:
        """Tell whether values are known that differ after the two orders."""
        usual, other = (
            standing.after(self._recorded(events))
            for events in (reordering.usual, reordering.other)
        )
        for location, history in usual.locations.items():
            another = other.locations[location]
            if history != another and location not in reordering.unobserved:
                value = self._values.get((location, history))
                other_value = self._values.get((location, another))
                if value is not None and other_value is not None and value != other_value:
                    return True
        return False

    # The check

    def _recorded(self, events: Sequence[int]) -> list[Step]:
        trace = self._search.trace
        return [(trace.processes[event], trace.footprints[event]) for event in events]

    def _processes(self, events: list[int]) -> _Order:
        processes = self._search.trace.processes
        return tuple([processes[event] for event in events])

    def _check(self, standing: Standing, reordering: Reordering) -> tuple[_Found | None, _Touched]:
        """Return what events do in the other and in the usual order, if both lead to one state.

        And what this depends on, besides the processes that take the steps.
        """
        self.checks += 1
        trace = self._search.trace
        affected = [event for event in reordering.usual if event not in reordering.indifferent]
        other = self._run(standing, reordering, reordering.other)
        if other is None:
            return None, (None, None)
        written = _written([*other.codes_of(affected), *(trace.codes[e] for e in affected)])
        left_out: frozenset[int] = frozenset()
        if reordering.unobserved and self.is_over(other.run):
            left_out = reordering.unobserved
        processes, locations = {trace.processes[event] for event in affected}, written
        if not self._search.refined:
            processes, locations = self._everything()
        reached = self._state(other.run, processes, locations - left_out)
        usual = self._run(standing, reordering, reordering.usual)
        if usual is None:
            return None, (None, None)
        state = self._state(usual.run, processes, locations - left_out)
        touched = self._touched(other, usual, everybody=bool(reordering.unobserved))
        if other.seen != usual.seen or reached != state:
            return None, touched
        if not _written(usual.codes_of(affected)) <= written:
            return None, touched
        there, back = (
            self._steps(taken, order)
            for taken, order in ((other, reordering.other), (usual, reordering.usual))
        )
        return (there, back), touched

    def _touched(self, *taken: _Taken, everybody: bool) -> _Touched:
        """Return what decided about the steps of some runs; `everybody` if all processes did."""
        footprint = self._search.trace.vocabulary.footprint
        locations: set[int] = set()
        joined: set[int] = set()
        differ = any(run.codes != taken[0].codes for run in taken)  # what was there may remain
        for run in taken:
            for codes in run.codes.values():
                step = footprint(codes)
                looked, changed = self._histories.touched(step)
                locations.update(looked)
                locations.update(changed if differ else ())
                joined.update(step.joins)
        return None if everybody else tuple(sorted(joined)), tuple(sorted(locations))

    def _everything(self) -> tuple[set[int], set[int]]:
        """Return all processes and locations that there ever were."""
        vocabulary = self._search.trace.vocabulary
        processes, locations = vocabulary.process_names, vocabulary.location_names
        return set(range(len(processes))), set(range(len(locations)))

    def _steps(self, taken: _Taken, events: Sequence[int]) -> list[Step]:
        trace = self._search.trace
        footprint = trace.vocabulary.footprint
        return [(trace.processes[event], footprint(taken.codes[event])) for event in events]

    def can_agree(self, *events: int) -> bool:
        """Tell whether it makes sense to run events in another order: they create no process."""
        return not any(self._search.trace.footprints[event].spawns for event in events)

    def is_over(self, run: Run) -> bool:
        """Tell whether all processes have ended, so that nobody looks at anything any more."""
        return not run.enabled() and not run.blocked()

    def _state(self, run: Run, processes: set[int], locations: set[int]) -> object:
        """Return what is compared of a run's state, and end the run."""
        state = run.effect(sorted(processes), sorted(locations))
        run.close()
        return state

    def _run(
        self, standing: Standing, reordering: Reordering, last: Sequence[int]
    ) -> _Taken | None:
        """Run some events as they are recorded, then others; None if one of these is disabled."""
        trace, prefix = self._search.trace, [*range(reordering.depth), *reordering.ance]
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
                steps = self._steps(taken, last)
                footprints = [footprint for _, footprint in steps]
                self._learn_values(run, standing.after(steps), footprints)
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
