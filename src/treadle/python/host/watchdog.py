"""Notices a thread that blocks where Treadle cannot see it, and gets it out of there.

A real thread looks now and then whether the exploration makes progress. If the test does not come
back for a while, a signal interrupts whatever it is doing, and the thread under control ends with
`BlockedOutsideControl`: a finding with the line at which it was stuck. While the test waits, time
goes by as usual; while it computes, only the time counts that the machine gives it: a busy machine
is no reason for a finding.
"""

from __future__ import annotations

import _thread
import contextlib
import ctypes
import functools
import linecache
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from treadle.core import deadline
from treadle.core.deadline import OutOfTime
from treadle.core.errors import TreadleError
from treadle.core.frames import is_own, users_frame
from treadle.python.runtime.fibers import Fibers
from treadle.python.runtime.scheduler import Scheduler
from treadle.python.sharing.namespaces import instrumented

_SIGNAL: int | None = (
    signal.SIGRTMIN + 7 if hasattr(signal, "SIGRTMIN") else getattr(signal, "SIGUSR2", None)
)
"""What interrupts a call that blocks; Windows has nothing that can."""
_LOOKS = 10
"""How often it looks before it loses patience."""
_SOONEST = 0.05
"""Seconds after which it looks again at the soonest."""
_BLOCKED = 0.01
"""A thread that uses less than this share of a processor waits."""
_HURRY = 0.1
"""Part of the patience that a program gets that has been stuck before."""
_ATTEMPTS = 3
"""Interrupts that a thread may swallow before it is abandoned."""
_ROOT: CodeType = Fibers.work.__code__

_DEBUGGERS = frozenset(
    {"bdb", "pdb", "ipdb", "IPython", "pudb", "debugpy", "pydevd", "_pydevd_bundle"}
)
"""Modules of debuggers: while one is at work, a thread that makes no progress is not stuck."""

_clock_gettime: Any = getattr(time, "clock_gettime", None)
_allocate_lock = _thread.allocate_lock
_start_new_thread = _thread.start_new_thread


class BlockedOutsideControl(BaseException):
    """A thread under control waits for something that Treadle does not control, or never ends."""

    said = ""
    """What is to be said if it is raised where it cannot be given words."""

    def __str__(self) -> str:
        return super().__str__() or self.said


