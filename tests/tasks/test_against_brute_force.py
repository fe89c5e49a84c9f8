"""Random programs: the classes and final states of the search are those of the brute force."""

from __future__ import annotations

import os
from typing import Any

import pytest
from drawn_programs import CANCELLING, PLAIN, TIMED, drawn, made
from every_poll import TooMany, every_schedule
from exploring import explored
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from oracles import programs

EXAMPLES = int(os.environ.get("TREADLE_TASK_EXAMPLES", "25"))
deterministic = settings(
    max_examples=EXAMPLES,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)

RAW = {
    "rw(2)": 8, "rw(3)": 96, "grw(2)": 74, "readers(1)": 8, "readers(2)": 96,
    "independent(3,1)": 96, "independent(2,2)": 74, "locked(2)": 22, "philosophers(2)": 56,
    "lastzero(2)": 153, "queue(2,1)": 228, "queue(2,1,1)": 278, "event": 8, "condition": 10,
    "barrier": 6, "cancel": 8, "timeout": 11, "day": 1, "sleeps(1,2)": 1, "sleeps(1,1)": 8,
    "sleeps(1,1,2)": 8, "after": 18, "group": 11, "first": 10, "completed": 10, "shield": 16,
    "fails": 10, "soon": 1, "hops": 9, "agen": 2, "executor": 8,
}  # fmt: skip
"""Schedules of the oracles, if all are enumerated."""


@pytest.mark.parametrize("name", RAW)
def test_schedules_of_the_oracles(name: str) -> None:
    test = programs("fifo")[name]
    count, classes, states = every_schedule(test, 500)
    result, seen = explored(test, "fifo")
    assert count == RAW[name]
    assert (result.executions, seen) == (len(classes), states)


@deterministic
@given(
    st.one_of(drawn(PLAIN, 3, 2), drawn(TIMED, 2, 3), drawn(CANCELLING, 3, 2)),
)
def test_fifo(program: Any) -> None:
    test = made(program, "fifo")
    try:
        _, classes, states = every_schedule(test, 400)
    except TooMany:
        assume(False)
    result, seen = explored(test, "fifo")
    assert result.complete
    assert seen == states
    assert len(classes) <= result.executions


@deterministic
@given(drawn(PLAIN, 2, 2))
def test_any(program: Any) -> None:
    test = made(program, "any")
    everything, states = explored(test, "any", algorithm="exhaustive", max_executions=400)
    assume(everything.complete)
    result, seen = explored(test, "any")
    assert result.complete
    assert seen == states
    assert result.executions <= everything.executions
