"""Shapes of services: connections, batches, buffers, talks over sockets, workers that are watched.

Each function is a test; `right=False` is the mistake that one sees in such code.
"""

from __future__ import annotations

import collections
import contextlib
import contextvars
import heapq
import itertools
import os
import queue
import socket
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from soak.caches import together


class Connections:
    """A pool of connections that are made when they are wanted."""

    def __init__(self, most: int, *, right: bool) -> None:
        self._idle: list[int] = []
        self._lock = threading.Lock()
        self._room = threading.Semaphore(most)
        self._most = most
        self._right = right
        self.made = 0

    @contextlib.contextmanager
    def connection(self) -> Iterator[int]:
        """Take a connection for a while."""
        with self._room if self._right else contextlib.nullcontext():
            with self._lock:
                found = self._idle.pop() if self._idle else self._make()
            try:
                yield found
            finally:
                with self._lock:
                    self._idle.append(found)

    def _make(self) -> int:
        self.made += 1
        return self.made


def connections_a(right: bool) -> None:
    """No more connections than there may be."""
    pool = Connections(1, right=right)

    def work() -> None:
        with pool.connection():
            pass

    together(work, work)
    assert pool.made <= 1


def connections_b(right: bool) -> None:
    """A connection comes back also if its user fails."""
    idle: queue.Queue[int] = queue.Queue()
    idle.put(1)

    def work(fails: bool) -> None:
        one = idle.get()
        try:
            if fails:
                return
        finally:
            if right:
                idle.put(one)
        if not right:
            idle.put(one)

    together(lambda: work(True), lambda: work(False))


class Expiring:
    """A cache whose entries expire."""

    def __init__(self, seconds: float, *, right: bool) -> None:
        self._seconds = seconds
        self._entries: dict[str, tuple[float, int]] = {}
        self._lock = threading.Lock()
        self._right = right

    def get(self, key: str, make: Callable[[], int]) -> int:
        """Return what is kept, or make it anew."""
        with self._lock if self._right else contextlib.nullcontext():
            if key in self._entries:
                until, value = self._entries[key]
                if until > time.monotonic():
                    return value
                del self._entries[key]
            value = make()
            self._entries[key] = (time.monotonic() + self._seconds, value)
            return value


def expiring_a(right: bool) -> None:
    """An entry that has expired is dropped once."""
    cache = Expiring(5, right=right)
    cache.get("a", lambda: 1)
    time.sleep(10)
    together(*[lambda: cache.get("a", lambda: 2)] * 2)
    assert cache.get("a", lambda: 3) == 2


def expiring_b(right: bool) -> None:
    """The oldest entry goes when there are too many."""
    entries: collections.OrderedDict[int, int] = collections.OrderedDict()
    lock = threading.Lock()

    def put(key: int) -> None:
        with lock:
            entries[key] = key
            if right:
                while len(entries) > 2:
                    entries.popitem(last=False)
        if not right:
            for _ in range(len(entries) - 2):
                entries.popitem(last=False)

    put(0)
    put(1)
    together(lambda: put(2), lambda: put(3))
    assert sorted(entries) == [2, 3]


def batches_a(right: bool) -> None:
    """A writer collects items and writes them in batches; nothing is lost at the end."""
    jobs: queue.Queue[int | None] = queue.Queue()
    written: list[int] = []

    def write() -> None:
        batch: list[int] = []
        while True:
            item = jobs.get()
            if item is None:
                break
            batch.append(item)
            if len(batch) == 2:
                written.extend(batch)
                batch = []
        if right:
            written.extend(batch)

    writer = threading.Thread(target=write)
    writer.start()
    together(lambda: jobs.put(1), lambda: jobs.put(2), lambda: jobs.put(3))
    jobs.put(None)
    writer.join()
    assert sorted(written) == [1, 2, 3]


