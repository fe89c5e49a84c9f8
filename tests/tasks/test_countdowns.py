"""Countdowns: who of several tasks is last makes no class, whoever waits for them."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from every_poll import agreed, every_schedule, gap
from exploring import explored

import treadle


async def all_of(how: str, coroutines: list[Any]) -> None:
    """Wait for some coroutines."""
    if how == "gather":
        await asyncio.gather(*coroutines)
    elif how == "exceptions":
        await asyncio.gather(*coroutines, return_exceptions=True)
    elif how == "wait":
        await asyncio.wait([asyncio.create_task(one) for one in coroutines])
    else:
        async with asyncio.TaskGroup() as group:
            for one in coroutines:
                group.create_task(one)


WAYS = ["gather", "exceptions", "wait", "group"]


async def pauses(times: int = 1) -> None:
    for _ in range(times):
        await treadle.pause()


def in_order(parts: list[Callable[[], Awaitable[None]]]) -> Callable[[], Any]:
    """Return a test of several tasks, which tells in which order they ended."""

    async def test() -> tuple[int, ...]:
        log: list[int] = []

        async def part(i: int) -> None:
            await parts[i]()
            log.append(i)

        await asyncio.gather(*map(part, range(len(parts))))
        return tuple(log)

    return test


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize(("tasks", "times"), [(3, 1), (6, 3), (8, 4)])
def test_independent_tasks_have_one_class(how: str, tasks: int, times: int) -> None:
    async def test() -> None:
        await all_of(how, [pauses(times) for _ in range(tasks)])

    result, _ = explored(test, "fifo")
    assert (result.executions, result.blocked, result.complete) == (1, 0, True)


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("ends", [2, 6])
def test_the_last_against_another_task(how: str, ends: int) -> None:
    test = in_order([pauses, lambda: all_of(how, [pauses() for _ in range(ends)])])
    result, seen = explored(test, "fifo")
    assert (result.executions, seen) == (2, {"(0, 1)", "(1, 0)"})


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize(("countdowns", "ends"), [(2, 6), (2, 12), (3, 6), (4, 3)])
def test_several_countdowns_that_touch_one_thing(how: str, countdowns: int, ends: int) -> None:
    """Which of them is first makes a class, and nothing else does."""
    one = lambda: all_of(how, [pauses() for _ in range(ends)])  # noqa: E731
    result, seen = explored(in_order([one] * countdowns), "fifo")
    orders = math.factorial(countdowns)
    assert (result.executions, result.blocked, len(seen)) == (orders, 0, orders)


@pytest.mark.parametrize("rounds", [2, 3])
def test_countdowns_one_after_the_other(rounds: int) -> None:
    async def one() -> None:
        for _ in range(rounds):
            await asyncio.gather(*[pauses() for _ in range(6)])

    result, seen = explored(in_order([one, one]), "fifo")
    assert (result.executions, result.blocked, len(seen)) == (2, 0, 2)


def test_countdowns_of_countdowns() -> None:
    async def one() -> None:
        gathers = [asyncio.gather(*[pauses() for _ in range(4)]) for _ in range(2)]
        await asyncio.gather(*gathers)

    result, seen = explored(in_order([one, one]), "fifo")
    assert (result.executions, result.blocked, len(seen)) == (2, 0, 2)


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("other", WAYS)
def test_two_countdowns_against_brute_force(how: str, other: str) -> None:
    test = in_order(
        [
            lambda: all_of(how, [pauses(), pauses()]),
            lambda: all_of(other, [pauses()]),
        ]
    )
    count, classes, states = every_schedule(test, 1000)
    result, seen = explored(test, "fifo")
    assert count > len(classes) == 2
    assert (result.executions, seen) == (len(classes), states)


def meeting(order: str, tasks: int, *, goes_on: bool) -> Callable[[], Any]:
    """Return a test of tasks that meet at a barrier, and do not look at what it returns."""

    async def test() -> list[int]:
        barrier, log = asyncio.Barrier(tasks), []

        async def one(i: int) -> None:
            await gap(order)
            await barrier.wait()
            if goes_on:
                log.append(i)

        await asyncio.gather(*[one(i) for i in range(tasks)])
        return log

    return test


@pytest.mark.parametrize(("order", "tasks"), [("fifo", 2), ("fifo", 3), ("any", 2)])
def test_orders_at_a_barrier_are_told_apart_by_who_goes_on_first(order: str, tasks: int) -> None:
    """The last goes on at once, the others as they came: so a barrier is no countdown."""
    executions, seen = agreed(meeting(order, tasks, goes_on=True), order)
    assert (executions, len(seen)) == (math.factorial(tasks), math.factorial(tasks))


@pytest.mark.parametrize("order", ["fifo", "any"])
def test_orders_at_a_barrier_are_not_reduced_where_nothing_follows(order: str) -> None:
    executions, seen = agreed(meeting(order, 2, goes_on=False), order)
    assert (executions, len(seen)) == (2, 1)
