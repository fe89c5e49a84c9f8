"""Queues under control: every schedule against brute force, and what users see."""

from __future__ import annotations

import queue
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest
from brute import Everything, Explored, TooMany, brute_force, explored
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import treadle
from treadle.program import Restart
from treadle.threads.program import ThreadProgram
from treadle.threads.run import ThreadRun

COVERING = ["optimal", "source", "classic", "sleep"]

Op = str
Plan = list[list[Op]]
"""The operations of each thread."""

# Not a module of its own, so not instrumented: only the queue's operations are events.
INTERPRETER = """
def interpret(operations, jobs, log):
    for number, operation in enumerate(operations):
        try:
            log.append(perform(operation, jobs, (log[0], number)))
        except Exception as error:
            log.append(type(error).__name__)

def perform(operation, jobs, item):
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
_space: dict[str, Any] = {}
exec(INTERPRETER, _space)
interpret = _space["interpret"]


class Planned(ThreadProgram):
    """A program whose threads work on one queue; its state is what they saw, and what is left."""

    kept: dict[str, Any] = {}

    def __init__(self, make: Callable[[], Any], plan: Plan) -> None:
        super().__init__(self._test, "planned")
        self._make = make
        self._plan = plan

    def _test(self) -> None:
        jobs = self._make()
        self._logs: list[list[Any]] = [[number] for number in range(len(self._plan))]
        threads = [
            threading.Thread(target=interpret, args=(operations, jobs, log))
            for operations, log in zip(self._plan, self._logs, strict=True)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def start(self, *, detail: bool = False) -> ThreadRun:
        run = super().start(detail=detail)
        logs = self._logs
        run.fingerprint = lambda: repr(logs)  # type: ignore[method-assign]
        return run




def until_learned(action: Callable[[], Any]) -> Any:
    while True:
        try:
            return action()
        except Restart:
            continue


def check(make: Callable[[], Any], plan: Plan, limit: int = 3000) -> Everything | None:
    """Compare every algorithm with all interleavings; None if there are too many."""
    program = Planned(make, plan)
    with program.controlled():
        try:
            everything: Everything = until_learned(lambda: brute_force(program, limit))
        except TooMany:
            return None
        for algorithm in COVERING:
            found: Explored = until_learned(lambda a=algorithm: explored(program, a))  # type: ignore[misc]
            said = f"{algorithm}: {plan}"
            assert found.result.complete, said
            assert found.final_states == everything.final_states, said
            assert found.failures == everything.failures, said
            assert set(found.classes) == everything.classes, said
            if algorithm in ("optimal", "sleep"):
                assert len(found.classes) == len(everything.classes), said
            if algorithm == "optimal":
                assert not found.result.blocked, said
    return everything


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
    assert check(lambda: kind(size), plan, limit=20_000)


OPERATIONS = [
    "put", "put", "put", "get", "get", "get", "put_nowait", "put_timed", "get_nowait", "get_timed",
    "qsize", "empty", "full", "task_done", "join",
]  # fmt: skip
if sys.version_info >= (3, 13):
    OPERATIONS += ["shutdown", "shutdown_now"]
SIMPLE = ["put", "put", "get", "get", "put_nowait", "put_timed", "get_nowait", "get_timed", "qsize", "empty"]


def plans(operations: list[Op]) -> st.SearchStrategy[Plan]:
    return st.lists(
        st.lists(st.sampled_from(operations), min_size=1, max_size=3), min_size=2, max_size=3
    )


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    kind=st.sampled_from(["Queue", "Queue", "Queue", "LifoQueue", "PriorityQueue"]),
    size=st.sampled_from([0, 1, 1, 2]),
    plan=plans(OPERATIONS),
)
def test_random_programs(kind: str, size: int, plan: Plan) -> None:
    check(lambda: getattr(queue, kind)(size), plan)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(plan=plans(SIMPLE))
def test_random_programs_with_simple_queues(plan: Plan) -> None:
    check(lambda: queue.SimpleQueue(), plan)
