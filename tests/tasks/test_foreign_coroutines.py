"""Coroutines of libraries that are not instrumented touch, whenever they go on, all they can reach.

A library's coroutine as a task was unseen: only what it was given when it was created was recorded.
"""

from __future__ import annotations

import asyncio
import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import AsyncMock, call

import pytest
from exploring import explored

import treadle
from treadle.core.frames import awaiting_frames

LIBRARY = """
import asyncio
from asyncio import open_connection

class Shop:
    def __init__(self, pause):
        self.stock, self.log, self.pause = 1, [], pause

    async def note(self, who):
        await self.pause()
        self.log.append(who)

    async def buy(self):
        await self.pause()
        if self.stock == 0:
            return False
        await self.pause()
        self.stock -= 1
        return True

    async def customers(self, who):
        while len(self.log) < 4:
            self.log.append(who)
            yield who

class Limiter:
    def __init__(self):
        self.holder, self.waiting = None, {}

    async def acquire(self):
        task = asyncio.current_task()
        if self.holder is None:
            self.holder = task
            return
        event = self.waiting[task] = asyncio.Event()
        await event.wait()

    def release(self):
        self.holder = None
        if self.waiting:
            self.holder, event = self.waiting.popitem()
            event.set()

class Reading(asyncio.Protocol):
    def __init__(self, log):
        self.log = log

    def data_received(self, data):
        self.log.append(data.decode())

async def connected(shop):
    await shop.pause()
    shop.log.append(len(shop.log))
    return open_connection

_total = {"n": 0}

def clear():
    _total["n"] = 0

def total():
    return _total["n"]

async def count(pause):
    await pause()
    n = _total["n"]
    await pause()
    _total["n"] = n + 1
"""


@pytest.fixture
def shops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "foreign_shops.py").write_text(LIBRARY)
    monkeypatch.syspath_prepend(folder)
    yield importlib.import_module("foreign_shops")
    del sys.modules["foreign_shops"]


BOTH = pytest.mark.parametrize("order", ["fifo", "any"])


async def gap(order: str) -> None:
    await (treadle.pause() if order == "fifo" else asyncio.sleep(0))


@BOTH
def test_tasks_of_a_library(shops: ModuleType, order: str) -> None:
    async def notes() -> Any:
        shop = shops.Shop(lambda: gap(order))
        await asyncio.gather(shop.note(1), shop.note(2))
        return shop.log

    async def sales() -> Any:
        shop = shops.Shop(lambda: gap(order))
        return sum(await asyncio.gather(shop.buy(), shop.buy()))

    async def counts() -> Any:
        shops.clear()
        await asyncio.gather(*(shops.count(lambda: gap(order)) for _ in range(2)))
        return shops.total()

    for test, ends in ((notes, {"[1, 2]", "[2, 1]"}), (sales, {"1", "2"}), (counts, {"1", "2"})):
        for instrument in ((), ("foreign_shops",)):
            result, seen = explored(test, order, instrument=instrument)
            assert (result.complete, result.failures, seen) == (True, [], ends)
            is_noted = any("foreign_shops" in note for note in result.notes)
            assert is_noted == (not instrument)


def test_what_a_library_lets_wait(shops: ModuleType) -> None:
    async def test() -> Any:
        limiter, order = shops.Limiter(), []

        async def use(number: int) -> None:
            await treadle.pause()
            await limiter.acquire()
            order.append(number)
            await treadle.pause()
            limiter.release()

        await asyncio.gather(*(use(number) for number in range(3)))
        return order

    (_, unseen), (_, seen) = (
        explored(test, "fifo", instrument=instrument) for instrument in ((), ("foreign_shops",))
    )
    assert unseen == seen
    assert len(seen) == 6


def test_generator_of_a_library(shops: ModuleType) -> None:
    async def test() -> Any:
        shop = shops.Shop(treadle.pause)

        async def visit(who: int) -> None:
            async for _ in shop.customers(who):
                await treadle.pause()

        await asyncio.gather(visit(1), visit(2))
        return shop.log

    (_, unseen), (_, seen) = (
        explored(test, "fifo", instrument=instrument) for instrument in ((), ("foreign_shops",))
    )
    assert unseen == seen
    assert len(seen) == 4


def test_library_that_names_code_which_is_looked_into(shops: ModuleType) -> None:
    """Code that was rewritten cannot be hashed."""

    async def test() -> Any:
        shop = shops.Shop(treadle.pause)
        await asyncio.gather(shops.connected(shop), shops.connected(shop))
        return shop.log

    assert explored(test, "fifo")[1] == {"[0, 1]"}