def batches_b(right: bool) -> None:
    """What is not a whole batch is written when nothing more comes for a while."""
    lock = threading.Lock()
    pending: list[int] = []
    written: list[int] = []
    stopped = threading.Event()

    def flush() -> None:
        with lock if right else contextlib.nullcontext():
            batch = list(pending)
            written.extend(batch)
            pending.clear()

    def flush_now_and_then() -> None:
        while not stopped.wait(1):
            flush()
        flush()

    def add(item: int) -> None:
        with lock:
            pending.append(item)

    flusher = threading.Thread(target=flush_now_and_then)
    flusher.start()
    together(lambda: add(1), flush)
    stopped.set()
    flusher.join()
    assert written == [1]


def debounced_a(right: bool) -> None:
    """Of calls in quick succession only the last one counts."""
    done: list[int] = []
    lock = threading.Lock()
    waiting: list[threading.Timer] = []

    def call(value: int) -> None:
        with lock:
            if right:
                while waiting:
                    waiting.pop().cancel()
            timer = threading.Timer(2, done.append, [value])
            waiting.append(timer)
            timer.start()

    call(1)
    call(2)
    time.sleep(5)
    assert done == [2]


def debounced_b(right: bool) -> None:
    """A timer that was too late must not act on what is newer."""
    lock = threading.Lock()
    state = {"version": 0, "saved": -1}

    def save(version: int) -> None:
        with lock:
            if not right or version > state["saved"]:
                state["saved"] = version

    together(lambda: save(1), lambda: save(2))
    assert state["saved"] == 2


class Tokens:
    """A bucket of tokens, which come back with time."""

    def __init__(self, most: int, *, right: bool) -> None:
        self._left = float(most)
        self._most = most
        self._last = time.monotonic()
        self._lock = threading.Lock()
        self._right = right

    def take(self) -> None:
        """Take a token, as soon as there is one."""
        while True:
            with self._lock if self._right else contextlib.nullcontext():
                now = time.monotonic()
                self._left = min(self._most, self._left + (now - self._last))
                self._last = now
                if self._left >= 1:
                    self._left -= 1
                    return
            time.sleep(1)


def tokens_a(right: bool) -> None:
    """There are never fewer tokens than none, and everybody gets one in the end."""
    bucket = Tokens(1, right=right)
    began = time.monotonic()
    together(bucket.take, bucket.take)
    assert time.monotonic() - began >= 1


def tokens_b(right: bool) -> None:
    """Somebody who gives up in time leaves the place to others."""
    room = threading.BoundedSemaphore(1)
    served: list[int] = []

    def ask(me: int) -> None:
        for _ in range(3):
            if room.acquire(timeout=1):
                try:
                    served.append(me)
                finally:
                    room.release()
                    if not right:
                        room.release()
                return

    together(lambda: ask(1), lambda: ask(2))
    assert sorted(served) == [1, 2]


class Topic:
    """Subscribers that are held weakly."""

    def __init__(self, *, right: bool) -> None:
        self._subscribers: list[weakref.ref[Any]] = []
        self._lock = threading.Lock()
        self._right = right

    def subscribe(self, subscriber: object) -> None:
        """Tell somebody from now on."""
        with self._lock:
            self._subscribers.append(weakref.ref(subscriber))

    def publish(self, message: str) -> None:
        """Tell everybody who is still there."""
        with self._lock if self._right else contextlib.nullcontext():
            alive = [found for one in self._subscribers if (found := one()) is not None]
            self._subscribers = [weakref.ref(one) for one in alive]
        for one in alive:
            one.take(message)


