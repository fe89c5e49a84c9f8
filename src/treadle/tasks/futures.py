"""`Future` and `Task`: CPython's own, written in Python, that also record what is done to them.

| operation | accesses |
|---|---|
| `done, result, exception, cancelled`, awaiting a future | reads its state |
| `set_result, set_exception, cancel` | writes its state; of one that is done, reads it |
| `add_done_callback` | reads its state, and writes its callbacks; where any handle may be next, it only adds to them |
| `remove_done_callback` | reads its state, and writes its callbacks: it tells how many there were |
| a step of a task | writes the task's control |
| `get_name, set_name` of a task | read and write its name |
| `repr` | reads its state and callbacks; of a task also its name and control, as `get_stack` does |
| `get_coro` of a task | reads its control; what looks at the coroutine later is seen, too |
| `cancel, uncancel` of a pending task | reads its state, writes its control; `cancelling` reads it |

Futures hash by name: `wait` and code under test iterate over sets of them.
"""  # noqa: E501

from __future__ import annotations

import asyncio
import asyncio.futures
import asyncio.tasks
import zlib
from collections.abc import Callable, Generator
from contextvars import Context
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from treadle.core.errors import TreadleBug, TreadleError
from treadle.python.accesses.coroutines import changes
from treadle.python.runtime import slots
from treadle.python.runtime.atoms import ATOMS
from treadle.python.sharing.children import Children
from treadle.python.sharing.published import published
from treadle.python.sharing.tables import ObjectTable
from treadle.python.sharing.walks import register
from treadle.tasks.moments import BEGINNING
from treadle.tasks.steps import Owner, Place

if TYPE_CHECKING:
    from treadle.tasks.loop import Loop

_PyFuture: Any = asyncio.futures._PyFuture  # type: ignore[attr-defined]
_PyTask: Any = asyncio.tasks._PyTask  # type: ignore[attr-defined]
_PENDING = "PENDING"


@lru_cache(1 << 14)
def hash_of(name: str) -> int:
    """Return a hash that a future has in all executions, and in all processes."""
    return zlib.crc32(name.encode())


