"""Random asyncio programs: lists of operations for two or three tasks, and how they are ended."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
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
    ("later", 2), ("lock",), ("read",), ("add",),
]  # fmt: skip
CANCELLING: list[Operation] = [
    ("gap",), ("lock",), ("put",), ("get",), ("notify",), ("await",), ("cancel", 0), ("cancel", 1),
    ("group",), ("add",),
]  # fmt: skip
ENDS = ("gather", "wait", "group", "exceptions")


def drawn(operations: list[Operation], tasks: int, most: int) -> st.SearchStrategy[Any]:
    """Return programs with these operations."""
    one = st.lists(st.sampled_from(operations), min_size=1, max_size=most)
    return st.tuples(st.lists(one, min_size=2, max_size=tasks), st.sampled_from(ENDS))


def made(program: tuple[list[list[Operation]], str], order: str) -> Callable[[], Any]:
    """Return a program as a test, which returns all that can be seen."""
    parts, end = program

    def gap() -> Any:
        return treadle.pause() if order == "fifo" else asyncio.sleep(0)

    async def test() -> Any:
        log: list[Any] = []
        lock, event, condition = asyncio.Lock(), asyncio.Event(), asyncio.Condition()
        queue: asyncio.Queue[int] = asyncio.Queue(1)
        tasks: list[Any] = []
        loop = asyncio.get_running_loop()

        async def child(i: int) -> None:
            await gap()
            log.append(("child", i))

        async def do(i: int, what: str, *args: int) -> None:
            if what == "gap":
                await gap()
            elif what == "turn":
                await asyncio.sleep(0)
            elif what == "sleep":
                await asyncio.sleep(args[0])
            elif what == "add":
                log.append(i)
            elif what == "read":
                log.append((i, len(log)))
            elif what == "lock":
                async with lock:
                    await gap()
                    log.append(("lock", i))
            elif what == "set":
                event.set()
            elif what == "clear":
                event.clear()
            elif what == "wait" and not event.is_set():
                async with asyncio.timeout(None):
                    await gap()
                    log.append(("set", event.is_set()))
            elif what == "put":
                await queue.put(i)
            elif what == "get":
                log.append(("got", await queue.get()))
            elif what == "notify":
                async with condition:
                    condition.notify()
            elif what == "await":
                async with condition:
                    await condition.wait()
            elif what == "cancel" and args[0] < len(tasks):
                log.append(("cancelled", tasks[args[0]].cancel()))
            elif what == "soon":
                loop.call_soon(log.append, ("soon", i))
            elif what == "later":
                loop.call_later(args[0], log.append, ("later", i))
            elif what == "spawn":
                tasks.append(asyncio.create_task(child(i)))
            elif what == "group":
                async with asyncio.TaskGroup() as group:
                    group.create_task(child(i))
            elif what == "timeout":
                try:
                    async with asyncio.timeout(args[0]):
                        await gap()
                        log.append(("in time", i))
                except TimeoutError:
                    log.append(("late", i))
            elif what == "fail":
                raise ValueError(i)

        async def run(i: int, operations: list[Operation]) -> None:
            try:
                for operation in operations:
                    await do(i, *operation)
            except asyncio.CancelledError:
                log.append(("stopped", i))
                raise

        try:
            if end == "group":
                async with asyncio.TaskGroup() as all_of_them:
                    tasks += [all_of_them.create_task(run(i, part)) for i, part in enumerate(parts)]
            else:
                tasks += [asyncio.create_task(run(i, part)) for i, part in enumerate(parts)]
                if end == "wait":
                    await asyncio.wait(list(tasks))
                else:
                    await asyncio.gather(*tasks, return_exceptions=end == "exceptions")
        except (asyncio.CancelledError, Exception) as error:
            log.append(type(error).__name__)
        return tuple(log)

    return test