class Subscriber:
    """Somebody who remembers what it is told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def take(self, message: str) -> None:
        """Remember a message."""
        self.told.append(message)


def topics_a(right: bool) -> None:
    """Who subscribes while somebody publishes is not forgotten."""
    topic = Topic(right=right)
    first, second = Subscriber(), Subscriber()
    topic.subscribe(first)
    together(lambda: topic.subscribe(second), lambda: topic.publish("a"))
    topic.publish("b")
    assert second.told[-1:] == ["b"]


def topics_b(right: bool) -> None:
    """A subscriber may unsubscribe while it is told."""
    lock = threading.RLock() if right else threading.Lock()
    handlers: list[Callable[[], None]] = []

    def leave() -> None:
        with lock:
            handlers.clear()

    def publish() -> None:
        with lock:
            for handler in list(handlers):
                handler()

    handlers.append(leave)
    together(publish)
    assert handlers == []


class Jobs:
    """A queue by priority in which jobs can be cancelled."""

    def __init__(self, *, right: bool) -> None:
        self._heap: list[tuple[int, int, str]] = []
        self._cancelled: set[int] = set()
        self._numbers = itertools.count()
        self._changed = threading.Condition()
        self._right = right

    def put(self, priority: int, name: str) -> int:
        """Add a job."""
        with self._changed:
            number = next(self._numbers)
            heapq.heappush(self._heap, (priority, number, name))
            self._changed.notify()
            return number

    def cancel(self, number: int) -> bool:
        """Give a job up; tell whether that was in time."""
        with self._changed:
            if self._right and all(number != entry[1] for entry in self._heap):
                return False
            self._cancelled.add(number)
            return True

    def get(self) -> str | None:
        """Take the most urgent job; None if it was cancelled."""
        with self._changed:
            while not self._heap:
                self._changed.wait()
            _, number, name = heapq.heappop(self._heap)
            return None if number in self._cancelled else name


def jobs_a(right: bool) -> None:
    """A job is done or cancelled, and not both."""
    jobs = Jobs(right=right)
    number = jobs.put(1, "a")
    got: list[str | None] = []
    cancelled: list[bool] = []
    together(lambda: got.append(jobs.get()), lambda: cancelled.append(jobs.cancel(number)))
    assert (got[0] is None) == cancelled[0]


def jobs_b(right: bool) -> None:
    """Everybody who waits is woken up if there is work for all."""
    jobs: list[int] = []
    changed = threading.Condition()
    done: list[int] = []

    def work() -> None:
        with changed:
            while not jobs:
                changed.wait()
            done.append(jobs.pop())

    def put() -> None:
        with changed:
            jobs.extend([1, 2])
            changed.notify(2 if right else 1)

    together(work, work, put)
    assert sorted(done) == [1, 2]


def callbacks_a(right: bool) -> None:
    """A callback runs once, whether it comes before the result or after."""
    future: Future[int] = Future()
    told: list[int] = []

    def listen() -> None:
        if right:
            future.add_done_callback(lambda one: told.append(one.result()))
        elif future.done():
            told.append(future.result())

    together(listen, lambda: future.set_result(3))
    assert told == [3]


def callbacks_b(right: bool) -> None:
    """A result is set once."""
    future: Future[str] = Future()
    lock = threading.Lock()

    def settle(value: str) -> None:
        with lock if right else contextlib.nullcontext():
            if not future.done():
                future.set_result(value)

    together(lambda: settle("a"), lambda: settle("b"))
    assert future.result() in ("a", "b")


def mapped_a(right: bool) -> None:
    """An exception of one job does not hide the results of the others."""

    def halve(value: int) -> int:
        if value % 2:
            raise ValueError(value)
        return value // 2

    with ThreadPoolExecutor(2) as pool:
        if right:
            futures = [pool.submit(halve, value) for value in (2, 3, 4)]
            results = [one.result() for one in futures if one.exception() is None]
        else:
            results = list(pool.map(halve, (2, 3, 4)))
    assert results == [1, 2]


def mapped_b(right: bool) -> None:
    """Jobs that count together."""
    total = {"n": 0}
    lock = threading.Lock()

    def add(value: int) -> None:
        with lock if right else contextlib.nullcontext():
            total["n"] += value

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(add, (1, 2)))
    assert total["n"] == 3


def heartbeats_a(right: bool) -> None:
    """A heart beats until it is told to stop, and then no more."""
    stopped = threading.Event()
    beats: list[float] = []

    def beat() -> None:
        while not stopped.wait(1):
            beats.append(time.monotonic())

    heart = threading.Thread(target=beat)
    heart.start()
    time.sleep(3.5)
    if right:
        stopped.set()
        heart.join()
    assert len(beats) == 3
    assert not heart.is_alive()
    stopped.set()


def heartbeats_b(right: bool) -> None:
    """Who has not been heard of for long is taken for dead, and nobody else."""
    last = {"a": time.monotonic(), "b": time.monotonic()}
    lock = threading.Lock()
    dead: list[str] = []

    def beat() -> None:
        for _ in range(3):
            time.sleep(1)
            with lock:
                last["a"] = time.monotonic()

    def watch() -> None:
        time.sleep(3.5)
        with lock:
            now = time.monotonic()
            dead.extend(name for name, at in last.items() if now - at > (2 if right else 0.2))

    together(beat, watch)
    assert dead == ["b"]


class Coalescing:
    """Requests for the same thing at the same time are one request."""

    def __init__(self, *, right: bool) -> None:
        self._running: dict[str, Future[int]] = {}
        self._lock = threading.Lock()
        self._right = right
        self.calls = 0

    def get(self, key: str) -> int:
        """Return the answer, asking for it once."""
        with self._lock:
            future = self._running.get(key)
            is_mine = future is None
            if future is None:
                future = self._running[key] = Future()
        if is_mine:
            self.calls += 1
            future.set_result(7)
            if not self._right:
                del self._running[key]
        return future.result()


def coalescing_a(right: bool) -> None:
    """One call for two who want the same."""
    service = Coalescing(right=right)
    got: list[int] = []
    together(*[lambda: got.append(service.get("a"))] * 2)
    assert got == [7, 7]
    assert service.calls == 1


def coalescing_b(right: bool) -> None:
    """Who waits for somebody else's request is told of its failure."""
    answer: Future[int] = Future()

    def request() -> None:
        try:
            raise OSError("no answer")
        except OSError as error:
            if right:
                answer.set_exception(error)

    failures: list[str] = []

    def wait() -> None:
        try:
            answer.result()
        except OSError as error:
            failures.append(str(error))

    together(request, wait)
    assert failures == ["no answer"]


