"""Loops that look again and again, with a sleep in between: `while not ready: await sleep(0.1)`.

Each look was a class of its own, so that a test that polls had no verdict within the time it had.
"""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from exploring import explored

import treadle

BOTH = pytest.mark.parametrize("order", ["fifo", "any"])


async def _look(seconds: float, is_there: Callable[[], object]) -> None:
    while not is_there():
        await asyncio.sleep(seconds)


async def _write(found: list[int], value: int = 1) -> None:
    await treadle.pause()
    found.append(value)


@BOTH
@pytest.mark.parametrize("seconds", [0.1, 0.001])
def test_looks_that_see_nothing_new_are_no_classes(seconds: float, order: str) -> None:
    async def test() -> None:
        found: list[int] = []
        writer = asyncio.create_task(_write(found))
        await _look(seconds, lambda: found)
        await writer

    result, seen = explored(test, order)
    assert (result.complete, result.executions, seen) == (True, 3, {"None"})


@BOTH
@pytest.mark.parametrize("seconds", [0, 0.1])
def test_two_who_write_what_is_looked_at(seconds: float, order: str) -> None:
    """Who was second was never tried behind the look: whoever wrote seemed to be what it needs."""

    async def test() -> Any:
        state = SimpleNamespace(first=0, second=0)

        async def write(name: str) -> None:
            await treadle.pause()
            setattr(state, name, 1)

        async def look() -> tuple[int, int]:
            await _look(seconds, lambda: state.first or state.second)
            return state.first, state.second

        return (await asyncio.gather(write("first"), write("second"), look()))[2]

    result, seen = explored(test, order, yields="test")
    assert (result.complete, seen) == (True, {"(0, 1)", "(1, 0)", "(1, 1)"})


@BOTH
def test_looks_against_timers(order: str) -> None:
    """The look comes within 0.1 s after what it looks for, neither earlier nor later."""

    async def test() -> list[str]:
        log: list[str] = []
        loop = asyncio.get_running_loop()
        for delay, name in ((0.3, "written"), (0.35, "meanwhile"), (0.5, "later")):
            loop.call_later(delay, log.append, name)
        await _look(0.1, lambda: "written" in log)
        log.append("seen")
        await asyncio.sleep(1)
        return log

    result, seen = explored(test, order)
    orders = [["written", "seen", "meanwhile", "later"], ["written", "meanwhile", "seen", "later"]]
    assert (result.complete, seen) == (True, set(map(repr, orders)))


@BOTH
@pytest.mark.parametrize(("limit", "ends"), [(6, "seen"), (4, "late")])
def test_looks_with_a_limit(limit: int, ends: str, order: str) -> None:
    async def test() -> str:
        found: list[int] = []
        asyncio.get_running_loop().call_later(5, found.append, 1)
        try:
            async with asyncio.timeout(limit):
                await _look(0.1, lambda: found)
        except TimeoutError:
            return "late"
        return "seen"

    result, seen = explored(test, order)
    assert (result.complete, seen) == (True, {repr(ends)})


@BOTH
@pytest.mark.parametrize("seconds", [0, 0.5])
def test_loops_that_look_at_the_time_only(seconds: float, order: str) -> None:
    """With turns only, it was called a livelock: what it waits for is no data."""

    async def test() -> bool:
        loop = asyncio.get_running_loop()
        end = loop.time() + 5
        loop.call_later(7, str)
        while loop.time() < end:
            await asyncio.sleep(seconds)
        return loop.time() >= end

    result, seen = explored(test, order, yields="test")
    assert (result.complete, seen) == (True, {"True"})


@BOTH
def test_looks_in_vain(order: str) -> None:
    async def test() -> None:
        await _look(0.5, list)

    result, _ = explored(test, order)
    assert [(failure.kind, failure.message) for failure in result.failures] == [
        ("livelock", "main waits for a change of something, for which it takes turn after turn")
    ]


@BOTH
def test_a_poller_in_the_background(order: str) -> None:
    async def test() -> str:
        stop: list[int] = []
        poller = asyncio.create_task(_look(0.01, lambda: stop))
        await treadle.pause()
        poller.cancel()
        await asyncio.wait([poller])
        return "cancelled" if poller.cancelled() else "ended"

    result, seen = explored(test, order)
    assert (result.complete, seen) == (True, {"'cancelled'"})
    assert result.executions <= 10


