"""Futures and pools under control: every schedule against brute force, and what users see."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures.thread import BrokenThreadPool
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from planned import Plan, Planned, check, interpreter

import treadle
from brute import Everything

PERFORM = """
import queue
from concurrent import futures

def perform(operation, subject, name, mine):
    pool, done, all_futures = subject
    match operation:
        case "submit":
            mine.append(pool.submit(note, done, name))
            all_futures.append(mine[-1])
        case "submit_failing":
            mine.append(pool.submit(fail))
            all_futures.append(mine[-1])
        case "result":
            return mine[-1].result()
        case "result_timed":
            return mine[-1].result(timeout=1)
        case "exception":
            return type(mine[0].exception()).__name__
        case "wait_all":
            return counts(futures.wait(mine))
        case "wait_first":
            return counts(futures.wait(mine, return_when="FIRST_COMPLETED"))
        case "wait_exception":
            return counts(futures.wait(mine, return_when="FIRST_EXCEPTION"))
        case "wait_timed":
            return counts(futures.wait(mine, timeout=1))
        case "as_completed":
            return [mine.index(future) for future in futures.as_completed(mine)]
        case "as_completed_timed":
            return [mine.index(future) for future in futures.as_completed(mine, timeout=1)]
        case "callback":
            mine[-1].add_done_callback(lambda future: done.put(name))
        case "shutdown_nowait":
            pool.shutdown(wait=False)
        case "shutdown":
            pool.shutdown()
        case "drain":
            pool.shutdown(wait=False, cancel_futures=True)
        case _:
            return getattr(mine[-1], operation)()

def counts(answer):
    return len(answer.done), len(answer.not_done)

def note(done, name):
    done.put(name)
    return name

def fail():
    raise KeyError("job")
"""
follow = interpreter(PERFORM)
# Not instrumented either: it is called between executions.
_space: dict[str, Any] = {}
exec(
    """
import queue

def order():
    return queue.SimpleQueue()

def states(subject):
    return list(subject[1]._items), [future._state for future in subject[2]]
