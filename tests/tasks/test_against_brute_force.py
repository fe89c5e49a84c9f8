"""Random programs: the classes and final states of the search are those of the brute force."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import pytest
from drawn_programs import CALLING, CANCELLING, PLAIN, TIMED, WAITING, drawn, made
from every_poll import TooMany, every_schedule
from exploring import explored
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from oracles import RAW, programs

import treadle

EXAMPLES = int(os.environ.get("TREADLE_TASK_EXAMPLES", "30"))
deterministic = settings(
    max_examples=EXAMPLES,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
MOST = 150
"""Schedules of a program that are enumerated."""


@pytest.mark.parametrize("order", ["fifo", "any"])
@pytest.mark.parametrize("name", RAW)
def test_schedules_of_the_oracles(name: str, order: str) -> None:
    raw = RAW[name][order == "any"]
    if raw is None or raw > 100:
        pytest.skip("takes long: see test_all_schedules_of_the_oracles")
    compare_with_all(name, order, raw)


@pytest.mark.slow
@pytest.mark.minutes
@pytest.mark.parametrize("order", ["fifo", "any"])
@pytest.mark.parametrize("name", RAW)
def test_all_schedules_of_the_oracles(name: str, order: str) -> None:
    raw = RAW[name][order == "any"]
    if raw is None:
        pytest.skip("too many to enumerate")
    compare_with_all(name, order, raw)


def compare_with_all(name: str, order: str, raw: int) -> None:
    test = programs(order)[name]
    count, classes, states = every_schedule(test, raw + 1, order)
    result, seen = explored(test, order)
    assert count == raw
    assert (result.executions, seen) == (len(classes), states)


@deterministic
@given(
    st.one_of(
        drawn(PLAIN, 3, 2),
        drawn(TIMED, 2, 2),
        drawn(CANCELLING, 3, 2),
        drawn(WAITING, 2, 2),
        drawn(CALLING, 3, 2),
    ),
)
def test_fifo(program: Any) -> None:
    test = made(program, "fifo")
    try:
        _, classes, states = every_schedule(test, MOST)
    except TooMany:
        assume(False)
    result, seen = explored(test, "fifo")
    assert result.complete
    assert seen == states
    assert result.executions == len(classes)


@pytest.mark.parametrize("setters", [2, 3, 4])
def test_who_is_first_makes_one_class_each(setters: int) -> None:
    result, _ = explored(made(([[("gap",), ("set",)]] * setters, "gather"), "fifo"), "fifo")
    assert (result.executions, result.blocked) == (setters, 0)


@pytest.mark.parametrize("ends", [2, 3, 4])
def test_who_is_last_makes_no_class(ends: int) -> None:
    async def test() -> str:
        log: list[str] = []

        async def later() -> None:
            await treadle.pause()
            log.append("later")

        other = asyncio.create_task(later())
        await asyncio.gather(*[treadle.pause() for _ in range(ends)])
        log.append("gathered")
        await other
        return log[0]

    result, seen = explored(test, "fifo")
    assert (result.executions, seen) == (2, {"'later'", "'gathered'"})


@deterministic
@given(
    st.one_of(
        drawn(PLAIN, 2, 2), drawn(CANCELLING, 2, 2), drawn(CALLING, 2, 2), drawn(TIMED, 2, 2)
    ),
)
def test_any(program: Any) -> None:
    test = made(program, "any")
    try:
        _, classes, states = every_schedule(test, MOST, "any")
    except TooMany:
        assume(False)
    result, seen = explored(test, "any")
    assert result.complete
    assert seen == states
    assert (result.executions, result.blocked) == (len(classes), 0)


@pytest.mark.parametrize("parts", [["done", "undone"], ["undone", "done"]])
def test_whether_a_callback_was_removed_is_told(parts: list[str]) -> None:
    test = made(([[(part,)] for part in parts], "group"), "any")
    count, classes, states = every_schedule(test, MOST, "any")
    result, seen = explored(test, "any")
    assert (count, len(classes), result.executions, len(seen)) == (26, 5, 5, 5)
    assert seen == states


@pytest.mark.parametrize("slow", [[("sleep", 2), ("add",)], [("sleep", 2), ("sleep", 1)]])
def test_timeouts_strike_last_and_do_not_hold_back_what_comes_when_they_are_cancelled(
    slow: list[Any],
) -> None:
    test = made(([slow, [("timeout", 1)]], "nothing"), "fifo")
    _, classes, states = every_schedule(test, MOST, timeouts="last")
    result, seen = explored(test, "fifo", timeouts="last")
    assert seen == states
    assert result.executions == len(classes)


def test_what_is_known_of_an_object_stays_its_own_if_another_is_left_out() -> None:
    """A function is met at first only, and what was met behind it keeps its name."""
    program = ([[("semaphore",), ("context",)], [("gap",), ("put",)]], "wait")
    result, _ = explored(made(program, "fifo"), "fifo")
    assert (result.complete, result.executions, result.failures) == (True, 1, [])


@pytest.mark.parametrize("order", ["fifo", "any"])
def test_names_of_tasks_are_data(order: str) -> None:
    async def test() -> str:
        async def named() -> str:
            await treadle.pause()
            task = asyncio.current_task()
            assert task is not None
            return task.get_name()

        async def naming() -> None:
            await treadle.pause()
            one.set_name("after")

        one = asyncio.create_task(named(), name="before")
        return (await asyncio.gather(one, naming()))[0]

    result, seen = explored(test, order)
    assert (result.executions, seen) == (2, {"'before'", "'after'"})
