"""Condition, Event, semaphores and Barrier under control.

Three oracles: brute force over all interleavings, CPython's own source on modelled locks, and the
real classes outside of control.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from typing import Any

import cpython_source
import pytest
from lock_plans import LENGTHS, Plan, Planned, Shared, compare, random_plans, until_learned
from told import told

import treadle
from brute import explored
from treadle.python.runtime.patience import Patience


def event(classes: Any) -> Shared:
    return {"e": classes.Event()}


def semaphore(classes: Any) -> Shared:
    return {"s": classes.Semaphore(1)}


def bounded(classes: Any) -> Shared:
    return {"s": classes.BoundedSemaphore(1)}


def bounded_2(classes: Any) -> Shared:
    return {"s": classes.BoundedSemaphore(2)}


def condition(classes: Any) -> Shared:
    lock = threading.RLock()
    return {"l": lock, "c": classes.Condition(lock)}


def condition_on_lock(classes: Any) -> Shared:
    lock = threading.Lock()
    return {"l": lock, "c": classes.Condition(lock)}


def barrier(classes: Any) -> Shared:
    return {"b": classes.Barrier(2)}


def barrier_of_3(classes: Any) -> Shared:
    return {"b": classes.Barrier(3)}


def barrier_with_action(classes: Any) -> Shared:
    opened = threading.Event()
    return {"e": opened, "b": classes.Barrier(2, action=opened.set)}


UNITS = ["s.acquire", "s.release", "s.try", "s.timed"]
WAITS = ["c.wait", "c.notify", "c.wait 1", "c.notify_all", "c.notify 2"]
ROUNDS = ["b.wait", "b.wait", "b.wait", "b.wait 1", "b.abort", "b.reset"]
FAMILIES: dict[str, tuple[Callable[[Any], Shared], list[str]]] = {
    "event": (event, ["e.wait", "e.set", "e.clear", "e.wait 1", "e.is_set"]),
    "semaphore": (semaphore, UNITS),
    "semaphore, many units": (semaphore, [*UNITS, "s.release 2"]),
    "bounded": (bounded, [*UNITS, "s.release 2"]),
    "bounded, 2": (bounded_2, UNITS),
    "condition": (condition, WAITS),
    "condition on a lock": (condition_on_lock, WAITS),
    "barrier": (barrier, [*ROUNDS, "b.broken", "b.n_waiting"]),
    "barrier of 3": (barrier_of_3, ROUNDS),
    "barrier with action": (barrier_with_action, [*ROUNDS, "e.is_set"]),
}


def plans_of(family: str, count: int, seed: object = 0) -> list[Plan]:
    plans = random_plans(FAMILIES[family][1], count, seed=seed)
    if family.startswith("condition"):  # under the lock, as it is meant
        chance = random.Random(f"{family} {seed}")
        plans = [
            [
                ["l.acquire", *operations, "l.release"]
                for operations in plan[: chance.choice([2, 3])]
            ]
            for plan in plans
        ]
    return plans


@pytest.mark.parametrize("family", FAMILIES)
def test_random_plans_against_brute_force(family: str) -> None:
    make, _ = FAMILIES[family]
    program = Planned(lambda: make(threading))
    with program.controlled():
        for plan in plans_of(family, 8):
            compare(program, plan, limit=400)


@pytest.mark.parametrize("family", FAMILIES)
def test_random_plans_against_the_source(family: str) -> None:
    make, _ = FAMILIES[family]
    plans = [plan for plan in plans_of(family, 30, "source") if sum(map(len, plan)) <= 8][:6]
    modelled = final_states(lambda: make(threading), plans)
    assert final_states(lambda: make(cpython_source), plans) == modelled


def final_states(make: Callable[[], Shared], plans: list[Plan]) -> list[set[object]]:
    found = []
    program = Planned(make)
    with program.controlled():
        for plan in plans:
            program.plan = plan
            result = until_learned(lambda: explored(program, "optimal"))
            assert result.result.complete
            found.append(result.final_states)
    return found


def test_plans_are_of_different_lengths() -> None:
    assert len({tuple(map(len, plan)) for plan in plans_of("event", 50)}) == len(LENGTHS)


@pytest.mark.parametrize(
    ("family", "plan", "executions", "states"),
    [
        ("event", [["e.wait"], ["e.set"]], 1, 1),
        # It waits for the first of the two, or comes after both; times the order of the two.
        ("event", [["e.wait"], ["e.set"], ["e.set"]], 4, 1),
        ("event", [["e.wait 1"], ["e.set"]], 2, 2),
        # Between, where it sees it set or clear; or never.
        ("event", [["e.wait", "e.is_set"], ["e.set", "e.clear"]], 3, 3),
        ("semaphore", [["s.acquire", "s.release"]] * 3, 6, 1),
        ("semaphore", [["s.try"]] * 2, 2, 2),
        # The release is the owner's: it is in no race with the acquisitions.
        ("bounded", [["s.acquire", "s.release"]] * 2, 2, 1),
        # Which release is one too many.
        ("bounded", [["s.acquire", "s.release"], ["s.release"]], 3, 2),
        # In time, or a lost wakeup.
        ("condition", [["l.acquire", "c.wait"], ["l.acquire", "c.notify", "l.release"]], 2, 2),
        ("barrier", [["b.wait"]] * 2, 2, 2),
        ("barrier", [["b.wait", "b.wait"]] * 2, 4, 4),
        ("barrier of 3", [["b.wait"]] * 3, 6, 6),
    ],
)
def test_exact_numbers(family: str, plan: Plan, executions: int, states: int) -> None:
    make, _ = FAMILIES[family]
    found = compare(Planned(lambda: make(threading), patience=Patience(timeouts="explore")), plan)
    assert found is not None
    assert (found.executions, len(found.states)) == (executions, states)


# Messages and results


def semaphore_actions() -> list[Callable[[], Any]]:
    plain, limited = threading.Semaphore(1), threading.BoundedSemaphore(1)
    return [
        lambda: threading.Semaphore(-1),
        lambda: plain.acquire(False, timeout=1),
        lambda: plain.release(0),
        lambda: plain.release(-1),
        lambda: [plain.acquire(), plain.acquire(False), plain.acquire(timeout=0.001)],
        lambda: [plain.release(2), plain.acquire(timeout=1), plain.acquire(), plain.acquire(False)],
        lambda: plain.acquire(timeout=-1),
        lambda: limited.release(),
        lambda: [limited.acquire(), limited.release()],
        lambda: limited.release(2),
        lambda: limited.release(0),
        lambda: limited.__enter__(),
        lambda: limited.__exit__(None, None, None),
    ]


def condition_actions() -> list[Callable[[], Any]]:
    default, on_lock = threading.Condition(), threading.Condition(threading.Lock())
    return [
        lambda: default.wait(),
        lambda: default.notify(),
        lambda: default.notify_all(),
        lambda: on_lock.wait(),
        lambda: on_lock.notify(),
        lambda: default.wait_for(lambda: True),
        lambda: default.wait_for(lambda: False, timeout=0),
        lambda: [default.acquire(), default.acquire(), default.notify(5), default.notify_all()],
        lambda: [default.wait(0), default.wait(0.001), default.wait(-1)],
        lambda: [default.wait_for(lambda: 0, 0.001), default.wait_for(lambda: [1])],
        lambda: [default.release(), default.release()],
        lambda: default.release(),
        lambda: [on_lock.acquire(), on_lock.acquire(False), on_lock.wait(0.001)],
        lambda: [on_lock.release(), on_lock.__enter__(), on_lock.__exit__(None, None, None)],
    ]


def event_actions() -> list[Callable[[], Any]]:
    happened = threading.Event()
    return [
        lambda: [happened.is_set(), happened.wait(0), happened.wait(0.001), happened.wait(-1)],
        lambda: [happened.set(), happened.wait(), happened.wait(0), happened.is_set()],
        lambda: [happened.clear(), happened.is_set()],
    ]


def barrier_actions() -> list[Callable[[], Any]]:
    def fail() -> None:
        raise KeyError("action")

    single, failing = threading.Barrier(1), threading.Barrier(1, fail)
    lonely, late = threading.Barrier(2), threading.Barrier(2, timeout=0.001)
    return [
        lambda: [single.wait(), single.wait(), single.parties, single.n_waiting, single.broken],
        lambda: failing.wait(),
        lambda: [failing.broken, failing.n_waiting],
        lambda: failing.wait(),
        lambda: [failing.reset(), failing.broken],
        lambda: lonely.wait(0.001),
        lambda: lonely.wait(),
        lambda: [lonely.broken, lonely.reset(), lonely.broken, lonely.abort(), lonely.broken],
        lambda: lonely.wait(),
        lambda: late.wait(),
    ]


@pytest.mark.parametrize(
    "actions", [semaphore_actions, condition_actions, event_actions, barrier_actions]
)
def test_results_and_messages_are_those_of_the_real_ones(
    actions: Callable[[], list[Callable[[], Any]]],
) -> None:
    real = told(actions())
    seen: list[list[str]] = []

    def alone() -> None:
        seen.append(told(actions()))

    def beside_a_thread() -> None:
        doing = actions()
        thread = threading.Thread(target=lambda: doing)  # publishes them
        thread.start()
        seen.append(told(doing))
        thread.join()

    for test in (alone, beside_a_thread):
        result = treadle.explore(test)
        assert not result.failures, result.failures[0]
    assert len(seen) >= 2
    for said in seen:
        assert said == real
    assert told(actions()) == real  # nothing is left behind


# What users see


def run_all(*targets: Callable[[], Any]) -> None:
    threads = [threading.Thread(target=target) for target in targets]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class Box:
    def __init__(self) -> None:
        self.full = threading.Condition()
        self.item: object = None

    def put_carelessly(self) -> None:
        with self.full:
            self.full.notify()
        self.item = 1

    def take_carelessly(self) -> None:
        with self.full:
            self.full.wait()

    def put(self) -> None:
        with self.full:
            self.item = 1
            self.full.notify()

    def take(self) -> None:
        with self.full:
            assert self.full.wait_for(lambda: self.item)


def test_a_lost_wakeup_is_found() -> None:
    def test() -> None:
        box = Box()
        run_all(box.take_carelessly, box.put_carelessly)

    (failure,) = treadle.explore(test).failures
    assert failure.kind == "deadlock"
    (wait,) = [wait for wait in failure.waits if wait.process == "main.1"]
    assert wait.resource == "a notification of box.full"


def test_wait_for_loses_nothing() -> None:
    def test() -> None:
        box = Box()
        run_all(box.take, box.put)

    result = treadle.explore(test)
    assert result.complete
    assert not result.failures, result.failures[0]


def test_waiters_are_woken_in_order() -> None:
    woken: list[list[int]] = []

    def test() -> None:
        line: list[int] = []
        order: list[int] = []
        condition = threading.Condition()

        def wait(number: int) -> None:
            with condition:
                line.append(number)
                condition.wait()
                order.append(number)

        def wake() -> None:
            while True:
                with condition:
                    if len(line) == 2:
                        condition.notify()
                        return

        def wake_again() -> None:
            wake()
            wake()

        run_all(lambda: wait(1), lambda: wait(2), wake_again)
        woken.append([*line, *order])
        assert sorted(order) == [1, 2]

    result = treadle.explore(test, "random", max_executions=30)
    assert not result.failures, result.failures[0]
    # Both may be notified before either runs on; but alone, the first in the line is first.
    assert {tuple(w[:2]) for w in woken} == {(1, 2), (2, 1)}


def test_a_nested_rlock_is_given_back_and_restored() -> None:
    def test() -> None:
        box = Box()

        def take() -> None:
            with box.full, box.full:
                while not box.item:
                    box.full.wait()
                assert box.full._lock._recursion_count() == 2  # type: ignore[attr-defined]

        run_all(take, box.put)

    result = treadle.explore(test)
    assert result.complete
    assert not result.failures, result.failures[0]


class Recorded:
    """A lock of the user's own."""

    def __init__(self) -> None:
        self._inner = threading.Lock()

    def acquire(self, blocking: bool = True) -> bool:
        return self._inner.acquire(blocking)

    def release(self) -> None:
        self._inner.release()

    def locked(self) -> bool:  # conditions want it from Python 3.14 on
        return self._inner.locked()

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *error: object) -> None:
        self.release()


