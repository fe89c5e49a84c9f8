"""Time on a virtual clock: sleeping takes none, and every execution begins at the same time.

Each task has a clock of its own, which goes on with what happens before what (`runtime.clocks`).
Reading it makes it tick, the more the longer a task does nothing else: a loop that polls until a
deadline comes to its end.

Time stamps of threads that did not synchronise come in one order only. With `clock="shared"`
all look at one clock, each look is a step on it, and later looks show later times.
"""

from __future__ import annotations

import ctypes
import datetime
import gc
import operator
import sys
import time
from collections.abc import Callable
from typing import Any

from treadle.core.events import Codes, Mode, code
from treadle.core.records import WaitKind
from treadle.python.accesses.known_functions import LIBRARY
from treadle.python.runtime import clocks, control, notes
from treadle.python.runtime.deeds import Deed
from treadle.python.runtime.patience import SLEEP
from treadle.python.runtime.spin import effects
from treadle.python.runtime.task import Task
from treadle.python.runtime.timed import Timed
from treadle.threads.primitives.patches import Patches

EPOCH = 1_000_000_000.0
"""What `time.time` returns at the beginning: 2001-09-09."""
MONOTONIC = 1000.0
"""What `time.monotonic` and `time.perf_counter` return at the beginning."""
_TICK = 1e-6
_EVEN_TICKS = 16
"""Readings in a row after which each tick is twice as long as the one before."""
_LONGEST_SLEEP = 2.0**63 / 1e9
_CLOCK = "the clock"


_SLEEP = Deed(SLEEP, lambda seconds: f"{seconds} s")
_LOOK = Deed("look at", lambda _: "the clock")


class Sleep(Timed):
    """Let time pass: always possible, but the natural schedule lets others go first."""

    __slots__ = ()

    kind = WaitKind.SLEEP

    def __init__(self, me: Task, seconds: float) -> None:
        super().__init__(me, seconds)
        if self.is_long:
            control.the_program().patience.note(seconds)

    def ready(self, task: Task) -> bool:
        """A sleeper may wake up at any time, as far as the others can tell, unless it is long."""
        return self.is_due()

    def pending(self, task: Task) -> Codes:
        """Return nothing: sleeping touches nothing."""
        return ()

    def describe(self) -> str:
        """Say that it sleeps."""
        return "the end of its sleep"

    def failure(self, task: Task) -> str:
        """Return nothing: time that passes is what it wants."""
        return ""


def _whole(seconds: Any) -> int | None:
    """Return a whole number; None for what is none."""
    return operator.index(seconds) if hasattr(type(seconds), "__index__") else None


def sleep(seconds: Any, /) -> None:
    """`time.sleep`."""
    me = control.current()
    if me is None:
        _sleep(seconds)
        return
    duration = seconds if isinstance(seconds, float) else _whole(seconds)
    if duration is None or not 0 <= duration < _LONGEST_SLEEP:
        _sleep(seconds)  # refuses it at once
        return
    operation = Sleep(me, duration)
    control.announce(operation, _SLEEP, seconds)
    if me.doing is operation:
        me.doing = operation.codes(me, ())
    control.pass_time(me, duration)


def _ticked(me: Task, name: str) -> float:
    """Return what a task's clock shows, and let it tick: a function of this name looks at it."""
    if control.the_program().has_shared_clock:
        _share()
    else:
        _note_readers(me, name)
    now = clocks.now(me)
    readings, shown = me.scratch.get("clock", (0, now))
    readings = readings + 1 if shown == now else 1
    tick = _TICK * 2 ** max(0, readings - _EVEN_TICKS)
    if readings > _EVEN_TICKS and control.collected is None:
        _let_others_go_on(me, tick)
    else:
        me.now = now + tick
    effects[0] = True  # what a loop does may depend on it
    me.scratch["clock"] = (readings, me.now)
    return me.now


def _let_others_go_on(me: Task, tick: float) -> None:
    """Let time pass for a task that looks at the clock and at nothing else.

    What takes longer than threads may take is over only when nothing else can go on.
    """
    look = Sleep(me, tick)
    if look.is_long:
        control.announce(look, _LOOK, tick)
        me.doing = look.codes(me, ())
    me.now += tick


def _stamped(function: Any, *args: Any, **kwargs: Any) -> Any:
    """Call `uuid1`, which in C asks the machine for the time."""
    me = control.current()
    if me is not None and control.the_program().has_shared_clock:
        _share()
    elif me is not None:
        _note_readers(me, "uuid.uuid1")
    return function(*args, **kwargs)


def _share() -> None:
    """Look at the clock of all tasks, in a step."""
    shared = control.the_program().shared
    control.announce((code(shared.location(_CLOCK, _CLOCK), Mode.WRITE),))


def _note_readers(me: Task, name: str) -> None:
    """Say what is not seen if tasks look at the clock, each at its own.

    The times of log records are not meant: nobody compares them.
    """
    if str(sys._getframe(3).f_globals.get("__name__")).startswith("logging"):
        return
    program = control.the_program()
    readers = program.scheduler.scratch.setdefault("clock readers", set())
    readers.add(me.number)
    unseen = program.unseen_by_clocks(len(readers))
    if unseen:
        notes.remark("clock", name, unseen)


def _clock(original: Callable[[], float], base: float) -> Callable[[], float]:
    """Return the virtual version of a function that returns seconds."""

    name = f"time.{original.__name__}"

    def read() -> float:
        me = control.current()
        return original() if me is None else base + _ticked(me, name)

    read.__name__ = original.__name__
    return read


