"""Virtual time: deadlines keep their order, what comes from outside takes up to `latency`."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from exploring import explored

import treadle
from treadle.tasks.moments import BEGINNING, latest


async def answer() -> str:
    await treadle.pause()
    return "answer"


async def within(seconds: float) -> str:
    try:
        return await asyncio.wait_for(answer(), seconds)
    except TimeoutError:
        return "late"


async def soon() -> str:
    return await within(5)


async def in_a_day() -> str:
    return await within(86400)


@pytest.mark.parametrize(
    ("options", "of_soon", "of_a_day"),
    [
        ({}, {"'answer'", "'late'"}, {"'answer'"}),
        ({"timeouts": "explore"}, {"'answer'", "'late'"}, {"'answer'", "'late'"}),
        ({"timeouts": "last"}, {"'answer'"}, {"'answer'"}),
        ({"timeouts": "never"}, {"'answer'"}, {"'answer'"}),
        ({"latency": 3.0}, {"'answer'"}, {"'answer'"}),
        ({"latency": 1e6}, {"'answer'", "'late'"}, {"'answer'", "'late'"}),
    ],
)
def test_when_timeouts_expire(
    options: dict[str, Any], of_soon: set[str], of_a_day: set[str]
) -> None:
    assert explored(soon, "fifo", **options)[1] == of_soon
    assert explored(in_a_day, "fifo", **options)[1] == of_a_day


@pytest.mark.parametrize("timeouts", ["latency", "explore", "last"])
def test_timeout_that_nothing_else_ends(timeouts: str) -> None:
    async def test() -> str:
        try:
            async with asyncio.timeout(86400):
                await asyncio.Event().wait()
        except TimeoutError:
            return "late"
        return ""

    assert explored(test, "fifo", timeouts=timeouts)[1] == {"'late'"}


def test_without_timeouts_it_waits_for_ever() -> None:
    async def test() -> None:
        async with asyncio.timeout(1):
            await asyncio.Event().wait()

    result = treadle.explore(test, timeouts="never")
    assert [failure.kind for failure in result.failures] == ["deadlock"]


def test_sleep_and_call_later_are_no_timeouts() -> None:
    async def test() -> float:
        loop = asyncio.get_running_loop()
        called = loop.create_future()
        loop.call_later(2, called.set_result, None)
        await asyncio.sleep(1)
        await called
        return loop.time()

    for timeouts in ("latency", "never", "last"):
        assert explored(test, "fifo", timeouts=timeouts)[1] == {"2.0"}


def test_clocks_advance_with_timers_only() -> None:
    async def test() -> tuple[float, float, float]:
        loop = asyncio.get_running_loop()
        before, monotonic, wall = loop.time(), time.monotonic(), time.time()
        sum(range(1000))
        await asyncio.sleep(3)
        return (
            loop.time() - before,
            round(time.monotonic() - monotonic, 3),
            round(time.time() - wall, 3),
        )

    assert explored(test, "fifo")[1] == {"(3.0, 3.0, 3.0)"}


def test_what_clocks_do_not_show_is_noted() -> None:
    """They said what threads do, and named an option that tasks do not have."""

    async def looks(delay: Any) -> float:
        before = time.monotonic()
        await delay()
        return time.monotonic() - before

    async def sleeps() -> None:
        await asyncio.gather(*[looks(lambda: asyncio.sleep(1)) for _ in range(2)])

    async def pauses() -> None:
        await looks(treadle.pause)

    assert treadle.explore(sleeps).notes == []
    (note,) = treadle.explore(pauses).notes
    assert note.startswith("the clock (time.monotonic() at ")
    assert note.endswith("when timers were due: what arrives from outside takes no time on it")


def test_a_task_never_sees_an_earlier_time() -> None:
    async def test() -> bool:
        lock = asyncio.Lock()
        loop = asyncio.get_running_loop()
        seen: list[bool] = []

        async def hold() -> None:
            async with lock:
                await treadle.pause()

        async def after() -> None:
            await asyncio.sleep(7)
            before = loop.time()
            async with lock:
                seen.append(loop.time() >= before)

        await asyncio.gather(hold(), after())
        return all(seen)

    assert explored(test, "fifo", latency=100.0)[1] == {"True"}


def test_moments() -> None:
    asked = BEGINNING.outside("p", 60)
    assert BEGINNING.precedes(BEGINNING.later(1))
    assert not BEGINNING.precedes(BEGINNING)
    assert not asked.precedes(BEGINNING.later(5))
    assert asked.precedes(BEGINNING.later(61))
    assert asked.precedes(BEGINNING.later(5), is_prompt=True)
    assert asked.precedes(asked.later(1))
    assert asked.later(1).precedes(BEGINNING.later(62))
    assert not asked.later(1).precedes(BEGINNING.later(61))


def test_the_latest_of_moments() -> None:
    one, other = BEGINNING.outside("p", 60), BEGINNING.outside("q", 60)
    both = latest([one, other])
    assert latest([BEGINNING, one.later(1)]).precedes(one.later(2))
    assert not both.precedes(one.later(1))
    assert one.precedes(both.later(1))
    assert other.precedes(both.later(1))
    assert both.precedes(BEGINNING.later(61))
    assert both.later(2).seconds == 2


def test_moments_stay_small() -> None:
    """A task that was answered again and again is as late as its latest answer."""
    now = BEGINNING
    for number in range(200):
        now = latest([now, now.outside(f"p{number}", 60)])
    assert now.precedes(now.later(1))
    assert len(now._parts()[0]) == 1
