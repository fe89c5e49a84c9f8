"""Programs whose spaces are explored in parts, with what one worker counts."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

from treadle.core.program import Program
from treadle.papers import jacm17

MODELS: list[tuple[Program, int]] = [
    (jacm17.readers(11), 2048),
    (jacm17.lastzero(10), 3328),
    (jacm17.indexer(14), 512),
    (jacm17.wakeup_stress(6), 1440),
    (jacm17.filesystem(18), 32),
    (jacm17.chain(9), 37),
    (jacm17.writers(7), 5040),
]


def in_threads(*bodies: Callable[[], object]) -> None:
    """Run functions in threads, and wait for them."""
    threads = [threading.Thread(target=body) for body in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def adding(threads: int, times: int) -> Callable[[], None]:
    """Return a test in which threads add to one number, each a number of times."""

    def adds() -> None:
        box = {"n": 0}

        def add() -> None:
            for _ in range(times):
                box["n"] += 1

        in_threads(*[add] * threads)

    return adds


def locked(threads: int, times: int) -> Callable[[], None]:
    """Return a test in which threads add under a lock."""

    def adds() -> None:
        box, lock = {"n": 0}, threading.Lock()

        def add() -> None:
            for _ in range(times):
                with lock:
                    box["n"] += 1

        in_threads(*[add] * threads)
        assert box["n"] == threads * times

    return adds


def lost_update() -> None:
    box = {"n": 0}

    def add() -> None:
        box["n"] += 1

    in_threads(add, add, add)
    assert box["n"] == 3


def deadlock() -> None:
    a, b = threading.Lock(), threading.Lock()

    def one() -> None:
        with a, b:
            pass

    def two() -> None:
        with b, a:
            pass

    in_threads(two, one, two)


def add_to_global(times: int = 2) -> None:
    global total
    total = 0

    def add() -> None:
        global total
        for _ in range(times):
            total += 1

    in_threads(add, add, add)


total = 0

THREADS: list[tuple[str, Callable[[], Any], int, int]] = [
    ("3 threads add twice", adding(3, 2), 7134, 0),
    ("2 threads add 3 times", adding(2, 3), 328, 0),
    ("4 threads add twice, locked", locked(4, 2), 2520, 0),
    ("3 threads add once, one lost", lost_update, 36, 1),
    ("two locks, three threads", deadlock, 10, 4),
]

PARENT = os.getpid()


def order_that_kills() -> None:
    """Kill the process, unless it is the first, in which one thread reads before others add."""
    box = {"n": 0}

    def add() -> None:
        box["n"] += 1
        box["n"] += 1

    def look() -> None:
        if box["n"] == 0 and os.getpid() != PARENT:
            os.kill(os.getpid(), 9)

    in_threads(add, add, look)


def order_that_needs_memory() -> None:
    """Run out of memory, unless it is the first process, where one thread comes before others."""
    box = {"n": 0}

    def add() -> None:
        box["n"] += 1
        box["n"] += 1

    def look() -> None:
        if box["n"] == 0 and os.getpid() != PARENT:
            allocate()

    in_threads(add, add, look)


def allocate() -> None:
    """Allocate without bound under a limit of this process."""
    import resource

    with open("/proc/self/statm") as file:  # noqa: PTH123 - the test is explored
        pages = int(file.read().split()[0])
    most = pages * resource.getpagesize() + (1 << 25)
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))
    kept = []
    while True:
        kept.append(bytearray(1 << 20))
