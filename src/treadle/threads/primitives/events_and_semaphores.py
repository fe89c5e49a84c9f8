"""`threading.Event`, `Semaphore` and `BoundedSemaphore` under control, patched in place."""

from __future__ import annotations

import threading
from typing import Any

from treadle.core.events import OPEN, Codes, Mode
from treadle.core.records import WaitKind
from treadle.python.runtime import control
from treadle.python.runtime.deeds import Deed, method
from treadle.python.runtime.operation import Operation
from treadle.python.runtime.spin import look
from treadle.python.runtime.task import Task
from treadle.python.runtime.timed import InTime
from treadle.python.sharing.published import label_of, label_or_kind
from treadle.threads.primitives.condition import refuse_nan
from treadle.threads.primitives.facets import (
    FacetTable,
    act,
    note_private_change,
    register_primitive,
    table_of,
)
from treadle.threads.primitives.patches import Patches


def _codes(primitive: Any, *modes: Mode) -> Codes:
    """Return the codes of accesses to a primitive's state."""
    table = table_of(id(primitive))
    return () if table is None else tuple([table.code(mode) for mode in modes])


def _access(primitive: Any, mode: Mode, deed: Deed) -> None:
    """Announce one access to a primitive's state."""
    codes = _codes(primitive, mode)
    if codes:
        act(control.announce(codes, deed, primitive), codes)


# Events

WAIT = Deed("wait for", label_or_kind)
IS_SET = method(label_or_kind, "is_set", lambda event, _: event._flag)
SET = Deed("set", label_or_kind)
CLEAR = Deed("clear", label_or_kind)


class _Wait(Operation):
    """Wait until an event is set.

    CPython's wait also returns when the event was set and cleared again meanwhile. That needs no
    memory: it is the same as returning before it was cleared, and going on later.
    """

    __slots__ = ("_event",)

    kind = WaitKind.EVENT

    def __init__(self, event: Any) -> None:
        self._event = event

    def ready(self, task: Task) -> bool:
        """Tell whether the event is set."""
        return bool(self._event._flag)

    def pending(self, task: Task) -> Codes:
        """Return the look at the flag."""
        return _codes(self._event, Mode.AWAIT)

    def describe(self) -> str:
        """Name the event."""
        return f"{label_of(self._event, 'an event of its own')} to be set"


def _event_wait(self: Any, timeout: float | None = None) -> bool:
    """`Event.wait`."""
    me = control.current()
    if me is None:
        return _original_event_wait(self, timeout)
    if table_of(id(self)) is None and self._flag:
        return True
    if timeout is None:
        control.announce(_Wait(self), WAIT, self)
        act(me, _codes(self, Mode.AWAIT))
        return True
    return _wait_in_time(self, me, timeout)


def sleep_unless_set(self: Any, seconds: float) -> bool:
    """Sleep, unless an event is set meanwhile: as a `Timer` does."""
    if not self._flag or table_of(id(self)) is not None:
        return _wait_in_time(self, control.task(), seconds, expires=True)
    return True


def _wait_in_time(self: Any, me: Task, timeout: float, *, expires: bool = False) -> bool:
    """Wait for an event, but not for ever."""
    operation = InTime(_Wait(self), me, timeout, expires=expires)
    control.announce(operation, WAIT, self)
    codes = _codes(self, Mode.AWAIT if operation.is_patient else Mode.READ)
    act(me, operation.codes(me, codes))
    if not self._flag:
        refuse_nan(timeout)
        control.pass_time(me, timeout)
    return bool(self._flag)


def _event_is_set(self: Any) -> bool:
    """`Event.is_set`."""
    if control.current() is not None:
        _access(self, Mode.READ, IS_SET)
    return bool(self._flag)


def _event_set(self: Any) -> None:
    """`Event.set`."""
    if control.current() is None:
        _original_event_set(self)
    else:
        _access(self, Mode.WRITE, SET)
        note_private_change(self)
        self._flag = True


def _event_clear(self: Any) -> None:
    """`Event.clear`."""
    if control.current() is None:
        _original_event_clear(self)
    else:
        _access(self, Mode.WRITE, CLEAR)
        note_private_change(self)
        self._flag = False


# Semaphores

ACQUIRE = Deed("acquire", label_or_kind)
RELEASE = Deed("release", label_or_kind)

_SEVERAL = "several units released at once"
"""Then a release just before an acquisition may be needed although a unit remains."""
_OVERFLOW = "released too often"
"""Then which of several releases fails depends on their order."""


_SHORT = "may run out of units"
"""Only then does the order of acquisitions and releases make a difference."""


class _Account:
    """Who took how many units of a semaphore in an execution, since others can reach it.

    If all threads together never hold more than there were, counting for each the most that it ever
    held, then nobody has to wait in any order of their steps, and no order can be told from
    another. Who gives back what another took is not looked into: then the order counts.
    """

    def __init__(self, units: int) -> None:
        self._left = units
        self._held: dict[int, tuple[int, int]] = {}
        """For each task how many it holds, and the most that it held."""

    def is_enough(self, task: Task, change: int) -> bool:
        """Take note that a task asks for a unit, or gave some back; tell whether it is enough."""
        held, most = self._held.get(task.number, (0, 0))
        held += change
        if held > most:
            most = held
            self._left -= 1
        self._held[task.number] = held, most
        return held >= 0 and self._left >= 0


def _keep_account(semaphore: Any, table: FacetTable | None, me: Task, change: int) -> None:
    """Note if units may run out: some are asked for, or given back."""
    if table is None or table.shared.happens(table.sort, _SHORT):
        return
    accounts = control.the_program().scheduler.scratch.setdefault(_Account, {})
    account = accounts.get(id(semaphore))
    if account is None:
        account = accounts[id(semaphore)] = _Account(semaphore._value)
    if not account.is_enough(me, change):
        table.shared.note(table.sort, _SHORT)


