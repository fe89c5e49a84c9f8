"""CPython's `test.lock_tests` on Treadle's primitives."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from cpython import harness

lock_tests: Any = harness.import_tests("test.lock_tests")


class LockTests(lock_tests.LockTests):
    @staticmethod
    def locktype() -> Any:
        return threading.Lock()


class RLockTests(lock_tests.RLockTests):
    @staticmethod
    def locktype() -> Any:
        return threading.RLock()


class EventTests(lock_tests.EventTests):
    eventtype = threading.Event


class ConditionTests(lock_tests.ConditionTests):
    condtype = threading.Condition


class ConditionAsRLockTests(lock_tests.RLockTests):
    """Condition uses an RLock by default and exports its API."""

    locktype = threading.Condition


class SemaphoreTests(lock_tests.SemaphoreTests):
    semtype = threading.Semaphore


class BoundedSemaphoreTests(lock_tests.BoundedSemaphoreTests):
    semtype = threading.BoundedSemaphore


class BarrierTests(lock_tests.BarrierTests):
    barriertype = threading.Barrier


WITH_ARGUMENTS = (
    {"ConditionAsRLockTests.test_constructor_noargs": "CPython skips it too: a Condition takes one"}
    if hasattr(ConditionAsRLockTests, "test_constructor_noargs")
    else {}
)
SUITE = harness.Suite(
    [
        LockTests, RLockTests, EventTests, ConditionTests, ConditionAsRLockTests, SemaphoreTests,
        BoundedSemaphoreTests, BarrierTests,
    ],
    does_not_apply={
        "ConditionAsRLockTests.test_recursion_count": "CPython skips it too: a Condition has no "
        "_recursion_count()",
        **WITH_ARGUMENTS,
        "EventTests.test_set_and_clear": "sleeps until all threads wait; here, a thread that "
        "stands before wait() counts as not there yet, so a set() that is taken back at once may "
        "come too early for it",
    },
)  # fmt: skip


@pytest.mark.parametrize("name", SUITE.names)
def test_natural_schedule(name: str) -> None:
    SUITE.run_naturally(name)


@pytest.mark.parametrize("name", SUITE.names)
def test_random_schedules(name: str) -> None:
    SUITE.run_randomly(name)


def test_tables() -> None:
    SUITE.check_tables()


def test_every_class_of_lock_tests_is_here() -> None:
    ours = {kind.__name__ for kind in SUITE.classes}
    theirs = {
        name
        for name, kind in vars(lock_tests).items()
        if isinstance(kind, type) and issubclass(kind, lock_tests.BaseTestCase)
        if not name.startswith("Base")
    }
    assert theirs <= ours
