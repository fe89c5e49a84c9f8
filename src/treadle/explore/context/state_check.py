"""States of other orders: whether racing steps commute where they met (JSS 2023, section 3).

The context-sensitive check of a race `(e, e')` compares the state after `E'.u.e.e'` with that after
`E'.u.e'.e`, where `E'` is what comes before `e` and `u` the ancestors of `e'` after it. Both are
the states of runs made for the purpose. Only what these steps touch can differ: the locations that
one of them writes in one of the orders, where their processes stand then, and how they failed. That
is the refined check of section 3.4, and the default; without it, whole states are compared.

Most questions need no run, or only that of the other order: the execution that asks, and those
before it, have shown what is at a location with a certain history (see `histories`).

The paper compares with the state at `e'` of the explored execution instead, in which other steps
have been taken meanwhile, and has them follow in the other order. That is not sound: these steps
can hide a difference that somebody would have seen who came before them (docs/soundness.md).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from treadle.core.constraints import are_same
from treadle.core.events import Codes, Footprint, Mode, location_of, mode_of
from treadle.core.program import Run
from treadle.core.steps import Step
from treadle.explore.context.histories import Differences, Histories, Path, Standing
from treadle.explore.strategy import BLOCKED

if TYPE_CHECKING:
    from treadle.explore.search import Search

_NO_WRITE = {
    Mode.READ, Mode.NEED, Mode.AWAIT,
    Mode.SPAWN, Mode.JOIN, Mode.WATCH, Mode.OPEN, Mode.SWAP, Mode.STORED, Mode.BLOCK,
}  # fmt: skip

_KEPT = 100_000
_Order = tuple[int, ...]
"""Who takes steps, one after the other."""
_Found = tuple[list[Step], list[Step]]
"""What events do in the other order, and in the usual one."""
_Touched = tuple[tuple[int, ...] | None, tuple[int, ...] | None]
"""Processes and locations on which an answer depends, besides who takes the steps; None: all."""
_Answers = dict[_Touched, dict[Hashable, _Found | None]]
"""By what they depend on, and its histories."""


class Reordering(NamedTuple):
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
        self.runs = 0
        """How many runs were made to compare states."""
        self._forget()

    def _forget(self) -> None:
        self._histories = Histories()
        self._path = Path(self._histories)
        self._answers: dict[Hashable, _Answers] = {}
        self._values: dict[tuple[int, int | None], object] = {}
        """What is at a location with a history, if it can be compared."""

    def agree(self, reordering: Reordering) -> list[Step] | None:
        """Return what events do in the other order, if they reach the same state in both.

        Different executions ask the same: only the histories of those who take the steps matter,
        and of what they look at. And when the race is met the other way round, the answer is known.
        """
        different = self._differences(reordering)
        if self._are_known_to_differ(different, reordering.unobserved):
            return None
        standing = self._standing(reordering.depth, reordering.ance)
        usual, other = self._processes(reordering.usual), self._processes(reordering.other)
        indifferent = tuple([event in reordering.indifferent for event in reordering.usual])
        who = tuple(sorted(set(usual)))
        where = (who, standing.of(who, ()), indifferent, reordering.unobserved)
        for touched, answers in self._answers.get((usual, other, where), {}).items():
            key = standing.of(*touched)
            if key in answers:
                return self._unless_hiding(reordering, answers[key])
        checked = self._check(reordering, different)
        if checked is None:
            return None
        found, touched = checked
        key = standing.of(*touched)
        turned = found and found[::-1]
        self._answers.setdefault((usual, other, where), {}).setdefault(touched, {})[key] = found
        self._answers.setdefault((other, usual, where), {}).setdefault(touched, {})[key] = turned
        return self._unless_hiding(reordering, found)

    def _unless_hiding(self, reordering: Reordering, found: _Found | None) -> list[Step] | None:
        """Return what events do in the other order, unless the usual one hides races of theirs.

        An open step may depend on something that came before only in the usual order. Then the
        races between that and what the process does later do not show there.
        """
        if found is None:
            return None
        trace = self._search.trace
        before = (1 << reordering.depth) - 1 | sum(1 << event for event in reordering.ance)
        usual = dict(zip(reordering.usual, found[1], strict=True))
        for event, (process, step) in zip(reordering.other, found[0], strict=True):
            other = usual[event][1]
            if other is not step:
                past = trace.past_of(process, trace.previous(event), other)
                if trace.depends(other) & ~trace.depends(step) & before & ~past:
                    return None
        return found[0]

    # Values that are known without a check

    def follow(self, run: Run, outcome: int) -> None:
        """Take note of the execution that questions will be about, and what is where at its end."""
        trace = self._search.trace
        if len(self._histories) > _KEPT:
            self._forget()
        self.go_on()
        if outcome != BLOCKED:
            self._learn_values(run, trace.footprints, self._path.locations.latest.get)

    def go_on(self) -> None:
        """Take note of what was added to the execution, or taken back."""
        trace = self._search.trace
        self._path.follow(trace.processes, trace.footprints)

    def _learn_values(
        self, run: Run, footprints: Iterable[Footprint], history: Callable[[int], int | None]
    ) -> None:
        """Learn what is now where steps have changed something, by the histories of locations."""
        touched = self._histories.touched
        changed = {place for step in footprints for place in touched[step].changed}
        places = [(place, history(place)) for place in sorted(changed)]
        unknown = [place for place in places if place not in self._values]
        if not unknown:
            return
        values = run.values([location for location, _ in unknown])
        for place, value in zip(unknown, values, strict=True):
            if value == value:
                self._values[place] = value

    def _differences(self, reordering: Reordering) -> Differences:
        """Return where the two orders leave different histories."""
        depth, ance = reordering.depth, reordering.ance
        different = self._path.either_way(ance, reordering.usual)
        if different is None:
            here = self._standing(depth, [*ance, *reordering.usual]).locations
            there = self._standing(depth, [*ance, *reordering.other]).locations
            different = {
                location: (history, there[location])
                for location, history in here.items()
                if history != there[location]
            }
        return different

    def _are_known_to_differ(self, different: Differences, unobserved: frozenset[int]) -> bool:
        """Tell whether values are known that differ after two orders, by their histories."""
        values = self._values
        for location, (usual, other) in different.items():
            if location not in unobserved:
                value, another = values.get((location, usual)), values.get((location, other))
                if value is not None and another is not None and value != another:
                    return True
        return False

    # The check

    def _standing(self, depth: int, events: Sequence[int]) -> Standing:
        """Return where all stand after so many steps of the execution, and some more of them."""
        standing = Standing(self._path, depth)
        standing.take(self._recorded(events))
        return standing

    def _recorded(self, events: Sequence[int]) -> list[Step]:
        trace = self._search.trace
        return [(trace.processes[event], trace.footprints[event]) for event in events]

    def _processes(self, events: list[int]) -> _Order:
        processes = self._search.trace.processes
        return tuple([processes[event] for event in events])

    def _check(
        self, reordering: Reordering, different: Differences
    ) -> tuple[_Found | None, _Touched] | None:
        """Return what events do in the other and in the usual order, if both lead to one state.

        And what this depends on, besides the processes that take the steps. None if the values that
        the other order leads to are known to differ from the usual ones: they will be, from now on.
        """
        trace = self._search.trace
        affected = [event for event in reordering.usual if event not in reordering.indifferent]
        other = self._run(reordering, reordering.other)
        if other is None:
            return None, (None, None)
        if self._are_known_to_differ(different, reordering.unobserved):
            other.run.close()
            return None
        written = _written([*other.codes_of(affected), *(trace.codes[e] for e in affected)])
        left_out: frozenset[int] = frozenset()
        if reordering.unobserved and self.is_over(other.run):
            left_out = reordering.unobserved
        processes, locations = {trace.processes[event] for event in affected}, written
        if not self._search.refined:
            processes, locations = self._everything()
        born = self._born(other)
        reached = self._state(other.run, processes, locations - left_out)
        usual = self._run(reordering, reordering.usual)
        if usual is None:
            return None, (None, None)
        born_as_usual = self._born(usual)
        state = self._state(usual.run, processes, locations - left_out)
        touched = self._touched(other, usual, everybody=bool(reordering.unobserved))
        if other.seen != usual.seen or reached != state or not are_same(born, born_as_usual):
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
                touched = self._histories.touched[step]
                locations.update(touched.looked)
                locations.update(touched.changed if differ else ())
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
        """Tell whether it makes sense to run events in another order.

        It does not if they create processes that cannot be compared.
        """
        trace = self._search.trace
        if self._search.program.compares_newborn or not trace.created:
            return True
        return not any(trace.footprints[event].spawns for event in events)

    def is_over(self, run: Run) -> bool:
        """Tell whether all processes have ended, so that nobody looks at anything any more."""
        return not run.enabled() and not run.blocked()

    def _born(self, taken: _Taken) -> list[object]:
        """Return comparable values of the processes that the last steps of a run created.

        Who created them does not matter: where two steps race, both come before what either starts.
        """
        footprint = self._search.trace.vocabulary.footprint
        return [
            taken.run.newborn(child)
            for codes in taken.codes.values()
            for child in footprint(codes).spawns
        ]

    def _state(self, run: Run, processes: set[int], locations: set[int]) -> object:
        """Return what is compared of a run's state, and end the run."""
        state = run.effect(sorted(processes), sorted(locations))
        run.close()
        return state

    def _run(self, reordering: Reordering, last: Sequence[int]) -> _Taken | None:
        """Run some events as they are recorded, then others; None if one of these is disabled."""
        trace, prefix = self._search.trace, [*range(reordering.depth), *reordering.ance]
        self.runs += 1
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
                standing = self._standing(reordering.depth, reordering.ance)
                standing.take(steps)
                self._learn_values(run, footprints, standing.locations.__getitem__)
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
