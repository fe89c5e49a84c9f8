"""`threading.Condition` under control, patched in place.

A wait is two events, as in the model kit: it gives its lock back and queues up; once notified, it
takes the lock again. A timed wait is three, as CPython's is: whether it was notified in time is
decided before it has the lock again; until it has, a notification may still go to it, and be lost.

That the lock is held is checked in the same step. In CPython's source it is not, which shows only
where a thread releases a `Lock` that another one took, while that one calls `wait` or `notify`.
"""

from __future__ import annotations

import threading
from typing import Any

from treadle.core.events import OPEN, Codes, Mode, location_of
from treadle.core.records import WaitKind
from treadle.python.runtime import clocks, control
from treadle.python.runtime.deeds import Deed
from treadle.python.runtime.operation import Operation
from treadle.python.runtime.spin import LINES
from treadle.python.runtime.task import Task
from treadle.python.runtime.timed import InTime
from treadle.python.sharing.children import Children
from treadle.python.sharing.published import label_of, label_or_kind
from treadle.python.sharing.walks import register
from treadle.threads.primitives.facets import FacetTable, RewoundTable, act, table_of
from treadle.threads.primitives.internals import NAN_IS_NO_TIMEOUT
from treadle.threads.primitives.locks import (
    REAL_LOCK,
    REAL_RLOCK,
    Lock,
    RLock,
    Taking,
    check_arguments,
    model_of,
)
from treadle.threads.primitives.patches import Patches

_EVERYBODY = -1

ENTER = Deed("acquire", label_or_kind)
EXIT = Deed("release", label_or_kind)
WAIT = Deed("wait on", label_or_kind)
WAKE_UP = Deed("wake up on", label_or_kind)
REACQUIRE = Deed("reacquire lock of", label_or_kind)
NOTIFY = Deed("notify", label_or_kind)
NOTIFY_ALL = Deed("notify all on", label_or_kind)


class _Waiter:
    """A place in the line of a condition variable."""

    __slots__ = ("notified", "task")

    def __init__(self, task: Task) -> None:
        self.task = task
        self.notified = False


class _Signal(Operation):
    """Wait to be notified."""

    __slots__ = ("_condition", "_waiter")

    kind = WaitKind.NOTIFICATION

    def __init__(self, condition: Any, waiter: _Waiter) -> None:
        self._condition = condition
        self._waiter = waiter

    def ready(self, task: Task) -> bool:
        """Tell whether the notification has come."""
        return self._waiter.notified

    def pending(self, task: Task) -> Codes:
        """Return the notification."""
        return _signal(table_of(id(self._condition)), self._waiter, Mode.NEED)

    def describe(self) -> str:
        """Name the condition variable."""
        return f"a notification of {_label(self._condition)}"


class _Wake(_Signal):
    """Wait to be notified and for the lock."""

    __slots__ = ("_lock",)

    @property
    def kind(self) -> WaitKind:  # type: ignore[override]
        """What is missing."""
        return WaitKind.LOCK if self._waiter.notified else WaitKind.NOTIFICATION

    def __init__(self, condition: Any, waiter: _Waiter, lock: Lock | RLock) -> None:
        super().__init__(condition, waiter)
        self._lock = lock

    def ready(self, task: Task) -> bool:
        """Tell whether the notification has come and the lock is free."""
        return self._waiter.notified and self._lock.is_free_for(task)

    def pending(self, task: Task) -> Codes:
        """Return the notification and the acquisition."""
        return (*super().pending(task), *self._lock.codes(Mode.TAKE))

    def describe(self) -> str:
        """Name what is missing."""
        return self._lock.label() if self._waiter.notified else super().describe()

    def holders(self) -> list[Task]:
        """Return the lock's holder, if only the lock is missing."""
        return self._lock.holders() if self._waiter.notified else []

    def held(self) -> str:
        """Name the lock, if only that is missing."""
        return self._lock.label() if self._waiter.notified else ""


class _Retake(Taking):
    """Take the lock again after a timed wait, and leave the line if nobody has notified it."""

    __slots__ = ("_codes",)

    def __init__(self, lock: Lock | RLock, codes: Codes) -> None:
        super().__init__(lock)
        self._codes = codes

    def pending(self, task: Task) -> Codes:
        """Return the acquisition."""
        return self._codes


# Locations


def _label(condition: Any) -> str:
    return label_of(condition, "a condition variable of its own")


def _line(table: FacetTable | None, mode: Mode) -> Codes:
    """Return the codes of an access to the line of waiting threads."""
    return () if table is None else (table.code(mode),)


