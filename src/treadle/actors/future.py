"""Futures: what a task will return, and the two ways to wait for it."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from treadle.actors import control
from treadle.actors.messages import HANDED_OVER, copied

if TYPE_CHECKING:
    from treadle.actors.task import Task

Result = TypeVar("Result", covariant=True)


class Future(Generic[Result]):
    """What an asynchronous call will return.

    `f.get()` waits and keeps the actor: nobody else runs in it meanwhile. `await f` releases the
    actor, if it has to wait at all. Both return what the task returned, or raise what it raised.
    """

    __slots__ = ("_task",)

    def __init__(self, task: Task) -> None:
        self._task = task

    def get(self) -> Result:
        """Wait for the task's end without releasing the actor; return its result."""
        me = control.running("a future is waited for")
        if self._task not in me.joined:
            me.run.wait_in_get(me, self._task)
        return self._retrieved()

    def __await__(self) -> Generator[None, None, Result]:
        """Wait for the task's end; the actor is released as long as that takes."""
        yield from self._ended()
        return self._retrieved()

    def done(self) -> Done:
        """Return something to await: the task's end, whether or not it failed."""
        return Done(self)

    def _ended(self) -> Generator[None, None, None]:
        me = control.running("a future is awaited")
        if me.run.has_to_wait(me, self._task):
            yield

    def _retrieved(self) -> Result:
        """Return a copy of the result, or raise the task's exception."""
        task = self._task
        if task.error is not None:
            task.is_retrieved = True
            raise task.error
        return copied(task.result, lambda: f"the result of {task.in_words}")  # type: ignore[no-any-return]

    def fingerprint_of(self) -> object:
        """Return what stands for it when states are compared: its name."""
        return self._task.name

    def __deepcopy__(self, memo: object) -> Future[Result]:
        return self

    def __repr__(self) -> str:
        return f"<future of {self._task.in_words}>"


class Done:
    """Awaits the end of a future's task, and retrieves nothing: `await f?` of ABS."""

    __slots__ = ("_future",)

    def __init__(self, future: Future[Any]) -> None:
        self._future = future

    def __await__(self) -> Generator[None, None, None]:
        yield from self._future._ended()


HANDED_OVER.add(Future)
