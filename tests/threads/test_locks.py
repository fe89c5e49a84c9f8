"""Lock and RLock under control: against brute force, against the real ones, and what users see."""

from __future__ import annotations

import _thread
import math
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from lock_plans import COVERING, Plan, Planned, Shared, compare, random_plans
from told import told

import treadle
from treadle.python.runtime.patience import Patience

MODULE_LOCK = threading.Lock()
MODULE_RLOCK = threading.RLock()


def one_lock() -> Shared:
    return {"l": threading.Lock()}


def one_rlock() -> Shared:
    return {"l": threading.RLock()}


def two_locks() -> Shared:
    return {"l": threading.Lock(), "m": threading.RLock()}


LOCK = ["l.acquire", "l.release", "l.try", "l.timed", "l.locked"]
RLOCK = ["l.acquire", "l.release", "l.try", "l.timed", "l._is_owned"]
BOTH = ["l.acquire", "l.release", "m.acquire", "m.release", "m.try", "l.timed"]


@pytest.mark.parametrize(
    ("make", "operations"), [(one_lock, LOCK), (one_rlock, RLOCK), (two_locks, BOTH)]
)
def test_random_plans_against_brute_force(
    make: Callable[[], Shared], operations: list[str]
) -> None:
    program = Planned(make)
    with program.controlled():
        for plan in random_plans(operations, 12):
            compare(program, plan, limit=1000)


@pytest.mark.parametrize(
    ("plan", "executions", "states"),
    [
        ([["l.acquire", "l.release"]] * 2, 2, 1),
        ([["l.acquire", "l.release"]] * 3, 6, 1),
        # The other's attempt: before the acquisition, while the lock is held, after the release;
        # the second look is in one of those places too, not before the first.
        ([["l.acquire", "l.release"], ["l.try", "l.locked"]], 4, 4),
        # Somebody else's release: before (an error), while it is held, after (an error).
        ([["l.acquire", "l.release"], ["l.release"]], 3, 2),
        ([["l.timed", "l.release"]] * 2, 6, 5),
    ],
)
def test_exact_numbers(plan: Plan, executions: int, states: int) -> None:
    found = compare(Planned(one_lock, patience=Patience(timeouts="explore")), plan)
    assert found is not None
    assert (found.executions, len(found.states)) == (executions, states)


@pytest.mark.parametrize("algorithm", [*COVERING, "exhaustive"])
def test_a_lock_protects_a_counter(algorithm: str) -> None:
    result = treadle.explore(locked_counter, algorithm)
    assert result.complete, result
    assert not result.failures
    if algorithm in ("optimal", "sleep"):
        assert result.executions == math.factorial(2)


class Counter:
    def __init__(self, lock: Any) -> None:
        self.lock = lock
        self.n = 0

    def increment(self) -> None:
        with self.lock:
            self.n += 1


def locked_counter() -> None:
    counter = Counter(threading.Lock())
    run_both(counter.increment, counter.increment)
    assert counter.n == 2


def run_both(*targets: Callable[[], Any]) -> None:
    threads = [threading.Thread(target=target) for target in targets]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_a_deadlock_is_found_with_its_cycle() -> None:
    def transfer_both_ways() -> None:
        first, second = threading.Lock(), threading.RLock()

        def there() -> None:
            with first, second:
                pass

        def back() -> None:
            with second, first:
                pass

        run_both(there, back)

    result = treadle.explore(transfer_both_ways)
    (failure,) = result.failures
    assert failure.kind == "deadlock"
    waits = {wait.process: (wait.resource, wait.holders) for wait in failure.waits}
    assert waits["main.1"] == ("second", ("main.2",))
    assert waits["main.2"] == ("first", ("main.1",))
    everything = treadle.explore(transfer_both_ways, stop_on_failure=False)
    assert (everything.executions, everything.blocked, everything.failing) == (3, 0, 1)


def test_a_lock_taken_twice_is_a_deadlock_without_other_threads() -> None:
    def twice() -> None:
        lock = threading.Lock()
        with lock, lock:
            pass

    (failure,) = treadle.explore(twice).failures
    assert failure.kind == "deadlock"


def test_a_timeout_fires_and_does_not_fire() -> None:
    seen = []

    def test() -> None:
        lock = threading.Lock()

        def hold() -> None:
            with lock:
                pass

        def hurry() -> None:
            begin = time.monotonic()
            taken = lock.acquire(timeout=5)
            seen.append((taken, round(time.monotonic() - begin, 3)))
            if taken:
                lock.release()

        run_both(hold, hurry)

    assert not treadle.explore(test).failures
    assert set(seen) == {(True, 0.0)}  # nothing takes that long
    assert not treadle.explore(test, timeouts="explore").failures
    assert set(seen) == {(True, 0.0), (False, 5.0)}


