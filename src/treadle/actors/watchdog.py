"""Notices a step that computes without end, and ends its execution.

A timer of the operating system counts the time that the process really computes, so that a busy
machine is no reason for a finding. When it goes off and no step was taken since it last did, an
exception ends the task where it stands. There are such timers for the main thread only, and not on
Windows: elsewhere nobody watches.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from treadle.actors import control
from treadle.actors.standing import beginning
from treadle.actors.task import Task
from treadle.core.errors import TreadleError
from treadle.core.program import Crash
from treadle.core.words import place_in_words

_LOOKS = 5
"""How often it looks before it loses patience."""
_HURRY = 0.1
"""Part of the patience that a program gets that has been stuck before: it is run again to show."""


class EndlessStep(BaseException):
    """Ends a task whose step does not end."""


class Watchdog:
    """Watches the steps of one program."""

    def __init__(self, patience: float | None) -> None:
        self._patience = patience
        self._seen: object = None
        self._idle = 0
        self._is_watching = False

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch what the main thread does meanwhile."""
        if (
            self._patience is None
            or not hasattr(signal, "setitimer")
            or threading.current_thread() is not threading.main_thread()
        ):
            yield
            return
        before = signal.signal(signal.SIGVTALRM, self._look)
        self._set(self._patience)
        self._is_watching = True
        try:
            yield
        finally:
            self._is_watching = False
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            signal.signal(signal.SIGVTALRM, before)

    def again(self) -> None:
        """Begin anew in a copy of the process: timers are not copied."""
        if self._is_watching and self._patience is not None:
            self._set(self._patience)

    def _set(self, limit: float) -> None:
        self._idle = 0
        signal.setitimer(signal.ITIMER_VIRTUAL, limit / _LOOKS, limit / _LOOKS)

    def _look(self, signum: int, frame: FrameType | None) -> None:
        """End the step that was under way already when this was called the last times."""
        del signum, frame
        task = control.current
        now = (task, task and task.run.steps)
        self._idle = self._idle + 1 if now == self._seen and task is not None else 0
        self._seen = now
        if self._idle >= _LOOKS:
            assert task is not None
            self._end(task)

    def _end(self, task: Task) -> None:
        assert self._patience is not None
        self._set(self._patience * _HURRY)
        # Not the line at which it was interrupted, which would be another one each time.
        error = EndlessStep(
            f"{task.in_words} ({place_in_words(beginning(task.function))}) computes without end: "
            f"no wait and no return after {self._patience:g} s; raise watchdog if it is meant to "
            f"take longer"
        )
        run = task.run
        if control.is_evaluating:
            raise TreadleError(f"a condition of {error}")
        if run.is_over:
            run.fatal = TreadleError(f"{error}; and it swallows what would end it")
            run.park()
        run.is_over = True
        run.crashes.append(Crash(task.number, run.steps, error, "budget"))
        raise error
