"""What the exit status of the command says."""

from __future__ import annotations

from treadle.core.result import Result
from treadle.session.workers.coordinator import INTERRUPTED as BY_HAND

VERIFIED = 0
FAILED = 1
MISUSE = 2
INCOMPLETE = 3
BUG = 70
INTERRUPTED = 130


def status_of(result: Result) -> int:
    """Return the exit status of an exploration."""
    if result.stopped_by == BY_HAND:
        return INTERRUPTED
    if result.failures:
        return FAILED
    return VERIFIED if result.complete else INCOMPLETE
