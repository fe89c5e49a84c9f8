"""Hands that are copies of this process: they have the test as it is, opened, and need no name.

The process that holds the test open is copied as often as there are hands. Each copy does jobs that
come through a pipe, and answers through another. It dies with its parent, ignores Ctrl-C (which a
terminal sends to all), prints nothing, and leaves without running anybody's clean-up twice. A hand
that died is replaced by a new copy.
"""

from __future__ import annotations

import _thread
import ctypes
import mmap
import os
import select
import signal
import sys
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from treadle.core.program import Program
from treadle.session.workers import place
from treadle.session.workers.hands import Died, Hands
from treadle.session.workers.messages import receive, send
from treadle.session.workers.parts import Answer, Job
from treadle.session.workers.task import OutOfMemory, Tasks

_SET_DEATH_SIGNAL = 1
_BUSY, _IDLE = b"\0", b"\1"
_PATIENCE = 0.2
"""Seconds after which it is asked whether somebody interrupts a scout."""

Serve = Callable[[int, int, int], None]
"""What a copy does: given its parent, and where it reads from and writes to."""

# Taken before any program is under control: some of these are replaced then.
# Where they are missing nobody forks.
_fork, _waitpid = getattr(os, "fork", None), getattr(os, "waitpid", None)
_exit, _kill, _getppid, _pipe = os._exit, os.kill, os.getppid, os.pipe
_close, _dup2, _open = os.close, os.dup2, os.open
_select, _sleep, _settrace = select.select, time.sleep, sys.settrace
_count_threads, _get_ident = _thread._count, threading.get_ident
_MAIN = threading.main_thread().ident


def can_fork() -> bool:
    """Tell whether this process can be copied: on Linux, with no threads but the main one."""
    if _fork is None or not sys.platform.startswith("linux") or _get_ident() != _MAIN:
        return False
    for _ in range(50):  # one that has ended may take a moment to be gone
        if _count_threads() == 0:
            return True
        _sleep(0.002)
    return False


@dataclass(slots=True)
class _Hand:
    """A copy of this process."""

    pid: int
    requests: int
    """Where it reads jobs from."""
    answers: int
    job: Job | None = None

    def end(self) -> str:
        """End it; say how it had ended."""
        _close(self.requests)
        _close(self.answers)
        with suppress(ProcessLookupError):
            if not _has_ended(self.pid):
                _kill(self.pid, signal.SIGKILL)
        with suppress(ChildProcessError):
            assert _waitpid is not None
            _, status = _waitpid(self.pid, 0)
            return _in_words(os.waitstatus_to_exitcode(status))
        return "it was taken away"


