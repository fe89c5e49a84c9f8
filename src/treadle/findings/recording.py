"""What only another run can tell of a failure: its trace, frames and cause; and its token.

`record` runs the failing schedule again, once, in the control that is open already; `explain` then
tries the orders that may be the cause (`cause`). From then on the failure is data for all readers.
The program prints nothing meanwhile, and no debugger stops.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

from treadle.core.debugging import no_breakpoints
from treadle.core.errors import ScheduleMismatch
from treadle.core.failure import Failure, is_shown_by_schedule
from treadle.core.happens_before import Trace
from treadle.core.program import Program, Run
from treadle.core.records import StepRecord
from treadle.findings.cause import find_cause
from treadle.findings.links import links_of
from treadle.findings.replay import follow, remarks_of
from treadle.findings.tokens import token_of


def record(program: Program, failure: Failure) -> None:
    """Add the trace, the frames and the token to a failure, which take another run."""
    trace = Trace(program.vocabulary)
    with for_report(program):
        _record_run(program, failure, trace)
    failure.graph = program.graph()
    failure.token = token_of(failure, trace if failure.trace else None, program.front_end)


def explain(program: Program, failure: Failure) -> None:
    """Add the cause to a failure, which takes several other runs."""
    if is_shown_by_schedule(failure.kind):
        with for_report(program):
            failure.cause = find_cause(program, failure)
            failure.remarks = list(dict.fromkeys([*failure.remarks, *program.remarks(failure)]))


def _record_run(program: Program, failure: Failure, trace: Trace) -> None:
    """Take down the steps of the failing schedule, and the frames at the failing step."""
    last = min(failure.step, len(failure.schedule) - 1)

    def look(run: Run, index: int) -> None:
        if index == last:
            failure.frames = run.frames()

    steps: list[StepRecord] = []
    try:
        run = follow(
            program, failure.schedule, detail=True, trace=trace, records=steps, on_step=look
        )
    except ScheduleMismatch:  # of a nondeterministic program: it went elsewhere this time
        return
    if last < 0:
        failure.frames = run.frames()
    failure.trace = steps
    failure.links = links_of(trace, steps)
    failure.remarks = remarks_of(program, run, trace, failure)
    run.drop()


@contextmanager
def for_report(program: Program) -> Iterator[None]:
    """Take control of a program to find out more; it prints nothing, and stops nowhere."""
    with quietly(), program.controlled():
        yield


@contextmanager
def quietly() -> Iterator[None]:
    """Let nothing be printed for a while, and no debugger stop."""
    with (
        Path(os.devnull).open("w", encoding="utf-8", errors="replace") as nowhere,
        redirect_stdout(nowhere),
        redirect_stderr(nowhere),
        no_breakpoints(),
    ):
        yield
