"""CPython's own tests of asyncio's locks, queues, tasks, task groups and timeouts, each explored.

Tests of `IsolatedAsyncioTestCase` are coroutine functions: they are explored as such, with what
they do before and after. Those of tasks are plain functions that run loops of their own: they are
explored as tests with threads, in which such a loop is under control. None may fail in any of its
first executions. A turn of the loop is exactly one here, since these tests count them.
"""

from __future__ import annotations

import inspect
import sys
import unittest
from collections.abc import Callable
from typing import Any

import pytest

import treadle
from cpython import harness
from treadle.plugin.cases import run_case

MODULES = ["locks", "queues", "tasks", "taskgroups", "timeouts", "waitfor"]
if sys.version_info >= (3, 12):
    MODULES.append("eager_task_factory")
MOST = 20
"""Executions of each test."""

DOES_NOT_APPLY = {
    "queues.QueueBasicTests.test_repr": (
        "wants the address in a text: `id` is a number that is the same in every execution"
    ),
    "locks.ConditionTests.test_ambiguous_loops": "makes a second loop inside of the test's own",
    "timeouts.TimeoutTests.test_nested_timeouts": (
        "two timers with one deadline need not come at one poll: equal deadlines are arrivals in "
        "any order"
    ),
    "tasks.CTask_CFuture_Tests.test_refleaks_in_task___init__": "needs a debug build",
    "tasks.FutureGatherTests.test_env_var_debug": "starts a process",
    "tasks.CoroutineGatherTests.test_env_var_debug": "starts a process",
    "tasks.RunCoroutineThreadsafeTests.test_run_coroutine_threadsafe_task_factory_exception": (
        "wants an exception to be logged: what a loop only logs is a finding"
    ),
}
if sys.version_info >= (3, 12):
    DOES_NOT_APPLY["eager_task_factory.CEagerTaskFactoryLoopTests.test_issue105987"] = (
        "starts a process"
    )
if sys.version_info >= (3, 13):
    DOES_NOT_APPLY["taskgroups.TestTaskGroup.test_coro_closed_when_tg_closed"] = (
        "makes a second loop inside of the test's own"
    )

OTHER_PAIRS = (
    "CTask_CFuture_SubclassTests", "CTaskSubclass_PyFuture_Tests", "PyTask_CFutureSubclass_Tests",
    "CTask_PyFuture_Tests", "PyTask_CFuture_Tests", "PyTask_PyFuture_SubclassTests",
)  # fmt: skip
"""The tests of `CTask_CFuture_Tests` and `PyTask_PyFuture_Tests` on other pairs of classes."""


def _tests() -> dict[str, tuple[type[unittest.TestCase], str]]:
    found = {}
    for name in MODULES:
        module = harness.import_tests(f"test.test_asyncio.test_{name}")
        for kind in vars(module).values():
            if (
                isinstance(kind, type)
                and issubclass(kind, unittest.TestCase)
                and kind.__module__ == module.__name__
            ):
                for method in unittest.defaultTestLoader.getTestCaseNames(kind):
                    found[f"{name}.{kind.__name__}.{method}"] = kind, method
    return found


TESTS = _tests()


def as_coroutine(kind: Any, method: str) -> Callable[[], Any]:
    """Return a test of a class as one coroutine function, with what surrounds it."""

    async def test() -> None:
        case = kind(method)
        case.setUp()
        await case.asyncSetUp()
        try:
            returned = getattr(case, method)()
            if inspect.isawaitable(returned):
                await returned
        finally:
            await case.asyncTearDown()
            case.tearDown()
            case.doCleanups()

    return test


def _marked(name: str) -> Any:
    """Return a test's name; those that repeat others with further classes of futures take long."""
    is_repeated = name.split(".")[1] in OTHER_PAIRS
    return pytest.param(name, marks=[pytest.mark.minutes] if is_repeated else [])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [_marked(name) for name in TESTS])
def test_explored(name: str) -> None:
    if name in DOES_NOT_APPLY:
        pytest.skip(f"does not apply: {DOES_NOT_APPLY[name]}")
    kind, method = TESTS[name]
    if issubclass(kind, unittest.IsolatedAsyncioTestCase):
        result = treadle.explore(
            as_coroutine(kind, method), yields="exact", leftover_tasks=False, max_executions=MOST
        )
        assert result.algorithm == "fifo"
    else:
        result = treadle.explore(lambda: run_case(kind(method)), max_executions=MOST)
    assert result.failures == []
    assert result.executions >= 1


def test_every_exception_is_needed() -> None:
    assert DOES_NOT_APPLY.keys() <= TESTS.keys()
    counts = {name: sum(test.startswith(f"{name}.") for test in TESTS) for name in MODULES}
    assert all(counts.values()), counts
