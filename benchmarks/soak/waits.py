"""Workers that poll, conditions, retries, shutdown, phases."""

from __future__ import annotations

import queue
import threading
import time

from soak.caches import together


def poll_flag_a(right: bool) -> None:
    """A worker looks at a flag until it is set."""
    state = {"stop": False, "rounds": 0}

    def worker() -> None:
        while not state["stop"]:
            time.sleep(0.01)

    thread = threading.Thread(target=worker)
    thread.start()
    if right:
        state["stop"] = True
    thread.join()


def poll_flag_b(right: bool) -> None:
    """The same under a lock; the result is there when the flag is."""
    lock = threading.Lock()
    state: dict[str, int | bool] = {"done": False, "result": 0}

    def worker() -> None:
        if right:
            with lock:
                state["result"] = 7
                state["done"] = True
        else:
            with lock:
                state["done"] = True
            with lock:
                state["result"] = 7

    thread = threading.Thread(target=worker)
    thread.start()
    while True:
        with lock:
            if state["done"]:
                assert state["result"] == 7
                break
    thread.join()


def poll_condition_a(right: bool) -> None:
    """A wait with a timeout, again and again."""
    changed = threading.Condition()
    items: list[int] = []

    def consumer() -> None:
        with changed:
            while not items:
                changed.wait(0.1)
            items.pop()

    def producer() -> None:
        with changed:
            if right:
                items.append(1)
            changed.notify()

    together(consumer, producer)


def poll_condition_b(right: bool) -> None:
    """`while`, not `if`: two consumers, one item after the other."""
    changed = threading.Condition()
    items: list[int] = []

    def consumer() -> None:
        with changed:
            if right:
                while not items:
                    changed.wait()
            elif not items:
                changed.wait()
            items.pop()

    def producer() -> None:
        for _ in range(2):
            with changed:
                items.append(1)
                changed.notify_all()

    together(consumer, consumer, producer)


def guard_a(right: bool) -> None:
    """A guard of five seconds does not strike: threads take less."""
    ready = threading.Event()
    thread = threading.Thread(target=ready.set if right else lambda: None)
    thread.start()
    assert ready.wait(5)
    thread.join()


def guard_b(right: bool) -> None:
    """A join with a timeout, then a look whether the thread is alive."""
    lock = threading.Lock()

    def work() -> None:
        with lock:
            pass

    if not right:
        lock.acquire()
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(5)
    assert not thread.is_alive()


def get_with_timeout_a(right: bool) -> None:
    """A worker that looks for work, and then whether it should stop."""
    jobs: queue.Queue[int] = queue.Queue()
    stop = threading.Event()
    done: list[int] = []

    def worker() -> None:
        while True:
            try:
                done.append(jobs.get(timeout=0.1))
            except queue.Empty:
                if stop.is_set() and jobs.empty():
                    return

    thread = threading.Thread(target=worker)
    thread.start()
    jobs.put(1)
    if right:
        stop.set()
    thread.join()
    assert done == [1]


def get_with_timeout_b(right: bool) -> None:
    """Asking whether a queue is empty, and then taking, is two steps."""
    jobs: queue.Queue[int] = queue.Queue()
    jobs.put(1)
    taken: list[int] = []

    def take() -> None:
        if right:
            try:
                taken.append(jobs.get_nowait())
            except queue.Empty:
                return
        elif not jobs.empty():
            taken.append(jobs.get_nowait())

    together(take, take)
    assert taken == [1]


