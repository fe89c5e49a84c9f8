"""Which event loop runs in which controlled thread.

The running loop belongs to a thread of the operating system, and all controlled threads share one.
So it is put away and brought back with every switch between them, from the first loop of an
execution on.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import greenlet

from treadle.python.runtime.task import Task

_IS_TASK_OF_THREAD = sys.version_info >= (3, 14)
"""Whether the current task, too, belongs to the thread, and not to the loop."""


class RunningLoops:
    """Keeps the running loops apart; a `Keeper` of the host's."""

    def __init__(self) -> None:
        self._put_away: dict[Any, tuple[Any, Any]] = {}
        """By greenlet: its loop, and its current task if that has to be put away as well."""
        self._loops: list[Any] = []

    def take(self) -> Callable[[], None]:
        """Return what stops looking at switches."""
        return self._stop

    def begin(self, main: Task) -> None:
        """Forget the loops of the execution before."""
        del main
        if self._loops:
            self._stop()

    def _stop(self) -> None:
        if greenlet.gettrace() == self._switched:
            greenlet.settrace(None)
            self._put_away.clear()
            self._asyncio.events._set_running_loop(None)
            for loop in self._loops:
                loop.let_go()
            self._loops.clear()

    def watch(self, loop: Any) -> None:
        """Look at every switch from now on, since there is a loop."""
        self._loops.append(loop)
        self._asyncio: Any = sys.modules["asyncio"]
        greenlet.settrace(self._switched)

    def _switched(self, event: str, args: tuple[Any, Any]) -> None:
        """Put the loop of one thread away, and bring that of another one back."""
        del event
        origin, target = args
        events, tasks = self._asyncio.events, self._asyncio.tasks
        loop = events._get_running_loop()
        if loop is not None:
            task = tasks._swap_current_task(loop, None) if _IS_TASK_OF_THREAD else None
            self._put_away[origin] = loop, task
        loop, task = self._put_away.pop(target, (None, None))
        events._set_running_loop(loop)
        if task is not None:
            tasks._swap_current_task(loop, task)


running_loops = RunningLoops()
"""Those of the present exploration."""