class Future(_PyFuture):  # type: ignore[misc]
    """A future that records."""

    where_name: str
    of_loop: Loop
    """The loop, as what it is."""

    def __init__(self, *, loop: Any = None) -> None:
        super().__init__(loop=loop if loop is not None else asyncio.get_running_loop())
        self.of_loop = self._loop
        if not hasattr(self.of_loop, "touch"):
            raise TreadleError("a future of another event loop is used in a test that is explored")
        self.where = self._place()
        self._hash = hash_of(self.where_name)
        self.listeners = self.of_loop.place("callbacks", self.where_name, "callbacks of")
        self.of_loop.note_future(self)
        self._listening: list[tuple[Any, str]] = []
        """The names under which callbacks will run, in the order of `_callbacks`."""

    def _place(self) -> Place:
        self.where_name = self.of_loop.owner.next_name("~f")
        return self.of_loop.place("future", self.where_name, "future")

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other

    def __del__(self) -> None:
        """What nobody looked at is a finding at the end of the execution, not at this moment."""

    # Who looks

    def look(self) -> None:
        """Record that its state is read."""
        self.of_loop.touch(self.where.read, self)

    def done(self) -> bool:
        """Tell whether it is done."""
        self.of_loop.touch(self.where.read, self)
        return self._state != _PENDING  # type: ignore[no-any-return]

    def cancelled(self) -> bool:
        """Tell whether it was cancelled."""
        self.look()
        return bool(super().cancelled())

    def result(self) -> Any:
        """Return its result."""
        self.look()
        return super().result()

    def exception(self) -> BaseException | None:
        """Return its exception."""
        self.look()
        found: BaseException | None = super().exception()
        return found

    def __repr__(self) -> str:
        """Put it into words: its state, and who waits for it."""
        self.look()
        self.of_loop.touch(self.listeners.read)
        return str(super().__repr__())

    # Who changes it

    def change(self) -> None:
        """Record that its state is written, unless it is done."""
        self._ends()
        access = self.where.write if self._state == _PENDING else self.where.read
        self.of_loop.touch(access, self)

    def _ends(self) -> None:
        """Take note that it is about to be done; tasks are counted."""

    def set_result(self, result: Any) -> None:
        """Complete it."""
        self.change()
        if type(result) not in ATOMS:
            slots.hand_out(result, "result")
        super().set_result(result)

    def set_exception(self, exception: Any) -> None:
        """Complete it with an exception."""
        self.change()
        if isinstance(exception, TreadleError | TreadleBug):
            self.of_loop.fatal = exception
        slots.hand_out(exception, "exception")
        super().set_exception(exception)

    def cancel(self, msg: Any = None) -> bool:
        """Cancel it."""
        self.change()
        return bool(super().cancel(msg=msg))

    # Who is told

    def add_done_callback(
        self, fn: Callable[..., object], *, context: Context | None = None
    ) -> None:
        """Call a function when it is done."""
        loop = self.of_loop
        self.look()
        loop.touch(self.listeners.write if loop.is_fifo else self.listeners.add)
        name = ""
        if not isinstance(getattr(fn, "__self__", None), Task):  # it wakes itself
            name = loop.owner.next_name("/d")
            slots.hand_out(fn, "callback")
        if self._state != _PENDING:
            loop.enqueue(name, fn, (self,), context)
            return
        super().add_done_callback(fn, context=context)
        self._listening.append((fn, name))

    def remove_done_callback(self, fn: Callable[..., object]) -> int:
        """Do not call a function when it is done."""
        self.look()
        self.of_loop.touch(self.listeners.write)
        self._listening = [(kept, name) for kept, name in self._listening if kept != fn]
        return int(super().remove_done_callback(fn))

    def _Future__schedule_callbacks(self) -> None:  # noqa: N802 - CPython's private name
        callbacks, names = self._callbacks[:], self._listening
        self._callbacks[:], self._listening = [], []
        for (callback, context), (_, name) in zip(callbacks, names, strict=True):
            self.of_loop.enqueue(name, callback, (self,), context)

    def __await__(self) -> Generator[Any, None, Any]:
        if not self.done():
            self._asyncio_future_blocking = True
            yield self
            if not self.done():
                raise RuntimeError("await wasn't used with future")
        return self.result()

    __iter__ = __await__


class GatheringFuture(Future):
    """What `gather` returns: cancelling it cancels the children."""

    def __init__(self, children: list[Any], *, loop: Any) -> None:
        super().__init__(loop=loop)
        self._children = children
        self._cancel_requested = False

    def cancel(self, msg: Any = None) -> bool:
        """Cancel the children; whoever counts them looks at whether that was asked for."""
        self.change()
        if self._state != _PENDING:
            return False
        cancelled = [child.cancel(msg=msg) for child in self._children]
        self._cancel_requested = self._cancel_requested or any(cancelled)
        return any(cancelled)


