"""Greenlets that run tasks: a pool, because a new one costs ten times as much as a used one.

A process has the same greenlet in every execution. So it always begins at the same depth of the
stack, and a recursion without end ends at the same place.
"""

from __future__ import annotations

from collections.abc import Callable

from greenlet import GreenletExit, getcurrent, greenlet

from treadle.python.runtime.task import Task


class Fibers:
    """The greenlets of one exploration, by the number of the process that each one runs."""

    def __init__(self) -> None:
        self._fibers: dict[int, greenlet] = {}
        self._abandoned: list[greenlet] = []
        """Greenlets of tasks that would not end: kept, so that nothing happens in them any more."""
        self._run: Callable[[Task], None] | None = None
        self._task: Task | None = None
        """Which task is to be run next, and by whom."""

    def for_task(self, run: Callable[[Task], None], task: Task) -> greenlet:
        """Return the greenlet that is to run a task, ready to be switched to."""
        self._run = run
        self._task = task
        fiber = self._fibers.get(task.number)
        if fiber is None or fiber.dead:
            fiber = self._fibers[task.number] = greenlet(self.work)
        return fiber

    def work(self) -> None:
        """Run one task after the other."""
        while True:
            assert self._run is not None
            assert self._task is not None
            self._run(self._task)

    def abandon(self, task: Task, fiber: greenlet) -> None:
        """Never use a greenlet again, which runs a task that would not end."""
        if self._fibers.get(task.number) is fiber:
            del self._fibers[task.number]
        self._abandoned.append(fiber)

    def clear(self) -> None:
        """Let go of all greenlets that are not in use."""
        self._fibers.clear()

    def end(self) -> None:
        """End all greenlets that are not in use: the collector never frees a suspended one.

        One that ends goes on where its parent stands, which may be another of them.
        """
        while self._fibers:
            _, fiber = self._fibers.popitem()
            if not fiber.dead:
                fiber.parent = getcurrent()
                fiber.throw(GreenletExit)
        self._run = self._task = None
