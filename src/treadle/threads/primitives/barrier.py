"""`threading.Barrier` under control, patched in place.

A wait is two events: it arrives, and it leaves once the last one has arrived. There are two
locations: who is there and in which state the barrier is, and how many have left. Threads leave in
any order, which makes no difference; the next ones can arrive when all have left.
"""

from __future__ import annotations

import threading
from typing import Any

from treadle.core.events import OPEN, Codes, Mode
from treadle.core.records import WaitKind
from treadle.python.accesses import calls
from treadle.python.runtime import control
from treadle.python.runtime.deeds import Deed
from treadle.python.runtime.operation import Operation
from treadle.python.runtime.task import Task
from treadle.python.runtime.timed import InTime
from treadle.python.sharing.published import label_of, label_or_kind
from treadle.threads.primitives.facets import FacetTable, act, register_primitive, table_of
from treadle.threads.primitives.patches import Patches

_FILLING, _DRAINING, _RESETTING, _BROKEN = 0, 1, -1, -2

WAIT = Deed("wait at", label_or_kind)
RESET = Deed("reset", label_or_kind)
ABORT = Deed("abort", label_or_kind)
WAITING = Deed("read", label_or_kind, suffix=".n_waiting")
BROKEN = Deed("read", label_or_kind, suffix=".broken")

_COUNTED = "somebody looks how many are there"
"""Then the moment matters when all are there and the barrier is not open yet."""


def _state(table: FacetTable, mode: Mode) -> int:
    """Return the code of an access to the state."""
    return table.code(mode)


def _left(table: FacetTable, mode: Mode) -> int:
    """Return the code of an access to how many have left."""
    return table.code(mode, "left", " (leaving)")


def _arrival(table: FacetTable | None) -> Codes:
    if table is None:
        return ()
    return (_state(table, Mode.AWAIT), _left(table, Mode.AWAIT), _state(table, Mode.WRITE))


class _Arrive(Operation):
    """Wait until the threads of the last round have left, and the action is done."""

    __slots__ = ("_barrier",)

    kind = WaitKind.ROUND

    def __init__(self, barrier: Any) -> None:
        self._barrier = barrier

    def ready(self, task: Task) -> bool:
        """Tell whether one can come in."""
        barrier = self._barrier
        return barrier._runner is None and barrier._state not in (_DRAINING, _RESETTING)

    def pending(self, task: Task) -> Codes:
        """Return the arrival."""
        return _arrival(table_of(id(self._barrier)))

    def describe(self) -> str:
        """Name the barrier."""
        return f"the last round of {_label(self._barrier)} to end"

    def holders(self) -> list[Task]:
        """Return the thread that runs the barrier's action."""
        runner = self._barrier._runner
        return [] if runner is None else [runner]


class _Quiet(_Arrive):
    """Wait until the action is done."""

    __slots__ = ("_codes",)

    def __init__(self, barrier: Any, codes: Codes) -> None:
        super().__init__(barrier)
        self._codes = codes

    def ready(self, task: Task) -> bool:
        """Tell whether no thread runs the action."""
        return self._barrier._runner is None

    def pending(self, task: Task) -> Codes:
        """Return the change."""
        return self._codes

    def describe(self) -> str:
        """Name the barrier."""
        return f"the action of {_label(self._barrier)} to end"


class _Leave(_Arrive):
    """Wait until everybody has arrived."""

    __slots__ = ()

    kind = WaitKind.ARRIVAL

    def ready(self, task: Task) -> bool:
        """Tell whether the barrier is open or broken."""
        return self._barrier._runner is None and self._barrier._state != _FILLING

    def pending(self, task: Task) -> Codes:
        """Return the departure."""
        table = table_of(id(self._barrier))
        return () if table is None else (_state(table, Mode.AWAIT), _left(table, Mode.GIVE))

    def describe(self) -> str:
        """Say how many are missing."""
        barrier = self._barrier
        missing = barrier._parties - barrier._count
        return f"{missing} more at {_label(barrier)}"


class _LeaveInTime(InTime):
    """Wait for some time until everybody has arrived."""

    __slots__ = ("_barrier",)

    def __init__(self, barrier: Any, me: Task, seconds: float) -> None:
        super().__init__(_Leave(barrier), me, seconds)
        self._barrier = barrier

    def ready(self, task: Task) -> bool:
        """It waits for the action, which is run by the last one who arrived, in any case."""
        return self._barrier._runner is None and super().ready(task)


def _label(barrier: Any) -> str:
    return label_of(barrier, "a barrier of its own")


