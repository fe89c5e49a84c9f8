"""What threads wait for is reported as data: its kind, and what others hold of it."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future, as_completed, wait
from pathlib import Path

import pytest

import treadle
from treadle.core.records import Wait, WaitKind
from treadle.report.text import failure_in_words

SOURCE = Path(__file__).read_text(encoding="utf-8").splitlines()


def waits(body: Callable[[], object]) -> list[Wait]:
    """Return who waits in the deadlock or livelock that a test ends with."""
    (failure,) = treadle.explore(body).failures
    return list(failure.waits)


def lock() -> None:
    mine = threading.Lock()
    mine.acquire()
    threading.Thread(target=mine.acquire).start()


def reentrant_lock() -> None:
    mine = threading.RLock()
    mine.acquire()
    threading.Thread(target=mine.acquire).start()


def unit() -> None:
    threading.Semaphore(0).acquire()


def notification() -> None:
    changed = threading.Condition()
    with changed:
        changed.wait()


def event() -> None:
    threading.Event().wait()


def arrival() -> None:
    threading.Barrier(2).wait()


def item() -> None:
    queue.Queue[int]().get()


def item_of_a_simple_queue() -> None:
    queue.SimpleQueue[int]().get()


def slot() -> None:
    items: queue.Queue[int] = queue.Queue(1)
    items.put(1)
    items.put(2)


def done() -> None:
    items: queue.Queue[int] = queue.Queue()
    items.put(1)
    items.join()


def result() -> None:
    Future[int]().result()


def results() -> None:
    wait([Future[int]()])


def change() -> None:
    box = [0]
    thread = threading.Thread(target=lambda: box.__setitem__(0, 1))
    thread.start()
    thread.join()
    while box[0] == 1:
        pass


KINDS: dict[Callable[[], None], WaitKind] = {
    lock: WaitKind.LOCK,
    reentrant_lock: WaitKind.LOCK,
    unit: WaitKind.UNIT,
    notification: WaitKind.NOTIFICATION,
    event: WaitKind.EVENT,
    arrival: WaitKind.ARRIVAL,
    item: WaitKind.ITEM,
    item_of_a_simple_queue: WaitKind.ITEM,
    slot: WaitKind.SLOT,
    done: WaitKind.DONE,
    result: WaitKind.RESULT,
    results: WaitKind.RESULT,
    change: WaitKind.CHANGE,
}


@pytest.mark.parametrize("body", KINDS, ids=lambda body: body.__name__)
def test_each_wait_has_its_kind(body: Callable[[], None]) -> None:
    assert [wait.kind for wait in waits(body)] == [KINDS[body]]


def test_a_wait_for_the_end_of_a_thread() -> None:
    def test() -> None:
        stuck = threading.Thread(target=threading.Event().wait)
        stuck.start()
        stuck.join()

    first, second = waits(test)
    assert (first.kind, second.kind) == (WaitKind.END, WaitKind.EVENT)
    assert first.is_for_an_end
    assert not second.is_for_an_end


def test_who_was_notified_waits_for_the_lock() -> None:
    def test() -> None:
        changed = threading.Condition()
        waiter = threading.Thread(target=lambda: changed.__enter__() and changed.wait())
        waiter.start()
        with changed:
            changed.notify()
            waiter.join()

    kinds = {wait.kind for failure in explored(test) for wait in failure.waits}
    assert WaitKind.LOCK in kinds


def explored(test: Callable[[], object]) -> list[treadle.Failure]:
    return treadle.explore(test, stop_on_failure=False).failures


def test_a_lock_is_held_since_its_holder_was_woken_up() -> None:
    def test() -> None:
        changed, ready = threading.Condition(), threading.Event()

        def keep() -> None:
            changed.acquire()
            ready.set()
            changed.wait()  # and never releases it
            threading.Event().wait()

        threading.Thread(target=keep).start()
        ready.wait()
        with changed:
            changed.notify()
        with changed:
            pass

    found = [
        " ".join(failure_in_words(failure).split())
        for failure in explored(test)
        for wait in failure.waits
        if wait.held == "changed lock" and wait.holders == ("main.1",)
    ]
    line = next(n for n, text in enumerate(SOURCE, 1) if "and never releases it" in text)
    assert all(f"which acquired it at tests/threads/test_waits.py:{line} (" in one for one in found)
    assert found


def test_steps_of_futures_that_complete_are_waits_for_futures() -> None:
    def test() -> None:
        future: Future[int] = Future()
        threading.Thread(target=future.set_result, args=(3,)).start()
        assert [one.result() for one in as_completed([future])] == [4]

    (failure,) = treadle.explore(test).failures
    words = [str(access) for step in failure.trace for access in step.accesses]
    assert "wait for futures" in words
