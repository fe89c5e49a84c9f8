"""The search for `order="fifo"`: one run for each class, by zones of arrival times (`zones`).

A guided tour. The ready queue of a loop is FIFO, so that all that is open is when something from
outside arrives. A zone is a set of points, and a point says at which poll each arrival comes: it
determines the run. `todo` holds zones that nobody has been to. A run at some point of one gives a
list of constraints: the order of each two steps that are dependent, and *hard* ones, whose opposite
cannot be (something arrives after it was armed, time passes in order). Points that satisfy them all
mean the same class. So for each constraint the part of the zone that does not satisfy it is put
into `todo`, and the rest of the list is about what is left of the zone. If the point itself
violates a hard constraint, the run is forgotten, and the part that satisfies it is tried instead.

What a countdown wakes runs after the last of several callbacks, and who was last makes no class: so
an order may have alternatives, and what waits is a *region*, a union of zones (`positions`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

from treadle.core.errors import TreadleError
from treadle.core.events import Footprint
from treadle.core.happens_before import bits
from treadle.core.program import Run
from treadle.explore.strategy import BLOCKED, ENDED, EXPLORED, Algorithm
from treadle.tasks.classes import Classes, Label
from treadle.tasks.points import fewest_early_arrivals
from treadle.tasks.polls import Polls
from treadle.tasks.positions import (
    ALWAYS,
    Alternative,
    Constraint,
    Formula,
    before,
    polled_after,
)
from treadle.tasks.run import TaskRun
from treadle.tasks.sampling import PctArrivals, RandomArrivals
from treadle.tasks.steps import Step
from treadle.tasks.zones import Region


class Entry(NamedTuple):
    """A formula of a region; a hard one names the arrival that it is about, and what precedes."""

    formula: Formula
    hard: int = -1
    other: int = -1


_MOST_REGIONS = 100
"""Zones that wait with their matrix; that of the others is made again."""
Waiting = tuple[list[Entry], Region | None]
NamedConstraint = tuple[str, str, int, bool]
NamedFormula = tuple[tuple[tuple[NamedConstraint, ...], ...], ...]
Named = tuple[tuple[NamedFormula, str, str], ...]
"""A region by names of processes, which mean the same elsewhere: formulas, and what is hard."""


class Fifo(Algorithm):
    """Zones of arrival times."""

    name: ClassVar[str] = "fifo"
    repeats_classes: ClassVar[bool] = True
    knows_values: ClassVar[bool] = False
    divides_itself: ClassVar[bool] = True

    def prepare(self) -> None:
        """Begin with everything."""
        self._todo: list[Waiting] = [([], None)]
        self._classes = Classes()
        self._take()

    # Zones are independent of each other: others may explore some

    def begin_with(self, parts: Sequence[Named]) -> None:
        """Explore only these zones."""
        process = self.search.program.vocabulary.process

        def number(name: str) -> int:
            return process(name) if name else -1

        def constraint(a: str, b: str, most: int, is_order: bool) -> Constraint:
            return Constraint(number(a) + 1, number(b) + 1, most, is_order)

        def formula(alternatives: Any) -> Formula:
            return tuple(
                Alternative(*(tuple(constraint(*one) for one in part) for part in alternative))
                for alternative in alternatives
            )

        self._todo = [
            ([Entry(formula(one), number(hard), number(other)) for one, hard, other in part], None)
            for part in parts
        ]
        self._take()

    def left_over(self) -> list[Named]:
        """Return the zones that nobody has been to; the next one is taken already."""
        names = self._names
        return [
            tuple(
                (_named(one, names), names[hard + 1], names[other + 1])
                for one, hard, other in entries
            )
            for entries in (*(entries for entries, _ in self._todo), self._entries)
        ]

    def latest_class(self) -> Sequence[str]:
        """Return the constraints of the latest run alone, and its order, by names of processes.

        Two runs of one class may have hard constraints of their own; and of those that turn round,
        who woke whom makes no class.
        """
        names, trace = self._names, self.search.trace
        steps = [names[process + 1] for process in trace.processes]
        order = [
            (step, sorted(steps[index] for index in bits(past)))
            for step, past in zip(steps, trace.before, strict=True)
        ]
        constraints = {repr(_named(formula, names)) for formula, _ in self._own}
        return repr(sorted(constraints)), repr(sorted(order))

    @property
    def _names(self) -> list[str]:
        """The names of processes by number in constraints; the first is nobody's."""
        return ["", *self.search.program.vocabulary.process_names]

    def _take(self) -> bool:
        """Take the next zone, and a point of it that no class so far has; tell whether one is."""
        while self._todo:
            entries, region = self._todo.pop()
            self._entries = dict.fromkeys(entries)
            self._region = region or Region(entry.formula for entry in entries)
            elsewhere = self._classes.outside(self._region)
            if elsewhere is not None:
                self.polls = Polls(elsewhere.point())
                return True
        return False

    def decide(self, run: Run, last: int) -> int:
        """Run what the loop runs at this point."""
        del last
        assert isinstance(run, TaskRun)
        step = self.polls.next_step(run)
        if step is not None:
            return step.process
        return BLOCKED if self.polls.violated else ENDED

    def executed(self, process: int, footprint: Footprint) -> None:
        """Take no note: the loop does."""
        del process, footprint

    # What a run shows

    def analyse(self, run: Run, outcome: int) -> None:
        """Go through the constraints of the run, in the order of the later events."""
        assert isinstance(run, TaskRun)
        trace = self.search.trace
        self.search.count_checks()
        trace.extend()
        taken = run.loop.taken
        races: dict[int, list[int]] = {}
        for race in trace.races:
            races.setdefault(race.second, []).append(race.first)
        self._own: list[Label] = []
        """The constraints of this run alone, in whichever zone it is."""
        self._index = {step.process: index for index, step in enumerate(taken)}
        for index, step in enumerate(taken):
            if step.is_arrival:
                for other in run.ahead_of(step, index):
                    self._add_hard((other,), step)
            self._add_races(taken, index, races.get(index, ()))
        if outcome == BLOCKED:
            for others, step in self.polls.violated:
                self._add_hard(others, step)
            if not self._region.is_empty:
                self._todo.append(([*self._entries], self._region))
        elif outcome == ENDED:  # of one that was cut, only a part is known
            self._classes.add(self._own)

    def _add_races(self, taken: Sequence[Step], index: int, firsts: Sequence[int]) -> None:
        """Add that a step runs after those that it races with, and after who woke it, anyway."""
        step = taken[index]
        waker = step.woken_by
        if waker is not None:
            self._demand(before(waker.positions, step.positions), step, waker.process)
        for first in firsts:
            if taken[first] is not waker:
                self._order(taken[first], step)

    def _add_hard(self, others: Sequence[Step], arrival: Step) -> None:
        """Add that an arrival comes after one of some others has run, or has arrived."""
        other = others[0].process if len(others) == 1 else -1
        self._demand(
            polled_after((one.positions for one in others), arrival.process + 1), arrival, other
        )

    def _demand(self, formula: Formula, step: Step, other: int) -> None:
        """Add what cannot be otherwise: when a step runs, or arrives, because of another one."""
        if formula == ALWAYS:
            return
        self._own.append((formula, None))
        entry = Entry(formula, step.process, other)
        if entry not in self._entries:
            self._region.add(formula)
            self._entries[entry] = None

    def _order(self, x: Step, y: Step) -> None:
        """Add that a step runs before another; the opposite is to be tried."""
        order = before(x.positions, y.positions)
        if order == ALWAYS:
            return
        opposite = before(y.positions, x.positions)
        self._own.append((order, opposite))
        entry = Entry(order)
        if entry not in self._entries:
            kept = [e for e in self._entries if e.hard < 0 or not self._is_stale(e, x, y)]
            self._try(kept, opposite)
            self._region.add(order)
            self._entries[entry] = None

    def _try(self, kept: list[Entry], opposite: Formula) -> None:
        """Put what satisfies a formula into `todo`, and those that are kept of this zone."""
        region: Region | None = None
        if self._region.admits(opposite):
            if len(kept) == len(self._entries) and len(self._todo) < _MOST_REGIONS:
                region = self._region.copy()
                region.add(opposite)
        elif len(kept) == len(self._entries) or not Region(entry.formula for entry in kept).admits(
            opposite
        ):
            return
        self._todo.append(([*kept, Entry(opposite)], region))

    def _is_stale(self, entry: Entry, x: Step, y: Step) -> bool:
        """Tell whether a hard constraint may be another one when `x` comes after `y`.

        What armed `y` itself stays: only this order makes `y` happen after `x`.
        """
        event = entry.other if entry.hard == y.process else entry.hard
        index = self._index.get(event)
        if index is None:
            return True
        return bool(self.search.trace.before[index] >> self._index[x.process] & 1)

    # What is next

    def backtrack(self) -> int:
        """Go to another zone, from the beginning."""
        return 0 if self._take() else EXPLORED

    def todo(self, depth: int) -> int:
        """Return how many zones wait; all of them begin anew."""
        return 0 if depth else len(self._todo)

    @classmethod
    def instead(cls, algorithm: str) -> type[Algorithm]:
        """Return who samples in place of this search, by name."""
        found = _SAMPLERS.get(algorithm)
        if found is None:
            raise TreadleError(
                f'{algorithm} chooses which ready task is next, and with order="fifo" the queue '
                f'does: leave algorithm out, choose random or pct, or order="any"'
            )
        return found

    @classmethod
    def shrink(cls, program: Any, failure: Any) -> Any:
        """Let fewer things arrive before their time."""
        return fewest_early_arrivals(program, failure)


def _named(formula: Formula, names: Sequence[str]) -> NamedFormula:
    """Return a formula by names of processes."""
    return tuple(
        tuple(tuple((names[a], names[b], *rest) for a, b, *rest in part) for part in one)  # type: ignore[misc]
        for one in formula
    )


_SAMPLERS: dict[str, type[Algorithm]] = {"random": RandomArrivals, "pct": PctArrivals}