def test_a_condition_on_a_lock_of_the_users_own() -> None:
    def test() -> None:
        box = Box()
        box.full = threading.Condition(Recorded())  # type: ignore[arg-type]
        run_all(box.take, box.put)

    result = treadle.explore(test)
    assert result.complete
    assert not result.failures, result.failures[0]

    def careless() -> None:
        box = Box()
        box.full = threading.Condition(Recorded())  # type: ignore[arg-type]
        run_all(box.take_carelessly, box.put_carelessly)

    (failure,) = treadle.explore(careless).failures
    assert failure.kind == "deadlock"


def test_timeouts_fire_and_do_not_fire() -> None:
    seen: set[tuple[str, object, float]] = set()

    def timed(name: str, wait: Callable[[], object]) -> None:
        begin = time.monotonic()
        try:
            result = wait()
        except threading.BrokenBarrierError:
            result = "broken"
        seen.add((name, result, round(time.monotonic() - begin, 3)))

    def test() -> None:
        happened, units = threading.Event(), threading.Semaphore(0)
        condition, barrier = threading.Condition(), threading.Barrier(2)

        def wait_for_all() -> None:
            timed("event", lambda: happened.wait(5))
            timed("semaphore", lambda: units.acquire(timeout=5))
            with condition:
                timed("condition", lambda: condition.wait(5))
            timed("barrier", lambda: barrier.wait(5))

        def do_all() -> None:
            happened.set()
            units.release()
            with condition:
                condition.notify()
            try:
                barrier.wait()
            except threading.BrokenBarrierError:
                return

        run_all(wait_for_all, do_all)

    result = treadle.explore(test, timeouts="explore")
    assert result.complete
    assert not result.failures, result.failures[0]
    assert seen == {
        ("event", True, 0.0),
        ("event", False, 5.0),
        ("semaphore", True, 0.0),
        ("semaphore", False, 5.0),
        ("condition", True, 0.0),
        ("condition", False, 5.0),
        ("barrier", 0, 0.0),
        ("barrier", 1, 0.0),
        ("barrier", "broken", 5.0),
    }


