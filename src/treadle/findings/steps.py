"""The steps of a run in words, whatever its front end knows of them."""

from __future__ import annotations

from treadle.core.events import Codes, Mode, Vocabulary, location_of, mode_of
from treadle.core.happens_before import Trace
from treadle.core.program import Run
from treadle.core.records import Access, StepRecord
from treadle.core.words import OPERATIONS


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
            _accesses(codes, trace.vocabulary),
            where=run.where(process),
            error=type(errors[index]).__name__ if index in errors else "",
        )
        for index, (process, codes) in enumerate(zip(trace.processes, trace.codes, strict=True))
    ]


def _accesses(codes: Codes, vocabulary: Vocabulary) -> tuple[Access, ...]:
    """Return accesses with the names of what they are about."""
    found = []
    for access in codes:
        mode = mode_of(access)
        if mode in OPERATIONS:
            is_process = mode in (Mode.SPAWN, Mode.JOIN)
            names = vocabulary.process_names if is_process else vocabulary.location_names
            found.append(Access(OPERATIONS[mode], names[location_of(access)]))
    return tuple(found)