def _signal(table: FacetTable | None, waiter: _Waiter, mode: Mode) -> Codes:
    """Return the codes of an access to the notification of a thread."""
    if table is None:
        return ()
    task = waiter.task
    return (table.code(mode, ("signal", task.number), f" signal to {task.name}"),)


def _lock_of(condition: Any) -> Lock | RLock | None:
    """Return the lock if it is one of ours or stands for a real one; None for any other object."""
    lock = condition._lock
    if lock.__class__ is Lock or lock.__class__ is RLock:
        ours: Lock | RLock = lock
        return ours
    if lock.__class__ is REAL_LOCK or lock.__class__ is REAL_RLOCK:
        return model_of(lock)
    return None


def _ownership(lock: Lock | RLock, me: Task) -> Codes | None:
    """Return what checking that the lock is held accesses, or None if it is not held.

    Whoever holds a `Lock`, CPython takes it for the caller; and anybody may release it.
    """
    if isinstance(lock, RLock):
        return () if lock._owner is me else None
    return None if lock.is_free_for(me) else (OPEN, *lock.codes(Mode.READ))


# Methods


def refuse_nan(timeout: float | None) -> None:
    """Raise what waiting raises for a time-out that is not a number."""
    if NAN_IS_NO_TIMEOUT and timeout is not None and timeout != timeout:
        check_arguments(Lock.make_real(), blocking=True, timeout=timeout)


def _wait(self: Any, timeout: float | None = None) -> bool:
    """`Condition.wait`."""
    me = control.current()
    if me is None:
        return _original_wait(self, timeout)
    lock = _lock_of(self)
    if lock is None:
        return _wait_with_other_lock(self, me, timeout)
    table = table_of(id(self))
    if isinstance(lock, RLock) and lock._owner is not me:
        raise RuntimeError("cannot wait on un-acquired lock")
    codes = (*_line(table, Mode.WRITE), *lock.codes(Mode.GIVE))
    if codes:
        control.announce(codes, WAIT, self)
    owned = _ownership(lock, me)
    if owned is None:
        act(me, (OPEN, *lock.codes(Mode.READ)))
        raise RuntimeError("cannot wait on un-acquired lock")
    if codes:
        act(me, codes if lock._owner is me else (*owned, *codes))
    refuse_nan(timeout)
    waiter = _Waiter(me)
    self._waiters.append(waiter)
    depth = lock._depth if isinstance(lock, RLock) else 1
    lock.free()
    notified = _sleep(self, me, lock, waiter, timeout)
    lock.take(me)
    if isinstance(lock, RLock):
        lock._depth = depth
    if not notified:
        _leave(self, waiter)
    return notified


def _sleep(self: Any, me: Task, lock: Lock | RLock, waiter: _Waiter, timeout: float | None) -> bool:
    """Wait until the lock can be taken again; tell whether that is because of a notification."""
    table = table_of(id(self))
    if timeout is None:
        control.announce(_Wake(self, waiter, lock), WAKE_UP, self)
        act(me, (*_signal(table, waiter, Mode.NEED), *lock.codes(Mode.TAKE)))
        return True
    notified = _sleep_at_most(self, me, waiter, timeout)
    codes = lock.codes(Mode.TAKE)
    if not notified:
        codes = (*codes, *_line(table, Mode.WRITE))
    if codes or not lock.is_free_for(me):
        control.announce(_Retake(lock, codes), REACQUIRE, self)
        act(me, codes)
    return notified


def _sleep_at_most(self: Any, me: Task, waiter: _Waiter, timeout: float) -> bool:
    """Wait for a notification; tell whether it came in time."""
    operation = InTime(_Signal(self, waiter), me, timeout)
    control.announce(operation, WAKE_UP, self)
    mode = Mode.NEED if operation.is_patient else Mode.READ
    act(me, operation.codes(me, _signal(table_of(id(self)), waiter, mode)))
    if not waiter.notified:
        control.pass_time(me, timeout)
    return waiter.notified


def _leave(self: Any, waiter: _Waiter) -> None:
    """Leave the line, unless a notification that came too late has done that."""
    if waiter in self._waiters:
        self._waiters.remove(waiter)
    scratch = control.the_program().scheduler.scratch
    scratch.setdefault(LINES, set()).update(map(location_of, _line(table_of(id(self)), Mode.WRITE)))