def _ones() -> Iterator[int]:
    yield 1
    yield 1
    yield 1


@BOTH
@pytest.mark.parametrize("seconds", [0, 0.1])
@pytest.mark.parametrize(
    "rounds",
    [
        lambda: (1, 1, 1),
        lambda: iter([1, 1, 1]),
        lambda: itertools.repeat(1, 3),
        lambda: zip([1, 1, 1], [1, 1, 1], strict=True),
        _ones,
    ],
    ids=["tuple", "iterator", "repeat", "zip", "generator"],
)
def test_for_loops_end(rounds: Callable[[], Any], seconds: float, order: str) -> None:
    """How far they have come is in no variable: each was called a livelock."""

    async def test() -> str:
        for _ in rounds():
            await asyncio.sleep(seconds)
        return "end"

    result, seen = explored(test, order)
    assert (result.complete, result.failures, seen) == (True, [], {"'end'"})


@BOTH
@pytest.mark.parametrize(
    "iterate", [iter, reversed, lambda delays: zip(delays, delays, strict=True)]
)
def test_for_loops_over_what_is_shared_end(iterate: Callable[[Any], Any], order: str) -> None:
    """Treadle's own iterator of it has moved on: that is no change that code under test makes."""

    async def test() -> str:
        delays = [1, 1, 1]

        async def wait() -> None:
            for _ in iterate(delays):
                await asyncio.sleep(1)

        await asyncio.gather(wait(), wait())
        return "end"

    result, seen = explored(test, order)
    assert (result.failures, seen) == ([], {"'end'"})


@BOTH
def test_comprehensions_end(order: str) -> None:
    async def test() -> int:
        return len([await asyncio.sleep(0.1, each) for each in (1, 1, 1)])

    result, seen = explored(test, order)
    assert (result.complete, result.failures, seen) == (True, [], {"3"})


@BOTH
def test_tries_that_are_over_before_it_is_there(order: str) -> None:
    async def test() -> bool:
        found: list[int] = []
        writer = asyncio.create_task(_write(found))
        for delay in (0.1, 0.1, 0.1):
            if found:
                break
            await asyncio.sleep(delay)
        was_there = bool(found)
        await writer
        return was_there

    result, seen = explored(test, order)
    assert (result.complete, seen) == (True, {"True", "False"})


@BOTH
def test_looks_within_a_for_loop(order: str) -> None:
    """The outer loop stands where it stood: that each look is the same is seen."""

    async def test() -> None:
        found: list[int] = []
        writers = [asyncio.create_task(_write(found)) for _ in (1, 1)]
        for _ in zip((1, 1), (1, 1), strict=True):
            await _look(0.1, lambda: found)
            found.pop()
        await asyncio.wait(writers)

    result, seen = explored(test, order)
    assert (result.complete, seen) == (True, {"None"})


@BOTH
@pytest.mark.parametrize("seconds", [0, 0.1])
def test_looks_at_a_future_of_its_own(seconds: float, order: str) -> None:
    """Nobody else seemed to know it: when it was done, nobody looked, and that was a livelock."""

    async def test() -> object:
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        loop.call_later(5, future.set_result, 1)
        await _look(seconds, future.done)
        return await future

    result, seen = explored(test, order)
    assert (result.complete, seen) == (True, {"1"})


@BOTH
def test_looks_at_the_result_of_an_executor(order: str) -> None:
    async def test() -> object:
        future = asyncio.get_running_loop().run_in_executor(None, lambda: 1)
        await _look(0.1, future.done)
        return future.result()

    result, seen = explored(test, order)
    assert (result.complete, result.executions, seen) == (True, 3, {"1"})


@BOTH
def test_loops_that_luck_ends(order: str) -> None:
    async def test() -> str:
        while random.random() < 0.9:
            await asyncio.sleep(1)
        return "end"

    result, seen = explored(test, order)
    assert (result.complete, result.failures, seen) == (True, [], {"'end'"})
