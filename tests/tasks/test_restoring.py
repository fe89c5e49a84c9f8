"""What an execution of tasks changes in modules and classes is undone before the next one."""

from __future__ import annotations

import asyncio
import functools
import itertools
import weakref
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

import treadle

count = 0
loaded: dict[str, int] = {}
log: list[str] = []
numbers = itertools.count()
known: weakref.WeakValueDictionary[str, Registered] = weakref.WeakValueDictionary()


class Registered:
    made: ClassVar[list[Registered]] = []
    number = 0

    def __init__(self) -> None:
        Registered.number += 1
        self.made.append(self)


@functools.cache
def square(number: int) -> list[int]:
    return [number * number]


async def twice(work: Callable[[], Any]) -> list[Any]:
    async def later() -> Any:
        await treadle.pause()
        return work()

    return await asyncio.gather(later(), later())


async def variable() -> None:
    global count
    count += 1

    def add() -> None:
        global count
        count += 1

    await twice(add)
    assert count == 3


async def before_any_task() -> None:
    log.append("begun")
    await treadle.pause()
    assert log == ["begun"]


async def cache() -> None:
    async def load(key: str) -> int:
        if key not in loaded:
            await treadle.pause()
            loaded[key] = len(loaded)
        return loaded[key]

    assert sorted(await asyncio.gather(load("a"), load("b"))) == [0, 1]


async def of_class() -> None:
    await twice(Registered)
    assert Registered.number == len(Registered.made) == 2


async def counter() -> None:
    assert sorted(await twice(lambda: next(numbers))) == [0, 1]


async def cached_results() -> None:
    first, second = await twice(lambda: square(3))
    assert first is second
    first.append(1)
    assert square(3) == [9, 1]


async def weak_registry() -> None:
    assert not known
    kept = await twice(lambda: known.setdefault("it", Registered()))
    assert kept[0] is kept[1]


@pytest.mark.parametrize("order", ["fifo", "any"])
@pytest.mark.parametrize(
    "test",
    [variable, before_any_task, cache, of_class, counter, cached_results, weak_registry],
    ids=lambda test: test.__name__,
)
def test_state_of_modules_and_classes(test: Callable[[], Any], order: str) -> None:
    result = treadle.explore(test, order=order)
    assert result.ok, result.failures


def test_state_among_threads() -> None:
    assert treadle.explore(variable, threads=True).ok


def test_nothing_is_undone_if_told_so() -> None:
    result = treadle.explore(before_any_task, restore=False)
    assert [failure.kind for failure in result.failures] == ["nondeterminism"]
    log.clear()


opened = 0


class Client:
    def __init__(self) -> None:
        global opened
        opened += 1

    def __del__(self) -> None:
        global opened
        opened -= 1


async def leaves_clients() -> None:
    assert opened == 0
    client = Client()

    async def use() -> Client:
        await treadle.pause()
        return client

    await asyncio.gather(use(), use())


@pytest.mark.parametrize("options", [{}, {"threads": True}])
def test_what_finalizers_change_after_an_execution_is_undone(options: dict[str, bool]) -> None:
    assert treadle.explore(leaves_clients, **options).ok  # type: ignore[arg-type]