class RaisingActions:
    """What raises, or returns something, the same on real locks."""

    @staticmethod
    def both(lock: Any) -> list[Callable[[], Any]]:
        return [
            lambda: lock.release(),
            lambda: lock.acquire(False, 1),
            lambda: lock.acquire(False, -1),
            lambda: lock.release(),
            lambda: lock.acquire(blocking=False, timeout=0),
            lambda: lock.acquire(timeout=-100),
            lambda: lock.acquire(timeout=1e100),
            lambda: lock.acquire(timeout=_thread.TIMEOUT_MAX + 1),
            lambda: lock.acquire(timeout=float("nan")),
            lambda: lock.acquire(timeout="1"),
            lambda: lock.acquire(True, -1),
            lambda: lock.release(),
            lambda: lock.acquire(1, 0),
            lambda: lock.release(),
            lambda: lock.acquire(timeout=_thread.TIMEOUT_MAX),
            lambda: lock.__exit__(None, None, None),
            lambda: lock.__enter__(),
            lambda: lock._at_fork_reinit(),
            lambda: lock.release(),
        ]

    @staticmethod
    def only_lock(lock: Any) -> list[Callable[[], Any]]:
        return [
            lambda: lock.locked(),
            lambda: lock.acquire(),
            lambda: lock.locked(),
            lambda: lock.acquire(False),
            lambda: lock.acquire(timeout=0.001),
            lambda: lock.release_lock(),
            lambda: lock.acquire_lock(),
            lambda: lock.locked_lock(),
        ]

    @staticmethod
    def only_rlock(lock: Any) -> list[Callable[[], Any]]:
        return [
            lambda: lock._release_save(),
            lambda: lock._is_owned(),
            lambda: [lock.acquire(), lock.acquire(False), lock.acquire(timeout=1)],
            lambda: lock._recursion_count(),
            lambda: lock._acquire_restore(lock._release_save()),
            lambda: lock._recursion_count(),
            lambda: [lock.release(), lock.release(), lock.release(), lock._is_owned()],
            lambda: lock.release(),
            lambda: lock._recursion_count(),
        ]


@pytest.mark.parametrize("shared_with_a_thread", [False, True])
@pytest.mark.parametrize(
    ("kind", "actions"),
    [
        ("Lock", RaisingActions.both),
        ("RLock", RaisingActions.both),
        ("Lock", RaisingActions.only_lock),
        ("RLock", RaisingActions.only_rlock),
    ],
)
def test_results_and_messages_are_those_of_the_real_one(
    kind: str, actions: Callable[[Any], list[Callable[[], Any]]], shared_with_a_thread: bool
) -> None:
    real = told(actions(getattr(threading, kind)()))
    seen: list[list[str]] = []

    def test() -> None:
        lock = getattr(threading, kind)()
        if shared_with_a_thread:
            thread = threading.Thread(target=lambda: lock)
            thread.start()
        seen.append(told(actions(lock)))
        if shared_with_a_thread:
            thread.join()

    assert not treadle.explore(test).failures
    assert seen
    for said in seen:
        assert said == real


def test_it_looks_like_a_real_one() -> None:
    def test() -> None:
        lock, rlock = threading.Lock(), threading.RLock()
        assert isinstance(MODULE_LOCK, type(lock))
        assert isinstance(MODULE_RLOCK, type(rlock))
        assert not isinstance(rlock, type(lock))
        assert repr(lock).startswith("<unlocked _thread.lock object at ")
        with lock, rlock:
            assert repr(lock).startswith("<locked _thread.lock object at ")
            assert repr(rlock).startswith("<locked _thread.RLock object owner=main count=1 at ")

    result = treadle.explore(test)
    assert not result.failures, result.failures[0]


def test_a_model_works_outside_of_an_execution() -> None:
    kept: list[Any] = []

    def test() -> None:
        kept.append((threading.Lock(), threading.RLock()))

    treadle.explore(test)
    lock, rlock = kept[-1]
    assert told(RaisingActions.both(lock)) == told(RaisingActions.both(threading.Lock()))
    assert told(RaisingActions.only_lock(lock)) == told(RaisingActions.only_lock(threading.Lock()))
    assert told(RaisingActions.only_rlock(rlock)) == told(
        RaisingActions.only_rlock(threading.RLock())
    )
    with rlock:
        taken: list[bool] = []
        other = threading.Thread(target=lambda: taken.append(rlock.acquire(False)))
        other.start()
        other.join()
        assert taken == [False]
    assert type(threading.Lock()) is type(MODULE_LOCK)
    assert type(threading.RLock()) is type(MODULE_RLOCK)


@pytest.mark.parametrize("lock", [MODULE_LOCK, MODULE_RLOCK])
def test_a_lock_made_before_the_exploration(lock: Any) -> None:
    def test() -> None:
        counter = Counter(lock)
        run_both(counter.increment, counter.increment)
        assert counter.n == 2

    result = treadle.explore(test)
    assert result.complete, result
    assert not result.failures, result.failures[0]
    assert result.executions == 2
    assert lock.acquire(blocking=False)
    lock.release()


def test_a_module_level_deadlock() -> None:
    def there() -> None:
        with MODULE_LOCK, MODULE_RLOCK:
            pass

    def back() -> None:
        with MODULE_RLOCK:
            MODULE_LOCK.acquire()
            MODULE_LOCK.release()

    result = treadle.explore(lambda: run_both(there, back), stop_on_failure=False)
    assert [failure.kind for failure in result.failures] == ["deadlock"]
    assert result.executions == 3
    assert "MODULE_LOCK" in str(result.failures[0])
    assert not MODULE_LOCK.locked()