class Task(_PyTask, Future):  # type: ignore[misc]
    """A task that records; what it does is a step each time that the loop runs it."""

    def __init__(
        self, coro: Any, *, loop: Any = None, name: Any = None, context: Any = None, **options: Any
    ) -> None:
        self.has_own_name = name is not None
        self.standing: Any = None
        """Where it stood when it gave up its turn the last time (`spinning`)."""
        self.spins_at: str | None = None
        """What it waits for, if it only takes turns."""
        name = _UsualName(self) if name is None else name
        super().__init__(coro, loop=loop, name=name, context=context, **options)  # type: ignore[call-arg, misc]

    def _Task__eager_start(self) -> None:  # noqa: N802 - CPython's private name
        """Take the first step at once, as part of the creator's: what it makes is its own."""
        self.begin_step()
        with self.of_loop.owned_by(self.as_owner):
            super()._Task__eager_start()

    def begin_step(self) -> None:
        """Record what each step does: others may hold the coroutine that it runs."""
        self.of_loop.touch(self.control.write)
        if id(self._coro) in published:
            self.of_loop.accessed += changes(self._coro)

    def _place(self) -> Place:
        loop = self.of_loop
        self.where_name = loop.owner.next_name(".") if loop.tasks else "main"
        self.as_owner = Owner(loop.program.path(self.where_name))
        self.own_places: set[int] = set()
        """Futures that it made, which nobody else may know."""
        self.control = loop.place("control", self.where_name, "control of")
        self.called = loop.place("name", self.where_name, "name of")
        self.moment = BEGINNING if loop.step is None else loop.step.moment
        """When its latest step happens."""
        loop.tasks.append(self)
        loop.touch(loop.live.add)
        return loop.place("future", self.where_name, "state of")

    __del__ = Future.__del__

    def cancel(self, msg: Any = None) -> bool:
        """Ask it to end."""
        self._touch_control()
        waiter = self._fut_waiter
        if self._state == _PENDING and waiter is not None and waiter._state == "FINISHED":
            self.of_loop.lost_wakeups.append(self)
        return bool(super().cancel(msg=msg))

    def uncancel(self) -> int:
        """Take a request back."""
        self._touch_control()
        return int(super().uncancel())

    def set_name(self, value: object) -> None:
        """Call it by another name."""
        self.of_loop.touch(self.called.write)
        super().set_name(value)
        self.has_own_name = True

    def get_name(self) -> str:
        """Return what it is called."""
        self.of_loop.touch(self.called.read)
        return str(super().get_name())

    def __repr__(self) -> str:
        """Put it into words: its name and where it stands, too."""
        self.of_loop.touch(self.called.read)
        self.of_loop.touch(self.control.read)
        return super().__repr__()

    def get_coro(self) -> Any:
        """Return what it runs: who looks at it sees how far it is, now and later."""
        self.of_loop.touch(self.control.read)
        slots.hand_out(self._coro, "coroutine")
        return super().get_coro()

    def get_stack(self, *, limit: Any = None) -> Any:
        """Return the frames in which it stands."""
        self.of_loop.touch(self.control.read)
        return super().get_stack(limit=limit)

    def print_stack(self, *, limit: Any = None, file: Any = None) -> None:
        """Print where it stands."""
        self.of_loop.touch(self.control.read)
        super().print_stack(limit=limit, file=file)

    def cancelling(self) -> int:
        """Return how many requests there are."""
        self.of_loop.touch(self.control.read)
        return int(super().cancelling())

    def _touch_control(self) -> None:
        if self._state == _PENDING:
            self.of_loop.touch(self.control.write)

    def _ends(self) -> None:
        if self._state == _PENDING:
            self.of_loop.touch(self.of_loop.live.add)


class _UsualName:
    """What a task is called that was given no name: asyncio counts those of all executions."""

    def __init__(self, task: Task) -> None:
        self._task = task

    def __str__(self) -> str:
        return f"Task-{self._task.where_name}"


def all_tasks(loop: Any = None) -> set[Any]:
    """Return the tasks that are not done: this reads the set that creations and ends add to."""
    found: Any = loop or asyncio.get_running_loop()
    found.touch(found.live.read)
    return {task for task in found.tasks if task._state == _PENDING}


_OWN = frozenset(
    {
        "_callbacks", "_cancel_requested", "_children", "_coro", "_context", "_fut_waiter",
        "_hash", "_listening", "_loop", "_must_cancel", "_name", "_num_cancels_requested",
        "as_owner", "called", "control", "has_own_name", "listeners", "moment", "of_loop",
        "own_places", "spins_at", "standing", "where", "where_name",
    }
)  # fmt: skip
"""Attributes that only asyncio and Treadle look at; those of the class are no less."""


def given_attributes(obj: Any, label: str, own: frozenset[str] = _OWN) -> Children:
    """Yield the attributes that a program has given to a future or a task, or to its loop."""
    kind = type(obj)
    for name, value in [*vars(obj).items()]:
        if name not in own and not hasattr(kind, name):
            yield value, f"{label}.{name}"


for _kind in (Future, GatheringFuture, Task):
    register(_kind, ObjectTable, given_attributes)
