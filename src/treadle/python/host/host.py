"""The process that explores stays whole, whatever the test does.

While a program is explored, its `Host` keeps the garbage collector from running finalizers at
arbitrary points, takes back what an execution changed in the interpreter, and runs a watchdog for
threads that block where Treadle cannot see it.
"""

from __future__ import annotations

import gc
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from treadle.core.program import Crash
from treadle.python.host import collector
from treadle.python.host.watchdog import Watchdog
from treadle.python.runtime import control
from treadle.python.runtime.scheduler import Abort, Scheduler
from treadle.python.runtime.task import Task

WATCHDOG = 10.0
"""Seconds without progress after which a thread is said to block."""
_GARBAGE = 50_000
"""Objects that may pile up before they are collected between two executions."""

_FUNCTION = re.compile(r"<function (\S+) at ")
"""A function in words."""


class Keeper(Protocol):
    """Keeps a part of the interpreter that a front end changes while a program is explored."""

    def take(self) -> Callable[[], None]:
        """Take it over; return what puts it back."""

    def begin(self, main: Task) -> None:
        """Prepare an execution, which begins with a task: nothing is left of the one before."""


class Owner(Protocol):
    """A program that runs inside a host."""

    scheduler: Scheduler

    def abandon(self) -> None:
        """Unwind what is left of the last execution."""


class Host:
    """What one exploration does to the interpreter, and how it is undone."""

    def __init__(
        self, program: Owner, patience: float | None = WATCHDOG, keepers: Sequence[Keeper] = ()
    ) -> None:
        self._program = program
        self._watchdog = None if patience is None else Watchdog(program.scheduler, patience)
        self._keepers = keepers
        self._beginnings = [keeper.begin for keeper in keepers]
        self._unraisablehook: Any = None
        self._own_hook = self._note_unraisable

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Protect the process while the program is explored; enter it last, after the patches."""
        undo = [self._take_hook(), *(keeper.take() for keeper in self._keepers)]
        undo.append(collector.take_over())
        try:
            if self._watchdog is not None:
                self._watchdog.start()
            yield
        except BaseException:
            self._program.scheduler.fibers.clear()  # an interrupt may have ended some
            raise
        finally:
            try:
                self._program.abandon()
            finally:
                if self._watchdog is not None:
                    self._watchdog.stop()
                for put_back in reversed(undo):
                    put_back()

    def rest(self) -> None:
        """Stop watching for a while: threads do not survive a copy of the process."""
        if self._watchdog is not None:
            self._watchdog.stop()

    def go_on(self) -> None:
        """Watch again."""
        if self._watchdog is not None:
            self._watchdog.start()

    def begin(self, main: Task) -> None:
        """Prepare an execution: nothing is left of the one before."""
        sys.unraisablehook = self._own_hook
        for begin in self._beginnings:
            begin(main)
        if self._watchdog is not None:
            self._watchdog.executions += 1

    def sweep(self) -> None:
        """Collect what executions left, if there is much of it; finalizers run."""
        if gc.get_count()[0] > _GARBAGE:
            gc.collect()

    def _take_hook(self) -> Callable[[], None]:
        """Take over what handles exceptions that nobody can catch; return what puts it back."""
        self._unraisablehook = sys.unraisablehook

        def put_back() -> None:
            sys.unraisablehook = self._unraisablehook

        return put_back

    def _note_unraisable(self, unraisable: Any) -> None:
        """Make an exception in a finalizer a finding; Python itself would only print it."""
        me = control.current()
        scheduler = self._program.scheduler
        error = unraisable.exc_value
        if isinstance(error, Abort) or (me is not None and scheduler.aborting):
            return
        if me is None or error is None:
            self._unraisablehook(unraisable)
            return
        error.add_note(f"raised in {_place_of(unraisable)}, where Python ignores exceptions")
        scheduler.crashes.append(Crash(me.number, scheduler.steps, error))


def _place_of(unraisable: Any) -> str:
    """Return the name of what raised; from Python 3.14 on a finalizer is named in words only."""
    named = _FUNCTION.search(unraisable.err_msg or "")
    if unraisable.object is None and named is not None:
        return named[1]
    return str(getattr(unraisable.object, "__qualname__", type(unraisable.object).__name__))


def is_own_hook(hook: Any) -> bool:
    """Tell whether a hook for exceptions that nobody can catch is a host's, not the test's own."""
    return isinstance(getattr(hook, "__self__", None), Host)
