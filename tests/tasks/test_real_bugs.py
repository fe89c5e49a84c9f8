"""Defects of released libraries are found with default options, and their repairs are verified."""

from __future__ import annotations

import pytest
from correct_programs import PROGRAMS
from every_poll import every_schedule
from exploring import explored
from real_bugs import ROWS

import treadle

KINDS = {
    "a condition's notification against a cancellation": "deadlock",
    "the same in another library's condition": "deadlock",
    "a wait with a timeout swallows a cancellation": "assertion",
    "the same in a connection pool": "exception",
    "a semaphore that a cancelled waiter leaves locked": "deadlock",
    "a limiter loses a token with a cancelled waiter": "assertion",
    "a lock strands a waiter behind a cancelled one": "deadlock",
    "a limiter grants a token twice": "assertion",
    "a connection pool loses a wakeup": "deadlock",
    "the same pool strands a waiter": "deadlock",
    "a queue's join spins": "livelock",
    "a done callback raises, its caller waits for ever": "exception",
    "a cancelled command leaves its reply to the next": "assertion",
    "a cut-off computed outside of the lock": "assertion",
}
FOUND = list(ROWS)
ONE_ARRIVAL = "a queue's join spins"
"""Its test waits for one thing only, so that there is one order."""
SCHEDULES = 700
"""More than any of the programs has."""


@pytest.mark.parametrize("name", FOUND)
def test_defect_is_found(name: str) -> None:
    result = treadle.explore(ROWS[name][0])
    assert [failure.kind for failure in result.failures] == [KINDS[name]]
    assert result.algorithm == "fifo"


@pytest.mark.parametrize("name", FOUND)
def test_repair_is_verified(name: str) -> None:
    result = treadle.explore(ROWS[name][1])
    assert (result.complete, result.failures) == (True, [])
    assert (result.executions > 1) == (name != ONE_ARRIVAL)


@pytest.mark.parametrize("name", FOUND)
@pytest.mark.parametrize("version", ["with the defect", "repaired"])
def test_every_end_is_seen(name: str, version: str) -> None:
    """Brute force over all polls sees no final state that the search did not see."""
    test = ROWS[name][version == "repaired"]
    _, classes, states = every_schedule(test, SCHEDULES)
    result, seen = explored(test, "fifo")
    assert result.complete
    assert seen == states
    assert len(classes) <= result.executions


@pytest.mark.parametrize("name", PROGRAMS)
def test_correct_program_is_verified(name: str) -> None:
    result = treadle.explore(PROGRAMS[name])
    assert (result.complete, result.failures) == (True, [])
    assert result.executions > 1
