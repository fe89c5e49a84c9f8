"""Tasks that somebody else makes than the loop: eager ones, and those of a factory."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import pytest
from exploring import explored

import treadle

since_312 = pytest.mark.skipif(sys.version_info < (3, 12), reason="eager tasks came with 3.12")


def counted(factory: Any, log: list[str]) -> Any:
    """Return two tasks that a factory makes, of which each reads, may pause, and writes."""

    async def test() -> Any:
        asyncio.get_running_loop().set_task_factory(factory)
        log.clear()
        count = 0

        async def add(name: str) -> None:
            nonlocal count
            known = count
            log.append(name)
            await treadle.pause()
            count = known + 1

        one = asyncio.create_task(add("one"))
        log.append("main")
        two = asyncio.create_task(add("two"))
        await asyncio.gather(one, two)
        return count, tuple(log)

    return test


@since_312
@pytest.mark.parametrize("order", ["fifo", "any"])
def test_an_eager_task_begins_inside_of_its_creation(order: str) -> None:
    result, seen = explored(counted(asyncio.eager_task_factory, []), order)  # type: ignore[attr-defined]
    assert seen == {"(1, ('one', 'main', 'two'))"}
    assert (result.executions, result.complete) == (2, True)


@since_312
def test_one_that_never_suspends_is_done_at_once() -> None:
    async def test() -> Any:
        asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)  # type: ignore[attr-defined]

        async def at_once() -> Any:
            task = asyncio.current_task()
            assert task is not None
            return task.get_name()

        async with asyncio.TaskGroup() as group:
            task = group.create_task(at_once())
            assert task.done()
        return task.result(), len(asyncio.all_tasks())

    result, seen = explored(test, "fifo")
    assert (result.executions, seen) == (1, {"('Task-main.1', 1)"})


@since_312
def test_an_eager_lost_update_is_found() -> None:
    async def test() -> None:
        asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)  # type: ignore[attr-defined]
        stock, sold = 1, 0

        async def buy() -> None:
            nonlocal stock, sold
            if stock:
                await treadle.pause()
                stock -= 1
                sold += 1

        await asyncio.gather(buy(), buy())
        assert sold <= 1

    (failure,) = treadle.explore(test).failures
    assert failure.kind == "assertion"
    again = treadle.replay(test, failure.token)
    assert again is not None
    assert again.message == failure.message


def test_a_factory_makes_tasks_of_asyncio() -> None:
    made: list[str] = []

    def factory(loop: Any, coro: Any, **options: Any) -> Any:
        made.append(coro.__name__)
        return asyncio.Task(coro, loop=loop, **options)

    async def test() -> Any:
        made.clear()
        loop = asyncio.get_running_loop()
        loop.set_task_factory(factory)
        assert loop.get_task_factory() is factory
        await asyncio.create_task(treadle.pause())
        loop.set_task_factory(None)
        await asyncio.create_task(treadle.pause())
        return len(made)

    result, seen = explored(test, "fifo")
    assert (result.executions, seen) == (1, {"1"})


def test_a_factory_that_makes_something_else_is_refused() -> None:
    async def test() -> None:
        loop = asyncio.get_running_loop()
        loop.set_task_factory(lambda _, coro, **__: coro.close())  # type: ignore[arg-type, return-value]
        asyncio.create_task(treadle.pause())  # noqa: RUF006

    with pytest.raises(treadle.TreadleError, match="the task factory made NoneType"):
        treadle.explore(test)


def test_a_factory_can_be_called() -> None:
    async def test() -> None:
        with pytest.raises(TypeError, match="must be a callable or None"):
            asyncio.get_running_loop().set_task_factory(1)  # type: ignore[arg-type]

    assert treadle.explore(test).ok


def test_a_factory_of_before_is_not_told_names() -> None:
    """They were given to the task afterwards."""

    async def test() -> str:
        def make(loop: Any, coro: Any, context: Any = None) -> Any:
            return asyncio.Task(coro, loop=loop, context=context)

        def told(loop: Any, coro: Any, **options: Any) -> Any:
            return asyncio.Task(coro, loop=loop, **options)

        loop = asyncio.get_running_loop()
        loop.set_task_factory(make if sys.version_info < (3, 13, 3) else told)
        task = asyncio.create_task(asyncio.sleep(0), name="mine")
        await task
        return task.get_name()

    assert explored(test, "fifo")[1] == {"'mine'"}


@since_312
@pytest.mark.parametrize("order", ["fifo", "any"])
def test_an_eager_task_that_fails_before_it_suspends_and_that_nobody_asks(order: str) -> None:
    """It takes no step of its own: what it raised shows in the latest of who made it."""

    async def test() -> None:
        asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)  # type: ignore[attr-defined]

        async def fail() -> None:
            raise ValueError("lost")

        async def make() -> None:
            made.append(asyncio.create_task(fail()))

        made: list[Any] = []
        await asyncio.wait([asyncio.create_task(make())])

    result, _ = explored(test, order)
    assert [(failure.kind, failure.process) for failure in result.failures] == [
        ("exception", "main#2")
    ]
    notes = getattr(result.failures[0].exception, "__notes__", [])
    assert "the exception of main.1.1 was never retrieved" in notes