@contextmanager
def _at_rest(program: Program) -> Iterator[None]:
    """Prepare for copies of this process: nothing to be printed twice, no threads."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()
    program.rest()
    try:
        can_fork()  # wait for threads that are about to end
        yield
    finally:
        program.go_on()


def _copied(test: object, program: Program, serve: Serve, others: Sequence[int]) -> _Hand:
    """Copy this process; the copy serves, and closes what leads to others."""
    here_requests, requests = _pipe()
    answers, here_answers = _pipe()
    parent = os.getpid()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # there are no other threads
        assert _fork is not None
        pid = _fork()
    if pid == 0:
        try:
            for descriptor in (*others, requests, answers):
                _close(descriptor)
            _begin_as_copy(test, program, parent)
            with suppress(EOFError, OSError):
                serve(parent, here_requests, here_answers)
            _exit(0)
        except (OutOfMemory, MemoryError):
            _exit(OutOfMemory.status)
        finally:
            _exit(1)
    _close(here_requests)
    _close(here_answers)
    return _Hand(pid, requests, answers)


def _begin_as_copy(test: object, program: Program, parent: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    die_with_parent()
    if _getppid() != parent:
        _exit(1)
    nowhere = _open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        _dup2(nowhere, descriptor)
    _settrace(None)  # what measures coverage is not asked in copies
    place.become_hand(test)
    program.go_on()


class Scout:
    """A copy of this process that goes ahead, in case that it does not survive."""

    def __init__(self, test: object, program: Program, explore: Callable[[], object]) -> None:
        def serve(parent: int, requests: int, answers: int) -> None:
            del parent, requests
            send(answers, explore())

        with _at_rest(program):
            self._hand = _copied(test, program, serve, [])

    def found(self, is_interrupted: Callable[[], bool]) -> Any:
        """Return what it has found; None if it died of that, or if somebody interrupts it."""
        try:
            while not is_interrupted():
                if _select([self._hand.answers], [], [], _PATIENCE)[0]:
                    return receive(self._hand.answers)
        except (EOFError, OSError):
            return None
        finally:
            self._hand.end()
        return None


class ForkedHands(Hands):
    """Copies of this process."""

    def __init__(self, tasks: Tasks, count: int) -> None:
        self.count = count
        self._tasks = tasks
        self._program = tasks.program
        self._hands: list[_Hand] = []
        self._waiting: deque[Job] = deque()
        self._flag = mmap.mmap(-1, 1)  # shared with all copies
        tasks.space.is_idle = lambda: self._flag[:1] == _IDLE
        try:
            self._fill()
        except BaseException:
            self.close()
            raise

    def _fill(self) -> None:
        """Start as many hands as are missing."""
        missing = self.count - len(self._hands)
        if missing:
            with _at_rest(self._program):
                for _ in range(missing):
                    self._start()

    def _start(self) -> None:
        others = [fd for hand in self._hands for fd in (hand.requests, hand.answers)]
        self._hands.append(_copied(self._tasks.test, self._program, self._serve, others))

    def _serve(self, parent: int, requests: int, answers: int) -> None:
        """Do jobs, in the copy."""
        self._tasks.space.is_over = lambda: _getppid() != parent
        while True:
            send(answers, self._tasks.done(receive(requests)))

    # In the process that coordinates

    def submit(self, job: Job) -> None:
        """Give a job to a hand that is idle, now or later."""
        self._waiting.append(job)
        self._give()

    def _give(self) -> None:
        for hand in self._hands:
            if hand.job is None and self._waiting:
                hand.job = self._waiting.popleft()
                with suppress(OSError):  # it died: the pipe of its answers says so
                    send(hand.requests, hand.job)

    def wait(self, seconds: float) -> list[Answer | Died]:
        """Return answers, and deaths; replace who died."""
        self._fill()
        self._give()
        busy = {hand.answers: hand for hand in self._hands}
        ready, _, _ = _select(list(busy), [], [], seconds)
        found: list[Answer | Died] = []
        for descriptor in ready:
            hand = busy[descriptor]
            try:
                answer = receive(descriptor)
                hand.job = None
                found.append(answer)
            except (EOFError, OSError):
                found += self._bury(hand)
        self._fill()
        self._give()
        return found

    def _bury(self, hand: _Hand) -> list[Answer | Died]:
        """Let go of a hand that has died, or soon will have."""
        self._hands.remove(hand)
        how = hand.end()
        return [] if hand.job is None else [Died(hand.job.number, how)]

    def tell_idle(self, is_idle: bool) -> None:
        """Let hands know whether one of them has nothing to do."""
        self._flag[:1] = _IDLE if is_idle else _BUSY

    def end_busy(self) -> None:
        """End hands whose answers nobody waits for any more; others take their place later."""
        self._waiting.clear()
        busy = [hand for hand in self._hands if hand.job is not None]
        self._hands = [hand for hand in self._hands if hand.job is None]
        _end(busy)

    def close(self) -> None:
        """End all hands, at once."""
        hands, self._hands = self._hands, []
        _end(hands)


def _end(hands: Sequence[_Hand]) -> None:
    for hand in hands:
        with suppress(ProcessLookupError):
            _kill(hand.pid, signal.SIGKILL)
    for hand in hands:
        hand.end()


def _has_ended(pid: int) -> bool:
    """Tell whether a child has ended; give it a moment: its pipe closes before it is gone."""
    for _ in range(20):
        with suppress(ChildProcessError):
            if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
                return True
        _sleep(0.001)
    return False


def _in_words(code: int) -> str:
    if code == OutOfMemory.status:
        return "out of memory"
    if code < 0:
        memory = "; out of memory?" if -code == signal.SIGKILL else ""
        return f"killed by signal {-code}{memory}"
    return f"it ended with status {code}"


def die_with_parent() -> None:
    """Ask Linux to end this process with its parent, whatever that dies of."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_SET_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
