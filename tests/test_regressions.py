"""Programs that an earlier version got wrong, each the smallest one known."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import treadle
from algorithms import covering, reducing
from brute import brute_force, explored
from treadle.explore.choosers import SCHEDULES
from treadle.model import Lock, Mailbox, Program, Semaphore


def open_race_in_the_unchanged_part() -> Program:
    """What p does before r depends on q, which is in no race with either in the first execution."""
    program = Program(x=0, y=0, z=0)

    @program.process
    def p(s: Any) -> Iterator[Any]:
        yield
        if s.z:
            s.z = 1
        else:
            assert s.x == 0, "q was first"
            s.x = 1
        yield
        if s.y:
            s.z = 2
        else:
            s.x = 2

    @program.process
    def q(s: Any) -> Iterator[Any]:
        yield
        s.x = 11

    @program.process
    def r(s: Any) -> Iterator[Any]:
        yield
        s.z = 21

    return program


def plain_race_in_the_unchanged_part() -> Program:
    """A race of old events asks for something new, because an open step is among the new ones."""
    program = Program(x=0, y=0, z=0, lock=Lock())

    @program.process
    def p(s: Any) -> Iterator[Any]:
        yield
        s.z = 1

    @program.process
    def q(s: Any) -> Iterator[Any]:
        yield
        s.x = 0
        yield
        s.x  # noqa: B018 - a read
        yield s.lock.acquire()
        yield
        s.lock.release()

    @program.process
    def r(s: Any) -> Iterator[Any]:
        yield
        s.x = 2

    @program.process
    def t(s: Any) -> Iterator[Any]:
        yield s.lock.acquire()
        yield
        s.z = 2
        yield
        if s.x:
            s.x = 1
        else:
            s.y = s.y + 1
        yield
        s.lock.release()

    return program


def receive_disabled_by_an_earlier_take() -> Program:
    """The message that q waits for was taken by r, not by p, who took one last."""
    program = Program(box=Mailbox())

    @program.process
    def p(s: Any) -> Iterator[Any]:
        yield s.box.receive(timeout=True)

    @program.process
    def q(s: Any) -> Iterator[Any]:
        yield
        s.box.send(2)
        yield
        s.box.send(1)
        yield s.box.receive(lambda message: message == 2)

    @program.process
    def r(s: Any) -> Iterator[Any]:
        yield s.box.receive()

    return program


def leaf_beside_a_sibling() -> Program:
    """A leaf of the wakeup tree has to keep what tells it from a branch explored before it."""
    program = Program(x=0, lock=Lock())

    def write(s: Any, value: int) -> Iterator[Any]:
        yield
        s.x = value

    def read(s: Any) -> Iterator[Any]:
        yield s.lock.acquire()
        yield
        s.lock.release()
        yield
        s.x  # noqa: B018 - a read

    def stick(s: Any) -> Iterator[Any]:
        yield s.lock.acquire()
        yield s.lock.acquire()

    program.process(write, 1, name="p")
    program.process(read, name="q")
    program.process(stick, name="r")
    program.process(write, 2, name="t")
    return program


def retaken_lock() -> Program:
    """In the reversed order a lock's taker no longer happens after what its holder did."""
    program = Program(forks=[Lock(), Lock(), Lock()])

    def philosopher(s: Any, first: int, second: int) -> Iterator[Any]:
        yield s.forks[first].acquire()
        yield s.forks[second].acquire()
        s.forks[first].release()
        s.forks[second].release()

    for first, second in ((0, 1), (1, 2), (0, 2)):
        program.process(philosopher, first, second)
    return program


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("algorithm", reducing())
@pytest.mark.parametrize(
    ("make", "classes", "failures"),
    [
        (open_race_in_the_unchanged_part, 5, {"assertion"}),
        (plain_race_in_the_unchanged_part, 28, set()),
        (receive_disabled_by_an_earlier_take, 7, {"deadlock"}),
        (leaf_beside_a_sibling, 8, {"deadlock"}),
        (retaken_lock, 6, set()),
    ],
)
def test_once_wrong(
    make: Callable[[], Program], classes: int, failures: set[str], algorithm: str, schedule: str
) -> None:
    result = treadle.explore(make(), algorithm, schedule=schedule, stop_on_failure=False)
    assert (result.executions, result.complete) == (classes, True)
    assert {failure.kind for failure in result.failures} == failures
    assert not result.blocked or algorithm != "optimal"