""",
    _space,
)


def check_plan(workers: int, plan: Plan, limit: int, **options: Any) -> Everything | None:
    def make() -> Any:
        return ThreadPoolExecutor(workers, **options), _space["order"](), []

    return check(Planned(make, follow, plan, _space["states"]), limit)


PLANS: list[Plan] = [
    [["submit", "submit", "result", "shutdown"]],
    [["submit", "submit", "submit"]],
    [["submit", "result", "submit", "result"]],
    [["submit", "submit_failing", "wait_all"]],
    [["submit", "submit_failing", "wait_first"]],
    [["submit", "submit_failing", "wait_exception", "shutdown"]],
    [["submit", "submit", "wait_timed"]],
    [["submit", "submit", "as_completed"]],
    [["submit", "submit", "as_completed_timed"]],
    [["submit", "cancel", "cancelled"]],
    [["submit", "submit", "cancel", "wait_all"]],
    [["submit", "running", "done", "result_timed"]],
    [["submit", "callback", "callback", "result"]],
    [["submit", "submit", "drain"]],
    [["submit", "submit", "drain", "shutdown"]],
    [["submit", "result"], ["submit", "result"]],
    [["submit", "result"], ["shutdown"]],
    [["submit"], ["submit"]],
    [["submit"], ["drain"]],
    [["shutdown"], ["shutdown"]],
    [["submit", "shutdown"], ["shutdown"]],
]

LARGER_PLANS: list[Plan] = [
    [["submit", "submit", "cancel", "shutdown"]],
    [["submit"], ["submit", "shutdown"]],
    [["submit", "submit"], ["drain"]],
]


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: " | ".join(map(",".join, plan)))
@pytest.mark.parametrize("workers", [1, 2])
def test_every_algorithm_sees_what_brute_force_sees(workers: int, plan: Plan) -> None:
    assert check_plan(workers, plan, limit=40_000)


@pytest.mark.slow
@pytest.mark.parametrize("plan", LARGER_PLANS, ids=lambda plan: " | ".join(map(",".join, plan)))
def test_every_algorithm_sees_what_brute_force_sees_in_larger_programs(plan: Plan) -> None:
    assert check_plan(2, plan, limit=40_000)


OPERATIONS = [
    "submit", "submit", "submit", "submit_failing", "result", "result", "result_timed",
    "exception", "wait_all", "wait_first", "wait_exception", "wait_timed", "as_completed",
    "as_completed_timed", "callback", "shutdown_nowait", "shutdown", "drain", "cancel", "running",
    "done", "cancelled",
]  # fmt: skip
plans = st.lists(
    st.lists(st.sampled_from(OPERATIONS), min_size=1, max_size=4), min_size=1, max_size=2
).map(lambda plan: [["submit", *plan[0]], *plan[1:]])


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(workers=st.sampled_from([1, 2]), plan=plans)
def test_random_programs(workers: int, plan: Plan) -> None:
    check_plan(workers, plan, limit=400)


# What users see


def verify(test: Callable[[], None]) -> treadle.Result:
    result = treadle.explore(test)
    assert result.complete, result.failures
    assert not result.failures
    return result


def test_independent_jobs_are_one_execution() -> None:
    def test() -> None:
        with ThreadPoolExecutor(3) as pool:
            assert list(pool.map(abs, [-1, -2, -3])) == [1, 2, 3]

    assert verify(test).executions == 1


def test_a_lost_update_between_jobs_is_found() -> None:
    class Counter:
        value = 0

    def test() -> None:
        counter = Counter()

        def add() -> None:
            counter.value += 1

        with ThreadPoolExecutor() as pool:
            pool.submit(add)
            pool.submit(add)
        assert counter.value == 2

    assert treadle.explore(test).failures[0].kind == "assertion"


def test_a_pool_that_waits_for_itself_is_a_deadlock() -> None:
    def test() -> None:
        pool = ThreadPoolExecutor(1)

        def outer() -> int:
            return pool.submit(abs, -1).result()

        pool.submit(outer).result()

    failure = treadle.explore(test).failures[0]
    assert failure.kind == "deadlock"
    assert "the result of outer()" in str(failure)
    assert "the result of abs()" in str(failure)


def test_a_pool_that_nobody_shuts_down_is_no_deadlock() -> None:
    def test() -> None:
        assert ThreadPoolExecutor(2).submit(abs, -1).result() == 1

    verify(test)


def test_exceptions_are_delivered_by_the_future() -> None:
    def fail() -> None:
        raise KeyError("job")

    def test() -> None:
        with ThreadPoolExecutor(1) as pool:
            future = pool.submit(fail)
            with pytest.raises(KeyError, match="job"):
                future.result()
            assert isinstance(future.exception(), KeyError)

    verify(test)


def test_the_same_worker_does_what_comes_after_its_result() -> None:
    def test() -> None:
        with ThreadPoolExecutor(4, thread_name_prefix="w") as pool:
            names = [pool.submit(lambda: threading.current_thread().name).result() for _ in "ab"]
        assert names == ["w_0", "w_0"]

    verify(test)


def test_a_failing_initializer_breaks_the_pool() -> None:
    def fail() -> None:
        raise KeyError("initializer")

    def test() -> None:
        pool = ThreadPoolExecutor(1, initializer=fail)
        with pytest.raises(BrokenThreadPool):
            pool.submit(abs, -1).result()
        with pytest.raises(BrokenThreadPool):
            pool.submit(abs, -1)

    verify(test)


POOL = ThreadPoolExecutor(2)


def test_a_pool_made_at_import_begins_anew_in_every_execution() -> None:
    def test() -> None:
        futures = [POOL.submit(abs, -n) for n in range(3)]
        assert [future.result() for future in futures] == [0, 1, 2]
        POOL.shutdown()

    verify(test)
    assert POOL.submit(abs, -1).result() == 1  # really, with real threads
    POOL.shutdown()
