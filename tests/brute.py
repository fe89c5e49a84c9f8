"""Brute force: every interleaving of a program, with no reduction and none of the core's code.

Dependence is decided here from the access codes by a table of its own, and happens-before by vector
clocks, so that a mistake in `treadle.trace` cannot hide. `explored` describes what an exploration
completed in the same terms.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from treadle.api import ALGORITHMS
from treadle.events import Codes, Mode, location_of, mode_of
from treadle.explore.algorithm import ENDED
from treadle.explore.budget import Budget
from treadle.explore.schedule import SCHEDULES
from treadle.explore.search import Search
from treadle.model import Program
from treadle.program import Restart, Run
from treadle.result import Result

WRITES = {Mode.WRITE, Mode.TAKE, Mode.SPARE}
UPDATES = {Mode.ADD, Mode.GIVE}
NO_ACCESS = {Mode.SPAWN, Mode.JOIN, Mode.WATCH, Mode.OPEN, Mode.SWAP}

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


def brute_force(program: Program, limit: int) -> Everything:
    """Run every interleaving; raise `TooMany` beyond `limit` of them."""
    everything = Everything()
    dependence = Dependence(program)
    for run, steps in interleavings(program):
        everything.interleavings += 1
        if everything.interleavings > limit:
            raise TooMany
        everything.classes.add(dependence.class_of(steps))
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

    def __init__(self, program: Program) -> None:
        self._program = program
        self._known: dict[tuple[Step, Step], bool] = {}

    def class_of(self, steps: list[Step]) -> TraceClass:
        """Return the happens-before relation of an execution."""
        clocks: list[dict[str, int]] = []
        for index, step in enumerate(steps):
            clock: dict[str, int] = {}
            for earlier in range(index):
                if self.ordered(steps[earlier], step):
                    for process, count in clocks[earlier].items():
                        clock[process] = max(count, clock.get(process, 0))
            clock[step[0]] = clock.get(step[0], 0) + 1
            clocks.append(clock)
        return frozenset(
            ((process, clock[process]), tuple(sorted(clock.items())))
            for (process, _), clock in zip(steps, clocks, strict=True)
        )

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
        return any(self._conflict(a, b) for a in first[1] for b in second[1])

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
                for lines in self._program.kept.values():
                    timeout, message = location_of(timed), location_of(sent)
                    if timeout in lines.timeouts and message in lines.messages:
                        match = lines.timeouts[timeout]
                        return match is None or bool(match(lines.messages[message]))
        return False


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
    **options: Any,
) -> Explored:  # fmt: skip
    """Explore a program to its end, and note what every complete execution did."""
    names = program.vocabulary.process_names
    dependence = Dependence(program)
    found = Explored(Result("", ""))

    class Watched(ALGORITHMS[algorithm]):  # type: ignore[misc]
        """The algorithm, telling what it is shown."""

        def analyse(self, run: Run, outcome: int) -> None:
            if outcome == ENDED:
                trace = self.search.trace
                steps = zip((names[p] for p in trace.processes), trace.codes, strict=True)
                found.classes.append(dependence.class_of(list(steps)))
                found.final_states.add(run.fingerprint())
                found.failures.update(failures_of(run))
            super().analyse(run, outcome)

    while True:
        search = Search(
            program, Watched, algorithm, budget=budget or Budget(), choose=SCHEDULES[schedule],
            stop_on_failure=False, **options,
        )  # fmt: skip
        try:
            found.result = search.explore()
        except Restart:
            found.classes.clear()
            found.final_states.clear()
            found.failures.clear()
            continue
        return found
