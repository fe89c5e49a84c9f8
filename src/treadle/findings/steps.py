"""The steps of a run in words, whatever its front end knows of them."""

from __future__ import annotations

from treadle.core.events import mode_of
from treadle.core.happens_before import Trace
from treadle.core.program import Run
from treadle.core.records import StepRecord
from treadle.core.words import OPERATIONS, access_in_words


def steps_of(run: Run, trace: Trace) -> list[StepRecord]:
    """Return what a run took down of its steps; if it takes nothing down, their accesses."""
    recorded = run.records()
    if recorded is not None:
        return recorded
    names = trace.vocabulary.process_names
    errors = {crash.step: crash.exception for crash in run.crashes}
    return [
        StepRecord(
            names[process],
            tuple(
                access_in_words(access, trace.vocabulary)
                for access in codes
                if mode_of(access) in OPERATIONS
            ),
            where=run.where(process),
            error=type(errors[index]).__name__ if index in errors else "",
        )
        for index, (process, codes) in enumerate(zip(trace.processes, trace.codes, strict=True))
    ]
