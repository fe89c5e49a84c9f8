"""Looking for deadlocks: the cycles of the analysis, and a guided search for each of them.

"Combining Static Analysis and Testing for Deadlock Detection" (iFM 2016), section 5. The searches
are independent of each other, so each may have a process of its own. A search that has seen all
executions that might lead to its cycle, and no deadlock of it, makes the cycle *unfeasible*: if all
are, the program is free of deadlocks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from treadle.core.deadlocks import (
    CONFIRMED,
    CRITERIA,
    SENSITIVITIES,
    SENSITIVITY,
    UNDECIDED,
    UNFEASIBLE,
    Aim,
    Candidates,
    DeadlockCycle,
    Deadlocks,
)
from treadle.core.errors import TreadleBug, TreadleError
from treadle.core.failure import Failure
from treadle.core.program import Program, Run
from treadle.core.result import Result
from treadle.core.schedule import Schedule
from treadle.explore.progress import Listener
from treadle.explore.search import FOUND
from treadle.session.front_ends import front_end_of
from treadle.session.session import opened
from treadle.session.settings import Settings
from treadle.session.side_by_side import side_by_side

GUIDED_BY_DEFAULT = {"algorithm": "sleep", "schedule": "newest"}
"""How executions are looked for, unless told otherwise: the paper's schedule."""


_FIRST = "another deadlock was found first"
STOPPED = "it was stopped"

Stop = Callable[[], bool]
"""Tells whether somebody wants a search to end with what it has."""


def never() -> bool:
    """Go on until all is done."""
    return False


@dataclass(frozen=True, slots=True)
class Wish:
    """What is asked of a search for deadlocks."""

    criterion: str = "cycle"
    sensitivity: int = SENSITIVITY
    workers: int = 1

    def __post_init__(self) -> None:
        if self.criterion not in CRITERIA:
            raise TreadleError(
                f"unknown criterion {self.criterion!r}: choose one of {', '.join(CRITERIA)}"
            )
        if self.sensitivity not in SENSITIVITIES:
            raise TreadleError(
                f"sensitivity must be between {SENSITIVITIES[0]} and {SENSITIVITIES[-1]}, not "
                f"{self.sensitivity!r}"
            )
        if self.workers < 1:
            raise TreadleError(f"workers must be a whole number above 0, not {self.workers!r}")


@dataclass(slots=True)
class _Found:
    """What one search found; it can be sent to another process."""

    verdict: str = UNDECIDED
    schedules: list[Schedule] = field(default_factory=list)
    met: dict[int, Schedule] = field(default_factory=dict)
    """Cycles, by index, that an execution ended in."""
    states: int | None = None
    pruned: int = 0
    seconds: float = 0.0
    reason: str = ""


def look_for_deadlocks(
    program: object,
    settings: Settings,
    wish: Wish,
    *,
    target: str = "",
    listener: Listener | None = None,
    is_stopped: Stop = never,
) -> Deadlocks:
    """Analyse a program, and look for executions that end in the cycles that it may have.

    `is_stopped` is asked after each execution whether to end with what was found; not of searches
    in processes of their own.
    """
    started = time.perf_counter()
    front_end = front_end_of(program)
    candidates = front_end.deadlock_candidates(program, wish.sensitivity)
    assert isinstance(program, Program)
    found = Deadlocks(
        target or program.name, cycles=candidates.cycles, conditions=candidates.conditions
    )
    if candidates.cycles:
        _search_all(program, settings, wish, candidates, listener, is_stopped)
    _conclude(found, candidates)
    found.seconds = time.perf_counter() - started
    return found


def _conclude(found: Deadlocks, candidates: Candidates) -> None:
    """Say what is proved, and why nothing is."""
    unfeasible = [cycle for cycle in found.cycles if cycle.verdict == UNFEASIBLE]
    found.notes += [f"nothing is proved, {one}" for one in candidates.unknown]
    if len(unfeasible) == len(found.cycles) and not candidates.unknown:
        found.free = True
        if unfeasible:
            found.notes.append(
                "proved for this program only: all executions that might lead to a cycle were seen"
            )


