"""Running one given schedule again, and saying what differs from what was recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from treadle.core.errors import ScheduleMismatch
from treadle.core.failure import Failure, is_shown_by_schedule
from treadle.core.happens_before import Trace
from treadle.core.program import CannotStepError, Program, Run
from treadle.core.records import FrameRecord, Graph, Link, StepRecord
from treadle.core.result import Result
from treadle.core.schedule import Schedule
from treadle.explore.data_races import data_races
from treadle.findings.database import RecordedStep
from treadle.findings.links import links_of
from treadle.findings.steps import steps_of
from treadle.findings.tokens import Recipe, token_of


@dataclass(slots=True)
class Replayed:
    """What running a schedule again has shown."""

    failure: Failure | None
    steps: list[StepRecord] = field(repr=False)
    able: list[str]
    """The processes that could go on where the schedule ends."""
    is_same: bool | None = None
    """Whether the failure is the recorded one; None if a schedule says nothing about that."""
    difference: str = ""
    """The first step that is not what was recorded, in words; empty if there is none."""
    links: list[Link] = field(default_factory=list, repr=False)
    """Which steps made which others possible, across processes."""
    graph: Graph | None = field(default=None, repr=False)
    """What the processes run in, if the front end has a picture of it."""

    def __str__(self) -> str:
        """Say how this differs from what was recorded; nothing if it does not."""
        if self.is_same is None or (self.is_same and not self.difference):
            return ""
        if self.is_same:
            outcome = "The recorded failure showed again, although the program has changed"
        elif self.failure is not None:
            outcome = "This is not the recorded failure"
        else:
            outcome = "The recorded failure did not show"
        return f"{outcome}{': ' if self.difference else '.'}{self.difference}"

    def as_result(self, program: str) -> Result:
        """Return one execution as the result of an exploration, for a report."""
        return Result(
            program,
            "replay",
            failures=[self.failure] if self.failure is not None else [],
            failing=int(self.failure is not None),
            events=len(self.steps),
            replayed=len(self.steps),
            stopped_by="the end of the schedule",
            notes=[str(self)] if str(self) else [],
        )


def run_again(
    program: Program,
    schedule: Schedule,
    *,
    races: bool = False,
    recipe: Recipe | None = None,
    recorded: Sequence[RecordedStep] = (),
) -> Replayed:
    """Take the steps of a schedule, once; `recipe` and `recorded` are what it did when it failed.

    If the program cannot take them, `ScheduleMismatch` says which is the first that differs. A
    failure that shows has its trace, frames and token from this very run.
    """
    trace = Trace(program.vocabulary)
    steps: list[StepRecord] = []
    crashing: dict[int, list[FrameRecord]] = {}

    def look(run: Run, index: int) -> None:
        if run.crashes and run.crashes[-1].step == index:
            crashing[index] = run.frames()

    try:
        run = follow(program, schedule, detail=True, trace=trace, records=steps, on_step=look)
    except ScheduleMismatch as mismatch:
        difference = _difference(steps, trace, recipe, recorded)
        if not difference:
            raise
        raise ScheduleMismatch(f"the program has changed: {difference}; then {mismatch}") from None
    failure = _failure_of(program, run, trace, schedule, races=races, recipe=recipe)
    names = program.vocabulary.process_names
    able = [names[process] for process in run.enabled()]
    links, graph = links_of(trace, steps), program.graph()
    if failure is not None:
        failure.run_with(program)
        failure.trace, failure.links, failure.graph = steps, links, graph
        failure.frames = crashing.get(failure.step) or run.frames()
        failure.token = token_of(failure, trace, program.front_end)
        failure.remarks = remarks_of(program, run, trace, failure)
    run.drop()
    same = None if recipe is None else failure is not None and recipe.expects(failure)
    difference = _difference(steps, trace, recipe, recorded)
    return Replayed(failure, steps, able, same, difference, links, graph)


def follow(
    program: Program,
    schedule: Schedule,
    *,
    detail: bool,
    trace: Trace,
    records: list[StepRecord] | None = None,
    on_step: Callable[[Run, int], None] | None = None,
) -> Run:
    """Start the program and take the steps of a schedule; raise `ScheduleMismatch` if it cannot.

    The steps are added to `trace` and, with `detail`, to `records`, if they are given: those that
    could be taken, if not all. `on_step` is called after each, with its index.
    """
    try:
        program.know(schedule.knowledge)
        run = program.start(detail=detail)
        try:
            _take(program, run, schedule, trace, on_step)
        finally:
            if records is not None:
                records += steps_of(run, trace)
    except CannotStepError as error:
        raise ScheduleMismatch(
            f"the program is not deterministic: {program.vocabulary.process_names[error.process]} "
            f"does not always begin alike; remove state that outlives an execution"
        ) from error
    return run


def remarks_of(program: Program, run: Run, trace: Trace, failure: Failure) -> list[str]:
    """Return what a program says of a failure whose steps have just been taken."""
    return program.seen_in(run, trace, failure) if is_shown_by_schedule(failure.kind) else []


def _take(
    program: Program,
    run: Run,
    schedule: Schedule,
    trace: Trace,
    on_step: Callable[[Run, int], None] | None,
) -> None:
    for index, name in enumerate(schedule):
        process = program.vocabulary.process_number(name)
        if process is None or not run.is_enabled(process):
            raise ScheduleMismatch(_cannot(program, run, index, name))
        trace.append(process, run.step(process))
        if on_step is not None:
            on_step(run, index)


def _cannot(program: Program, run: Run, index: int, name: str) -> str:
    """Say that a step cannot be taken, and close the run."""
    names = program.vocabulary.process_names
    able = ", ".join(names[process] for process in run.enabled()) or "none"
    is_known = program.vocabulary.process_number(name) is not None
    run.drop()
    reason = "it cannot take a step" if is_known else "there is no such process"
    return (
        f"the schedule does not fit the program: step {index + 1} is for {name!r}, but {reason} "
        f"(enabled: {able}); explore again to get a new schedule"
    )


# What it shows


def _failure_of(
    program: Program,
    run: Run,
    trace: Trace,
    schedule: Schedule,
    *,
    races: bool,
    recipe: Recipe | None,
) -> Failure | None:
    """Return the failure that a run shows: the recorded one, if it is among them.

    Of several alike it is that of the last step: a recorded schedule ends with the failing one.
    """
    ending = None if run.enabled() else run.ending()  # which may show more crashes
    found = [Failure.of_crash(program, crash, schedule) for crash in run.crashes]
    if ending is not None and ending.is_deadlock:
        found.append(Failure.of_deadlock(ending, schedule))
    if recipe is not None and recipe.kind == "budget" and run.enabled():
        found.append(Failure.of_budget(program, run, trace, schedule))
    finding = program.finding_in(trace.processes) if trace.processes else None
    if finding is not None:
        found.append(Failure.of_finding(finding, schedule))
    if races and (not found or (recipe is not None and recipe.kind == "race")):
        found += [Failure.of_race(program, trace, pair, schedule) for pair in data_races(trace)]
    expected = [failure for failure in found if recipe is not None and recipe.expects(failure)]
    candidates = expected or found
    last = len(schedule) - 1
    return next(
        (failure for failure in candidates if failure.step == last),
        candidates[0] if candidates else None,
    )


def _difference(
    steps: Sequence[StepRecord],
    trace: Trace,
    recipe: Recipe | None,
    recorded: Sequence[RecordedStep],
) -> str:
    """Return the first step that is not the recorded one, in words."""
    for index, (then, step) in enumerate(zip(recorded, steps, strict=False)):
        now = RecordedStep.of(step)
        if not now.does_the_same(then):
            return f"step {index + 1}: recorded {then}, now {now}"
    found = recipe.first_difference(trace) if recipe is not None and not recorded else None
    if found is None:
        return ""
    first, end = found
    if end - first == 1:
        now = RecordedStep.of(steps[first])
        return f"step {end} is not the recorded one: now {now}"
    return f"one of the steps {first + 1} to {end} is not the recorded one"