def buffers_a(right: bool) -> None:
    """A log with two buffers: one is filled while the other is written."""
    lock = threading.Lock()
    buffers: list[list[int]] = [[], []]
    written: list[int] = []

    def log(item: int) -> None:
        with lock:
            buffers[0].append(item)

    def swap_and_write() -> None:
        if right:
            with lock:
                full, buffers[0] = buffers[0], []
        else:
            full = buffers[0]
            buffers[0] = []
        written.extend(full)

    together(lambda: log(1), swap_and_write, swap_and_write)
    swap_and_write()
    assert written == [1]


def buffers_b(right: bool) -> None:
    """A ring that is full lets the writer wait and loses nothing."""
    ring: collections.deque[int] = collections.deque(maxlen=1)
    changed = threading.Condition()
    got: list[int] = []

    def write() -> None:
        for item in (1, 2):
            with changed:
                while right and len(ring) == ring.maxlen:
                    changed.wait()
                ring.append(item)
                changed.notify_all()

    def read() -> None:
        for _ in range(2):
            with changed:
                while not ring:
                    changed.wait()
                got.append(ring.popleft())
                changed.notify_all()

    together(write, read)
    assert got == [1, 2]


user: contextvars.ContextVar[str] = contextvars.ContextVar("user", default="nobody")


def contexts_a(right: bool) -> None:
    """Who a request is for goes with its thread."""
    seen: dict[str, str] = {}
    shared = {"user": "nobody"}

    def handle(name: str) -> None:
        if right:
            user.set(name)
        shared["user"] = name
        seen[name] = user.get() if right else shared["user"]

    together(lambda: handle("a"), lambda: handle("b"))
    assert seen == {"a": "a", "b": "b"}


def contexts_b(right: bool) -> None:
    """A thread of a pool must not see whose turn was before."""
    local = threading.local()
    seen: list[str] = []

    def handle(name: str | None) -> None:
        if name is not None:
            local.user = name
        seen.append(getattr(local, "user", "nobody"))
        if right:
            local.__dict__.clear()

    with ThreadPoolExecutor(1) as pool:
        pool.submit(handle, "a").result()
        pool.submit(handle, None).result()
    assert seen == ["a", "nobody"]


