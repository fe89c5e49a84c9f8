"""Random asyncio programs: lists of operations for two or three tasks, and how they are ended."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextvars import ContextVar
from typing import Any

from hypothesis import strategies as st

import treadle

Operation = tuple[Any, ...]

PLAIN: list[Operation] = [
    ("gap",), ("turn",), ("add",), ("read",), ("lock",), ("set",), ("clear",), ("wait",), ("put",),
    ("get",), ("notify",), ("cancel", 0), ("cancel", 1), ("soon",), ("spawn",), ("fail",),
]  # fmt: skip
TIMED: list[Operation] = [
    ("gap",), ("sleep", 1), ("sleep", 2), ("timeout", 1), ("timeout", 2), ("later", 1),
    ("later", 2), ("lock",), ("read",), ("add",), ("wait_for", 1), ("within", 1), ("unlater",),
]  # fmt: skip
CANCELLING: list[Operation] = [
    ("gap",), ("lock",), ("put",), ("get",), ("notify",), ("await",), ("cancel", 0), ("cancel", 1),
    ("group",), ("add",), ("semaphore",), ("barrier",), ("uncancel",),
]  # fmt: skip
WAITING: list[Operation] = [
    ("gap",), ("add",), ("first",), ("shield",), ("both",), ("broken",), ("completed",), ("done",),
    ("next",), ("context",), ("cancel", 0), ("alive",), ("group",), ("promise",), ("keep",),
]  # fmt: skip
CALLING: list[Operation] = [
    ("gap",), ("soon",), ("unsoon",), ("done",), ("undone",), ("promise",), ("keep",), ("read",),
    ("next",), ("close",), ("spawn",), ("turn",), ("cancel", 0), ("alive",),
]  # fmt: skip
ENDS = ("gather", "wait", "group", "exceptions", "nothing")
_LABEL: ContextVar[str] = ContextVar("label", default="none")


def drawn(operations: list[Operation], tasks: int, most: int) -> st.SearchStrategy[Any]:
    """Return programs with these operations."""
    one = st.lists(st.sampled_from(operations), min_size=1, max_size=most)
    return st.tuples(st.lists(one, min_size=2, max_size=tasks), st.sampled_from(ENDS))


def made(program: tuple[list[list[Operation]], str], order: str) -> Callable[[], Any]:
    """Return a program as a test, which returns all that can be seen."""
    parts, end = program

    async def test() -> Any:
        world = World(order)
        try:
            await _run_all(world, parts, end)
        except (asyncio.CancelledError, Exception) as error:
            world.log.append(type(error).__name__)
        return tuple(world.log)

    return test


async def _run_all(world: World, parts: list[list[Operation]], end: str) -> None:
    tasks = world.tasks
    if end == "group":
        async with asyncio.TaskGroup() as all_of_them:
            tasks += [all_of_them.create_task(world.run(i, one)) for i, one in enumerate(parts)]
        return
    tasks += [asyncio.create_task(world.run(i, part)) for i, part in enumerate(parts)]
    if end == "wait":
        await asyncio.wait(list(tasks))
    elif end == "nothing":
        await world.gap()
        world.log.append([task.done() for task in tasks])
    else:
        await asyncio.gather(*tasks, return_exceptions=end == "exceptions")


class World:
    """What the tasks of a random program share; each operation is a method."""

    def __init__(self, order: str) -> None:
        self.gap = treadle.pause if order == "fifo" else lambda: asyncio.sleep(0)
        self.log: list[Any] = []
        self.tasks: list[Any] = []
        self.lock_, self.event, self.condition = (
            asyncio.Lock(), asyncio.Event(), asyncio.Condition(),
        )  # fmt: skip
        self.semaphore_, self.barrier_ = asyncio.Semaphore(1), asyncio.Barrier(2)
        self.queue: asyncio.Queue[int] = asyncio.Queue(1)
        self.loop = asyncio.get_running_loop()
        self.promised = self.loop.create_future()
        self.handles: list[Any] = []
        self.numbers = self.counting()

    async def counting(self) -> AsyncIterator[int]:
        """Yield numbers, each after a while."""
        for i in range(3):
            await self.gap()
            yield i

    async def run(self, i: int, operations: list[Operation]) -> None:
        """Do operations one after the other."""
        try:
            for what, *args in operations:
                found = getattr(self, f"do_{what}")(i, *args)
                if found is not None:
                    await found
        except asyncio.CancelledError:
            self.log.append(("stopped", i))
            raise

    async def child(self, i: int) -> int:
        """Take a while."""
        await self.gap()
        self.log.append(("child", i))
        return i

    async def bad(self, i: int) -> None:
        """Take a while, and fail."""
        await self.gap()
        raise ValueError(i)

    # Without waiting

    def do_add(self, i: int) -> None:
        self.log.append(i)

    def do_read(self, i: int) -> None:
        self.log.append((i, len(self.log)))

    def do_fail(self, i: int) -> None:
        raise ValueError(i)

    def do_set(self, _: int) -> None:
        self.event.set()

    def do_clear(self, _: int) -> None:
        self.event.clear()

    def do_cancel(self, _: int, other: int) -> None:
        if other < len(self.tasks):
            self.log.append(("cancelled", self.tasks[other].cancel()))

    def do_uncancel(self, i: int) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.log.append((i, task.cancelling()))
        task.uncancel()

    def do_alive(self, i: int) -> None:
        self.log.append((i, len(asyncio.all_tasks())))

    def do_soon(self, i: int) -> None:
        self.handles.append(self.loop.call_soon(self.log.append, ("soon", i)))

    def do_unsoon(self, _: int) -> None:
        if self.handles:
            self.handles.pop().cancel()

    def do_later(self, i: int, delay: float) -> None:
        self.handles.append(self.loop.call_later(delay, self.log.append, ("later", i)))

    do_unlater = do_unsoon

    def do_spawn(self, i: int) -> None:
        self.tasks.append(asyncio.create_task(self.child(i)))

    def do_keep(self, i: int) -> None:
        if not self.promised.done():
            self.promised.set_result(i)

    def do_done(self, i: int) -> None:
        self.promised.add_done_callback(self.told)
        self.tasks[i].add_done_callback(lambda task: self.log.append(("ended", task.cancelled())))

    def do_undone(self, i: int) -> None:
        self.log.append((i, self.promised.remove_done_callback(self.told)))

    def told(self, future: Any) -> None:
        """Take note of a result."""
        self.log.append(("told", future.result()))

    # Waiting

    async def do_gap(self, _: int) -> None:
        await self.gap()

    async def do_turn(self, _: int) -> None:
        await asyncio.sleep(0)

    async def do_sleep(self, _: int, delay: float) -> None:
        await asyncio.sleep(delay)

    async def do_lock(self, i: int) -> None:
        async with self.lock_:
            await self.gap()
            self.log.append(("lock", i))

    async def do_semaphore(self, i: int) -> None:
        async with self.semaphore_:
            await self.gap()
            self.log.append(("unit", i))

    async def do_barrier(self, i: int) -> None:
        self.log.append((i, await self.barrier_.wait()))

    async def do_wait(self, _: int) -> None:
        await self.event.wait()
        self.log.append(("set", self.event.is_set()))

    async def do_put(self, i: int) -> None:
        await self.queue.put(i)

    async def do_get(self, _: int) -> None:
        self.log.append(("got", await self.queue.get()))

    async def do_notify(self, _: int) -> None:
        async with self.condition:
            self.condition.notify()

    async def do_await(self, _: int) -> None:
        async with self.condition:
            await self.condition.wait()

    async def do_promise(self, _: int) -> None:
        self.log.append(("kept", await asyncio.shield(self.promised)))

    async def do_group(self, i: int) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self.child(i))
            group.create_task(self.child(-i))

    async def do_timeout(self, i: int, delay: float) -> None:
        try:
            async with asyncio.timeout(delay):
                await self.gap()
                self.log.append(("in time", i))
        except TimeoutError:
            self.log.append(("late", i))

    async def do_wait_for(self, i: int, delay: float) -> None:
        try:
            await asyncio.wait_for(self.child(i), delay)
        except TimeoutError:
            self.log.append(("late", i))

    async def do_within(self, i: int, delay: float) -> None:
        done, _ = await asyncio.wait([asyncio.create_task(self.child(i))], timeout=delay)
        self.log.append((i, len(done)))

    async def do_first(self, i: int) -> None:
        both = [asyncio.create_task(self.child(j)) for j in (i, -i)]
        done, _ = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        self.log.append([task in done for task in both])

    async def do_shield(self, i: int) -> None:
        await asyncio.shield(self.child(i))

    async def do_both(self, i: int) -> None:
        self.log.append(await asyncio.gather(self.child(i), self.child(-i)))

    async def do_broken(self, i: int) -> None:
        found = await asyncio.gather(self.bad(i), self.child(i), return_exceptions=True)
        self.log.append(repr(found))

    async def do_completed(self, i: int) -> None:
        for one in asyncio.as_completed([self.child(i), self.child(i + 10)]):
            self.log.append(await one)

    async def do_next(self, i: int) -> None:
        try:
            self.log.append((i, await anext(self.numbers)))
        except (RuntimeError, StopAsyncIteration) as error:
            self.log.append((i, type(error).__name__))

    async def do_close(self, i: int) -> None:
        try:
            await self.numbers.aclose()  # type: ignore[attr-defined]
        except RuntimeError:
            self.log.append((i, "busy"))

    async def do_context(self, i: int) -> None:
        before = _LABEL.get()
        _LABEL.set(f"{before} {i}")
        await asyncio.create_task(self.child(i))
        self.log.append(_LABEL.get())