RUNS: list[int] = []


@pytest.mark.parametrize("algorithm", covering())
def test_a_step_that_differs_when_it_is_replayed_is_reported(algorithm: str) -> None:
    """The first execution and its repetition agree; the second one replays p, which differs."""
    RUNS.clear()
    program = Program(x=0, a=[0, 0])

    @program.process
    def p(s: Any) -> Iterator[Any]:
        yield
        RUNS.append(0)
        s.a[int(len(RUNS) > 2)] = 1

    def write(s: Any, value: int) -> Iterator[Any]:
        yield
        s.x = value

    program.process(write, 1, name="q")
    program.process(write, 2, name="r")
    assert not program.open_steps(p).any
    result = treadle.explore(program, algorithm)
    assert [(failure.kind, failure.process) for failure in result.failures] == [
        ("nondeterminism", "p")
    ]
    assert not result.complete


def ring(n: int) -> Program:
    """Each process copies an element to the next one: all orders but the two that go round."""
    program = Program("ring", x=list(range(n)))

    def copy(s: Any, i: int) -> Any:
        yield
        s.x[(i + 1) % n] = s.x[i]

    for i in range(n):
        program.process(copy, i)
    return program


@pytest.mark.parametrize(
    "algorithm", ["source", "optimal", "observers", "optimal-context", "optimal-context-observers"]
)
def test_races_of_the_shared_prefix_are_handled_again_if_they_rested_on_later_events(
    algorithm: str,
) -> None:
    result = treadle.explore(ring(10), algorithm)
    assert (result.executions, result.blocked, result.complete) == (2**10 - 2, 0, True)


def signals(*units: int) -> Program:
    """One process gives units in one step each time; as many others as there are take one each."""
    program = Program(sem=Semaphore(0))

    @program.process
    def giver(s: Any) -> Iterator[Any]:
        for count in units:
            yield
            for _ in range(count):
                s.sem.release()

    def taker(s: Any) -> Iterator[Any]:
        yield s.sem.acquire()

    for _ in range(sum(units) - 1):
        program.process(taker)
    return program


def given_and_tried() -> Program:
    """A step that takes, and brought what it took and left."""
    program = Program(sem=Semaphore(0))

    @program.process
    def p(s: Any) -> Iterator[Any]:
        yield
        s.sem.release()
        s.sem.release()
        s.sem.try_acquire()

    @program.process
    def q(s: Any) -> Iterator[Any]:
        yield s.sem.acquire()

    return program


def freed_and_tried() -> Program:
    """A step that takes a lock which it held before: nobody can take it just before that step."""
    program = Program(lock=Lock())

    @program.process
    def p(s: Any) -> Iterator[Any]:
        yield s.lock.acquire()
        yield
        s.lock.release()
        s.lock.try_acquire()
        yield
        s.lock.release()

    @program.process
    def q(s: Any) -> Iterator[Any]:
        yield s.lock.acquire()
        s.lock.release()

    return program


@pytest.mark.parametrize(
    ("make", "classes"),
    [
        (lambda: signals(2), 1),
        (lambda: signals(1, 2), 4),
        (lambda: signals(2, 2), 18),
        (given_and_tried, 1),
        (freed_and_tried, 2),
    ],
)
@pytest.mark.parametrize("algorithm", reducing())
def test_a_step_that_gives_more_than_one_unit(
    make: Callable[[], Program], classes: int, algorithm: str
) -> None:
    """That a unit remains does not say that the take was possible before such a step."""
    found, everything = explored(make(), algorithm), brute_force(make(), 10_000)
    assert len(everything.classes) == classes
    assert set(found.classes) == everything.classes
    assert found.failures == everything.failures == set()
    assert found.result.complete