def _wait(self: Any, timeout: float | None = None) -> int:
    """`Barrier.wait`."""
    me = control.current()
    if me is None:
        return _original_wait(self, timeout)
    if timeout is None:
        timeout = self._timeout
    table = table_of(id(self))
    operation = _Arrive(self)
    if table is not None or not operation.ready(me):
        control.announce(operation, WAIT, self)
        act(me, _arrival(table))
    if self._state < 0:
        raise threading.BrokenBarrierError
    index: int = self._count
    self._count += 1
    if index + 1 < self._parties:
        _leave(self, me, timeout)
    elif _is_slow(self):
        _run_action(self, me)
    else:
        self._state = _DRAINING
        _count_out(self)
    return index


def _is_slow(self: Any) -> bool:
    """Tell whether the arrival of the last one and the opening of the barrier are two events."""
    table = table_of(id(self))
    counted = table is not None and table.shared.happens(table.sort, _COUNTED)
    return counted or bool(self._action)


def _run_action(self: Any, me: Task) -> None:
    """Call the action, while nobody can arrive or leave; then open the barrier, or break it."""
    self._runner = me
    state = _BROKEN
    try:
        if self._action:
            calls.resolve(self._action)()
        state = _DRAINING
    finally:
        table = table_of(id(self))
        if table is not None:
            codes = (_state(table, Mode.WRITE),)
            act(control.announce(codes, WAIT, self), codes)
        self._runner = None
        self._state = state
        _count_out(self)


def _leave(self: Any, me: Task, timeout: float | None) -> None:
    """Wait until everybody has arrived, and leave."""
    operation = _Leave(self) if timeout is None else _LeaveInTime(self, me, timeout)
    control.announce(operation, WAIT, self)
    timed_out = self._state == _FILLING
    codes = operation.pending(me)
    table = table_of(id(self))
    if table is not None and timed_out:
        codes = (*codes, _state(table, Mode.WRITE))
    if isinstance(operation, InTime) and not operation.is_patient:
        codes = operation.codes(me, (OPEN, *codes))
    act(me, codes)
    if timed_out:
        self._state = _BROKEN
        control.pass_time(me, timeout or 0)
    is_broken = self._state < 0
    _count_out(self)
    if is_broken:
        raise threading.BrokenBarrierError


def _count_out(self: Any) -> None:
    """Leave; the last one lets the next round begin."""
    self._count -= 1
    if self._count == 0 and self._state in (_DRAINING, _RESETTING):
        self._state = _FILLING


def _change(self: Any, deed: Deed, *more: int) -> None:
    """Announce a change of the state by a thread that does not take part."""
    table = table_of(id(self))
    if table is None and self._runner is None:
        return
    codes = () if table is None else (*more, _state(table, Mode.WRITE))
    if table is not None and _is_slow(self):
        codes = (_state(table, Mode.AWAIT), *codes)
        act(control.announce(_Quiet(self, codes), deed, self), codes)
    else:
        act(control.announce(codes, deed, self), codes)


def _reset(self: Any) -> None:
    """`Barrier.reset`."""
    if control.current() is None:
        _original_reset(self)
        return
    table = table_of(id(self))
    _change(self, RESET, *(() if table is None else (_left(table, Mode.READ),)))
    if self._count == 0:
        self._state = _FILLING
    elif self._state != _DRAINING:
        self._state = _RESETTING


def _abort(self: Any) -> None:
    """`Barrier.abort`."""
    if control.current() is None:
        _original_abort(self)
        return
    _change(self, ABORT)
    self._state = _BROKEN


def _look(self: Any, deed: Deed) -> None:
    """Announce that the state is read."""
    table = table_of(id(self))
    if control.current() is not None and table is not None:
        codes = (_state(table, Mode.READ),)
        act(control.announce(codes, deed, self), codes)


def _n_waiting(self: Any) -> int:
    """`Barrier.n_waiting`."""
    table = table_of(id(self))
    if table is not None and control.current() is not None:
        table.shared.note(table.sort, _COUNTED)
    _look(self, WAITING)
    return self._count if self._state == _FILLING else 0


def _broken(self: Any) -> bool:
    """`Barrier.broken`."""
    _look(self, BROKEN)
    return bool(self._state == _BROKEN)


_original_wait = threading.Barrier.wait
_original_reset = threading.Barrier.reset
_original_abort = threading.Barrier.abort
register_primitive(
    threading.Barrier, frozenset(vars(threading.Barrier(1))) - {"_action"} | {"_runner"}
)

PATCHES: Patches = Patches(
    attributes=[
        (threading.Barrier, "_runner", None),
        (threading.Barrier, "wait", _wait),
        (threading.Barrier, "reset", _reset),
        (threading.Barrier, "abort", _abort),
        (threading.Barrier, "n_waiting", property(_n_waiting)),
        (threading.Barrier, "broken", property(_broken)),
    ]
)