def _taking(table: FacetTable | None, units: int) -> Codes:
    """Return the codes of a blocking acquisition when there are `units`."""
    if table is None:
        return ()
    if not table.shared.happens(table.sort, _SHORT):
        return (table.code(Mode.ADD),)
    if table.shared.happens(table.sort, _SEVERAL):
        return (table.code(Mode.AWAIT), table.code(Mode.WRITE))
    return (table.code(Mode.SPARE if units > 1 else Mode.TAKE),)


class _Unit(Operation):
    """Wait until a semaphore has a unit."""

    __slots__ = ("_semaphore",)

    kind = WaitKind.UNIT

    def __init__(self, semaphore: Any) -> None:
        self._semaphore = semaphore

    def ready(self, task: Task) -> bool:
        """Tell whether a unit is there."""
        return bool(self._semaphore._value)

    def pending(self, task: Task) -> Codes:
        """Return the acquisition."""
        return _taking(table_of(id(self._semaphore)), self._semaphore._value)

    def describe(self) -> str:
        """Name the semaphore."""
        return f"a unit of {self.held()}"

    def held(self) -> str:
        """Name the semaphore."""
        return label_of(self._semaphore, "a semaphore of its own")


def _semaphore_acquire(self: Any, blocking: bool = True, timeout: float | None = None) -> bool:
    """`Semaphore.acquire`."""
    me = control.current()
    if me is None:
        return bool(_original_semaphore_acquire(self, blocking, timeout))
    if not blocking and timeout is not None:
        raise ValueError("can't specify timeout for non-blocking acquire")
    if blocking and timeout is None:
        _take_unit(self, me)
        return True
    return _try_unit(self, me, timeout or 0)


def _take_unit(self: Any, me: Task) -> None:
    table = table_of(id(self))
    _keep_account(self, table, me, 1)
    if table is not None or self._value == 0:
        control.announce(_Unit(self), ACQUIRE, self)
        act(me, _taking(table, self._value))
    note_private_change(self)
    self._value -= 1


def _try_unit(self: Any, me: Task, timeout: float) -> bool:
    table = table_of(id(self))
    _keep_account(self, table, me, 1)
    if table is not None or self._value == 0:
        operation = InTime(_Unit(self), me, timeout)
        control.announce(operation, ACQUIRE, self)
        if operation.is_patient:
            act(me, _taking(table, self._value))
        else:
            codes = (OPEN, *_codes(self, Mode.WRITE if self._value else Mode.READ))
            act(me, (*operation.codes(me, codes), *look(codes[1:])))
    if self._value == 0:
        _keep_account(self, table, me, -1)
        control.pass_time(me, timeout)
        return False
    note_private_change(self)
    self._value -= 1
    return True


def _semaphore_release(self: Any, n: int = 1) -> None:
    """`Semaphore.release`."""
    me = control.current()
    if me is None:
        _original_semaphore_release(self, n)
        return
    _check_units(self, n)
    _access(self, Mode.GIVE, RELEASE)
    _keep_account(self, table_of(id(self)), me, -n)
    note_private_change(self)
    self._value += n


def _bounded_release(self: Any, n: int = 1) -> None:
    """`BoundedSemaphore.release`.

    While no execution has shown that there can be one release too many, the order of releases makes
    no difference: how many units there are after each acquisition does not depend on it.
    """
    me = control.current()
    if me is None:
        _original_bounded_release(self, n)
        return
    _check_units(self, n)
    table = table_of(id(self))
    if table is not None:
        control.announce((table.code(Mode.GIVE),), RELEASE, self)
    too_many = self._value + n > self._initial_value
    if table is not None:
        known = table.shared.happens(table.sort, _OVERFLOW)
        if too_many:
            table.shared.note(table.sort, _OVERFLOW)
            act(me, (OPEN, table.code(Mode.READ)))
        elif known:
            act(me, (OPEN, table.code(Mode.READ), table.code(Mode.GIVE)))
        else:
            act(me, (table.code(Mode.GIVE),))
    _keep_account(self, table, me, -n)
    if too_many:
        raise ValueError("Semaphore released too many times")
    note_private_change(self)
    self._value += n


def _check_units(self: Any, n: int) -> None:
    if n < 1:
        raise ValueError("n must be one or more")
    table = table_of(id(self))
    if n > 1 and table is not None:
        table.shared.note(table.sort, _SEVERAL)


_original_event_wait = threading.Event.wait
_original_event_set = threading.Event.set
_original_event_clear = threading.Event.clear
_original_semaphore_acquire = threading.Semaphore.acquire
_original_semaphore_release = threading.Semaphore.release
_original_bounded_release = threading.BoundedSemaphore.release

register_primitive(threading.Event, frozenset(vars(threading.Event())))
register_primitive(threading.Semaphore, frozenset(vars(threading.Semaphore())))
register_primitive(threading.BoundedSemaphore, frozenset(vars(threading.BoundedSemaphore())))

PATCHES: Patches = Patches(
    attributes=[
        (threading.Event, "wait", _event_wait),
        (threading.Event, "is_set", _event_is_set),
        (threading.Event, "set", _event_set),
        (threading.Event, "clear", _event_clear),
        (threading.Semaphore, "acquire", _semaphore_acquire),
        (threading.Semaphore, "__enter__", _semaphore_acquire),
        (threading.Semaphore, "release", _semaphore_release),
        (threading.BoundedSemaphore, "release", _bounded_release),
    ]
)
