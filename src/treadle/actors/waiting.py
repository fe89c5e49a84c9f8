"""What a task can await besides futures: a condition, or just that others had their turn."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator

from treadle.actors import control
from treadle.actors.task import Waiting


class _Awaitable:
    """What does nothing unless it is awaited."""

    __slots__ = ()

    def _made(self) -> None:
        """Take note of it, and of the line that made it."""
        if control.current is not None:
            frame = sys._getframe(2)
            control.current.loose[self] = (frame.f_code.co_filename, frame.f_lineno)


class until(_Awaitable):  # noqa: N801 - it is used like a function
    """Await that a condition on the actor's own fields holds: `await until(lambda: self.n > 0)`.

    If it holds, the task goes on in the same step. Else the actor is released; the task goes on
    when it holds and the actor is free.
    """

    __slots__ = ("_condition",)

    def __init__(self, condition: Callable[[], object]) -> None:
        if not callable(condition):
            control.refuse("until() needs a function: write `await until(lambda: self.n > 0)`")
        self._condition = condition
        self._made()

    def __await__(self) -> Generator[None, None, None]:
        me = control.running("a condition is awaited")
        run = me.run
        me.loose.pop(self, None)
        if not run.always_release and run.holds(self._condition):
            return
        me.condition = self._condition
        me.waiting = Waiting.UNTIL
        yield
        me.condition = None
        run.holds(self._condition)  # raises here what it raised when it was tried


class pause(_Awaitable):  # noqa: N801 - it is used like a function
    """Release the actor once: `await pause()`."""

    __slots__ = ()

    def __init__(self) -> None:
        self._made()

    def __await__(self) -> Generator[None, None, None]:
        me = control.running("a pause is made")
        me.loose.pop(self, None)
        me.waiting = Waiting.PAUSED
        yield