def _wait_with_other_lock(self: Any, me: Task, timeout: float | None) -> bool:
    """`Condition.wait` where the lock is an object of somebody else: its methods are called."""
    if not self._is_owned():
        raise RuntimeError("cannot wait on un-acquired lock")
    refuse_nan(timeout)
    _change_line(self)
    waiter = _Waiter(me)
    self._waiters.append(waiter)
    saved = self._release_save()
    notified = False
    try:
        if timeout is None:
            control.announce(_Signal(self, waiter), WAKE_UP, self)
            act(me, _signal(table_of(id(self)), waiter, Mode.NEED))
            notified = True
        else:
            notified = _sleep_at_most(self, me, waiter, timeout)
    finally:
        self._acquire_restore(saved)
        if not notified:
            _change_line(self)
            _leave(self, waiter)
    return notified


def _change_line(self: Any) -> None:
    """Announce a change of the line."""
    codes = _line(table_of(id(self)), Mode.WRITE)
    if codes:
        act(control.announce(codes, WAIT, self), codes)


def _wait_for(self: Any, predicate: Any, timeout: float | None = None) -> Any:
    """`Condition.wait_for`, on the virtual clock."""
    me = control.current()
    if me is None:
        return _original_wait_for(self, predicate, timeout)
    end = None if timeout is None else clocks.now(me) + timeout
    result = predicate()
    while not result:
        self.wait(timeout)
        result = predicate()
        if end is not None:
            timeout = end - clocks.now(me)
            if timeout <= 0:
                break
    return result


def _notify(self: Any, n: int = 1) -> None:
    """`Condition.notify`."""
    if control.current() is None:
        _original_notify(self, n)
    elif n >= 0:
        _wake_up(self, n)


def _notify_all(self: Any) -> None:
    """`Condition.notify_all`."""
    if control.current() is None:
        _original_notify_all(self)
    else:
        _wake_up(self, _EVERYBODY)


def _wake_up(self: Any, count: int) -> None:
    """Notify the first ones in the line."""
    me = control.task()
    table = table_of(id(self))
    lock = _lock_of(self)
    if not self._is_owned() if lock is None else isinstance(lock, RLock) and lock._owner is not me:
        raise RuntimeError("cannot notify on un-acquired lock")
    if table is not None or (isinstance(lock, Lock) and lock._owner is not me):
        deed = NOTIFY_ALL if count == _EVERYBODY else NOTIFY
        control.announce(_line(table, Mode.WRITE), deed, self)
    owned = () if lock is None else _ownership(lock, me)
    if owned is None:
        assert lock is not None
        act(me, (OPEN, *lock.codes(Mode.READ)))
        raise RuntimeError("cannot notify on un-acquired lock")
    codes = [OPEN, *owned, *_line(table, Mode.WRITE)]
    waiters = self._waiters
    for _ in range(len(waiters) if count == _EVERYBODY else min(count, len(waiters))):
        waiter = waiters.popleft()
        waiter.notified = True
        codes += _signal(table, waiter, Mode.WRITE)
    if table is not None:
        act(me, tuple(dict.fromkeys(codes)))


def _enter(self: Any) -> Any:
    """`Condition.__enter__`: take the lock."""
    me = control.current()
    lock = None if me is None else _lock_of(self)
    if me is None or lock is None:
        return self._lock.__enter__()
    lock.take_for(me, ENTER, self)
    return True


def _exit(self: Any, *error: object) -> Any:
    """`Condition.__exit__`: give the lock back."""
    me = control.current()
    lock = None if me is None else _lock_of(self)
    if me is None or lock is None:
        return self._lock.__exit__(*error)
    lock.release_for(me, EXIT, self)
    return None


def _children(value: Any, label: str) -> Children:
    """Walk the lock, and what a subclass adds."""
    for name, item in list(vars(value).items()):
        if name == "_lock":
            yield item, f"{label} lock"
        elif name not in _OWN_ATTRIBUTES:
            yield item, f"{label}.{name}"


_OWN_ATTRIBUTES = frozenset(vars(threading.Condition()))
_original_wait = threading.Condition.wait
_original_wait_for = threading.Condition.wait_for
_original_notify = threading.Condition.notify
_original_notify_all = threading.Condition.notify_all
register(threading.Condition, RewoundTable, _children)

PATCHES: Patches = Patches(
    attributes=[
        (threading.Condition, "wait", _wait),
        (threading.Condition, "wait_for", _wait_for),
        (threading.Condition, "notify", _notify),
        (threading.Condition, "notify_all", _notify_all),
        (threading.Condition, "__enter__", _enter),
        (threading.Condition, "__exit__", _exit),
    ]
)
