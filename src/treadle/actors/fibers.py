"""Greenlets for macro-steps: a pool, because a new one costs ten times as much as a used one.

A macro-step runs in a greenlet so that `f.get()` can stop it anywhere, in helper functions and in
methods that are no coroutines. Only a task that stands in a `get` keeps its greenlet: one that has
released its actor is a suspended coroutine, which any greenlet can go on with.
"""

from __future__ import annotations

from typing import NoReturn

from greenlet import getcurrent, greenlet

from treadle.actors.task import Task


class Fibers:
    """The greenlets of one program."""

    def __init__(self) -> None:
        self._idle: list[greenlet] = []
        self._abandoned: list[greenlet] = []
        """Greenlets of tasks that would not end: kept, so that nothing happens in them any more."""
        self.hub = getcurrent()
        """The greenlet of the exploration."""

    def run(self, task: Task) -> None:
        """Let a task go on; return when it stops."""
        fiber = task.fiber
        if fiber is not None:
            task.fiber = None
            fiber.switch()
            return
        fiber = self._idle.pop() if self._idle else greenlet(self._work)
        fiber.gr_context = task.context
        fiber.switch(task)

    def _work(self, task: Task) -> None:
        """Run macro-steps of one task after the other."""
        me = getcurrent()
        while True:
            task.run.advance(task)
            self._idle.append(me)
            task = self.hub.switch()

    def stop(self, task: Task) -> None:
        """Stop the current macro-step in the middle of its code; return when it is to go on."""
        task.fiber = getcurrent()
        self.hub.switch()

    def park(self) -> NoReturn:
        """Stop the current greenlet for ever."""
        self._abandoned.append(getcurrent())
        while True:
            self.hub.switch()

    def unwind(self, task: Task, error: type[BaseException]) -> None:
        """Raise an exception where a task stands in a `get`."""
        fiber, task.fiber = task.fiber, None
        assert fiber is not None
        fiber.throw(error)