class Buffer:
    """A bounded buffer."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.items: list[int] = []
        self.changed = threading.Condition()

    def put(self, item: int, *, all_of_them: bool) -> None:
        """Wait for room, and put."""
        with self.changed:
            while len(self.items) >= self.size:
                self.changed.wait()
            self.items.append(item)
            (self.changed.notify_all if all_of_them else self.changed.notify)()

    def take(self, *, all_of_them: bool) -> int:
        """Wait for an item, and take it."""
        with self.changed:
            while not self.items:
                self.changed.wait()
            item = self.items.pop(0)
            (self.changed.notify_all if all_of_them else self.changed.notify)()
            return item


def buffer_a(right: bool) -> None:
    """One producer, one consumer, room for one."""
    buffer = Buffer(1 if right else 0)
    got: list[int] = []

    def fill() -> None:
        for n in (1, 2):
            buffer.put(n, all_of_them=True)

    def drain() -> None:
        for _ in range(2):
            got.append(buffer.take(all_of_them=True))

    together(fill, drain)
    assert got == [1, 2]


def buffer_b(right: bool) -> None:
    """One condition for producers and consumers: `notify` may wake the wrong one."""
    buffer = Buffer(1)
    together(
        *[lambda: buffer.put(1, all_of_them=right)] * 2,
        *[lambda: buffer.take(all_of_them=right)] * 2,
    )


def retry_a(right: bool) -> None:
    """Read, compute, write if nobody wrote meanwhile; again with a pause otherwise."""
    lock = threading.Lock()
    record = {"value": 0, "version": 0}

    def add() -> None:
        pause = 0.01
        while True:
            with lock:
                value, version = record["value"], record["version"]
            with lock:
                if not right or record["version"] == version:
                    record["value"] = value + 1
                    record["version"] = version + 1
                    return
            time.sleep(pause)
            pause *= 2

    together(add, add)
    assert record["value"] == 2


def retry_b(right: bool) -> None:
    """A service that is not up yet is asked again."""
    service = threading.Event()
    answers: list[str] = []

    def start() -> None:
        time.sleep(0.05)
        service.set()

    def ask() -> None:
        for _ in range(3):
            if service.wait(1):
                answers.append("here")
                return
        answers.append("gone")

    together(start if right else lambda: None, ask)
    assert answers == ["here"]


def shutdown_a(right: bool) -> None:
    """What was accepted is done before the worker ends."""
    jobs: queue.Queue[str] = queue.Queue()
    stop = threading.Event()
    done: list[str] = []

    def worker() -> None:
        while not stop.is_set() or (right and not jobs.empty()):
            try:
                done.append(jobs.get(timeout=0.05))
            except queue.Empty:
                continue

    thread = threading.Thread(target=worker)
    thread.start()
    jobs.put("job")
    stop.set()
    thread.join()
    assert done == ["job"]


def shutdown_b(right: bool) -> None:
    """A service is stopped twice, and from two threads."""
    lock = threading.Lock()
    state = {"running": True, "stopped": 0}

    def stop() -> None:
        if right:
            with lock:
                if state["running"]:
                    state["running"] = False
                    state["stopped"] += 1
        elif state["running"]:
            state["running"] = False
            state["stopped"] += 1

    together(stop, stop)
    assert state["stopped"] == 1


def phases_a(right: bool) -> None:
    """Everybody has written before anybody reads."""
    barrier = threading.Barrier(2)
    parts = [0, 0]
    sums: list[int] = []

    def work(me: int) -> None:
        parts[me] = 1
        if right:
            barrier.wait()
        sums.append(sum(parts))

    together(lambda: work(0), lambda: work(1))
    assert sums == [2, 2]


class Latch:
    """Opens when it was counted down."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.changed = threading.Condition()

    def down(self) -> None:
        """Count."""
        with self.changed:
            self.count -= 1
            if self.count == 0:
                self.changed.notify_all()

    def wait(self, *, looks: bool) -> None:
        """Wait until it is open."""
        with self.changed:
            if looks:
                self.changed.wait_for(lambda: self.count <= 0)
            else:
                self.changed.wait()


def phases_b(right: bool) -> None:
    """Who comes late does not wait for a signal that was."""
    latch = Latch(2)
    together(latch.down, latch.down, lambda: latch.wait(looks=right))
