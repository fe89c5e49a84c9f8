"""What a task can await besides futures: a condition, or just that others had their turn."""

from __future__ import annotations

from collections.abc import Callable, Generator

from treadle.actors import control
from treadle.actors.task import Waiting


class until:  # noqa: N801 - it is used like a function
    """Await that a condition on the actor's own fields holds: `await until(lambda: self.n > 0)`.

    If it holds, the task goes on in the same step. Else the actor is released; the task goes on
    when it holds and the actor is free.
    """

    __slots__ = ("_condition",)

    def __init__(self, condition: Callable[[], object]) -> None:
        if not callable(condition):
            control.refuse("until() needs a function: write `await until(lambda: self.n > 0)`")
        self._condition = condition

    def __await__(self) -> Generator[None, None, None]:
        me = control.running("a condition is awaited")
        run = me.run
        if not run.always_release and run.holds(self._condition):
            return
        me.condition = self._condition
        me.waiting = Waiting.UNTIL
        yield
        me.condition = None
        run.holds(self._condition)  # raises here what it raised when it was tried


class pause:  # noqa: N801 - it is used like a function
    """Release the actor once: `await pause()`."""

    __slots__ = ()

    def __await__(self) -> Generator[None, None, None]:
        control.running("a pause is made").waiting = Waiting.PAUSED
        yield