def test_a_leaked_unit_is_a_deadlock() -> None:
    def test() -> None:
        units = threading.Semaphore(1)

        def leak() -> None:
            units.acquire()

        run_all(leak, leak)

    (failure,) = treadle.explore(test).failures
    assert failure.kind == "deadlock"
    assert any(wait.resource == "a unit of units" for wait in failure.waits)


MODULE_CONDITION = threading.Condition()
MODULE_EVENT = threading.Event()


def test_objects_made_before_the_exploration() -> None:
    def test() -> None:
        arrived: list[int] = []

        def wait() -> None:
            MODULE_EVENT.wait()
            with MODULE_CONDITION:
                while not arrived:
                    MODULE_CONDITION.wait()

        def arrive() -> None:
            MODULE_EVENT.set()
            with MODULE_CONDITION:
                arrived.append(1)
                MODULE_CONDITION.notify()

        run_all(wait, arrive)
        MODULE_EVENT.clear()

    result = treadle.explore(test)
    assert result.complete, result
    assert not result.failures, result.failures[0]
    with MODULE_CONDITION:
        assert not MODULE_CONDITION.wait(0.001)


MODULE_UNITS = threading.Semaphore(1)


def test_what_an_execution_leaves_behind_does_not_reach_the_next() -> None:
    def test() -> None:
        run_all(MODULE_UNITS.acquire, MODULE_UNITS.acquire)

    result = treadle.explore(test, stop_on_failure=False)
    assert [failure.kind for failure in result.failures] == ["deadlock"] * 2  # of either thread
    assert (result.executions, result.complete) == (2, True)


def test_deprecated_names() -> None:
    def test() -> None:
        happened, condition = threading.Event(), threading.Condition()
        with pytest.warns(DeprecationWarning, match="isSet"):
            assert not happened.isSet()
        with condition, pytest.warns(DeprecationWarning, match="notifyAll"):
            condition.notifyAll()

    result = treadle.explore(test)
    assert not result.failures, result.failures[0]


def test_subclasses_follow() -> None:
    class Gate(threading.Event):
        def __init__(self) -> None:
            super().__init__()
            self.opened = 0

        def set(self) -> None:
            self.opened += 1
            super().set()

    def test() -> None:
        gate = Gate()
        run_all(gate.set, gate.wait)
        assert gate.opened == 1

    result = treadle.explore(test)
    assert not result.failures, result.failures[0]


def test_two_threads_count_up_in_a_subclass_unprotected() -> None:
    class Gate(threading.Event):
        opened = 0

        def set(self) -> None:
            self.opened += 1
            super().set()

    def test() -> None:
        gate = Gate()
        run_all(gate.set, gate.set)
        assert gate.opened == 2

    (failure,) = treadle.explore(test).failures
    assert failure.kind == "assertion"
