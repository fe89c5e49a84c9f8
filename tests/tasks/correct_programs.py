"""Correct programs with asyncio's own primitives and cancellations: none of them may be blamed."""

from __future__ import annotations

import asyncio
from asyncio import CancelledError, create_task, gather
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any

from treadle import pause

PROGRAMS: dict[str, Callable[[], Coroutine[Any, Any, Any]]] = {}


def program(test: Callable[[], Coroutine[Any, Any, Any]]) -> Callable[[], Coroutine[Any, Any, Any]]:
    """Enter a program by its name."""
    PROGRAMS[test.__name__] = test
    return test


async def stop(task: asyncio.Task[Any]) -> None:
    """Cancel a task after a delay, and wait for its end."""
    await pause()
    task.cancel()
    await asyncio.wait({task})


@program
async def lock_with_a_cancelled_waiter() -> None:
    lock, inside = asyncio.Lock(), 0

    async def use() -> None:
        nonlocal inside
        async with lock:
            inside += 1
            assert inside == 1
            await pause()
            inside -= 1

    async def used() -> None:
        with suppress(CancelledError):
            await use()

    first, second = create_task(used()), create_task(use())
    waiter = create_task(use())
    await stop(waiter)
    await gather(first, second)
    assert not lock.locked() or inside


@program
async def semaphore_with_a_cancelled_waiter() -> None:
    units = asyncio.Semaphore(1)

    async def use() -> None:
        async with units:
            await pause()

    first, second = create_task(use()), create_task(use())
    await stop(second)
    await first
    async with asyncio.timeout(500):
        await units.acquire()


@program
async def queue_whose_getter_is_cancelled() -> None:
    queue: asyncio.Queue[int] = asyncio.Queue()
    got: list[int] = []

    async def consume() -> None:
        got.append(await queue.get())

    async def produce() -> None:
        await pause()
        queue.put_nowait(1)

    first, second = create_task(consume()), create_task(consume())
    await gather(produce(), stop(first))
    if first.cancelled():
        await second
    else:
        await stop(second)
    assert len(got) + queue.qsize() == 1


@program
async def queue_whose_putter_is_cancelled() -> None:
    queue: asyncio.Queue[str] = asyncio.Queue(1)
    queue.put_nowait("first")
    putters = [create_task(queue.put(name)) for name in ("second", "third")]

    async def drain() -> list[str]:
        await pause()
        return [await queue.get()]

    taken, _ = await gather(drain(), stop(putters[0]))
    if putters[0].cancelled():
        await putters[1]
        assert queue.get_nowait() == "third"
    else:
        assert queue.get_nowait() == "second"
        await putters[1]
    assert taken == ["first"]


@program
async def workers_that_are_cancelled_after_join() -> None:
    queue: asyncio.Queue[int] = asyncio.Queue()
    done: list[int] = []

    async def work() -> None:
        while True:
            item = await queue.get()
            await pause()
            done.append(item)
            queue.task_done()

    workers = [create_task(work()) for _ in range(2)]
    for item in range(2):
        queue.put_nowait(item)
    await queue.join()
    for worker in workers:
        worker.cancel()
    await gather(*workers, return_exceptions=True)
    assert sorted(done) == [0, 1]


@program
async def group_with_a_child_that_fails() -> None:
    closed: list[str] = []

    async def child(name: str, *, fails: bool) -> None:
        try:
            await pause()
            if fails:
                raise ValueError(name)
        finally:
            closed.append(name)

    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(child("a", fails=True))
            group.create_task(child("b", fails=False))
    except* ValueError:
        pass
    assert sorted(closed) == ["a", "b"]


@program
async def timeout_around_a_lock() -> None:
    lock, state = asyncio.Lock(), {"balance": 10}

    async def withdraw() -> bool:
        try:
            async with asyncio.timeout(5), lock:
                await pause()
                state["balance"] -= 5
                return True
        except TimeoutError:
            return False

    done = await gather(withdraw(), withdraw())
    assert state["balance"] == 10 - 5 * sum(done)
    assert not lock.locked()


@program
async def shielded_commit() -> None:
    committed: list[str] = []

    async def commit() -> None:
        await pause()
        committed.append("all")

    async def save() -> None:
        inner = create_task(commit())
        try:
            await asyncio.shield(inner)
        except CancelledError:
            await inner
            raise

    saving = create_task(save())
    await stop(saving)
    assert committed == ["all"] or not saving.cancelled() or not committed


@program
async def event_that_opens_once() -> None:
    opened, passed = asyncio.Event(), []

    async def enter(name: str) -> None:
        await opened.wait()
        passed.append(name)

    async def open_it() -> None:
        await pause()
        opened.set()

    first, second = create_task(enter("a")), create_task(enter("b"))
    await gather(open_it(), stop(first))
    await second
    assert passed[-1:] == ["b"]


@program
async def resource_that_is_closed_whatever_happens() -> None:
    events: list[str] = []

    @asynccontextmanager
    async def resource() -> AsyncIterator[None]:
        await pause()
        events.append("open")
        try:
            yield
        finally:
            events.append("closed")

    async def use() -> None:
        async with resource():
            await pause()

    await stop(create_task(use()))
    assert events in ([], ["open", "closed"])


@program
async def first_answer_wins() -> None:
    async def ask(name: str) -> str:
        await pause()
        return name

    asked = [create_task(ask(name)) for name in "ab"]
    done, pending = await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
    for task in pending:
        task.cancel()
    await gather(*pending, return_exceptions=True)
    assert {task.result() for task in done} <= {"a", "b"}