class Watchdog:
    """Watches one exploration."""

    def __init__(self, scheduler: Scheduler, patience: float) -> None:
        self.executions = 0
        """Counted by the exploration: a sign of progress."""
        self._scheduler = scheduler
        self._patience = patience
        self._alarms = 0
        self._attempts = (0, 0)
        self._watched = 0
        self._before: Any = None
        self._handles_signal = False
        self._told = False
        self._is_unheard = False
        """Whether a signal was sent that has not interrupted anything yet."""
        self._is_late = False
        """Whether it interrupts the test because the time of the search is up."""

    def start(self) -> None:
        """Begin to watch the current thread of the operating system."""
        self._watched = _thread.get_ident()
        self._stop = _allocate_lock()
        self._stopped = _allocate_lock()
        self._stop.acquire()
        self._stopped.acquire()
        if _SIGNAL is not None:
            with contextlib.suppress(ValueError):  # not in the main thread
                self._before = signal.signal(_SIGNAL, self._interrupt)
                self._handles_signal = True
        _start_new_thread(self._watch, ())

    def stop(self) -> None:
        """Stop watching."""
        self._stop.release()
        self._stopped.acquire()
        if self._handles_signal and _SIGNAL is not None:
            signal.signal(_SIGNAL, self._before)
        self._handles_signal = False

    # In the watchdog's own thread

    def _watch(self) -> None:
        seen = self._progress()
        clock = _cpu_clock_of(self._watched)
        used = clock()
        idle = unheard = 0.0
        while not self._stop.acquire(timeout=(period := self.period)):
            now = self._progress()
            before, used = used, clock()
            share = (used - before) / period
            if now != seen:
                idle = 0.0
                self._is_unheard = False
            else:
                looks = period * _LOOKS / self._limit()
                idle += looks * (1 if share < _BLOCKED else min(share, 1.0))
            self._is_late = self._handles_signal and now == seen and deadline.is_over()
            seen = now
            unheard = unheard + period if self._is_unheard else 0.0
            if unheard >= self._limit() / _LOOKS and self._is_in_test():
                self._tell()
            if idle > _LOOKS or self._is_late:
                if self._is_in_test():
                    self._alarm()
                idle = 0.0
        self._stopped.release()

    def _limit(self) -> float:
        return self._patience * (_HURRY if self._alarms else 1)

    @property
    def period(self) -> float:
        """In how many seconds to look again: when time is up for the search, if sooner."""
        return min(self._limit() / _LOOKS, max(deadline.left(), _SOONEST))

    def _progress(self) -> tuple[int, int]:
        return self.executions, self._scheduler.steps

    def _is_in_test(self) -> bool:
        """Tell whether the test is running, not the exploration, and nobody is debugging it."""
        frame = sys._current_frames().get(self._watched)
        return _is_of_task(frame) and not _is_in_debugger(frame)

    def _alarm(self) -> None:
        if self._handles_signal and _SIGNAL is not None:
            self._is_unheard = True
            signal.pthread_kill(self._watched, _SIGNAL)
            return
        self._alarms += 1
        self._tell()
        # Not in the main thread: only Python code can be interrupted, not a call that blocks.
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(self._watched), ctypes.py_object(BlockedOutsideControl)
        )

    def _tell(self) -> None:
        """Name once what blocks while it does: a call into C may never come back to be ended."""
        if self._told:
            return
        self._told = True
        BlockedOutsideControl.said = self._describe(sys._current_frames().get(self._watched))
        sys.__stderr__.write(f"treadle: {BlockedOutsideControl.said}\n")  # type: ignore[union-attr]

    # In the thread that explores

    def _interrupt(self, signum: int, frame: FrameType | None) -> None:
        """Get the test out of where it is stuck."""
        del signum
        self._is_unheard = False
        if not _is_of_task(frame):
            return  # it came back in the meantime
        if self._is_late and not self._scheduler.aborting:
            raise OutOfTime
        self._alarms += 1
        execution, attempts = self._attempts
        attempts = attempts + 1 if execution == self.executions else 1
        self._attempts = (self.executions, attempts)
        message = self._describe(frame)
        scheduler = self._scheduler
        if attempts > _ATTEMPTS:
            if not scheduler.aborting:
                scheduler.fatal = TreadleError(f"{message}; and it swallows every interrupt")
            scheduler.fibers.abandon(scheduler.me, scheduler.me.fiber)
            while True:
                scheduler.hub.switch()
        raise BlockedOutsideControl(message)

    def _describe(self, frame: FrameType | None) -> str:
        task = self._scheduler.me
        return (
            f"{task.label} blocks outside of Treadle's control, or computes without end, at "
            f"{_place(frame)}: no step for {self._limit():g} s; {_remedy(frame)}, "
            f"or give the test a stand-in for what it waits for"
        )


def _cpu_clock_of(thread: int) -> Callable[[], float]:
    """Return the clock of the processor time that a thread has used, or else its process."""
    if not hasattr(time, "pthread_getcpuclockid"):
        return time.process_time
    return functools.partial(_clock_gettime, time.pthread_getcpuclockid(thread))


def _is_of_task(frame: FrameType | None) -> bool:
    """Tell whether a frame belongs to a thread under control."""
    while frame is not None:
        if frame.f_back is None:
            return frame.f_code is _ROOT
        frame = frame.f_back
    return False


def _is_in_debugger(frame: FrameType | None) -> bool:
    """Tell whether a debugger waits for somebody to type."""
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if isinstance(module, str) and module.partition(".")[0] in _DEBUGGERS:
            return True
        frame = frame.f_back
    return False


def _without_own(frame: FrameType | None) -> FrameType | None:
    """Return the innermost frame that is not Treadle's own."""
    return users_frame(frame, is_own)


def _remedy(frame: FrameType | None) -> str:
    """Say what brings under control what a thread waits for."""
    frame = _without_own(frame)
    package = "" if frame is None else str(frame.f_globals.get("__name__", "")).partition(".")[0]
    if frame is None or not package or id(frame.f_globals) in instrumented:
        return "use threading's primitives"
    return f"add {package!r} to `instrument` if it waits for a lock"


def _place(frame: FrameType | None) -> str:
    """Return `file:line` of the innermost frame that is not Treadle's own, with its source."""
    frame = _without_own(frame)
    if frame is None:
        return "an unknown place"
    file, line = frame.f_code.co_filename, frame.f_lineno
    source = linecache.getline(file, line).strip()
    return f"{Path(file).name}:{line}{f' ({source})' if source else ''}"
