"""What is replaced in asyncio while a test is explored: its futures and tasks, and a few functions.

Everything else of asyncio runs as it is.
"""

from __future__ import annotations

import asyncio
import asyncio.events
import asyncio.futures
import asyncio.locks
import asyncio.mixins
import asyncio.streams
import asyncio.tasks
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from treadle.core.frames import callers_frame
from treadle.python.accesses.coroutines import awaited
from treadle.python.runtime import slots
from treadle.tasks.futures import Future, GatheringFuture, Task, all_tasks
from treadle.tasks.pausing import arriving
from treadle.tasks.refusals import other_loops, outside_calls
from treadle.threads.primitives.patches import Patches

if TYPE_CHECKING:
    from treadle.tasks.program import TaskProgram

_original_sleep = asyncio.tasks.sleep
_original_acquire = asyncio.locks.Lock.acquire
_original_as_completed = asyncio.tasks.as_completed
_original_wait_for = asyncio.tasks.wait_for
_original_ensure_future = getattr(asyncio.tasks, "_ensure_future", asyncio.tasks.ensure_future)


def _as_completed(fs: Any, *, timeout: float | None = None) -> Any:
    """Make tasks in the order given: asyncio makes a set of the coroutines first."""
    if isinstance(fs, Iterable) and not asyncio.isfuture(fs) and not asyncio.iscoroutine(fs):
        fs = [asyncio.ensure_future(one) for one in dict.fromkeys(fs)]
    return _original_as_completed(fs, timeout=timeout)


def _wait_for(fut: Any, timeout: float | None) -> Any:
    """Await something that others may await, too, as code under test would."""
    return _original_wait_for(awaited(fut), timeout)


def _ensure_future(coro_or_future: Any, *, loop: Any = None) -> Any:
    """Make a task of what others may await, too, as if code under test awaited it."""
    return _original_ensure_future(awaited(coro_or_future), loop=loop)


def _running_loop(self: Any) -> Any:
    """Return the loop that an object of asyncio's belongs to: there is only one."""
    del self
    return asyncio.get_running_loop()


async def _acquire(self: asyncio.Lock) -> Any:
    """Take a lock, and let the loop know who has it."""
    taken = await slots.resolve(_original_acquire)(self)
    loop: Any = asyncio.get_running_loop()
    loop.holders[id(self)] = asyncio.current_task()
    return taken


def _current_task(loop: Any = None) -> Any:
    """Return the task that takes a step: from 3.14 on, tasks in C have a place of their own."""
    current: Callable[[Any], Any] = vars(asyncio.tasks)["_py_current_task"]
    return current(loop)


_REGISTERING = ("_register_task", "_py_register_task")


def _register(task: Any) -> None:
    """Leave a task out of asyncio's set of all: the loop has its own, for one execution."""


def _view_of_a_copy(data: Any) -> memoryview:
    """Return a view that nobody has to let go of: streams cut the buffer that they look at.

    What is shared is kept until the end of an execution, and so is a view of it.
    """
    return memoryview(bytes(data))


def patches(program: TaskProgram) -> list[Patches]:
    """Return what is replaced."""

    def sleep(delay: float, result: Any = None) -> Any:
        if delay <= 0 and program.order == "fifo" and program.yields != "exact":
            namespace = callers_frame().f_globals
            if program.yields == "all" or program.is_own_module(namespace):
                return _pausing(result)
        return _original_sleep(delay, result)

    references = [
        (asyncio.futures.Future, Future),
        (asyncio.futures._PyFuture, Future),  # type: ignore[attr-defined]
        (asyncio.tasks.Task, Task),
        (asyncio.tasks._PyTask, Task),  # type: ignore[attr-defined]
        (asyncio.tasks._GatheringFuture, GatheringFuture),  # type: ignore[attr-defined]
        (asyncio.tasks.all_tasks, all_tasks),
        (_original_sleep, sleep),
        (_original_as_completed, _as_completed),
        (_original_wait_for, _wait_for),
        (_original_ensure_future, _ensure_future),
        *other_loops(),
    ]
    if sys.version_info >= (3, 14):
        references.append((asyncio.tasks.current_task, _current_task))
    attributes = [
        *(
            (asyncio.tasks, name, _register)
            for name in _REGISTERING
            if hasattr(asyncio.tasks, name)
        ),
        (asyncio.streams, "memoryview", _view_of_a_copy),
        (asyncio.mixins._LoopBoundMixin, "_get_loop", _running_loop),
        (asyncio.locks.Lock, "acquire", _acquire),
    ]
    return [Patches(attributes=attributes, references=references), outside_calls()]


async def _pausing(result: Any) -> Any:
    await arriving(asyncio.get_running_loop(), is_turn=True)
    return result
