"""Cancellations as faults: the tasks of a test are cancelled at any moment, some of them.

Each task has an arrival that cancels it. It may as well not come: if nothing else can happen any
more, it does nothing, but is seen to race with what the task did.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from treadle.tasks.futures import Task
    from treadle.tasks.loop import Loop


class Faults:
    """The cancellations that nobody asked for, of one execution."""

    def __init__(self, loop: Loop, most: int) -> None:
        self._loop = loop
        self._left = most
        self._count = loop.place("loop", "cancellations", "cancellations that are left")

    def threaten(self, task: Task) -> None:
        """Let a task be cancelled, some time from now on."""
        if self._left:
            step = self._loop.arrival(self._strike, task, mark="/c")
            step.is_fault = True

    def _strike(self, task: Task) -> None:
        loop = self._loop
        is_late = loop.is_over or not loop.is_busy()
        loop.touch(self._count.read)
        loop.touch(task.control.read)
        if not self._left or is_late or task.done():
            return
        self._left -= 1
        loop.touch(self._count.write)
        task.cancel()
