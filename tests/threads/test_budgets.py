"""Budgets hold, and tell the truth: how long a test is says nothing about whether it ends."""

from __future__ import annotations

import itertools
import queue
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

import treadle
from treadle.core import deadline
from treadle.explore import progress
from treadle.explore.budget import MAX_STEPS, MOST_STEPS, Budget
from treadle.explore.probing import Probes
from treadle.python.host.watchdog import Watchdog
from treadle.python.runtime.scheduler import Scheduler
from treadle.threads.program import ThreadProgram
from waiting import PATIENCE


class Box:
    def __init__(self) -> None:
        self.value = 0


def run(*bodies: Callable[[], object]) -> None:
    threads = [threading.Thread(target=body) for body in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def counting(threads: int, times: int) -> Callable[[], None]:
    """Return a test whose threads count, under a lock."""

    def test() -> None:
        lock, box = threading.Lock(), Box()

        def work() -> None:
            for _ in range(times):
                with lock:
                    box.value += 1

        run(*[work] * threads)
        assert box.value == threads * times

    return test


def endless() -> None:
    box = Box()

    def work() -> None:
        while True:
            box.value += 1

    run(work, lambda: box.value)


# A long test is no endless one


def test_one_thread_of_many_steps_is_verified() -> None:
    result = treadle.explore(counting(1, 3000))
    assert (result.complete, result.executions, result.failures) == (True, 1, [])
    assert result.events > MAX_STEPS


def test_several_threads_of_many_steps_are_incomplete_by_their_timeout() -> None:
    result = treadle.explore(counting(2, 2000), timeout=0.5)
    assert (result.failures, result.complete) == ([], False)
    assert result.stopped_by == "timeout = 0.5 s"


def test_an_error_at_the_end_of_many_steps_is_found() -> None:
    def wrong() -> None:
        counting(1, 3000)()
        raise ValueError("at last")

    (failure,) = treadle.explore(wrong).failures
    assert (failure.kind, failure.message) == ("exception", "ValueError: at last")


def test_a_limit_that_was_asked_for_is_one() -> None:
    result = treadle.explore(counting(1, 100), max_steps=50)
    assert [failure.kind for failure in result.failures] == ["budget"]
    assert result.stopped_by == "max_steps = 50"
    same_as_default = treadle.explore(counting(1, 3000), max_steps=MAX_STEPS)
    assert [failure.kind for failure in same_as_default.failures] == ["budget"]


@pytest.mark.parametrize("loops", [1, 2])
def test_who_counts_how_often_it_looks_lets_others_go_on_at_last(loops: int) -> None:
    """Every number of rounds is another state: such a loop does not wait."""

    def test() -> None:
        box = Box()

        def count() -> None:
            tries = 0
            while not box.value:
                tries += 1

        def end() -> None:
            box.value = 1

        threads = [threading.Thread(target=body) for body in (*[count] * loops, end)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        raise ValueError("at last")

    (failure,) = treadle.explore(test).failures
    assert (failure.kind, failure.message) == ("exception", "ValueError: at last")


# Time is looked at in the middle of an execution


@pytest.mark.parametrize("algorithm", ["optimal", "classic", "random", "exhaustive"])
def test_timeout_holds_inside_one_execution(algorithm: str) -> None:
    result = treadle.explore(endless, timeout=0.3, algorithm=algorithm)
    assert (result.failures, result.complete) == ([], False)
    assert result.stopped_by == "timeout = 0.3 s"
    assert result.executions == 0


def test_without_a_timeout_a_very_long_execution_is_cut() -> None:
    result = treadle.explore(endless)
    assert (result.failures, result.complete) == ([], False)
    assert result.stopped_by == f"max_steps = {MOST_STEPS}"
    assert result.events == MOST_STEPS


def test_what_crashed_before_time_was_up_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time goes by with each look at the clock."""
    monkeypatch.setattr(progress, "perf_counter", itertools.count().__next__)

    def crashes() -> None:
        box = Box()

        def work() -> None:
            while True:
                box.value += 1

        def fail() -> None:
            raise ValueError("early")

        run(fail, work)

    (failure,) = treadle.explore(crashes, timeout=30).failures
    assert failure.message == "ValueError: early"


def taking_turns() -> None:
    """Only other runs can tell what an attempt would have found."""
    units: queue.Queue[int] = queue.Queue()

    def work() -> None:
        for _ in range(3):
            try:
                units.get_nowait()
            except queue.Empty:
                units.put(1)

    run(work, work)
    raise AssertionError("found in the first execution")


def test_timeout_holds_while_an_execution_is_analysed(monkeypatch: pytest.MonkeyPatch) -> None:
    """No run is made after the time is up, and what was found before counts."""
    made = Probes.probe
    asked: list[int] = []

    def probe(*given: Any) -> Any:
        asked.append(1)
        with deadline.within(0):
            return made(*given)

    monkeypatch.setattr(Probes, "probe", probe)
    result = treadle.explore(taking_turns, timeout=3600, stop_on_failure=False)
    assert (result.executions, result.probes, asked) == (1, 0, [1])
    assert (result.failure_kinds, result.stopped_by) == ({"assertion": 1}, "timeout = 3600 s")


def test_a_search_whose_time_is_up_while_it_looks_back_is_incomplete(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def looks_back(program: ThreadProgram) -> str:
        raise deadline.OutOfTime(program.name)

    monkeypatch.setattr(ThreadProgram, "not_repeated", looks_back)
    result = treadle.explore(lambda: None, timeout=100)
    assert (result.complete, result.failures) == (False, [])
    assert result.stopped_by == "timeout = 100 s"


def test_budget_says_when_to_look_again() -> None:
    budget = Budget(max_steps=1500)
    assert [budget.next_look(steps) for steps in (0, 999, 1000, 1499)] == [1000, 1000, 1500, 1500]
    patient = Budget(max_steps=1500, goes_on=True)
    assert [patient.next_look(steps) for steps in (0, 1000, 1500, 2000)] == [1000, 2000, 2000, 3000]


# What repeats itself is still a failure


def test_a_loop_that_only_looks_is_a_livelock() -> None:
    def test() -> None:
        lock, box = threading.Lock(), Box()

        def work() -> None:
            while True:
                with lock:
                    if box.value:
                        return

        run(work)

    (failure,) = treadle.explore(test, timeout=PATIENCE).failures
    assert failure.kind == "livelock"


def test_a_loop_beside_somebody_who_could_end_it_is_no_failure() -> None:
    """Its lock is looked at without waiting, so the loop goes round once more for each look."""

    def test() -> None:
        lock, box = threading.Lock(), Box()

        def end() -> None:
            if lock.acquire(blocking=False):
                lock.release()
            with lock:
                box.value = 1

        threading.Thread(target=end).start()
        while True:
            with lock:
                if box.value:
                    return

    result = treadle.explore(test)
    assert (result.complete, result.failures, result.executions) == (True, [], 15)
    assert treadle.explore(test, "sleep").executions == 15


def test_polling_by_recursion_that_nobody_ends_is_an_endless_recursion() -> None:
    def test() -> None:
        lock, box = threading.Lock(), Box()

        def look() -> None:
            with lock:
                if box.value:
                    return
            time.sleep(0.01)
            look()

        run(look)

    (failure,) = treadle.explore(test, timeout=PATIENCE).failures
    assert failure.kind == "exception"
    assert failure.message.startswith("RecursionError")


# Time is looked at while the test takes no step


def loops_alone() -> None:
    count = 0
    while True:
        count += 1


@pytest.mark.parametrize("test", [loops_alone, lambda: run(loops_alone)], ids=["main", "thread"])
def test_timeout_ends_a_loop_over_private_data(test: Callable[[], None]) -> None:
    result = treadle.explore(test, timeout=0.2)
    assert (result.failures, result.complete, result.executions) == ([], False, 0)
    assert result.stopped_by == "timeout = 0.2 s"


def test_nothing_is_left_of_a_test_that_ran_out_of_time() -> None:
    treadle.explore(lambda: run(loops_alone), timeout=0.2)
    assert treadle.explore(counting(2, 1)).complete
    assert not deadline.is_over()


def test_deadlines_are_for_a_while() -> None:
    with deadline.within(1e-9):
        assert deadline.is_over()
        with deadline.within(None):
            assert not deadline.is_over()
        assert deadline.is_over()
    assert not deadline.is_over()


def test_whoever_watches_looks_when_time_is_up() -> None:
    watchdog = Watchdog(Scheduler(), patience=20)
    assert watchdog.period == 2
    with deadline.within(1):
        assert 0 < watchdog.period <= 1
    with deadline.within(1e-9):
        assert watchdog.period == 0.05
