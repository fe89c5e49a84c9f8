"""Brute force: every interleaving of a program, with no reduction and none of the core's code.

Dependence is decided here from the access codes by a table of its own, and happens-before by vector
clocks, so that a mistake in `treadle.core.happens_before` cannot hide. `explored` describes what an
exploration completed in the same terms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from treadle.core.events import Codes, Mode, code, location_of, mode_of
from treadle.core.program import Restart, Run
from treadle.core.result import Result
from treadle.explore.budget import Budget
from treadle.explore.choosers import SCHEDULES
from treadle.explore.registry import ALGORITHMS
from treadle.explore.search import Search
from treadle.explore.strategy import ENDED
from treadle.model import Program

WRITES = {Mode.WRITE, Mode.STORE, Mode.TAKE, Mode.SPARE}
UPDATES = {Mode.ADD, Mode.GIVE}
NO_ACCESS = {Mode.SPAWN, Mode.JOIN, Mode.WATCH, Mode.OPEN, Mode.SWAP, Mode.STORED, Mode.BLOCK}

Step = tuple[str, Codes]
"""The process of a step, and what it accessed."""
Event = tuple[str, int]
"""The n-th step of a process."""
TraceClass = frozenset[tuple[Event, tuple[Event, ...]]]
"""Each event with its vector clock: the last event of every process that happens before it."""


@dataclass
class Everything:
    """What all interleavings of a program do."""

    interleavings: int = 0
    classes: set[TraceClass] = field(default_factory=set)
    final_states: set[object] = field(default_factory=set)
    failures: set[tuple[str, str]] = field(default_factory=set)


class TooMany(Exception):
    """The program has more interleavings than the caller wants to see."""


def brute_force(program: Program, limit: int, order: type[Dependence] | None = None) -> Everything:
    """Run every interleaving; raise `TooMany` beyond `limit` of them."""
    everything = Everything()
    dependence = (order or Dependence)(program)
    program.name_values(dependence.knows_values)
    for run, steps in interleavings(program):
        everything.interleavings += 1
        if everything.interleavings > limit:
            raise TooMany
        everything.classes.add(dependence.class_of(steps + dependence.waiting(run)))
        everything.final_states.add(run.fingerprint())
        everything.failures |= failures_of(run)
    return everything


def interleavings(program: Program) -> Iterable[tuple[Run, list[Step]]]:
    """Yield every execution at its end, with its steps."""
    names = program.vocabulary.process_names
    schedule: list[int] = []
    choices: list[list[int]] = []
    while True:
        run = program.start()
        steps = [(names[process], run.step(process)) for process in schedule]
        while enabled := run.enabled():
            choices.append(enabled[1:])
            schedule.append(enabled[0])
            steps.append((names[enabled[0]], run.step(enabled[0])))
        yield run, steps
        run.close()
        while choices and not choices[-1]:
            choices.pop()
            schedule.pop()
        if not choices:
            return
        schedule[-1] = choices[-1].pop(0)


def failures_of(run: Run) -> set[tuple[str, str]]:
    """Return kind and message of what an execution shows."""
    if run.crashes:
        return {
            (
                "assertion" if isinstance(crash.exception, AssertionError) else "exception",
                f"{type(crash.exception).__name__}: {crash.exception}",
            )
            for crash in run.crashes
        }
    waits = run.ending().waits
    return {("deadlock", "; ".join(map(str, waits)))} if waits else set()


class Dependence:
    """Which steps of a program are dependent, and so which executions are equivalent."""

    knows_values = True
    """Whether two stores of the same value are independent."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._known: dict[tuple[Step, Step], bool] = {}

    def waiting(self, run: Run) -> list[Step]:
        """Return what stands for processes that wait at the end: nothing."""
        del run
        return []

    def class_of(self, steps: list[Step]) -> TraceClass:
        """Return the happens-before relation of an execution."""
        clocks: list[dict[str, int]] = []
        for index, step in enumerate(steps):
            clock: dict[str, int] = {}
            for earlier in range(index):
                if self.in_order(steps, earlier, index):
                    for process, count in clocks[earlier].items():
                        clock[process] = max(count, clock.get(process, 0))
            clock[step[0]] = clock.get(step[0], 0) + 1
            clocks.append(clock)
        return frozenset(
            ((process, clock[process]), tuple(sorted(clock.items())))
            for (process, _), clock in zip(steps, clocks, strict=True)
        )

    def in_order(self, steps: list[Step], first: int, second: int) -> bool:
        """Tell whether two steps of an execution, by index, are ordered by happens-before."""
        return self.ordered(steps[first], steps[second])

    def ordered(self, first: Step, second: Step) -> bool:
        """Tell whether two steps, in this order, are ordered by happens-before."""
        known = self._known.get((first, second))
        if known is None:
            known = self._known[first, second] = self._ordered(first, second)
        return known

    def _ordered(self, first: Step, second: Step) -> bool:
        if first[0] == second[0]:
            return True
        names = self._program.vocabulary.process_names
        created = {names[location_of(a)] for a in first[1] if mode_of(a) is Mode.SPAWN}
        joined = {names[location_of(b)] for b in second[1] if mode_of(b) is Mode.JOIN}
        if second[0] in created or first[0] in joined:
            return True
        equal = self.stored(first[1]) & self.stored(second[1])
        same = {location for location, _ in equal}
        return any(
            self._conflict(a, b)
            for a in seen_by_others(first[1])
            for b in seen_by_others(second[1])
            if not (location_of(a) in same and mode_of(a) is mode_of(b) is Mode.STORE)
        )

    def stored(self, codes: Codes) -> set[tuple[int, int]]:
        """Return what a step stores, each with the name of the value: it has read nothing before.

        Nothing if it may do something else when it reads something else, or may have to wait.
        """
        found: dict[int, int | None] = {}
        looked: set[int] = set()
        for access, following in zip(codes, (*codes[1:], 0), strict=False):
            mode, location = mode_of(access), location_of(access)
            if mode is Mode.STORE and location not in looked:
                is_named = mode_of(following) is Mode.STORED and not looked
                found[location] = location_of(following) if is_named else None
            elif mode in (Mode.READ, Mode.WRITE):
                looked.add(location)
            elif mode not in (Mode.STORE, Mode.STORED, Mode.SPAWN, Mode.JOIN, *UPDATES):
                return set()
        return {(location, name) for location, name in found.items() if name is not None}

    def _conflict(self, a: int, b: int) -> bool:
        """Tell whether two accesses of different processes are dependent."""
        kinds = mode_of(a), mode_of(b)
        if not NO_ACCESS.isdisjoint(kinds):
            return False
        if location_of(a) != location_of(b):
            return self._linked(a, b)
        if not WRITES.isdisjoint(kinds):
            return True
        return (kinds[0] in UPDATES) != (kinds[1] in UPDATES)

    def _linked(self, a: int, b: int) -> bool:
        """Tell whether a time-out and a message that it could have taken meet."""
        for timed, sent in ((a, b), (b, a)):
            if mode_of(timed) is Mode.READ and mode_of(sent) is Mode.WRITE:
                for lines in getattr(self._program, "kept", {}).values():
                    timeout, message = location_of(timed), location_of(sent)
                    if timeout in lines.timeouts and message in lines.messages:
                        match = lines.timeouts[timeout]
                        return match is None or bool(match(lines.messages[message]))
        return False


