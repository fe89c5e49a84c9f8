"""Data races: accesses that no synchronisation orders."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable

import pytest

import treadle


class Cell:
    def __init__(self) -> None:
        self.value = 0
        self.lock = threading.Lock()


def racing(*bodies: Callable[[], None]) -> None:
    threads = [threading.Thread(target=body) for body in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def unsynchronised() -> None:
    cell = Cell()

    def write() -> None:
        cell.value = 1

    def read() -> None:
        _ = cell.value

    racing(write, read)


def locked() -> None:
    cell = Cell()

    def write() -> None:
        with cell.lock:
            cell.value += 1

    racing(write, write)
    assert cell.value == 2


def locked_on_one_side() -> None:
    cell = Cell()

    def write() -> None:
        with cell.lock:
            cell.value = 1

    def read() -> None:
        _ = cell.value

    racing(write, read)


def handed_over() -> None:
    cell = Cell()
    box: queue.Queue[Cell] = queue.Queue()

    def write() -> None:
        cell.value = 1
        box.put(cell)

    def read() -> None:
        assert box.get().value == 1

    racing(write, read)


def signalled() -> None:
    cell = Cell()
    done = threading.Event()

    def write() -> None:
        cell.value = 1
        done.set()

    def read() -> None:
        done.wait()
        assert cell.value == 1

    racing(write, read)


def only_read() -> None:
    cell = Cell()

    def read() -> None:
        assert cell.value == 0

    racing(read, read)


def after_join() -> None:
    cell = Cell()

    def write() -> None:
        cell.value += 1

    racing(write)
    racing(write)
    assert cell.value == 2


@pytest.mark.parametrize("test", [unsynchronised, locked_on_one_side])
def test_unordered_accesses_are_found_with_both_lines(test: Callable[[], None]) -> None:
    assert treadle.explore(test).ok  # off by default
    failure = treadle.explore(test, races=True).failures[0]
    assert failure.kind == "race"
    assert "cell.value" in failure.message
    assert failure.pair is not None
    places = {failure.trace[event].where.rpartition("/")[2] for event in failure.pair}
    assert len(places) == 2
    assert all(place.startswith("test_races.py:") for place in places)
    words = str(failure)
    assert words.count("test_races.py") >= 2
    assert "no synchronisation orders them" in " ".join(words.split())
    again = treadle.replay(test, str(failure.schedule), races=True)
    assert again is not None
    assert again.kind == "race"


@pytest.mark.parametrize("algorithm", ["optimal", "source", "exhaustive", "random"])
@pytest.mark.parametrize("test", [locked, handed_over, signalled, only_read, after_join])
def test_ordered_accesses_are_no_races(test: Callable[[], None], algorithm: str) -> None:
    result = treadle.explore(test, algorithm, races=True, max_executions=2000)
    assert not result.failures


def test_who_looks_whether_a_thread_runs_is_ordered_after_its_end() -> None:
    """As in CPython, where that takes the thread's own lock."""

    def test() -> None:
        results: list[int] = []
        thread = threading.Thread(target=lambda: results.append(1))
        thread.start()
        while thread.is_alive():
            time.sleep(0.01)
        assert results == [1]

    result = treadle.explore(test, races=True)
    assert result.ok
    # It ends before the first look, between two, or while the loop waits.
    assert result.executions == treadle.explore(test).executions == 4


def test_a_loop_that_waits_for_data_and_for_a_queue_accesses_neither() -> None:
    def test() -> None:
        jobs: queue.Queue[int] = queue.Queue()
        left, done, lock = [1], [], threading.Lock()
        jobs.put(5)

        def work() -> None:
            while True:
                with lock:
                    if not left[0]:
                        return
                try:
                    job = jobs.get_nowait()
                except queue.Empty:
                    time.sleep(0.01)
                    continue
                with lock:
                    left[0] -= 1
                    done.append(job)

        racing(work, work)
        assert done == [5]

    assert treadle.explore(test, races=True).ok
