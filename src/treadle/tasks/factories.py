"""Task factories: whoever makes tasks in place of the loop, eager ones of Python 3.12 among them.

An eager task takes its first step inside of `create_task`, which is then part of its creator's
step; it is a task of the loop's only if it suspends. Tasks are Treadle's own in any case: the
factory of asyncio, which may have been made long before, makes those.
"""

from __future__ import annotations

import asyncio
import asyncio.tasks
import sys
from typing import Any

from treadle.core.errors import TreadleError
from treadle.tasks.futures import Task

_EAGER = "create_eager_task_factory.<locals>.factory"
_ORIGINAL: tuple[Any, ...] = (asyncio.tasks.Task, asyncio.tasks._PyTask, Task)  # type: ignore[attr-defined]


def checked(factory: Any) -> Any:
    """Return a task factory, if it can be one."""
    if factory is not None and not callable(factory):
        raise TypeError("task factory must be a callable or None")
    return factory


def made_by(loop: Any, factory: Any, coro: Any, **options: Any) -> Any:
    """Return a task of a coroutine, as a factory makes it."""
    if factory is None:
        return Task(coro, loop=loop, **options)
    if _makes_eager_tasks(factory):
        return Task(coro, loop=loop, **{"eager_start": True, **options})
    given = {option: value for option, value in options.items() if value is not None}
    name = None if sys.version_info >= (3, 13, 3) else given.pop("name", None)
    task = factory(loop, coro, **given)
    if not isinstance(task, Task):
        raise TreadleError(
            f"the task factory made {type(task).__name__} of {type(task).__module__}: tasks of a "
            f"test that is explored are made by `asyncio.Task(coro, loop=loop, ...)`"
        )
    if name is not None:  # before, factories were not told
        task.set_name(name)
    return task


def _makes_eager_tasks(factory: Any) -> bool:
    """Tell whether a factory is that of asyncio, for tasks of asyncio's own."""
    if getattr(factory, "__qualname__", "") != _EAGER or factory.__module__ != "asyncio.tasks":
        return False
    return any(cell.cell_contents in _ORIGINAL for cell in factory.__closure__ or ())
