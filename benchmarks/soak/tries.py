"""Shapes of trying: heaps that are polled, locks that are tried, leases, breakers, sets of queues.

Each function is a test; `right=False` is the mistake that one sees in such code.
"""

from __future__ import annotations

import contextlib
import enum
import functools
import heapq
import itertools
import queue
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from soak.caches import together


def heap_a(right: bool) -> None:
    """A worker takes what is most urgent from a heap; it ends when told to and all is done."""
    urgent: list[tuple[int, str]] = []
    lock = threading.Lock()
    stop = threading.Event()
    done = []

    def work() -> None:
        while True:
            ends = stop.is_set()
            try:
                with lock:
                    _, name = heapq.heappop(urgent)
            except IndexError:
                if ends if right else stop.is_set():
                    return
                time.sleep(0.01)
                continue
            done.append(name)

    worker = threading.Thread(target=work)
    worker.start()
    for job in ((1, "a"), (0, "b")):
        with lock:
            heapq.heappush(urgent, job)
    stop.set()
    worker.join()
    assert sorted(done) == ["a", "b"]


def attempts_a(right: bool) -> None:
    """A bounded number of looks, with pauses that grow, for what another one makes."""
    made: list[int] = []
    is_there = False

    def make() -> None:
        nonlocal is_there
        if right:
            made.append(1)
        is_there = True
        if not right:
            made.append(1)

    def use() -> None:
        for attempt in itertools.count():
            if is_there:
                break
            time.sleep(min(0.05 * 2**attempt, 1))
        assert made == [1]

    together(make, use)


@dataclass(order=True)
class Account:
    """Money, and who may touch it."""

    number: int
    money: int = field(default=10, compare=False)
    lock: threading.Lock = field(default_factory=threading.Lock, compare=False, repr=False)


def move_a(right: bool) -> None:
    """Each holds its own lock and tries the other one; who fails lets go and tries again."""

    def move(source: Account, target: Account) -> None:
        while True:
            with source.lock if right else contextlib.nullcontext():
                if target.lock.acquire(blocking=False):
                    try:
                        source.money -= 1
                        target.money += 1
                        return
                    finally:
                        target.lock.release()
            time.sleep(0.01)

    one, other = Account(1), Account(2)
    together(functools.partial(move, one, other), functools.partial(move, other, one))
    assert (one.money, other.money) == (10, 10)


def leases_a(right: bool) -> None:
    """Who holds the lease is alone, until it runs out."""
    lock = threading.Lock()
    lease: dict[str, object] = {"owner": None, "until": 0.0}
    got = []

    def campaign(name: str) -> None:
        with lock if right else contextlib.nullcontext():
            if lease["owner"] is None:
                lease.update(owner=name, until=time.monotonic() + 10)
                got.append(name)

    together(lambda: campaign("a"), lambda: campaign("b"))
    assert got == [lease["owner"]]


class State(enum.Enum):
    """What a breaker does."""

    CLOSED = enum.auto()
    OPEN = enum.auto()
    TRIED = enum.auto()


class Breaker:
    """Lets one call through to find out whether a service works again."""

    def __init__(self, *, right: bool) -> None:
        self.state = State.OPEN
        self._lock = threading.RLock() if right else contextlib.nullcontext()

    @contextlib.contextmanager
    def __call__(self) -> Iterator[None]:
        """Call the service, unless it is known not to work."""
        with self._lock:
            if self.state is State.TRIED:
                raise ConnectionError
            if self.state is State.OPEN:
                self.state = State.TRIED
        yield
        with self._lock:
            self.state = State.CLOSED


def breaker_a(right: bool) -> None:
    """Only one tries at a time."""
    breaker = Breaker(right=right)
    inside: list[str] = []

    def call() -> None:
        with contextlib.suppress(ConnectionError), breaker():
            assert breaker.state is not State.OPEN
            if breaker.state is State.TRIED:
                inside.append("try")
                assert inside == ["try"]
                inside.pop()

    together(call, call)


class Topic:
    """Hands each message to a queue of everybody who listens."""

    def __init__(self, *, right: bool) -> None:
        self._lock = threading.Lock()
        self._queues: set[queue.Queue[str]] = set()
        self._right = right

    @contextlib.contextmanager
    def listening(self) -> Iterator[queue.Queue[str]]:
        """Listen for a while."""
        mine: queue.Queue[str] = queue.Queue()
        with self._lock:
            self._queues.add(mine)
        try:
            yield mine
        finally:
            with self._lock:
                self._queues.discard(mine)

    def publish(self, message: str) -> None:
        """Tell all who listen."""
        with self._lock if self._right else contextlib.nullcontext():
            for one in self._queues:
                one.put_nowait(message)


def queues_a(right: bool) -> None:
    """Somebody stops listening while a message comes."""
    topic = Topic(right=right)

    def listen() -> None:
        with topic.listening() as mine, contextlib.suppress(queue.Empty):
            mine.get(timeout=1)

    with topic.listening() as mine:
        together(listen, lambda: topic.publish("news"))
        assert mine.get_nowait() == "news"


class Token:
    """Tells those who registered that their work is cancelled."""

    def __init__(self, *, right: bool) -> None:
        self._is_cancelled = threading.Event()
        self._callbacks: list[Callable[[], object]] = []
        self._lock = threading.Lock()
        self._right = right

    def cancel(self) -> None:
        """Call all."""
        with self._lock:
            self._is_cancelled.set()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()

    def register(self, callback: Callable[[], object]) -> None:
        """Call this, now or later."""
        if not self._right and self._is_cancelled.is_set():
            callback()
            return
        with self._lock:
            is_late = self._right and self._is_cancelled.is_set()
            if not is_late:
                self._callbacks.append(callback)
        if is_late:
            callback()


def cancelled_a(right: bool) -> None:
    """Who registers while it is cancelled is told, too."""
    token = Token(right=right)
    told: list[bool] = []
    together(token.cancel, lambda: token.register(lambda: told.append(True)))
    assert told == [True]


def graph_a(right: bool) -> None:
    """Jobs that begin when those that they need are done."""
    needs = {"a": "", "b": "a", "c": "a", "d": "bc"}
    is_done = {name: threading.Event() for name in needs}
    order: list[str] = []

    def work(name: str) -> None:
        for other in needs[name] if right else needs[name][:1]:
            is_done[other].wait()
        order.append(name)
        is_done[name].set()

    together(*(functools.partial(work, name) for name in needs))
    assert (order[0], order[-1]) == ("a", "d")
