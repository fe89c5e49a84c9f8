"""Shapes of rounds: workers that poll in several ways, locks that are tried, what is filled by key.

Each function is a test; `right=False` is the mistake that one sees in such code.
"""

from __future__ import annotations

import contextlib
import functools
import heapq
import itertools
import logging
import queue
import threading
import time
from collections.abc import Callable
from logging.handlers import QueueHandler, QueueListener

from soak.caches import together


def polled_a(right: bool) -> None:
    """A worker that takes one job a round, and looks whether to stop if there is none."""
    lock = threading.Lock()
    jobs: list[int] = []
    done = []
    stop = False

    def work() -> None:
        while True:
            with lock:
                if stop and not right:
                    return
                if jobs:
                    done.append(jobs.pop(0))
                    continue
                if stop:
                    return
            time.sleep(0.01)

    thread = threading.Thread(target=work)
    thread.start()
    for number in range(2):
        with lock:
            jobs.append(number)
    with lock:
        stop = True
    thread.join()
    assert done == [0, 1]


def polled_b(right: bool) -> None:
    """A worker that first does what it has put aside, in rounds of their own."""
    inbox: queue.Queue[int | None] = queue.Queue()
    done = []

    def work() -> None:
        aside: list[int] = []
        while True:
            with contextlib.suppress(queue.Empty):
                job = inbox.get_nowait()
                if job is None:
                    if right:
                        done.extend(aside)
                    return
                aside.append(job)
                continue
            if aside:
                done.append(aside.pop(0))
                continue
            time.sleep(0.05)

    thread = threading.Thread(target=work)
    thread.start()
    for one in (1, 2, None):
        inbox.put(one)
    thread.join()
    assert done == [1, 2]


def tried_a(right: bool) -> None:
    """Who holds one lock tries the other, and lets go if it is taken."""
    here, there = threading.Lock(), threading.Lock()
    moved = []

    def there_and_back() -> None:
        while True:
            with here:
                if there.acquire(blocking=not right):
                    moved.append(1)
                    there.release()
                    return
            time.sleep(0.01)

    def back() -> None:
        with there, here:
            moved.append(2)

    together(there_and_back, back)
    assert len(moved) == 2


def tried_b(right: bool) -> None:
    """Statistics are left out if somebody else is busy; the worker polls."""
    lock = threading.Lock()
    looks = 0
    stop = False

    def work() -> None:
        while True:
            with lock:
                if stop:
                    return

    thread = threading.Thread(target=work)
    thread.start()
    for _ in range(2):
        if lock.acquire(blocking=False):
            looks += 1
            lock.release()
    with lock:
        stop = True
    thread.join()
    assert looks <= 2 if right else looks == 2


def filled_a(right: bool) -> None:
    """Each fills in its own key; then all are compared at once."""
    squares: dict[int, int] = {}

    def work(number: int) -> None:
        squares[number if right else number // 2] = number * number

    together(*(functools.partial(work, number) for number in range(4)))
    assert squares == {0: 0, 1: 1, 2: 4, 3: 9}


def filled_b(right: bool) -> None:
    """What was seen is a set, whoever saw it."""
    seen: set[int] = set()
    order: list[int] = []

    def work(number: int) -> None:
        seen.add(number)
        order.append(number)

    together(*(functools.partial(work, number) for number in range(4)))
    assert seen == {0, 1, 2, 3}
    assert right or order == [0, 1, 2, 3]


def mocked_a(right: bool) -> None:
    """A mock is called by threads; the test imports it itself."""
    from unittest.mock import Mock

    called = Mock(return_value=1)
    together(lambda: called("a"), lambda: called("b"))
    assert called.call_count == 2
    if not right:
        called.assert_called_with("b")


def logged_a(right: bool) -> None:
    """A listener writes what threads log; what is in line is written before it stops."""
    line: queue.SimpleQueue[logging.LogRecord] = queue.SimpleQueue()
    written: list[str] = []

    class Sink(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            written.append(record.getMessage())

    listener = QueueListener(line, Sink())
    listener.start()
    logger = logging.Logger("threads")
    logger.addHandler(QueueHandler(line))
    together(lambda: logger.info("a %d", 1), lambda: logger.info("b"))
    if right:
        listener.stop()
    assert sorted(written) == ["a 1", "b"]
    if not right:
        listener.stop()


class Exchanger:
    """Two threads that swap."""

    def __init__(self, *, right: bool) -> None:
        self._changed = threading.Condition()
        self._first: list[str] = []
        self._second: list[str] = []
        self._right = right

    def swap(self, mine: str) -> str:
        """Give one thing, get the other."""
        with self._changed:
            if not self._first:
                self._first.append(mine)
                if self._right:
                    self._changed.wait_for(lambda: bool(self._second))
                else:
                    self._changed.wait(0.1)
                return self._second.pop()
            self._second.append(mine)
            self._changed.notify()
            return self._first[0]


def swapped_a(right: bool) -> None:
    """Each gets what the other one gave."""
    exchanger = Exchanger(right=right)
    got: dict[str, str] = {}

    def work(name: str) -> None:
        got[name] = exchanger.swap(name)

    together(lambda: work("a"), lambda: work("b"))
    assert got == {"a": "b", "b": "a"}


class Scheduler:
    """Runs things when they are due."""

    def __init__(self, *, right: bool) -> None:
        self._due: list[tuple[float, int, str]] = []
        self._changed = threading.Condition()
        self._numbers = itertools.count()
        self._stops = False
        self._right = right
        self.ran: list[str] = []

    def after(self, seconds: float, name: str) -> None:
        """Run something later."""
        with self._changed:
            heapq.heappush(self._due, (time.monotonic() + seconds, next(self._numbers), name))
            if self._right:
                self._changed.notify()

    def run(self) -> None:
        """Run until it is stopped and nothing is left."""
        with self._changed:
            while self._due or not self._stops:
                if not self._due:
                    self._changed.wait()
                    continue
                left = self._due[0][0] - time.monotonic()
                if left > 0:
                    self._changed.wait(left)
                    continue
                self.ran.append(heapq.heappop(self._due)[2])

    def close(self) -> None:
        """Stop when all has run."""
        with self._changed:
            self._stops = True
            self._changed.notify()


def scheduled_a(right: bool) -> None:
    """What is due first runs first, also if it was asked for later."""
    scheduler = Scheduler(right=right)
    thread = threading.Thread(target=scheduler.run)
    thread.start()
    scheduler.after(2, "b")
    scheduler.after(1, "a")
    if right:
        scheduler.close()
    thread.join()
    assert scheduler.ran == ["a", "b"]


def latched_a(right: bool) -> None:
    """Who waits goes on when all have counted down."""
    changed = threading.Condition()
    left = 2

    def count_down() -> None:
        nonlocal left
        with changed if right else contextlib.nullcontext():
            left -= 1
            is_last = left == 0
        if is_last:
            with changed:
                changed.notify_all()

    def wait() -> None:
        with changed:
            while left:
                changed.wait()

    together(count_down, count_down, wait)


def once_a(right: bool) -> None:
    """A decorator that lets a function run once."""

    def once(function: Callable[[], int]) -> Callable[[], int]:
        lock = threading.Lock()
        found: list[int] = []

        @functools.wraps(function)
        def wrapped() -> int:
            with lock if right else contextlib.nullcontext():
                if not found:
                    found.append(function())
            return found[0]

        return wrapped

    made = []

    @once
    def make() -> int:
        made.append(True)
        return 5

    together(make, make)
    assert made == [True]
