"""Shrinking where the ready queue is FIFO: fewer arrivals before their time.

A schedule of a FIFO loop is determined by its *point*: at which poll each arrival comes. What a
point does not name arrives when the loop is idle, as late as it can. So a failure is simpler if
its point names fewer arrivals; each is left out in turn, as long as the same failure shows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from treadle.core.failure import Failure, is_shown_by_schedule, without_addresses
from treadle.core.happens_before import Trace
from treadle.core.schedule import Schedule
from treadle.explore.budget import MAX_STEPS
from treadle.findings.recording import for_report
from treadle.tasks.polls import Polls

if TYPE_CHECKING:
    from treadle.tasks.program import TaskProgram
    from treadle.tasks.run import TaskRun

Point = dict[int, tuple[int, int]]
"""At which poll arrivals come, and in which place: by process + 1, as in zones."""


def fewest_early_arrivals(program: TaskProgram, failure: Failure) -> Failure:
    """Return the same failure with fewer arrivals before their time; itself if there is none."""
    if not is_shown_by_schedule(failure.kind):
        return failure
    with for_report(program):
        program.know(failure.schedule.knowledge)
        point = _point_of(program, failure.schedule)
        best = failure
        for arrival in sorted(point, reverse=True):
            fewer = {name: at for name, at in point.items() if name != arrival}
            shown = _shown_at(program, fewer, failure)
            if shown is not None:
                best, point = shown, fewer
    return best


def _point_of(program: TaskProgram, schedule: Schedule) -> Point:
    """Return at which polls the arrivals of a schedule come."""
    run = program.start()
    point: Point = {}
    iteration, batch, place = -1, 0, 0
    for name in schedule:
        process = program.vocabulary.process_number(name)
        if process is None or not run.is_enabled(process):
            break
        if not batch and process not in run.loop.armed:
            iteration, batch, place = iteration + 1, len(run.loop.ready), 0
        if process in run.loop.armed:
            if not run.loop.ready and not batch:
                iteration += 1
            point[process + 1] = (iteration, place)
            place += 1
        else:
            batch -= 1
        run.step(process)
    run.drop()
    return point


def _shown_at(program: TaskProgram, point: Point, wanted: Failure) -> Failure | None:
    """Run the program at a point; return the failure if it is the one that is wanted."""
    run, polls = program.start(), Polls(dict(point))
    trace = Trace(program.vocabulary)
    while (step := polls.next_step(run)) is not None and len(trace) < MAX_STEPS:
        trace.append(step.process, run.step(step.process))
    names = program.vocabulary.process_names
    schedule = Schedule((names[process] for process in trace.processes), program.knowledge())
    found = None
    if not polls.violated and not run.enabled():
        found = next(
            (one for one in _failures(program, run, schedule) if _alike(one, wanted)), None
        )
    run.drop()
    if found is not None:
        found.schedule = schedule.upto(found.step + 1)
        found.run_with(program)
    return found


def _failures(program: TaskProgram, run: TaskRun, schedule: Schedule) -> Iterator[Failure]:
    ending = run.ending()
    if ending.is_deadlock:
        yield Failure.of_deadlock(ending, schedule)
    for crash in run.crashes:
        yield Failure.of_crash(program, crash, schedule)


def _alike(one: Failure, other: Failure) -> bool:
    return (one.kind, one.process, without_addresses(one.message)) == (
        other.kind, other.process, without_addresses(other.message),
    )  # fmt: skip
