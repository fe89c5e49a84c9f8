"""Runs of a failing program under other schedules: does the same failure show?

A `Guide` says which process takes each step. A trial ends where the failure shows, so that what it
took is what the failure needs, or where the guide or the program ends.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Protocol

from treadle.core.errors import TreadleError
from treadle.core.failure import Failure, without_addresses
from treadle.core.happens_before import Trace
from treadle.core.program import CannotStepError, Crash, Program, Restart, Run
from treadle.core.schedule import Schedule
from treadle.explore.data_races import data_races
from treadle.findings.shrink.effort import Effort


class Guide(Protocol):
    """Decides who takes the next step."""

    def choose(self, run: Run, trace: Trace) -> int:
        """Return an enabled process, or -1 to end the trial; `trace` is what has happened."""
        ...


@dataclass(slots=True)
class Exactly:
    """Given processes and then nobody; ends before a step that cannot be taken."""

    processes: Sequence[int]

    def choose(self, run: Run, trace: Trace) -> int:
        """Return the next of the processes."""
        at = len(trace)
        if at >= len(self.processes) or not run.is_enabled(self.processes[at]):
            return -1
        return self.processes[at]


@dataclass(slots=True)
class Shown:
    """A trial in which the failure showed."""

    failure: Failure
    processes: tuple[int, ...]
    """The steps up to the failing one."""
    trace: Trace

    @property
    def cost(self) -> tuple[int, int]:
        """What is to become smaller: context switches, then steps."""
        return cost_of(self.processes)


def cost_of(processes: Sequence[object]) -> tuple[int, int]:
    """Return the numbers of context switches and steps."""
    switches = sum(a != b for a, b in itertools.pairwise(processes))
    return switches, len(processes)


class Trials:
    """Counts and judges the runs that shrinking one failure takes."""

    def __init__(
        self, failure: Failure, program: Program, *, attempts: int, seconds: float, limit: int
    ) -> None:
        self.replays = 0
        self.are_exact = True
        """Whether each trial came to its end, and could be replayed."""
        self._failure = failure
        self._program = program
        self._knowledge = failure.schedule.knowledge
        self._attempts = attempts
        self._limit = limit
        self._seconds = seconds
        self._effort = Effort()
        self._wanted: Hashable = None

    @property
    def is_over(self) -> bool:
        """Whether no more trials may be made; time only matters if they take very long."""
        return self.replays >= self._attempts or self._effort.seconds() >= self._seconds

    def first(self) -> Shown | None:
        """Run the failing schedule itself, to know what to look for."""
        failure = self._failure
        numbers = map(self._program.vocabulary.process_number, failure.schedule)
        processes = [number for number in numbers if number is not None]
        shown = self.run(Exactly(processes[: failure.step + 1]))
        if shown is not None:
            self._wanted = _key(shown.failure, shown.trace)
        return shown

    def run(self, guide: Guide) -> Shown | None:
        """Run the program once; return the failure if it showed, and nothing new was learned."""
        self.replays += 1
        program = self._program
        program.know(self._knowledge)
        trace = Trace(program.vocabulary)
        try:
            run = program.start()
            failure = self._watch(run, guide, trace)
            run.close()
        except (Restart, CannotStepError, TreadleError):
            # Under this schedule the program shares more than it did, or cannot be run at all:
            # whatever it shows, it could not be replayed.
            self.are_exact = False
            return None
        if failure is None:
            return None
        return Shown(failure, tuple(trace.processes[: failure.step + 1]), trace)

    def is_of_interest(self, processes: Sequence[int]) -> bool:
        """Tell whether the program does not call this execution off before its end."""
        self.replays += 1
        program = self._program
        program.know(self._knowledge)
        is_cut = False
        try:
            run = program.start()
            for process in processes:
                run.step(process)
            is_cut = run.finish(processes[-1], self._limit, [], []) and run.ending().is_cut
            run.close()
        except Restart:
            pass  # further on, where nobody looks
        except (CannotStepError, TreadleError):
            return False
        return not is_cut

    # What a run shows

    def _watch(self, run: Run, guide: Guide, trace: Trace) -> Failure | None:
        """Take steps until the failure shows."""
        seen = 0
        while True:
            if (found := self._crash_among(run.crashes[seen:], trace)) is not None:
                return found
            seen = len(run.crashes)
            if len(trace) >= self._limit:
                self.are_exact = False
                return None
            process = guide.choose(run, trace)
            if process < 0:
                return self._at_the_end(run, seen, trace)
            trace.append(process, run.step(process))

    def _crash_among(self, crashes: Sequence[Crash], trace: Trace) -> Failure | None:
        """Return the failure if it is one of some crashes."""
        for crash in crashes:
            found = Failure.of_crash(self._program, crash, self._schedule(trace))
            if self._is_wanted(found, trace):
                return found
        return None

    def _at_the_end(self, run: Run, seen: int, trace: Trace) -> Failure | None:
        if self._failure.kind == "race":
            for pair in data_races(trace):
                found = Failure.of_race(self._program, trace, pair, self._schedule(trace))
                if self._is_wanted(found, trace):
                    return found
        if run.enabled():
            return None
        ending = run.ending()
        if (found_late := self._crash_among(run.crashes[seen:], trace)) is not None:
            return found_late
        if not ending.is_deadlock or ending.is_cut:
            return None
        found = Failure.of_deadlock(ending, self._schedule(trace))
        return found if self._is_wanted(found, trace) else None

    def _schedule(self, trace: Trace) -> Schedule:
        names = self._program.vocabulary.process_names
        return Schedule((names[process] for process in trace.processes), self._knowledge)

    def _is_wanted(self, found: Failure, trace: Trace) -> bool:
        """Tell whether a failure is the one to be shrunk."""
        if self._wanted is not None:
            return _key(found, trace) == self._wanted
        wanted = self._failure
        return (
            found.kind == wanted.kind
            and found.step == wanted.step
            and found.pair == wanted.pair
            and found.process == wanted.process
        )


def _key(failure: Failure, trace: Trace) -> Hashable:
    """Return what makes a failure the same one, whatever the schedule."""
    if failure.pair is not None:
        return "race", frozenset((trace.processes[e], trace.codes[e]) for e in failure.pair)
    if failure.waits:
        return failure.kind, frozenset(map(str, failure.waits))
    message = without_addresses(failure.message)
    return failure.kind, failure.process, message, _place_of(failure.exception)


def _place_of(error: BaseException | None) -> tuple[str, int] | None:
    """Return where an exception was raised: two assertions may have nothing to say."""
    traceback = error.__traceback__ if error is not None else None
    if traceback is None:
        return None
    while traceback.tb_next is not None:
        traceback = traceback.tb_next
    return traceback.tb_frame.f_code.co_filename, traceback.tb_lineno