def test_protocols_of_a_library(shops: ModuleType) -> None:
    async def test() -> Any:
        log: list[str] = []
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: shops.Reading(log), "localhost", 1)
        ends = [
            (await loop.create_connection(asyncio.Protocol, "localhost", 1))[0] for _ in range(2)
        ]
        for end, word in zip(ends, ("one", "two"), strict=True):
            end.write(word.encode())
        await asyncio.sleep(100)
        for end in ends:
            end.close()
        server.close()
        return log

    assert explored(test, "fifo")[1] == {"['one', 'two']", "['two', 'one']"}


def test_library_beside_threads(shops: ModuleType) -> None:
    async def test() -> None:
        shop = shops.Shop(treadle.pause)
        await asyncio.gather(shop.note(1), shop.note(2))
        assert shop.log == [1, 2]

    result = treadle.explore(test, threads=True)
    assert [failure.kind for failure in result.failures] == ["assertion"]


def _awaits_in_order(mock: AsyncMock) -> bool:
    return [each.args for each in mock.await_args_list] == [(1,), (2,)]


def _last_await_was_of_two(mock: AsyncMock) -> bool:
    return mock.await_args is not None and mock.await_args.args == (2,)


def _asserts_last_await(mock: AsyncMock) -> bool:
    try:
        mock.assert_awaited_with(2)
    except AssertionError:
        return False
    return True


def _asserts_awaits(mock: AsyncMock) -> bool:
    try:
        mock.assert_has_awaits([call(1), call(2)])
    except AssertionError:
        return False
    return True


@pytest.mark.parametrize("is_task", [False, True])
@pytest.mark.parametrize(
    "ask", [_awaits_in_order, _last_await_was_of_two, _asserts_last_await, _asserts_awaits]
)
def test_awaits_of_a_mock_come_in_either_order(
    ask: Callable[[AsyncMock], bool], is_task: bool
) -> None:
    async def test() -> bool:
        mock = AsyncMock()

        async def use(awaited: Any) -> None:
            await treadle.pause()
            await awaited

        if is_task:  # called in this order, and awaited in any
            await asyncio.gather(*(use(mock(number)) for number in (1, 2)))
        else:

            async def use_now(number: int) -> None:
                await treadle.pause()
                await mock(number)

            await asyncio.gather(use_now(1), use_now(2))
        return ask(mock)

    result, seen = explored(test, "fifo")
    assert (result.complete, seen) == (True, {"True", "False"})


def test_answers_of_a_mock_are_given_to_who_awaits_first() -> None:
    async def test() -> Any:
        mock = AsyncMock(side_effect=["first", "second"])

        async def use(awaited: Any) -> Any:
            await treadle.pause()
            return await awaited

        return await asyncio.gather(use(mock()), use(mock()))

    _, seen = explored(test, "fifo")
    assert seen == {"['first', 'second']", "['second', 'first']"}


@pytest.mark.parametrize(("after", "counts"), [(0, {"0"}), (1, {"0", "1"})])
def test_count_of_awaits(after: int, counts: set[str]) -> None:
    async def test() -> int:
        mock = AsyncMock()

        async def use() -> None:
            await treadle.pause()
            await mock()

        task = asyncio.create_task(use())
        for _ in range(after):
            await treadle.pause()
        count: int = mock.await_count
        await task
        return count

    assert explored(test, "fifo")[1] == counts


async def _inner(event: asyncio.Event) -> Any:
    await event.wait()
    yield 1


def test_frames_behind_what_c_code_awaits() -> None:
    async def iterates(event: asyncio.Event) -> None:
        async for _ in _inner(event):
            pass

    async def asks(event: asyncio.Event) -> None:
        await anext(_inner(event), None)

    class Awaitable:
        def __init__(self, event: asyncio.Event) -> None:
            self.event = event

        def __await__(self) -> Any:
            return self.event.wait().__await__()

    async def awaits(event: asyncio.Event) -> None:
        await Awaitable(event)

    async def main() -> None:
        event = asyncio.Event()
        for kind, names in (
            (iterates, ["iterates", "_inner", "wait"]),
            (asks, ["asks", "_inner", "wait"]),
            (awaits, ["awaits", "wait"]),
        ):
            task = asyncio.create_task(kind(event))
            await asyncio.sleep(0)
            frames = awaiting_frames(task.get_coro())
            assert [frame.f_code.co_name for frame in frames] == names
            task.cancel()

    asyncio.run(main())
