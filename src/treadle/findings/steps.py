"""The steps of a run in words, whatever its front end knows of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from treadle.core.events import Codes, Mode, Vocabulary, location_of, mode_of
from treadle.core.happens_before import Trace
from treadle.core.program import Run
from treadle.core.records import StepRecord
from treadle.core.words import OPERATIONS, access_in_words

_CHANGING = (Mode.WRITE, Mode.STORE, Mode.ADD)


def steps_of(run: Run, trace: Trace) -> list[StepRecord]:
    """Return what a run took down of its steps; if it takes nothing down, their accesses.

    What they gave back and changed is in the trace, whoever recorded them.
    """
    return [
        _with_effects(record, codes, trace.vocabulary)
        for record, codes in zip(_recorded(run, trace), trace.codes, strict=False)
    ]


def _recorded(run: Run, trace: Trace) -> Sequence[StepRecord]:
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


def _with_effects(record: StepRecord, codes: Codes, vocabulary: Vocabulary) -> StepRecord:
    """Add what a step gave back, and which data it changed."""
    names, given, changed = vocabulary.location_names, [], []
    for access in codes:
        mode, location = mode_of(access), location_of(access)
        if mode is Mode.GIVE:
            given.append(names[location])
        elif mode in _CHANGING and location in vocabulary.data:
            changed.append(names[location])
    if not given and not changed:
        return record
    return replace(record, gives=tuple(given), changes=tuple(dict.fromkeys(changed)))