def _search_all(
    program: Program,
    settings: Settings,
    wish: Wish,
    candidates: Candidates,
    listener: Listener | None,
    is_stopped: Stop,
) -> None:
    """Look for each cycle, as many side by side as there are workers."""
    cycles = candidates.cycles
    aims = [cycle.aim for cycle in cycles if cycle.aim is not None]
    jobs = [
        partial(_search, program, settings, wish.criterion, aims, at, listener, is_stopped)
        for at in range(len(aims))
    ]
    stop = _has_deadlock if wish.criterion == "first" else None
    outcomes = side_by_side(jobs, wish.workers, stop)
    failures = _failures_of(program, settings, outcomes)
    met = {at for outcome in outcomes if outcome for at in outcome.met}
    for at, (cycle, outcome) in enumerate(zip(cycles, outcomes, strict=True)):
        _judge(cycle, outcome, failures)
        if at in met and cycle.verdict != CONFIRMED:  # the search for another one met it
            cycle.verdict, cycle.reason = CONFIRMED, ""
            schedule = next(one.met[at] for one in outcomes if one and at in one.met)
            cycle.failures = [failures[schedule]]


def _has_deadlock(outcome: _Found) -> bool:
    return bool(outcome.schedules)


def _judge(cycle: DeadlockCycle, outcome: _Found | None, failures: dict[Schedule, Failure]) -> None:
    if outcome is None:
        cycle.reason = _FIRST
        return
    cycle.verdict = outcome.verdict
    cycle.states, cycle.pruned = outcome.states, outcome.pruned
    cycle.seconds, cycle.reason = outcome.seconds, outcome.reason
    cycle.failures = [failures[schedule] for schedule in outcome.schedules]


def _search(
    program: Program,
    settings: Settings,
    criterion: str,
    aims: Sequence[Aim],
    at: int,
    listener: Listener | None,
    is_stopped: Stop,
) -> _Found:
    """Explore what may lead to one cycle."""
    found, aim, started = _Found(), aims[at], time.process_time()
    if is_stopped():
        found.reason = STOPPED
        return found
    with opened(aim.guided(program), settings.changed({"stop_on_failure": False})) as session:

        def is_enough(run: Run, schedule: Callable[[], Schedule]) -> bool:
            if not aim.is_deadlock(run):
                return is_stopped()
            for index, other in enumerate(aims):
                if index not in found.met and other.is_met_by(run):
                    found.met[index] = schedule()
            is_found = criterion == "first" or (criterion == "cycle" and at in found.met)
            return is_found or is_stopped()

        result = session.explore(listener=listener, is_enough=is_enough)
    _sum_up(found, result, at)
    if found.verdict == UNDECIDED and is_stopped():
        found.reason = STOPPED
    found.seconds = time.process_time() - started
    return found


def _sum_up(found: _Found, result: Result, at: int) -> None:
    found.states, found.pruned = result.states, result.cut
    found.schedules = [one.schedule for one in result.failures if one.kind == "deadlock"]
    if at in found.met:
        first = found.met[at]
        found.verdict = CONFIRMED
        found.schedules = [first, *(one for one in found.schedules if one != first)]
    elif result.complete:
        found.verdict = UNFEASIBLE
    else:
        found.reason = _FIRST if result.stopped_by == FOUND else result.stopped_by


def _failures_of(
    program: Program, settings: Settings, outcomes: Sequence[_Found | None]
) -> dict[Schedule, Failure]:
    """Run what was found again, not guided by anything, and take it down."""
    schedules = {
        schedule: None
        for outcome in outcomes
        if outcome is not None
        for schedule in (*outcome.schedules, *outcome.met.values())
    }
    failures: dict[Schedule, Failure] = {}
    if not schedules:
        return failures
    settings = settings.changed({"early_stop": True}, for_this_test=True)
    with opened(program, settings) as session:
        for schedule in schedules:
            failure = session.rerun(schedule).failure
            if failure is None:
                raise TreadleBug(f"a deadlock does not show again: {schedule}")
            session.record(failure, explained=False)
            failures[schedule] = failure
    return failures
