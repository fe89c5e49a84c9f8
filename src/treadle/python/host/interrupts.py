"""Makes Ctrl-C end an exploration in order, wherever it comes.

An interrupt of the test, or of the exploration's own thinking, is an exception like any other. In
between, where Treadle makes the test step, patches modules or puts them back, an exception would
leave half of that undone. There an interrupt is only remembered: the next execution does not begin,
and a test that takes no step meanwhile is out of time.

Alarms are the host's, too: the limit that somebody set for a test, not something that happens in
it. Whoever handles them is called between two executions, or at the end, and may end all by an
exception.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType

from treadle.core import deadline
from treadle.core.frames import is_of_the_user, room_of

_STEPPING = frozenset({"actors", "python", "tasks", "threads", "plugin"})
"""Packages of Treadle's in which an exception may come at a bad moment."""
_ALARM = getattr(signal, "SIGALRM", None)
_ATTEMPTS = 3
"""Interrupts after which somebody means it, whatever is left undone."""

_get_ident = threading.get_ident
_MAIN_IDENT = threading.main_thread().ident


class Interrupts:
    """The interrupts of one exploration."""

    def __init__(self) -> None:
        self._pending = 0
        self._alarms: list[Callable[[], object]] = []

    @contextmanager
    def remembered(self) -> Iterator[None]:
        """Handle interrupts; raise at the end what was only remembered, or what was swallowed."""
        if _get_ident() != _MAIN_IDENT:
            yield
            return
        with self._alarms_put_off(), self._interrupts_remembered():
            yield

    @contextmanager
    def _alarms_put_off(self) -> Iterator[None]:
        before = None if _ALARM is None else signal.getsignal(_ALARM)
        if _ALARM is None or not callable(before):
            yield
            return
        handler: Callable[..., object] = before

        def put_off(signum: int, frame: FrameType | None) -> None:
            self._alarms.append(partial(handler, signum, frame))
            deadline.hurry()

        signal.signal(_ALARM, put_off)
        try:
            yield
        finally:
            if signal.getsignal(_ALARM) is put_off:
                signal.signal(_ALARM, before)
            self._ring()

    def _ring(self) -> None:
        """Let alarms be handled that have come meanwhile."""
        if self._alarms:
            deadline.hurry(wanted=False)
        while self._alarms:
            self._alarms.pop(0)()

    @contextmanager
    def _interrupts_remembered(self) -> Iterator[None]:
        before = signal.getsignal(signal.SIGINT)
        if before is not signal.default_int_handler:
            yield
            return
        self._pending = 0
        signal.signal(signal.SIGINT, self._handle)
        try:
            yield
        except KeyboardInterrupt:
            self._pending = 0
            raise
        finally:
            deadline.hurry(wanted=False)
            signal.signal(signal.SIGINT, before)
            self.raise_pending()

    def raise_pending(self) -> None:
        """Raise an interrupt that has not ended the exploration yet; let alarms be handled."""
        self._ring()
        if self._pending:
            self._pending = 0
            raise KeyboardInterrupt

    def _handle(self, signum: int, frame: FrameType | None) -> None:
        del signum
        self._pending += 1
        if self._pending >= _ATTEMPTS or not _is_stepping(frame):
            raise KeyboardInterrupt
        deadline.hurry()


def _is_stepping(frame: FrameType | None) -> bool:
    """Tell whether Treadle is at work on the test: neither the test itself nor the exploration."""
    while frame is not None:
        file = frame.f_code.co_filename
        room = room_of(file)
        if room is not None:
            return room in _STEPPING
        if is_of_the_user(file):
            return False
        frame = frame.f_back
    return False