class Observed(Dependence):
    """The same modulo observability: two steps that overwrite are ordered if somebody looks."""

    knows_values = False

    def waiting(self, run: Run) -> list[Step]:
        """Return the reads of conditions that processes wait for at the end."""
        vocabulary = self._program.vocabulary
        return [
            (
                f"{vocabulary.process_names[process]} waits",
                tuple(
                    code(location, Mode.READ)
                    for location in sorted(
                        vocabulary.awaited_locations(vocabulary.footprint(codes))
                    )
                ),
            )
            for process, codes in run.blocked()
        ]

    def in_order(self, steps: list[Step], first: int, second: int) -> bool:
        """Tell whether two steps are ordered, whoever looks or because somebody does."""
        if self.ordered(steps[first], steps[second]):
            return True
        both = self.overwritten(steps[first]) & self.overwritten(steps[second])
        return any(self._is_looked_at(location, steps[second + 1 :]) for location in both)

    def _conflict(self, a: int, b: int) -> bool:
        raise AssertionError("decided step by step")

    def _ordered(self, first: Step, second: Step) -> bool:
        if first[0] == second[0]:
            return True
        both = self.overwritten(first) & self.overwritten(second)
        plain = [
            (step[0], tuple(a for a in step[1] if not is_access_of(a, both)))
            for step in (first, second)
        ]
        return Dependence(self._program).ordered(*plain)

    def _is_looked_at(self, location: int, later: list[Step]) -> bool:
        """Tell whether the first step that accesses a location looks at it."""
        for step in later:
            if any(is_access_of(access, {location}) for access in step[1]):
                return location not in self.overwritten(step)
        return False

    def overwritten(self, step: Step) -> set[int]:
        """Return the locations that a step overwrites without having looked at them."""
        modes = [mode_of(access) for access in step[1]]
        if not {
            Mode.READ,
            Mode.WRITE,
            Mode.STORE,
            Mode.ADD,
            Mode.GIVE,
            Mode.SPAWN,
            Mode.JOIN,
        } >= set(modes):
            return set()
        first: dict[int, Mode] = {}
        for access, mode in zip(step[1], modes, strict=True):
            if mode not in NO_ACCESS:
                first.setdefault(location_of(access), mode)
        return {location for location, mode in first.items() if mode is Mode.STORE}


