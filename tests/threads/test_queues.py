"""Queues under control: every schedule against brute force, and what users see."""

from __future__ import annotations

import queue
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from planned import Plan, Planned, check, interpreter

import treadle
from brute import Everything

PERFORM = """
def perform(operation, jobs, item, mine):
    match operation:
        case "put":
            jobs.put(item)
        case "put_nowait":
            jobs.put_nowait(item)
        case "put_timed":
            jobs.put(item, timeout=1)
        case "get":
            return jobs.get()
        case "get_nowait":
            return jobs.get_nowait()
        case "get_timed":
            return jobs.get(timeout=1)
        case "shutdown_now":
            jobs.shutdown(immediate=True)
        case _:
            return getattr(jobs, operation)()
"""
follow = interpreter(PERFORM)


def check_plan(make: Callable[[], Any], plan: Plan, limit: int = 600) -> Everything | None:
    return check(Planned(make, follow, plan), limit)


PLANS: list[Plan] = [
    [["put", "put"], ["put"], ["get", "get", "get"]],
    [["put", "put"], ["get"], ["get"]],
    [["put"], ["put"], ["get_nowait"]],
    [["put", "put"], ["get_timed", "get_timed"]],
    [["put_timed", "put_timed"], ["get"]],
    [["put_nowait", "put_nowait"], ["get", "put"]],
    [["put", "put"], ["put"], ["get"]],
    [["put", "get"], ["put", "get"]],
    [["put", "put", "join"], ["get", "task_done", "get", "task_done"]],
    [["put", "put", "join"], ["get", "task_done"], ["get", "task_done"]],
    [["put", "join"], ["task_done"]],
    [["put", "put"], ["get", "qsize"], ["empty", "full"]],
    [["put", "put"], ["get_nowait", "get"], ["get_timed"]],
]


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: " | ".join(map(",".join, plan)))
@pytest.mark.parametrize("size", [0, 1, 2])
@pytest.mark.parametrize("kind", [queue.Queue, queue.LifoQueue])
def test_every_algorithm_sees_what_brute_force_sees(kind: Any, size: int, plan: Plan) -> None:
    assert check_plan(lambda: kind(size), plan, limit=20_000)


OPERATIONS = [
    "put", "put", "put", "get", "get", "get", "put_nowait", "put_timed", "get_nowait", "get_timed",
    "qsize", "empty", "full", "task_done", "join",
]  # fmt: skip
if sys.version_info >= (3, 13):
    OPERATIONS += ["shutdown", "shutdown_now"]
SIMPLE = [
    "put",
    "put",
    "get",
    "get",
    "put_nowait",
    "put_timed",
    "get_nowait",
    "get_timed",
    "qsize",
    "empty",
]


def plans(operations: list[str]) -> st.SearchStrategy[Plan]:
    return st.lists(
        st.lists(st.sampled_from(operations), min_size=1, max_size=3), min_size=2, max_size=3
    )


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    kind=st.sampled_from(["Queue", "Queue", "Queue", "LifoQueue", "PriorityQueue"]),
    size=st.sampled_from([0, 1, 1, 2]),
    plan=plans(OPERATIONS),
)
def test_random_programs(kind: str, size: int, plan: Plan) -> None:
    check_plan(lambda: getattr(queue, kind)(size), plan)


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(plan=plans(SIMPLE))
def test_random_programs_with_simple_queues(plan: Plan) -> None:
    check_plan(lambda: queue.SimpleQueue(), plan)


# What users see


def verify(test: Callable[[], None]) -> treadle.Result:
    result = treadle.explore(test)
    assert result.complete, result.failures
    assert not result.failures
    return result


def run(*bodies: Callable[[], None]) -> None:
    threads = [threading.Thread(target=body) for body in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_two_producers_and_a_consumer() -> None:
    def test() -> None:
        jobs: Any = queue.Queue(maxsize=1)
        taken = []

        def produce(name: str) -> None:
            jobs.put((name, 1))
            jobs.put((name, 2))

        def consume() -> None:
            taken.extend(jobs.get() for _ in range(4))

        run(lambda: produce("a"), lambda: produce("b"), consume)
        assert [number for name, number in taken if name == "a"] == [1, 2]

    assert verify(test).executions == 6  # the ways to merge two sequences of two


@pytest.mark.parametrize(
    ("operation", "missing"), [("get", "an item in jobs"), ("put", "a free slot in jobs")]
)
def test_a_deadlock_names_the_queue(operation: str, missing: str) -> None:
    def test() -> None:
        jobs: Any = queue.Queue(maxsize=1)

        def work() -> None:
            if operation == "get":
                jobs.get()
            else:
                jobs.put(1)
                jobs.put(2)

        run(work)

    failure = treadle.explore(test).failures[0]
    assert failure.kind == "deadlock"
    assert missing in str(failure)


def test_a_negative_time_out_is_refused() -> None:
    def test() -> None:
        jobs: Any = queue.Queue(maxsize=1)
        for operation in (lambda: jobs.get(timeout=-1), lambda: jobs.put(1, timeout=-1)):
            with pytest.raises(ValueError, match="non-negative"):
                operation()

    verify(test)


class Counting(queue.Queue[int]):
    """Counts what was put, without a lock of its own: the queue's mutex protects it."""

    total = 0

    def _put(self, item: int) -> None:
        super()._put(item)
        total = self.total
        self.total = total + 1


def test_a_subclass_with_its_own_storage_is_protected_by_the_mutex() -> None:
    def test() -> None:
        jobs = Counting()
        run(lambda: jobs.put(1), lambda: jobs.put(2))
        assert jobs.total == 2

    verify(test)


def test_the_mutex_of_a_queue_can_be_used_from_outside() -> None:
    seen = set()

    def test() -> None:
        jobs: Any = queue.Queue()

        def empty_it() -> None:
            with jobs.mutex:
                jobs.queue.clear()

        run(lambda: jobs.put(1), empty_it)
        seen.add(jobs.qsize())

    verify(test)
    assert seen == {0, 1}


def test_what_is_handed_over_is_shared_from_then_on() -> None:
    class Box:
        value = 0

    def test() -> None:
        jobs: Any = queue.SimpleQueue()
        box = Box()

        def work() -> None:
            jobs.put(box)
            box.value = 1

        thread = threading.Thread(target=work)
        thread.start()
        assert jobs.get().value == 0
        thread.join()

    assert treadle.explore(test).failures[0].kind == "assertion"


def test_queues_work_as_ever_after_an_exploration() -> None:
    jobs: Any = queue.Queue(maxsize=1)
    verify(lambda: run(lambda: None))
    jobs.put(1)
    with pytest.raises(queue.Full):
        jobs.put_nowait(2)
    assert jobs.get() == 1
    assert type(queue.SimpleQueue()).__module__ == "_queue"
