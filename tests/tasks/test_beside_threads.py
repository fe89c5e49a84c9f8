"""Threads beside tasks: one arrival where they touch nothing that tasks touch, else threads."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Callable
from typing import Any

import pytest

import treadle
from treadle.core.errors import TreadleError


class Shared:
    """Something that tasks and threads share."""

    x = 0


def explored(test: Callable[[], Any], **options: Any) -> tuple[str, int, list[str]]:
    """Return how a test was explored, in how many executions, and the kinds of its failures."""
    result = treadle.explore(test, stop_on_failure=False, **options)
    assert result.complete
    return result.algorithm, result.executions, [failure.kind for failure in result.failures]


# A test that is a coroutine function


async def nothing_shared() -> None:
    found = await asyncio.to_thread(len, "abc")
    found += await asyncio.get_running_loop().run_in_executor(None, lambda: 2)
    assert found == 5


async def touches_what_tasks_touch() -> None:
    shared = Shared()

    def increment() -> None:
        value = shared.x
        shared.x = value + 1

    other = asyncio.create_task(asyncio.to_thread(increment))
    await asyncio.sleep(0)
    increment()
    await other
    assert shared.x == 2


async def locked() -> None:
    shared, lock = Shared(), threading.Lock()

    def increment() -> None:
        with lock:
            shared.x += 1

    other = asyncio.create_task(asyncio.to_thread(increment))
    await asyncio.sleep(0)
    increment()
    await other
    assert shared.x == 2


async def own_thread() -> None:
    loop = asyncio.get_running_loop()
    answer = loop.create_future()
    thread = threading.Thread(target=lambda: loop.call_soon_threadsafe(answer.set_result, 3))
    thread.start()
    assert await answer == 3
    thread.join()


async def own_pool() -> None:
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        assert await asyncio.wrap_future(pool.submit(len, "ab")) == 2


async def two_pauses() -> None:
    shared = Shared()

    async def increment() -> None:
        value = shared.x
        await treadle.pause()
        shared.x = value + 1

    await asyncio.gather(increment(), increment())
    assert shared.x == 1


def test_result_of_an_executor_is_one_arrival() -> None:
    assert explored(nothing_shared) == ("fifo", 1, [])


@pytest.mark.parametrize(
    ("test", "kinds"),
    [(touches_what_tasks_touch, ["assertion"]), (locked, []), (own_thread, []), (own_pool, [])],
)
def test_threads_make_it_a_test_of_threads(test: Any, kinds: list[str]) -> None:
    algorithm, _, found = explored(test)
    assert (algorithm, found) == ("optimal", kinds)


def test_loop_among_threads_on_request() -> None:
    assert explored(two_pauses) == ("fifo", 2, [])
    assert explored(two_pauses, threads=True) == ("optimal", 12, [])
    assert explored(two_pauses, threads=True, algorithm="exhaustive")[2] == []


def test_failure_can_be_replayed() -> None:
    failure = treadle.explore(touches_what_tasks_touch).failures[0]
    again = treadle.replay(touches_what_tasks_touch, failure.token)
    assert again is not None
    assert again.kind == "assertion"


async def touches_only_sometimes() -> None:
    """The first executions do not show that a function touches what a task does."""
    shared = Shared()
    shared.x = 0

    def write() -> None:
        shared.x = 2

    async def look() -> None:
        await treadle.pause()
        if shared.x == 1:
            await asyncio.to_thread(write)

    async def change() -> None:
        await treadle.pause()
        shared.x = 1

    await asyncio.gather(look(), change())


def test_threads_that_appear_late_are_named() -> None:
    with pytest.raises(
        TreadleError, match=r"executor touches what tasks touch as well.*threads=Tru"
    ):
        treadle.explore(touches_only_sometimes)
    assert explored(touches_only_sometimes, threads=True)[2] == []


# Loops in a test that is a plain function


def loop_in_the_test() -> None:
    async def main() -> str:
        try:
            async with asyncio.timeout(0.4):
                await treadle.pause()
        except TimeoutError:
            return "late"
        return "in time"

    assert asyncio.run(main()) == "in time"


def loop_in_a_thread() -> None:
    async def answer() -> int:
        await asyncio.sleep(0)
        return 7

    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    assert asyncio.run_coroutine_threadsafe(answer(), loop).result() == 7
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


def two_loops() -> None:
    shared = Shared()

    async def increment() -> None:
        value = shared.x
        shared.x = value + 1
        await asyncio.sleep(0)
        assert asyncio.current_task() is not None

    threads = [threading.Thread(target=lambda: asyncio.run(increment())) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert shared.x == 2


def future_of_another_thread() -> None:
    async def main() -> None:
        answer = asyncio.get_running_loop().create_future()
        thread = threading.Thread(target=answer.set_result, args=(1,))  # wakes nobody
        thread.start()
        await answer
        thread.join()

    asyncio.run(main())


def callback_that_raises() -> None:
    async def main() -> None:
        asyncio.get_running_loop().call_soon(int, "no number")
        await asyncio.sleep(0)

    asyncio.run(main())


@pytest.mark.parametrize(
    ("test", "kinds"),
    [
        (loop_in_the_test, ["assertion"]),
        (loop_in_a_thread, []),
        (two_loops, ["assertion"]),
        (future_of_another_thread, ["deadlock"]),
        (callback_that_raises, ["exception"]),
    ],
)
def test_loops_beside_threads_are_explored(test: Any, kinds: list[str]) -> None:
    algorithm, executions, found = explored(test)
    assert (algorithm, found) == ("optimal", kinds)
    exhaustive = treadle.explore(
        test, stop_on_failure=False, algorithm="exhaustive", max_executions=300
    )
    if exhaustive.complete:
        assert [failure.kind for failure in exhaustive.failures] == kinds
        assert executions <= exhaustive.executions


def test_what_nobody_sees_is_named() -> None:
    result = treadle.explore(future_of_another_thread, stop_on_failure=False)
    assert len(result.escapes) == 1
    assert "Future.set_result()" in result.escapes[0]
    assert treadle.explore(loop_in_a_thread).escapes == []


def test_no_network_beside_threads() -> None:
    def test() -> None:
        asyncio.run(asyncio.start_server(print, "localhost", 1))  # type: ignore[arg-type]

    with pytest.raises(TreadleError, match=r"loop.create_server at \S*test_beside\w+\.py:\d+: bes"):
        treadle.explore(test)


def test_running_loop_is_put_back() -> None:
    treadle.explore(two_loops, stop_on_failure=False)
    with pytest.raises(RuntimeError, match="no running event loop"):
        asyncio.get_running_loop()

    async def main() -> str:
        return type(asyncio.get_running_loop()).__module__

    assert asyncio.run(main()).startswith("asyncio.")
