"""Which two steps of a failing execution to look at first.

A failing execution has many pairs of steps that could have come in the other order: its reversible
races, and other accesses of data that no synchronisation orders. Those that the failing step
depends on are tried, in a fixed order, and the first one is the cause whose reversal makes the
execution pass. The order of the trials is the rule:

1. races across a preemption: the process of the first step could have gone on, and the second
   step came in between. That is where an interleaving leaves the natural order, as in a read and a
   write that were meant to belong together;
2. among those, accesses of data that no synchronisation orders (data races), as they are what a
   programmer has overlooked most often; then other accesses; then operations that may wait, such
   as two threads that want the same lock;
3. among those, races whose second step the failing one depends on (it happens before it), then
   those whose first step it depends on and whose second one comes too late: a thread reads what
   another has not written yet;
4. the latest second step first, then the latest first step: what is nearest to the failure.

A trial is one execution: the steps before the first of the two; those between the two that do not
depend on it; the second of the two; then everybody else in the order of the failing execution, as
long as they can, and to the end. It passes if no process fails and none waits for ever. That is
evidence for this one execution: others in which the two come in that order may fail for other
reasons. If no trial passes, nothing is claimed; the first pair is still worth looking at that is
across a preemption, or whose reversal fails in another way. If there is none, then the order of
steps has nothing to do with it: the test fails anyway.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import islice

from treadle.core.errors import TreadleError
from treadle.core.events import location_of_key
from treadle.core.failure import Cause, Failure, error_in_words, without_addresses
from treadle.core.happens_before import Race, Trace
from treadle.core.program import CannotStepError, Program, Run
from treadle.core.records import StepRecord
from treadle.core.schedule import Schedule
from treadle.explore.data_races import data_races
from treadle.findings.replay import follow
from treadle.findings.steps import steps_of

_TRIALS = 24
"""Races that are tried at most."""
_STEPS = 20_000
"""Steps that all trials together may take."""
_PAIRS = 10_000
"""Unsynchronised accesses that are looked at."""
_MORE_STEPS = 1000
"""Steps that an execution may take after the last one of its schedule."""

_Outcome = frozenset[str] | None
"""What failed in an execution, in words; None if that is not known."""
_PASSED: _Outcome = frozenset()
_IMPOSSIBLE: _Outcome = frozenset({"impossible"})
"""What a trial comes to that nobody can have: steps come in the order of a queue."""


def find_cause(program: Program, failure: Failure) -> Cause | None:
    """Return the two steps whose order makes the difference, or may make it.

    There are none for a wrong constraint: that both orders of two steps differ is the finding.
    """
    if failure.kind == "constraint":
        return None
    schedule = failure.schedule.upto(failure.step + 1)
    if not schedule:
        return None
    try:
        failing = _recorded(program, schedule)
    except (CannotStepError, TreadleError):  # the program is not deterministic
        return None
    if failure.pair is not None:
        return failing.cause(Race(*failure.pair))
    found = None
    for race in _affordable(_candidates(failing, len(schedule) - 1), len(failing.trace)):
        trial = _Trial(failing.trace, schedule, race, failing.leads[race.first])
        outcome = trial.outcome(program)
        if outcome is _IMPOSSIBLE:
            continue
        if outcome == _PASSED:
            with suppress(CannotStepError, TreadleError):
                return replace(failing.cause(race, decides=True), other=trial.recorded(program))
            return failing.cause(race, decides=True)
        if found is None and (failing.interrupts(race) or outcome not in (None, failing.end)):
            found = failing.cause(race)
    return found


@dataclass(slots=True)
class _Execution:
    """The failing execution, and what came after it."""

    trace: Trace
    records: list[StepRecord]
    end: _Outcome
    leads: list[int]
    """Of each step the one that decides when it comes."""
    _turns: dict[str, list[int]] = field(init=False, default_factory=dict)
    """The steps of each process."""

    def __post_init__(self) -> None:
        for index, record in enumerate(self.records):
            self._turns.setdefault(record.process, []).append(index)

    def interrupts(self, race: Race) -> bool:
        """Tell whether the process of the first step was preempted when the second one came."""
        mine = self._turns[self.records[race[0]].process]
        return not self.records[mine[bisect_left(mine, race[1]) - 1]].then

    def cause(self, race: Race, decides: bool = False) -> Cause:
        """Return two steps as the cause of the failure."""
        names = self.trace.vocabulary.location_names
        shared = _conflicts(self.trace, race)
        data = shared & self.trace.vocabulary.data
        location = names[min(data or shared)] if shared else ""
        return Cause(race, self.records[race[0]], self.records[race[1]], location, decides)


def _recorded(program: Program, schedule: Schedule) -> _Execution:
    """Follow a schedule, and go on to the end: what comes after it may have come too late."""
    trace = Trace(program.vocabulary)
    run = follow(program, schedule, detail=True, trace=trace)
    limit = len(trace) + _MORE_STEPS
    is_over = run.finish(trace.processes[-1], limit, trace.processes, trace.codes)
    end = _outcome(run) if is_over else None
    trace.complete()
    records = steps_of(run, trace)
    leads = [run.led_by(trace, index) for index in range(len(trace))]
    run.drop()
    trace.extend()
    return _Execution(trace, records, end, leads)


def _candidates(execution: _Execution, failing: int) -> list[Race]:
    """Return the races that the failing step depends on, in the order in which to try them."""
    trace = execution.trace
    unsynchronised = set(islice(data_races(trace), _PAIRS))
    known = [*trace.races, *trace.undecided, *(Race(e, later) for e, later, _ in trace.altered)]
    known += [race for race in unsynchronised if _can_be_reversed(trace, race)]
    past = trace.before[failing]

    def rank(race: Race) -> tuple[bool, int, bool, int, int]:
        sort = 0 if race in unsynchronised else 1 if _is_about_data(trace, race) else 2
        is_late = not past >> race[1] & 1
        return not execution.interrupts(race), sort, is_late, -race[1], -race[0]

    return sorted({race for race in known if past >> race[0] & 1}, key=rank)


def _can_be_reversed(trace: Trace, race: Race) -> bool:
    """Tell whether the second step can come first: its process did not depend on the first yet.

    Races that the exploration reverses are adjacent: nothing happens between the two. To explain a
    failure, others are as good: a thread that looked twice before another one wrote.
    """
    first, second = race
    led_by = trace.previous(second)
    return led_by < 0 or not trace.before[led_by] >> first & 1


def _is_about_data(trace: Trace, race: Race) -> bool:
    """Tell whether two steps access something that neither of them may have had to wait for."""
    one, other = (trace.footprints[event] for event in race)
    awaited: set[int] = set()
    for footprint in (one, other):
        awaited.update(location_of_key(take.taken) for take in footprint.takes)
        awaited.update(map(location_of_key, footprint.needs))
        awaited.update(footprint.awaits)
    return not awaited.issuperset(_conflicts(trace, race))


def _conflicts(trace: Trace, race: Race) -> set[int]:
    """Return the locations because of which two steps are dependent."""
    one, other = (trace.footprints[event] for event in race)
    return one.shared_with(other)


def _affordable(races: list[Race], steps: int) -> list[Race]:
    return races[: max(1, min(_TRIALS, _STEPS // steps))]


@dataclass(frozen=True, slots=True)
class _Trial:
    """An execution in which a race of a failing one is reversed."""

    trace: Trace
    schedule: Schedule
    race: Race
    lead: int
    """Which step is to come later than the second one, with all that follows from it."""

    def outcome(self, program: Program) -> _Outcome:
        """Return how it ends, if it can be run to its end."""
        try:
            with self._run(program, detail=False) as (run, taken):
                if run is None:
                    return None
                taken.complete()
                return _outcome(run) if run.is_possible(taken) else _IMPOSSIBLE
        except (CannotStepError, TreadleError):
            return None

    def recorded(self, program: Program) -> tuple[StepRecord, ...]:
        """Return its steps in words: nothing, if it cannot be run to its end this time."""
        with self._run(program, detail=True) as (run, taken):
            return () if run is None else tuple(steps_of(run, taken))

    @contextmanager
    def _run(self, program: Program, *, detail: bool) -> Iterator[tuple[Run | None, Trace]]:
        """Run it to its end and close it; there is no run to look at if that is not possible."""
        taken = Trace(program.vocabulary)
        program.know(self.schedule.knowledge)
        run = program.start(detail=detail)
        try:
            yield (run if self._takes_its_course(run, taken) else None), taken
        finally:
            run.drop()

    def _takes_its_course(self, run: Run, taken: Trace) -> bool:
        """Take the steps, those that race in the other order; tell whether it came to an end."""
        trace, first, second = self.trace, self.lead, self.race.second
        after = [trace.before[event] >> first & 1 for event in range(len(trace))]
        now = [event for event in range(second) if event < first or not after[event]]
        now.append(second)
        is_queued = first != self.race.first  # then the queue says how it goes on
        later = [] if is_queued else sorted(set(range(len(trace))).difference(now))
        for event in [*now, *later]:
            process = trace.processes[event]
            if run.is_enabled(process):
                taken.append(process, run.step(process))
            elif len(taken) < len(now):
                return False
        limit = len(taken) + len(trace) + _MORE_STEPS
        return run.finish(-1, limit, taken.processes, taken.codes)


def _outcome(run: Run) -> _Outcome:
    """Return what failed in a run that is over; None if it is of no interest."""
    ending = run.ending()
    if ending.is_cut:
        return None
    crashes = (f"{crash.process} {error_in_words(crash.exception)}" for crash in run.crashes)
    return frozenset(map(without_addresses, crashes)).union(map(str, ending.waits))