def _clock_ns(original: Callable[[], int], base: float) -> Callable[[], int]:
    """Return the virtual version of a function that returns nanoseconds."""

    name = f"time.{original.__name__}"

    def read() -> int:
        me = control.current()
        return original() if me is None else int(base) * 10**9 + round(_ticked(me, name) * 1e9)

    read.__name__ = original.__name__
    return read


_BASES = {
    getattr(time, name): base
    for name, base in {
        "CLOCK_REALTIME": EPOCH,
        "CLOCK_MONOTONIC": MONOTONIC,
        "CLOCK_MONOTONIC_RAW": MONOTONIC,
        "CLOCK_BOOTTIME": MONOTONIC,
        "CLOCK_PROCESS_CPUTIME_ID": 0.0,
        "CLOCK_THREAD_CPUTIME_ID": 0.0,
    }.items()
    if hasattr(time, name)
}


def clock_gettime(clock: int, /) -> float:
    """`time.clock_gettime`."""
    me = control.current()
    if me is None or clock not in _BASES:
        return float(_clock_gettime(clock))
    return _BASES[clock] + _ticked(me, "time.clock_gettime")


def clock_gettime_ns(clock: int, /) -> int:
    """`time.clock_gettime_ns`."""
    me = control.current()
    if me is None or clock not in _BASES:
        return int(_clock_gettime_ns(clock))
    return int(_BASES[clock]) * 10**9 + round(_ticked(me, "time.clock_gettime_ns") * 1e9)


def _of_now(original: Callable[..., Any], position: int = 0) -> Callable[..., Any]:
    """Return the virtual version of a function whose argument is the time now by default."""

    name = f"time.{original.__name__}"

    def convert(*args: Any) -> Any:
        me = control.current()
        if me is None or (len(args) > position and args[position] is not None):
            return original(*args)
        now: Any = EPOCH + _ticked(me, name)
        if original is _asctime or original is _strftime:
            now = _localtime(now)
        return original(*args[:position], now)

    convert.__name__ = original.__name__
    return convert


# `datetime.now` is written in C, and so is its class, which refuses assignments.


class _TypeInC:
    """A built-in class whose attributes can be replaced: patched like any other owner."""

    _kind: type
    _attributes: dict[str, Any]

    def __init__(self, kind: type) -> None:
        found = [one for one in gc.get_referents(kind.__dict__) if type(one) is dict]
        object.__setattr__(self, "_kind", kind)
        object.__setattr__(self, "_attributes", found[0])

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        return self._attributes

    def __setattr__(self, name: str, value: Any) -> None:
        self._attributes[name] = value
        _type_modified(self._kind)


def _type_modified(kind: type) -> None:
    """Make the interpreter forget what it remembers of a class's attributes."""
    function = ctypes.pythonapi.PyType_Modified
    function.argtypes = [ctypes.py_object]
    function.restype = None
    function(kind)


def _now(cls: Any, tz: datetime.tzinfo | None = None) -> Any:
    """`datetime.now`."""
    me = control.current()
    if me is None:
        return _datetime_now.__get__(None, cls)(tz)
    return cls.fromtimestamp(EPOCH + _ticked(me, "datetime.now"), tz)


def _utcnow(cls: Any) -> Any:
    """`datetime.utcnow`."""
    if control.current() is None:
        return _datetime_utcnow.__get__(None, cls)()
    return _now(cls, datetime.UTC).replace(tzinfo=None)


_datetime_now: Any = vars(datetime.datetime)["now"]
_datetime_utcnow: Any = vars(datetime.datetime)["utcnow"]
_sleep = time.sleep
_localtime = time.localtime
_asctime = time.asctime
_strftime = time.strftime
_clock_gettime: Any = getattr(time, "clock_gettime", None)
_clock_gettime_ns: Any = getattr(time, "clock_gettime_ns", None)

PATCHES: Patches = Patches(
    attributes=[
        (_TypeInC(datetime.datetime), "now", classmethod(_now)),
        (_TypeInC(datetime.datetime), "utcnow", classmethod(_utcnow)),
    ],
    references=[
        (_sleep, sleep),
        (time.time, _clock(time.time, EPOCH)),
        (time.time_ns, _clock_ns(time.time_ns, EPOCH)),
        (time.monotonic, _clock(time.monotonic, MONOTONIC)),
        (time.monotonic_ns, _clock_ns(time.monotonic_ns, MONOTONIC)),
        (time.perf_counter, _clock(time.perf_counter, MONOTONIC)),
        (time.perf_counter_ns, _clock_ns(time.perf_counter_ns, MONOTONIC)),
        (time.process_time, _clock(time.process_time, 0.0)),
        (time.process_time_ns, _clock_ns(time.process_time_ns, 0.0)),
        (time.thread_time, _clock(time.thread_time, 0.0)),
        (time.thread_time_ns, _clock_ns(time.thread_time_ns, 0.0)),
        (_localtime, _of_now(_localtime)),
        (time.gmtime, _of_now(time.gmtime)),
        (time.ctime, _of_now(time.ctime)),
        (_asctime, _of_now(_asctime)),
        (_strftime, _of_now(_strftime, 1)),
    ],
)
if _clock_gettime is not None:  # not on Windows
    PATCHES.references += [(_clock_gettime, clock_gettime), (_clock_gettime_ns, clock_gettime_ns)]
LIBRARY["uuid", "uuid1"] = _stamped
