"""Clocks never go backward between threads that synchronised, however they did."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from test_thread import verify

import treadle

Hand = tuple[Callable[[], object], Callable[[], object]]
"""What the one calls who looked at the clock first, and what the other calls before it looks."""


def lock() -> Hand:
    taken = threading.Lock()
    taken.acquire()
    return taken.release, taken.acquire


def event() -> Hand:
    told = threading.Event()
    return told.set, told.wait


def polled_event() -> Hand:
    told = threading.Event()

    def see() -> None:
        treadle.assume(told.is_set())

    return told.set, see


def semaphore() -> Hand:
    units = threading.Semaphore(0)
    return units.release, units.acquire


def condition() -> Hand:
    line, told = threading.Condition(), []

    def tell() -> None:
        with line:
            told.append(1)
            line.notify_all()

    def hear() -> None:
        with line:
            line.wait_for(lambda: told)

    return tell, hear


def barrier() -> Hand:
    meeting = threading.Barrier(2)
    return meeting.wait, meeting.wait


def item() -> Hand:
    items: queue.Queue[int] = queue.Queue()
    return lambda: items.put(1), items.get


def slot() -> Hand:
    items: queue.Queue[int] = queue.Queue(1)
    items.put(1)
    return items.get, lambda: items.put(2)


def simple_item() -> Hand:
    items: queue.SimpleQueue[int] = queue.SimpleQueue()
    return lambda: items.put(1), items.get


def tasks_done() -> Hand:
    items: queue.Queue[int] = queue.Queue()
    items.put(1)
    return items.task_done, items.join


def future() -> Hand:
    outcome: Future[int] = Future()
    return lambda: outcome.set_result(1), outcome.result


class Box:
    value: Any = None


def attribute() -> Hand:
    box = Box()

    def fill() -> None:
        box.value = 1

    def see() -> None:
        treadle.assume(box.value)

    return fill, see


def container() -> Hand:
    found: dict[str, int] = {}

    def see() -> None:
        treadle.assume("key" in found)

    return lambda: found.update(key=1), see


WAYS = [
    lock, event, polled_event, semaphore, condition, barrier, item, slot, simple_item, tasks_done,
    future, attribute, container,
]  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("clock", [time.monotonic, time.time, time.perf_counter_ns])
def test_who_comes_later_sees_a_later_time(
    way: Callable[[], Hand], clock: Callable[[], float]
) -> None:
    def test() -> None:
        first, then = way()
        stamp = Box()

        def early() -> None:
            time.sleep(0.3)
            for _ in range(20):
                stamp.value = clock()
            first()

        def late() -> None:
            then()
            now = clock()
            assert now >= stamp.value

        threads = [threading.Thread(target=body) for body in (late, early)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    verify(test)


def test_in_a_critical_section_time_goes_forward() -> None:
    def test() -> None:
        mutex, last = threading.Lock(), [0.0]

        def work() -> None:
            for _ in range(2):
                with mutex:
                    now = time.monotonic()
                    assert now > last[0]
                    last[0] = now

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert verify(test).executions == 90
    assert treadle.explore(test, "exhaustive", max_executions=300).failures == []
    assert treadle.explore(test, clock="shared").executions == 90


def test_in_an_atomic_block_and_with_a_global_lock() -> None:
    def test() -> None:
        last = [0.0]

        def work() -> None:
            with treadle.atomic():
                before = last[0]
                now = time.monotonic()
                assert now > before
                last[0] = now

        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    for granularity in ("access", "gil"):
        assert treadle.explore(test, granularity=granularity).ok


def test_a_chain_of_threads() -> None:
    """The one in the middle never looks at a clock."""

    def test() -> None:
        hands = [threading.Event(), threading.Event()]
        stamp = Box()

        def first() -> None:
            time.sleep(0.2)
            stamp.value = time.monotonic()
            hands[0].set()

        def second() -> None:
            hands[0].wait()
            hands[1].set()

        def third() -> None:
            hands[1].wait()
            assert time.monotonic() > stamp.value

        threads = [threading.Thread(target=body) for body in (third, second, first)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    verify(test)


def test_a_pool_s_jobs_begin_after_they_were_given() -> None:
    def test() -> None:
        with ThreadPoolExecutor(2) as pool:
            time.sleep(0.4)
            given = time.monotonic()
            for began in pool.map(lambda _: time.monotonic(), range(2)):
                assert began > given
            assert time.monotonic() > given

    verify(test)


def test_threads_that_did_not_synchronise_have_clocks_of_their_own() -> None:
    """What is left of `clock="thread"`: no order follows from nothing."""
    stamps: dict[str, float] = {}

    def test() -> None:
        def work(name: str) -> None:
            stamps[name] = time.monotonic()

        threads = [threading.Thread(target=work, args=(name,)) for name in "ab"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert stamps["a"] == stamps["b"]

    verify(test)
