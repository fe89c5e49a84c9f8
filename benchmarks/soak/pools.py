"""Pools of threads, workers with queues, pipelines, futures."""

from __future__ import annotations

import queue
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext

from soak.caches import together


def pool_sum_a(right: bool) -> None:
    """Results are returned, or added to a variable that is shared."""
    total = 0

    def work(n: int) -> int:
        nonlocal total
        if not right:
            total += n
        return n

    with ThreadPoolExecutor(2) as pool:
        returned = sum(pool.map(work, (1, 2)))
    assert (returned if right else total) == 3


def pool_sum_b(right: bool) -> None:
    """Callbacks of futures count under a lock, or without."""
    done = 0
    lock = threading.Lock() if right else nullcontext()

    def count(_: Future[int]) -> None:
        nonlocal done
        with lock:
            done += 1

    with ThreadPoolExecutor(2) as pool:
        for n in range(2):
            pool.submit(abs, n).add_done_callback(count)
    assert done == 2


def pool_shutdown_a(right: bool) -> None:
    """Nobody submits after the pool was shut down."""
    pool = ThreadPoolExecutor(1)
    closed = threading.Event()
    lock = threading.Lock() if right else nullcontext()

    def submit() -> None:
        with lock:
            if not closed.is_set():
                pool.submit(abs, -1)

    def close() -> None:
        with lock:
            closed.set()
            pool.shutdown(wait=False)

    together(submit, close)
    pool.shutdown()


def pool_shutdown_b(right: bool) -> None:
    """What was submitted is done when shutdown returns, if one waits."""
    done: list[int] = []
    pool = ThreadPoolExecutor(1)
    pool.submit(done.append, 1)
    pool.shutdown(wait=right)
    assert done == [1]


def sentinels_a(right: bool) -> None:
    """As many sentinels as workers."""
    jobs: queue.Queue[int | None] = queue.Queue()
    done: list[int] = []

    def worker() -> None:
        while (job := jobs.get()) is not None:
            done.append(job)

    for job in (1, None, None) if right else (1, None):
        jobs.put(job)
    together(worker, worker)
    assert done == [1]


def sentinels_b(right: bool) -> None:
    """One sentinel that every worker puts back."""
    jobs: queue.Queue[int | None] = queue.Queue()
    done: list[int] = []

    def worker() -> None:
        while True:
            job = jobs.get()
            if job is None:
                if right:
                    jobs.put(None)
                return
            done.append(job)

    jobs.put(1)
    jobs.put(None)
    together(worker, worker)
    assert done == [1]


def task_done_a(right: bool) -> None:
    """A job that fails is done, too."""
    jobs: queue.Queue[int] = queue.Queue()

    def worker() -> None:
        for _ in range(2):
            job = jobs.get()
            try:
                10 // job
            except ZeroDivisionError:
                if not right:
                    continue
            jobs.task_done()

    threading.Thread(target=worker, daemon=True).start()
    jobs.put(0)
    jobs.put(5)
    jobs.join()


def task_done_b(right: bool) -> None:
    """A job is done after its result is there, not when it is taken."""
    jobs: queue.Queue[int] = queue.Queue()
    results: list[int] = []

    def worker() -> None:
        job = jobs.get()
        if not right:
            jobs.task_done()
        results.append(job * 2)
        if right:
            jobs.task_done()

    thread = threading.Thread(target=worker)
    thread.start()
    jobs.put(4)
    jobs.join()
    assert results == [8]
    thread.join()


def pipeline_a(right: bool) -> None:
    """Two stages; the end is handed on."""
    first: queue.Queue[int | None] = queue.Queue()
    second: queue.Queue[int | None] = queue.Queue()
    out: list[int] = []

    def double() -> None:
        while (item := first.get()) is not None:
            second.put(2 * item)
        if right:
            second.put(None)

    def collect() -> None:
        while (item := second.get()) is not None:
            out.append(item)

    for item in (1, 2, None):
        first.put(item)
    together(double, collect)
    assert out == [2, 4]


def pipeline_b(right: bool) -> None:
    """Bounded queues: one direction works, a circle of full ones does not."""
    there: queue.Queue[int] = queue.Queue(1)
    back: queue.Queue[int] = queue.Queue(1 if not right else 0)

    def client() -> None:
        for n in range(4):
            there.put(n)
        for _ in range(4):
            back.get()

    def server() -> None:
        for _ in range(4):
            back.put(there.get())

    together(client, server)


def futures_a(right: bool) -> None:
    """A promise is kept once."""
    promise: Future[str] = Future()
    lock = threading.Lock() if right else nullcontext()

    def keep(value: str) -> None:
        with lock:
            if not promise.done():
                promise.set_result(value)

    together(lambda: keep("a"), lambda: keep("b"))
    assert promise.result() in "ab"


def futures_b(right: bool) -> None:
    """A job of the pool does not wait for another one of a pool that is full."""
    with ThreadPoolExecutor(2 if right else 1) as pool:
        outer = pool.submit(lambda: pool.submit(abs, -3).result())
        assert outer.result() == 3


def results_in_order_a(right: bool) -> None:
    """Results keep the order of their jobs."""
    results: list[int] = [] if not right else [0, 0]

    def work(index: int) -> None:
        if right:
            results[index] = index
        else:
            results.append(index)

    together(lambda: work(0), lambda: work(1))
    assert results == [0, 1]


def results_in_order_b(right: bool) -> None:
    """The same through a queue: sorted, or as they come."""
    results: queue.Queue[tuple[int, str]] = queue.Queue()
    together(lambda: results.put((0, "a")), lambda: results.put((1, "b")))
    got = [results.get(), results.get()]
    assert (sorted(got) if right else got) == [(0, "a"), (1, "b")]
