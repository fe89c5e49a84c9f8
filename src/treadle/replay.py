"""Running one given schedule again."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

from treadle.errors import ScheduleMismatch
from treadle.program import CannotStepError, FrameRecord, Program, Run, StepRecord
from treadle.result import Schedule
from treadle.trace import Trace


def follow(
    program: Program, schedule: Schedule, *, detail: bool, trace: Trace | None = None
) -> Run:
    """Start the program and take the steps of a schedule; raise `ScheduleMismatch` if it cannot.

    The steps are added to `trace`, if one is given.
    """
    try:
        return _follow(program, schedule, detail, trace)
    except CannotStepError as error:
        raise ScheduleMismatch(
            f"the program is not deterministic: {program.vocabulary.process_names[error.process]} "
            f"does not always begin alike; remove state that outlives an execution"
        ) from error


def _follow(program: Program, schedule: Schedule, detail: bool, trace: Trace | None) -> Run:
    program.know(schedule.knowledge)
    run = program.start(detail=detail)
    vocabulary = program.vocabulary
    for index, name in enumerate(schedule):
        process = vocabulary.process_number(name)
        if process is None or not run.is_enabled(process):
            able = ", ".join(vocabulary.process_names[p] for p in run.enabled()) or "none"
            run.close()
            reason = "there is no such process" if process is None else "it cannot take a step"
            raise ScheduleMismatch(
                f"the schedule does not fit the program: step {index + 1} is for {name!r}, but "
                f"{reason} (enabled: {able}); explore again to get a new schedule"
            )
        codes = run.step(process)
        if trace is not None:
            trace.append(process, codes)
    return run


@contextmanager
def for_report(program: Program) -> Iterator[None]:
    """Take control of a program for a report: what it prints is not part of that."""
    with (
        Path(os.devnull).open("w") as nowhere,
        redirect_stdout(nowhere),
        redirect_stderr(nowhere),
        program.controlled(),
    ):
        yield


def record(program: Program, schedule: Schedule) -> list[StepRecord]:
    """Return the steps of a schedule in words."""
    with for_report(program):
        run = follow(program, schedule, detail=True)
        records = run.records()
        run.drop()
    return records


def record_frames(program: Program, schedule: Schedule) -> list[FrameRecord]:
    """Return the functions that the processes are in at the end of a schedule."""
    with for_report(program):
        run = follow(program, schedule, detail=True)
        frames = run.frames()
        run.drop()
    return frames
