"""The process that explores stays whole, whatever the test does.

While a program is explored, its `Host` keeps the garbage collector from running finalizers at
arbitrary points, takes back what an execution changed in the interpreter, and runs a watchdog for
threads that block where Treadle cannot see it.
"""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from treadle.core.program import Crash
from treadle.python.host import collector
from treadle.python.host.watchdog import Watchdog
from treadle.python.runtime import control
from treadle.python.runtime.scheduler import Abort
from treadle.python.runtime.task import Task
from treadle.threads.primitives import thread
from treadle.threads.primitives.local import Locals

if TYPE_CHECKING:
    from treadle.threads.program import ThreadProgram

WATCHDOG = 10.0
"""Seconds without progress after which a thread is said to block."""
_GARBAGE = 50_000
"""Objects that may pile up before they are collected between two executions."""


class Host:
    """What one exploration does to the interpreter, and how it is undone."""

    def __init__(self, program: ThreadProgram, patience: float | None = WATCHDOG) -> None:
        self._program = program
        self._watchdog = None if patience is None else Watchdog(program, patience)
        self.locals = Locals(program)
        self._excepthook: Any = None
        self._unraisablehook: Any = None
        self._main_attributes: dict[str, Any] = {}

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Protect the process while the program is explored; enter it last, after the patches."""
        undo = [self._take_hooks(), self._take_locals(), collector.take_over()]
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

    def begin(self, main: Task) -> None:
        """Prepare an execution: nothing is left of the one before."""
        threading.excepthook = self._excepthook
        sys.unraisablehook = self._note_unraisable
        thread.begin_execution(main, self._main_attributes)
        self.locals.reset()
        if self._watchdog is not None:
            self._watchdog.executions += 1
        if gc.get_count()[0] > _GARBAGE:
            gc.collect()

    # Each returns how to undo it

    def _take_hooks(self) -> Any:
        """Take over what handles exceptions that nobody catches."""
        before = dict(vars(threading.main_thread()))
        self._main_attributes = dict(before)
        self._excepthook = thread.ambient_excepthook = threading.excepthook
        self._unraisablehook = sys.unraisablehook

        def put_back() -> None:
            threading.excepthook = self._excepthook
            sys.unraisablehook = self._unraisablehook
            thread.put_back_attributes(before)

        return put_back

    def is_own_hook(self, hook: Any) -> bool:
        """Tell whether `sys.unraisablehook` is not the test's own."""
        return bool(hook == self._note_unraisable)

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
        where = getattr(unraisable.object, "__qualname__", type(unraisable.object).__name__)
        error.add_note(f"raised in {where}, where Python ignores exceptions")
        scheduler.crashes.append(Crash(me.number, scheduler.steps, error))

    def _take_locals(self) -> Any:
        """Give each thread its own thread-local values."""
        self.locals.begin()
        return self.locals.end
