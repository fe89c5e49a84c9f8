"""What is said about a failure: what it rests on, its pattern, whether CPython's loop can do it."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable
from typing import Any

import pytest
from exploring import explored
from oracles import programs

import treadle


def remarks(test: Callable[[], Any], **options: Any) -> list[str]:
    """Return what is said about the first failure, also when it is replayed."""
    failure = treadle.explore(test, **options).failures[0]
    replayed = treadle.replay(test, failure.token)
    assert replayed is not None
    assert replayed.remarks == failure.remarks
    return failure.remarks


async def late() -> None:
    async with asyncio.timeout(5):
        await treadle.pause()


def test_timeout_that_expired_is_named() -> None:
    line = late.__code__.co_firstlineno + 1
    (remark,) = remarks(late)
    assert remark == (
        f"it rests on a timeout that expired, tests/tasks/test_remarks.py:{line}: "
        f'`timeouts="never"` excludes it'
    )
    assert treadle.explore(late, timeouts="never").ok


async def turns() -> None:
    log: list[int] = []

    async def slow() -> None:
        await asyncio.sleep(0)
        log.append(1)

    async def quick() -> None:
        await treadle.pause()
        await treadle.pause()
        log.append(2)

    await asyncio.gather(slow(), quick())
    assert log == [1, 2]


def test_turn_that_takes_longer_is_named() -> None:
    found = remarks(turns)
    line = turns.__code__.co_firstlineno + 4
    assert f"`sleep(0)` at tests/tasks/test_remarks.py:{line} that takes more than one" in found[0]
    assert '`yields="exact"` excludes it' in found[0]
    assert treadle.explore(turns, yields="exact").ok


class Shop:
    """Sells what it has, and more."""

    def __init__(self) -> None:
        self.stock = 1

    async def buy(self) -> None:
        if self.stock > 0:
            await treadle.pause()
            self.stock -= 1


async def sell() -> None:
    shop = Shop()
    async with asyncio.TaskGroup() as group:
        for _ in range(2):
            group.create_task(shop.buy())
    assert shop.stock >= 0


def test_check_then_act_is_named() -> None:
    (remark,) = remarks(sell)
    assert remark.startswith("check-then-act across an await: buy #2 read buy.stock in step 3")


async def started() -> None:
    log: list[int] = []

    async def one() -> None:
        log.append(1)

    task = asyncio.create_task(one())
    await asyncio.sleep(0)
    assert log
    await task


def test_what_only_another_loop_can_do() -> None:
    assert treadle.explore(started).ok
    assert remarks(started, order="any") == ["not in CPython's loop: its ready queue is FIFO"]


def test_what_cpython_can_do_too() -> None:
    assert remarks(sell, order="any")[-1] == "CPython's loop can do this too"


@pytest.mark.parametrize("name", ["rw(2)", "hops", "event", "early", "soon", "group"])
def test_marks_agree_with_what_fifo_sees(name: str) -> None:
    """In `any` each final state is a failure; marked as possible are those that `fifo` sees."""
    test = programs("any")[name]

    def failing() -> Any:
        async def fails() -> None:
            raise AssertionError(repr(await test()))

        return fails

    result = treadle.explore(failing(), order="any", stop_on_failure=False)
    _, in_fifo = explored(failing(), "fifo")
    possible = {
        repr([repr(failure.exception)])
        for failure in result.failures
        if failure.remarks and failure.remarks[-1] == "CPython's loop can do this too"
    }
    seen_in_any = {repr([repr(failure.exception)]) for failure in result.failures}
    assert possible <= in_fifo
    assert possible
    assert seen_in_any > possible or seen_in_any == in_fifo


class Connection:
    def __init__(self) -> None:
        self.closed = False

    async def query(self) -> None:
        await treadle.pause()
        if self.closed:
            raise RuntimeError("the connection is closed")

    async def close(self) -> None:
        self.closed = True


def test_use_after_close_is_named() -> None:
    async def test() -> None:
        connection = Connection()

        async def use() -> None:
            await connection.query()

        async def stop() -> None:
            await treadle.pause()
            await connection.close()

        await asyncio.gather(use(), stop())

    line = Connection.__init__.__code__.co_firstlineno
    (remark,) = remarks(test)
    assert remark == (
        f"use after close: use used connection in step 7, tests/tasks/test_remarks.py:{line + 5}, "
        f"which stop had closed in step 6, tests/tasks/test_remarks.py:{line + 9}"
    )


def test_use_after_ones_own_close_has_no_pattern() -> None:
    async def test() -> None:
        connection = Connection()
        await treadle.pause()
        await connection.close()
        await connection.query()

    assert remarks(test) == []


def test_what_decides_is_what_a_queue_can_turn_round() -> None:
    """It was said that the second task had better begin first: no loop with a queue does that."""

    async def test() -> None:
        loading: dict[str, asyncio.Event] = {}

        async def get() -> None:
            if "tea" in loading:
                await loading["tea"].wait()
                return
            loading["tea"] = asyncio.Event()
            await treadle.pause()
            loading["tea"].set()

        first, second = asyncio.create_task(get()), asyncio.create_task(get())
        await treadle.pause()
        first.cancel()
        await second

    (failure,) = treadle.explore(test).failures
    assert failure.kind == "deadlock"
    cause = failure.cause
    assert cause is not None
    assert (cause.first.process, cause.second.process) == ("main#2", "main.1/p1")
    assert cause.decides
    assert [step.process for step in cause.other if step.process == "main.2#2"] == ["main.2#2"]


class Subject:
    """Something that others refer to weakly."""


async def weakly() -> None:
    subject = Subject()
    held, reference = [subject], weakref.ref(subject)
    del subject

    async def let_go() -> None:
        await treadle.pause()
        held.clear()

    async def look() -> None:
        await treadle.pause()
        reference()

    await asyncio.gather(let_go(), look())
    assert reference() is None


def test_a_life_that_is_too_long_is_named() -> None:
    line = weakly.__code__.co_firstlineno + 11
    assert any(
        remark.startswith("It may rest on a life that is too long: what is shared does not die")
        and f"test_remarks.py:{line}" in remark
        for remark in remarks(weakly)
    )