def watched_a(right: bool) -> None:
    """A watchdog starts a worker again that has died, until the work is done."""
    jobs: queue.Queue[int] = queue.Queue()
    done: list[int] = []
    failed = threading.Event()

    def work() -> None:
        while not jobs.empty():
            job = jobs.get()
            if job == 1 and not failed.is_set():
                failed.set()
                if right:
                    jobs.put(job)
                return
            done.append(job)

    for job in (1, 2):
        jobs.put(job)
    for _ in range(2):
        worker = threading.Thread(target=work)
        worker.start()
        worker.join()
    assert sorted(done) == [1, 2]


def watched_b(right: bool) -> None:
    """Who does not say that it lives is stopped."""
    alive = threading.Event()
    stopped = threading.Event()
    restarts: list[int] = []

    def work() -> None:
        while not stopped.is_set():
            if right:
                alive.set()
            time.sleep(1)

    def watch() -> None:
        for _ in range(2):
            time.sleep(2.5)
            if not alive.is_set():
                restarts.append(1)
            alive.clear()
        stopped.set()

    together(work, watch)
    assert restarts == []


def retried_a(right: bool) -> None:
    """A bounded number of attempts, with pauses that grow."""
    attempts: list[float] = []
    ready = threading.Event()

    def call() -> bool:
        for attempt in range(4 if right else 2):
            attempts.append(time.monotonic())
            if ready.is_set():
                return True
            time.sleep(2**attempt)
        return False

    results: list[bool] = []

    def become_ready() -> None:
        time.sleep(5)
        ready.set()

    together(lambda: results.append(call()), become_ready)
    assert results == [True]


def retried_b(right: bool) -> None:
    """Compare and swap, again if somebody else was first."""
    cell = {"value": 0}
    lock = threading.Lock()

    def swap(old: int, new: int) -> bool:
        with lock if right else contextlib.nullcontext():
            if cell["value"] != old:
                return False
            cell["value"] = new
            return True

    def add() -> None:
        while True:
            old = cell["value"]
            if swap(old, old + 1):
                return

    together(add, add)
    assert cell["value"] == 2


def talks_a(right: bool) -> None:
    """A line is read up to its end, however it arrives."""
    one, other = socket.socketpair()
    got: list[bytes] = []

    def send() -> None:
        one.sendall(b"he")
        one.sendall(b"llo\n")
        one.close()

    def receive() -> None:
        line = b""
        while not line.endswith(b"\n"):
            line += other.recv(10)
            if not right:
                break
        got.append(line)
        other.close()

    together(send, receive)
    assert got == [b"hello\n"]


def talks_b(right: bool) -> None:
    """A server that listens before its clients come."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    address = listener.getsockname()
    if right:
        listener.listen()
    got: list[bytes] = []

    def serve() -> None:
        listener.listen()
        connection, _ = listener.accept()
        with connection:
            connection.sendall(connection.recv(10).upper())

    def ask() -> None:
        with socket.create_connection(address) as connection:
            connection.sendall(b"hi")
            got.append(connection.recv(10))

    together(serve, ask)
    listener.close()
    assert got == [b"HI"]


def woken_a(right: bool) -> None:
    """A pipe wakes up who waits for it, and is closed at the end."""
    reader, writer = os.pipe()
    told: list[bytes] = []

    def wait() -> None:
        while piece := os.read(reader, 1):
            told.append(piece)
        os.close(reader)

    def tell() -> None:
        os.write(writer, b"x")
        if right:
            os.close(writer)

    together(wait, tell)
    assert told == [b"x"]


def woken_b(right: bool) -> None:
    """Readers see a configuration that is whole."""
    config = {"host": "a", "port": 1}
    lock = threading.Lock()
    holder = {"now": config}
    seen: list[tuple[object, object]] = []

    def reload() -> None:
        if right:
            holder["now"] = {"host": "b", "port": 2}
            return
        with lock:
            config["host"] = "b"
            config["port"] = 2

    def read() -> None:
        now = holder["now"]
        seen.append((now["host"], now["port"]))

    together(reload, read)
    assert seen[0] in (("a", 1), ("b", 2))
