"""Limiters, allocators, counters, read-write locks, transfers."""

from __future__ import annotations

import itertools
import threading
import time
from contextlib import nullcontext

from soak.caches import Guard, together


class Bucket:
    """Gives tokens until there are none."""

    def __init__(self, lock: Guard, tokens: int) -> None:
        self.lock, self.tokens = lock, tokens

    def take(self) -> bool:
        """Take one, if there is one."""
        with self.lock:
            if self.tokens > 0:
                self.tokens -= 1
                return True
            return False


def bucket_a(right: bool) -> None:
    """Two threads, one token."""
    bucket = Bucket(threading.Lock() if right else nullcontext(), 1)
    got: list[bool] = []
    together(*[lambda: got.append(bucket.take())] * 2)
    assert sorted(got) == [False, True]


def bucket_b(right: bool) -> None:
    """Tokens come back, also if the work fails."""
    bucket = Bucket(threading.Lock(), 1)

    def work(fails: bool) -> None:
        if not bucket.take():
            return
        try:
            if fails:
                raise ValueError
            with bucket.lock:
                bucket.tokens += 1
        except ValueError:
            if right:
                with bucket.lock:
                    bucket.tokens += 1

    together(lambda: work(True), lambda: work(False))
    assert bucket.tokens == 1


class InFlight:
    """Knows how many are at work."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.now = self.most = 0

    def work(self) -> None:
        """Be at work."""
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
        with self.lock:
            self.now -= 1


def in_flight_a(right: bool) -> None:
    """At most two of three at once."""
    gate = threading.Semaphore(2 if right else 3)
    flight = InFlight()

    def one() -> None:
        with gate:
            flight.work()

    together(one, one, one)
    assert flight.most <= 2


def in_flight_b(right: bool) -> None:
    """A permit is given back once."""
    gate = threading.BoundedSemaphore(1)

    def one() -> None:
        gate.acquire()
        try:
            pass
        finally:
            gate.release()
            if not right:
                gate.release()

    together(one, one)


class Window:
    """At most so many calls in a second."""

    def __init__(self, lock: Guard, most: int) -> None:
        self.lock, self.most = lock, most
        self.calls: list[float] = []

    def allow(self) -> bool:
        """Note a call, if it is allowed."""
        with self.lock:
            now = time.monotonic()
            self.calls = [call for call in self.calls if call > now - 1]
            if len(self.calls) >= self.most:
                return False
            self.calls.append(now)
            return True


def window_a(right: bool) -> None:
    """Two calls in one moment, one allowed."""
    window = Window(threading.Lock() if right else nullcontext(), 1)
    allowed: list[bool] = []
    together(*[lambda: allowed.append(window.allow())] * 2)
    assert allowed.count(True) == 1


def window_b(right: bool) -> None:
    """Time does not go back under a lock."""
    lock = threading.Lock() if right else nullcontext()
    last = [0.0]
    backwards: list[float] = []

    def note() -> None:
        with lock:
            before = last[0]
            now = time.monotonic()
            if not right and last[0] != before:
                backwards.append(now)
            if now < before:
                backwards.append(now)
            last[0] = now

    together(note, note)
    assert not backwards


def identifiers_a(right: bool) -> None:
    """Every request has a number of its own."""
    numbers = itertools.count()
    state = {"next": 0}
    given: list[int] = []

    def request() -> None:
        if right:
            given.append(next(numbers))
        else:
            given.append(state["next"])
            state["next"] += 1

    together(request, request)
    assert len(set(given)) == 2


class Identifiers:
    """Numbers that come back are used again."""

    def __init__(self, lock: Guard) -> None:
        self.lock = lock
        self.free = [1]
        self.next = 2

    def take(self) -> int:
        """Return a number that nobody has."""
        with self.lock:
            if self.free:
                return self.free.pop()
            self.next += 1
            return self.next - 1


def identifiers_b(right: bool) -> None:
    """Two threads take while one number is free."""
    identifiers = Identifiers(threading.Lock() if right else nullcontext())
    given: list[int] = []
    together(*[lambda: given.append(identifiers.take())] * 2)
    assert len(set(given)) == 2


class ReadersWriters:
    """Many readers or one writer."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.readers = 0
        self.writing = False

    def read(self) -> None:
        """Begin to read."""
        with self.changed:
            while self.writing:
                self.changed.wait()
            self.readers += 1

    def done_reading(self, *, tells: bool = True) -> None:
        """End."""
        with self.changed:
            self.readers -= 1
            if not self.readers and tells:
                self.changed.notify_all()

    def write(self, *, looks: bool = True) -> None:
        """Begin to write."""
        with self.changed:
            while self.writing or (looks and self.readers):
                self.changed.wait()
            self.writing = True

    def done_writing(self) -> None:
        """End."""
        with self.changed:
            self.writing = False
            self.changed.notify_all()


def read_write_a(right: bool) -> None:
    """A reader sees both halves of a write."""
    lock, data = ReadersWriters(), [0, 0]

    def writer() -> None:
        lock.write(looks=right)
        data[0] += 1
        data[1] += 1
        lock.done_writing()

    def reader() -> None:
        lock.read()
        assert data[0] == data[1]
        lock.done_reading()

    together(writer, reader)


def read_write_b(right: bool) -> None:
    """The last reader tells the writer."""
    lock = ReadersWriters()

    def reader() -> None:
        lock.read()
        lock.done_reading(tells=right)

    def writer() -> None:
        lock.write()
        lock.done_writing()

    together(reader, writer)


class Account:
    """Money, with a lock."""

    def __init__(self, number: int, money: int) -> None:
        self.number, self.money = number, money
        self.lock = threading.Lock()


def transfer_a(right: bool) -> None:
    """Two transfers in opposite directions."""
    one, two = Account(1, 10), Account(2, 10)

    def move(source: Account, target: Account) -> None:
        order = (source, target)
        first, second = sorted(order, key=lambda a: a.number) if right else order
        with first.lock, second.lock:
            source.money -= 1
            target.money += 1

    together(lambda: move(one, two), lambda: move(two, one))
    assert (one.money, two.money) == (10, 10)


def transfer_b(right: bool) -> None:
    """Nobody sees money that is under way."""
    one, two, bank = Account(1, 5), Account(2, 5), threading.Lock()

    def move() -> None:
        with bank:
            one.money -= 1
            two.money += 1

    def audit() -> None:
        with bank if right else nullcontext():
            assert one.money + two.money == 10

    together(move, audit)


class Statistics:
    """Counts and sums."""

    def __init__(self, lock: Guard) -> None:
        self.lock = lock
        self.count = self.total = 0

    def add(self, n: int) -> None:
        """Add a number."""
        with self.lock:
            self.count += 1
            self.total += n

    def mean(self) -> float:
        """Return the mean."""
        with self.lock:
            return self.total / self.count if self.count else 0.0


def statistics_a(right: bool) -> None:
    """A mean of ones is one."""
    statistics = Statistics(threading.Lock() if right else nullcontext())
    statistics.add(1)

    def look() -> None:
        assert statistics.mean() == 1.0

    together(lambda: statistics.add(1), look)


def statistics_b(right: bool) -> None:
    """No number is lost."""
    statistics = Statistics(threading.Lock() if right else nullcontext())
    together(lambda: statistics.add(1), lambda: statistics.add(2), lambda: statistics.add(3))
    assert (statistics.count, statistics.total) == (3, 6)
