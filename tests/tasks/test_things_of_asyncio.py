"""What tasks share of asyncio's own things: attributes of tasks, words, handles, settings."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from every_poll import ORDERS, agreed, gap

from treadle.tasks import futures

Pair = tuple[Callable[[], Any], Callable[[], Any]]
"""What one task does at once, and what another one looks at."""


def raced(order: str, make: Callable[[], Awaitable[Pair]]) -> set[str]:
    """Return what a task sees of something that another one changes at some moment."""

    async def test() -> Any:
        async def one() -> None:
            await gap(order)
            change()

        async def other() -> Any:
            await gap(order)
            return look()

        change, look = await make()
        return (await asyncio.gather(one(), other()))[1]

    return agreed(test, order)[1]


async def attribute_of_a_task() -> Pair:
    async def nothing() -> None: ...

    task: Any = asyncio.create_task(nothing())
    task.tag = 0
    return lambda: setattr(task, "tag", 1), lambda: task.tag


async def attribute_of_a_future() -> Pair:
    future: Any = asyncio.get_running_loop().create_future()
    future.tag = 0
    return lambda: setattr(future, "tag", 1), lambda: future.tag


async def what_an_attribute_holds() -> Pair:
    future: Any = asyncio.get_running_loop().create_future()
    future.tags = []
    return lambda: future.tags.append(1), lambda: list(future.tags)


async def handle() -> Pair:
    later = asyncio.get_running_loop().call_later(100, print)
    return later.cancel, later.cancelled


async def handle_in_words() -> Pair:
    later = asyncio.get_running_loop().call_later(1, print)
    return later.cancel, lambda: "cancelled" in repr(later)


async def handle_of_a_callback() -> Pair:
    soon = asyncio.get_running_loop().call_soon(len, "")
    return soon.cancel, soon.cancelled


async def words_of_a_future() -> Pair:
    future = asyncio.get_running_loop().create_future()
    return lambda: future.set_result(1), lambda: "finished" in f"{future}"


async def callbacks_in_words() -> Pair:
    future = asyncio.get_running_loop().create_future()
    return lambda: future.add_done_callback(print), lambda: "cb=" in repr(future)


async def name_in_words() -> Pair:
    task = asyncio.create_task(asyncio.sleep(0), name="before")
    return lambda: task.set_name("after"), lambda: "before" in repr(task)


async def handler() -> Pair:
    loop = asyncio.get_running_loop()
    return (
        lambda: loop.set_exception_handler(lambda *_: None),
        lambda: loop.get_exception_handler() is None,
    )


async def factory() -> Pair:
    loop = asyncio.get_running_loop()
    made: list[int] = []

    def make(loop: Any, coroutine: Any, **options: Any) -> Any:
        made.append(1)
        return asyncio.Task(coroutine, loop=loop, **options)

    def look() -> int:
        asyncio.create_task(asyncio.sleep(0))  # noqa: RUF006 - it ends soon enough
        return len(made)

    return lambda: loop.set_task_factory(make), look


@pytest.mark.parametrize(
    "make",
    [
        attribute_of_a_task, attribute_of_a_future, what_an_attribute_holds, handle,
        words_of_a_future, callbacks_in_words, name_in_words, handle_in_words, handler, factory,
    ],
)  # fmt: skip
@pytest.mark.parametrize("order", ORDERS)
def test_who_looks_sees_it_before_and_after(make: Any, order: str) -> None:
    assert len(raced(order, make)) == 2


@pytest.mark.parametrize("order", ORDERS)
def test_handles_of_callbacks_are_looked_at(order: str) -> None:
    assert raced(order, handle_of_a_callback) == {"True", "False"}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    "look_at",
    [
        lambda task: len(task.get_stack()),
        lambda task: "finished" in repr(task),
        lambda task: task.get_coro().cr_frame is None,
        lambda task: inspect.getcoroutinestate(task.get_coro()) == inspect.CORO_CLOSED,
    ],
)
def test_where_a_task_stands(look_at: Callable[[Any], Any], order: str) -> None:
    async def test() -> Any:
        async def looked_at() -> None:
            await gap(order)

        async def look() -> Any:
            await gap(order)
            return look_at(task)

        task = asyncio.create_task(looked_at())
        return (await asyncio.gather(task, look()))[1]

    assert len(agreed(test, order)[1]) == 2


@pytest.mark.parametrize("order", ORDERS)
def test_a_coroutine_of_a_task_is_looked_at_later(order: str) -> None:
    async def test() -> Any:
        async def looked_at() -> None:
            await gap(order)

        async def look() -> Any:
            coroutine: Any = task.get_coro()
            await gap(order)
            return coroutine.cr_frame is None

        task = asyncio.create_task(looked_at())
        return (await asyncio.gather(task, look()))[1]

    assert agreed(test, order)[1] == {"True", "False"}


async def generator_in_words() -> Pair:
    numbers = (number for number in range(3))
    return lambda: next(numbers), lambda: inspect.getgeneratorstate(numbers)


@pytest.mark.parametrize("order", ORDERS)
def test_how_far_a_generator_is(order: str) -> None:
    created, suspended = inspect.GEN_CREATED, inspect.GEN_SUSPENDED
    assert raced(order, generator_in_words) == {repr(created), repr(suspended)}


async def attribute_of_the_loop() -> Pair:
    running: Any = asyncio.get_running_loop
    running().known = 0

    def set_it() -> None:
        running().known = 1

    return set_it, lambda: running().known


async def object_on_the_loop() -> Pair:
    running: Any = asyncio.get_running_loop
    running().names = {}
    return lambda: running().names.update(ann=1), lambda: [*running().names]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    ("program", "seen"),
    [(attribute_of_the_loop, {"0", "1"}), (object_on_the_loop, {"[]", "['ann']"})],
)
def test_what_a_test_gives_to_its_loop(order: str, program: Any, seen: set[str]) -> None:
    assert raced(order, program) == seen


def test_attributes_that_are_not_the_programs() -> None:
    """All that futures and tasks have of themselves is known: nobody else has it."""
    own = futures._OWN

    async def test() -> list[str]:
        loop = asyncio.get_running_loop()

        async def nothing() -> None:
            await asyncio.sleep(0)

        task = asyncio.create_task(nothing())
        found = [loop.create_future(), asyncio.gather(task), task]
        await asyncio.sleep(1)
        return sorted(
            name for one in found for name in vars(one)
            if name not in own and not hasattr(type(one), name)
        )  # fmt: skip

    assert agreed(test, "fifo")[1] == {"[]"}
