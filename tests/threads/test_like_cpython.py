"""Any sequence of operations on a primitive says the same under control as in CPython.

One thread at a time, so that there is one interleaving. What would block for ever has a time-out.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from told import told

import treadle
from treadle.core.failure import without_addresses

SOON = 0.0005
"""Seconds that a real primitive may wait in vain."""

Operation = Callable[[Any], object]
"""Something to do with a primitive."""

LOCK: dict[str, Operation] = {
    "try": lambda lock: lock.acquire(blocking=False),
    "acquire soon": lambda lock: lock.acquire(timeout=SOON),
    "release": lambda lock: lock.release(),
    "exit": lambda lock: lock.__exit__(None, None, None),
    "time-out without blocking": lambda lock: lock.acquire(False, 1),
    "negative time-out": lambda lock: lock.acquire(True, -2),
    "no time-out": lambda lock: lock.acquire(True, "x"),
    "forever, if that is not too long": lambda lock: lock.acquire(timeout=1e20),
}
SEMAPHORE: dict[str, Operation] = {
    "try": lambda semaphore: semaphore.acquire(blocking=False),
    "acquire soon": lambda semaphore: semaphore.acquire(timeout=SOON),
    "release": lambda semaphore: semaphore.release(),
    "release 2": lambda semaphore: semaphore.release(2),
    "release 0": lambda semaphore: semaphore.release(0),
    "time-out without blocking": lambda semaphore: semaphore.acquire(False, 1),
    "exit": lambda semaphore: semaphore.__exit__(None, None, None),
}
QUEUE: dict[str, Operation] = {
    "put 2": lambda q: q.put_nowait(2),
    "put 1": lambda q: q.put(1, block=False),
    "put soon": lambda q: q.put(3, timeout=SOON),
    "get": lambda q: q.get_nowait(),
    "get soon": lambda q: q.get(timeout=SOON),
    "get without blocking": lambda q: q.get(False, -1),
    "negative": lambda q: q.get(timeout=-1),
    "size": lambda q: (q.qsize(), q.empty()),
}
LARGE_QUEUE: dict[str, Operation] = {
    **QUEUE,
    "done": lambda q: q.task_done(),
    "full": lambda q: (q.full(), q.maxsize, q.unfinished_tasks),
    "negative put": lambda q: q.put(1, timeout=-1),
}


class Numbered(threading.local):
    """Each thread has its own, made with the same arguments."""

    kind = "numbered"

    def __init__(self, number: int) -> None:
        self.number = number

    def next(self) -> int:
        self.number += 1
        return self.number


def elsewhere(what: Operation) -> Operation:
    """Return an operation that is done in a thread of its own."""

    def operation(primitive: Any) -> object:
        found: list[str] = []
        thread = threading.Thread(target=lambda: found.extend(told([lambda: what(primitive)])))
        thread.start()
        thread.join()
        return found

    return operation


PRIMITIVES: dict[str, tuple[Callable[[], object], dict[str, Operation]]] = {
    "Lock": (threading.Lock, {**LOCK, "locked": lambda lock: lock.locked()}),
    "RLock": (threading.RLock, {**LOCK, "owned": lambda lock: lock._is_owned()}),
    "Condition": (
        threading.Condition,
        {
            "try": lambda condition: condition.acquire(blocking=False),
            "release": lambda condition: condition.release(),
            "notify": lambda condition: condition.notify(),
            "notify 2": lambda condition: condition.notify(2),
            "notify all": lambda condition: condition.notify_all(),
            "wait": lambda condition: condition.wait(SOON),
            "wait for nothing": lambda condition: condition.wait_for(lambda: 0, SOON),
            "wait for something": lambda condition: condition.wait_for(lambda: "yes"),
        },
    ),
    "Condition of a lock": (
        lambda: threading.Condition(threading.Lock()),
        {
            "try": lambda condition: condition.acquire(False),
            "release": lambda condition: condition.release(),
            "notify": lambda condition: condition.notify(),
            "wait": lambda condition: condition.wait(SOON),
        },
    ),
    "Semaphore": (threading.Semaphore, SEMAPHORE),
    "BoundedSemaphore": (lambda: threading.BoundedSemaphore(2), SEMAPHORE),
    "Event": (
        threading.Event,
        {
            "set": lambda event: event.set(),
            "clear": lambda event: event.clear(),
            "is_set": lambda event: event.is_set(),
            "wait": lambda event: event.wait(SOON),
            "look": lambda event: event.wait(0),
        },
    ),
    "Barrier": (
        lambda: threading.Barrier(2),
        {
            "wait": lambda barrier: barrier.wait(SOON),
            "reset": lambda barrier: barrier.reset(),
            "abort": lambda barrier: barrier.abort(),
            "look": lambda barrier: (barrier.broken, barrier.n_waiting, barrier.parties),
        },
    ),
    "Barrier of one": (
        lambda: threading.Barrier(1, lambda: None),
        {
            "wait": lambda barrier: barrier.wait(),
            "abort": lambda barrier: barrier.abort(),
            "reset": lambda barrier: barrier.reset(),
            "look": lambda barrier: (barrier.broken, barrier.n_waiting),
        },
    ),
    "Queue": (lambda: queue.Queue(2), LARGE_QUEUE),
    "LifoQueue": (lambda: queue.LifoQueue(2), LARGE_QUEUE),
    "PriorityQueue": (lambda: queue.PriorityQueue(3), LARGE_QUEUE),
    "SimpleQueue": (queue.SimpleQueue, QUEUE),
    "Future": (
        Future,
        {
            "result": lambda future: future.result(timeout=0),
            "exception": lambda future: future.exception(timeout=SOON),
            "run": lambda future: future.set_running_or_notify_cancel(),
            "set": lambda future: future.set_result(1),
            "fail": lambda future: future.set_exception(KeyError("k")),
            "cancel": lambda future: future.cancel(),
            "look": lambda future: (future.done(), future.running(), future.cancelled()),
            "call back": lambda future: future.add_done_callback(lambda done: done.done()),
        },
    ),
    "local": (
        threading.local,
        {
            "set": lambda local: setattr(local, "x", 1),
            "get": lambda local: local.x,
            "delete": lambda local: delattr(local, "x"),
            "look": lambda local: sorted(local.__dict__.items()),
        },
    ),
    "local of a class": (
        lambda: Numbered(3),
        {
            "next": Numbered.next,
            "next elsewhere": elsewhere(Numbered.next),
            "delete": lambda local: delattr(local, "number"),
            "delete elsewhere": elsewhere(lambda local: delattr(local, "number")),
            "kind": lambda local: (local.kind, setattr(local, "kind", "other")),
            "kind elsewhere": elsewhere(lambda local: local.kind),
            "missing": lambda local: local.missing,
            "look": lambda local: sorted(vars(local).items()),
        },
    ),
    "Lock of two": (
        threading.Lock,
        {
            "try": lambda lock: lock.acquire(blocking=False),
            "release": lambda lock: lock.release(),
            "try elsewhere": elsewhere(lambda lock: lock.acquire(blocking=False)),
            "release elsewhere": elsewhere(lambda lock: lock.release()),
        },
    ),
    "Thread": (
        lambda: threading.Thread(target=int, name="mine"),
        {
            "start": lambda thread: (thread.start(), thread.join()),
            "join": lambda thread: thread.join(),
            "alive": lambda thread: thread.is_alive(),
            "begun": lambda thread: thread.ident is not None,
            "daemon": lambda thread: (thread.daemon, setattr(thread, "daemon", True)),
            "rename": lambda thread: (thread.name, setattr(thread, "name", "other")),
        },
    ),
    "Timer": (
        lambda: threading.Timer(SOON, int),
        {
            "cancel": lambda timer: timer.cancel(),
            "start": lambda timer: (timer.start(), timer.join()),
            "finished": lambda timer: timer.finished.is_set(),
        },
    ),
    "ThreadPoolExecutor": (
        lambda: ThreadPoolExecutor(2),
        {
            "submit": lambda pool: pool.submit(divmod, 7, 2).result(),
            "fail": lambda pool: pool.submit(divmod, 7, 0).result(),
            "map": lambda pool: list(pool.map(abs, [-1, 2, -3])),
            "map fails": lambda pool: list(pool.map(int, ["1", "x"])),
            "shut down": lambda pool: pool.shutdown(),
            "cancel": lambda pool: pool.shutdown(wait=True, cancel_futures=True),
            "enter": lambda pool: type(pool.__enter__()).__name__,
        },
    ),
}


def said_by(name: str, sequences: list[list[str]]) -> list[list[str]]:
    """Return what a new primitive says to each sequence of operations."""
    make, operations = PRIMITIVES[name]
    said = []
    for sequence in sequences:
        primitive: Any = make()
        actions = [lambda p=primitive, o=operations[word]: o(p) for word in sequence]
        said.append([without_addresses(one) for one in told(actions)])
        if name == "ThreadPoolExecutor":
            primitive.shutdown()
    return said


def said_under_control(name: str, sequences: list[list[str]]) -> list[list[str]]:
    found: list[list[list[str]]] = []

    def test() -> None:
        found.append(said_by(name, sequences))

    result = treadle.explore(test, max_executions=3)
    assert not result.failures, result.failures[0].message
    assert result.executions >= 1
    return found[-1]


@pytest.mark.parametrize("name", PRIMITIVES)
@settings(max_examples=4)
@given(data=st.data())
def test_any_sequence_of_operations(name: str, data: st.DataObject) -> None:
    operation = st.sampled_from(sorted(PRIMITIVES[name][1]))
    sequences = data.draw(st.lists(st.lists(operation, min_size=3, max_size=8), min_size=4))
    assert said_under_control(name, sequences) == said_by(name, sequences)


@pytest.mark.parametrize("name", PRIMITIVES)
def test_every_pair_of_operations(name: str) -> None:
    words = list(PRIMITIVES[name][1])
    if name in ("ThreadPoolExecutor", "Timer", "Thread", "local of a class"):
        words = words[:4]  # each starts real threads
    sequences = [[one, other] for one in words for other in words]
    for mine, real, sequence in zip(
        said_under_control(name, sequences), said_by(name, sequences), sequences, strict=True
    ):
        assert (sequence, mine) == (sequence, real)