def seen_by_others(codes: Codes) -> Codes:
    """Return the accesses of a step without reads of what it has stored itself.

    Whatever others do before or after it, such a read finds the same: it decides no order. Who
    stores the same value is independent of the step, whether it reads it back or not.
    """
    stored: set[int] = set()
    seen = []
    for access in codes:
        if mode_of(access) is Mode.STORE:
            stored.add(location_of(access))
        if mode_of(access) is not Mode.READ or location_of(access) not in stored:
            seen.append(access)
    return tuple(seen)


def is_access_of(access: int, locations: set[int]) -> bool:
    """Tell whether an access code is one of these locations."""
    return mode_of(access) not in NO_ACCESS and location_of(access) in locations


@dataclass
class Explored:
    """What an exploration completed."""

    result: Result
    classes: list[TraceClass] = field(default_factory=list)
    """One for each complete execution, in order."""
    final_states: set[object] = field(default_factory=set)
    failures: set[tuple[str, str]] = field(default_factory=set)


def explored(
    program: Program, algorithm: str, schedule: str = "stay", budget: Budget | None = None,
    order: type[Dependence] = Dependence,
    state: Callable[[Any], object] = lambda run: run.fingerprint(), **options: Any,
) -> Explored:  # fmt: skip
    """Explore a program to its end, and note what every complete execution did."""
    names = program.vocabulary.process_names
    dependence = order(program)
    found = Explored(Result("", ""))

    def watch(run: Run, outcome: int) -> None:
        if outcome == ENDED and not program.is_elsewhere(run, search.trace):
            trace = search.trace
            steps = zip((names[p] for p in trace.processes), trace.codes, strict=True)
            found.classes.append(dependence.class_of([*steps, *dependence.waiting(run)]))
            found.final_states.add(state(run))
            found.failures.update(failures_of(run))

    while True:
        search = Search(
            program, ALGORITHMS[algorithm], algorithm, budget=budget or Budget(),
            choose=SCHEDULES[schedule], stop_on_failure=False, **options,
        )  # fmt: skip
        search.on_end = watch
        search.is_validating = True
        try:
            found.result = search.explore()
        except Restart:
            found.classes.clear()
            found.final_states.clear()
            found.failures.clear()
            continue
        return found
