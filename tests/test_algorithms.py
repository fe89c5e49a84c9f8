"""What each algorithm explores and reports on small programs whose classes are known one by one."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import treadle
from algorithms import covering, may_block, reducing, repeats_classes
from brute import Dependence, TraceClass, brute_force, explored
from treadle.core.events import Footprint
from treadle.explore.budget import Budget
from treadle.explore.choosers import SCHEDULES
from treadle.explore.progress import Estimator, Progress
from treadle.model import TIMEOUT, Counter, Lock, Mailbox, Program, Semaphore
from treadle.papers import jacm17

Process = Iterator[Any]
under_every_algorithm = pytest.mark.parametrize("algorithm", covering())
under_every_reduction = pytest.mark.parametrize("algorithm", reducing())


# Programs


def write_and_reads() -> Program:
    """Figure 1 of "Source Sets": a write against two processes that first read something else."""
    program = Program(x=0, y=[0, 0])

    @program.process
    def p(s: Any) -> Process:
        yield
        s.x = 1

    def reader(s: Any, i: int) -> Process:
        yield
        s.y[i]
        yield
        s.x  # noqa: B018

    program.process(reader, 0, name="q")
    program.process(reader, 1, name="r")
    return program


def store_buffering() -> Program:
    program = Program(x=0, y=0)

    @program.process
    def p(s: Any) -> Process:
        s.x = 1
        yield
        s.y  # noqa: B018

    @program.process
    def q(s: Any) -> Process:
        s.y = 1
        yield
        s.x  # noqa: B018

    return program


def opposite_locks() -> Program:
    program = Program(a=Lock(), b=Lock())

    @program.process
    def p(s: Any) -> Process:
        yield s.a.acquire()
        yield s.b.acquire()
        s.b.release()
        s.a.release()

    @program.process
    def q(s: Any) -> Process:
        yield s.b.acquire()
        yield s.a.acquire()
        s.a.release()
        s.b.release()

    return program


def kept_lock() -> Program:
    """Who takes the lock first never gives it back."""
    program = Program(lock=Lock())

    def taker(s: Any) -> Process:
        yield s.lock.acquire()

    program.process(taker, name="p")
    program.process(taker, name="q")
    return program


def two_units_for_three() -> Program:
    program = Program(semaphore=Semaphore(2))

    def taker(s: Any) -> Process:
        yield s.semaphore.acquire()

    for name in "pqr":
        program.process(taker, name=name)
    return program


def figure_9() -> Program:
    """Only between r and both of p and q can s run."""
    program = Program(x=Counter(0))

    def change(s: Any, amount: int) -> Process:
        yield
        s.x.add(amount)

    program.process(change, -1, name="p")
    program.process(change, -1, name="q")
    program.process(change, +1, name="r")

    @program.process
    def s(s: Any) -> Process:
        yield s.until(lambda: s.x.value > 0)

    return program


def awaited_flag() -> Program:
    """A flag that is raised and lowered again; the waiter may miss it."""
    program = Program(flag=False)

    @program.process
    def p(s: Any) -> Process:
        yield
        s.flag = True
        yield
        s.flag = False

    @program.process
    def q(s: Any) -> Process:
        yield s.until(lambda: s.flag)

    return program


def one_of_two_flags() -> Program:
    """A condition that does not read its second part when the first holds."""
    program = Program(x=0, y=0)

    @program.process
    def p(s: Any) -> Process:
        yield
        s.x = 1

    @program.process
    def q(s: Any) -> Process:
        yield
        s.y = 1

    @program.process
    def r(s: Any) -> Process:
        yield s.until(lambda: s.x == 1 or s.y == 1)

    return program


def two_senders() -> Program:
    program = Program(box=Mailbox())

    def sender(s: Any, message: str) -> Process:
        yield
        s.box.send(message)

    program.process(sender, "a", name="p")
    program.process(sender, "b", name="q")

    @program.process
    def r(s: Any) -> Process:
        yield s.box.receive()

    return program


def polling() -> Program:
    program = Program(box=Mailbox())

    @program.process
    def p(s: Any) -> Process:
        yield
        s.box.send(1)
        yield
        s.box.send(2)

    @program.process
    def q(s: Any) -> Process:
        message = yield s.box.receive(lambda m: m == 2, timeout=True)
        assert message is TIMEOUT, "there was one"

    return program


def parent_and_child() -> Program:
    program = Program(x=0)

    def child(s: Any) -> Process:
        yield
        s.x += 1

    @program.process
    def p(s: Any) -> Process:
        yield
        handle = s.spawn(child)
        yield
        s.x += 1
        yield s.join(handle)
        assert s.x == 2

    return program


def jump() -> Program:
    """What p writes depends on what it reads in the same step."""
    program = Program(x=0, y=0)

    @program.process
    def p(s: Any) -> Process:
        yield
        if s.x == 1:
            s.y = 1

    @program.process
    def q(s: Any) -> Process:
        yield
        s.x = 1

    @program.process
    def r(s: Any) -> Process:
        yield
        s.y = 2

    return program


# One schedule for each class, derived by hand.
CLASSES: dict[Callable[[], Program], list[str]] = {
    write_and_reads: ["p q q r r", "q q p r r", "r r p q q", "q q r r p"],
    store_buffering: ["p p q q", "p q p q", "q q p p"],
    opposite_locks: ["p p q q", "q q p p", "p q"],
    kept_lock: ["p", "q"],
    two_units_for_three: [" ".join(two) for two in itertools.permutations("pqr", 2)],
    figure_9: ["p q r", "r s p q"],
    awaited_flag: ["p q p", "p p"],
    one_of_two_flags: ["p r q", "q r p"],
    two_senders: ["p q r", "q p r"],
    polling: ["q p p", "p p q"],
    parent_and_child: ["p p p.1 p", "p p.1 p p"],
    jump: ["p q r", "q p r", "q r p"],
}
of_every_program = pytest.mark.parametrize("make", CLASSES, ids=lambda make: make.__name__)


def class_of(program: Program, schedule: str) -> TraceClass:
    """Return the class of a complete execution."""
    run = program.start()
    steps = []
    for name in schedule.split():
        number = program.vocabulary.process_number(name)
        assert number is not None
        assert run.is_enabled(number), f"{name} cannot take a step in {schedule}"
        steps.append((name, run.step(number)))
    assert not run.enabled(), f"{schedule} is not the end"
    run.close()
    return Dependence(program).class_of(steps)


@of_every_program
@under_every_algorithm
def test_the_classes_one_by_one(make: Callable[[], Program], algorithm: str) -> None:
    program = make()
    found = explored(program, algorithm)
    expected = [class_of(program, schedule) for schedule in CLASSES[make]]
    assert len(set(expected)) == len(expected)
    assert set(found.classes) == set(expected)
    assert found.result.complete
    if repeats_classes(algorithm):
        assert found.result.executions == brute_force(make(), 1000).interleavings
    else:
        assert found.result.executions == len(expected)
    if not may_block(algorithm):
        assert found.result.blocked == 0


@of_every_program
@under_every_reduction
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_no_default_schedule_changes_the_classes(
    make: Callable[[], Program], schedule: str, algorithm: str
) -> None:
    program = make()
    found = explored(program, algorithm, schedule)
    expected = {class_of(program, one) for one in CLASSES[make]}
    assert set(found.classes) == expected
    assert found.result.executions == len(expected)


def test_default_schedules_change_how_often_source_blocks() -> None:
    found = {name: explored(jacm17.lastzero(4), "source", name) for name in SCHEDULES}
    assert len({found_by.result.blocked for found_by in found.values()}) > 1
    assert len({frozenset(found_by.classes) for found_by in found.values()}) == 1


@pytest.mark.parametrize("algorithm", ["exhaustive", "sleep"])
@pytest.mark.parametrize("schedule", ["oldest", "newest"])
def test_the_default_schedule_goes_first(algorithm: str, schedule: str) -> None:
    found = explored(store_buffering(), algorithm, schedule)
    program = store_buffering()
    first = class_of(program, "p p q q" if schedule == "oldest" else "q q p p")
    assert found.classes[0] == first


# Deadlocks


def deadlock(program: Program, algorithm: str) -> treadle.Failure:
    result = treadle.explore(program, algorithm, stop_on_failure=False)
    (failure,) = result.failures
    assert failure.kind == "deadlock"
    assert failure.step == len(failure.schedule)
    return failure


@under_every_algorithm
def test_a_deadlock_says_who_waits_for_what_and_who_holds_it(algorithm: str) -> None:
    failure = deadlock(opposite_locks(), algorithm)
    waits = [(wait.process, wait.resource, wait.holders) for wait in failure.waits]
    assert waits == [("p", "b", ("q",)), ("q", "a", ("p",))]
    assert failure.message == "p waits for b, held by q; q waits for a, held by p"
    assert all("test_algorithms.py:" in wait.where for wait in failure.waits)


@under_every_algorithm
def test_a_pending_acquire_at_a_deadlock_is_reversed(algorithm: str) -> None:
    result = treadle.explore(kept_lock(), algorithm, stop_on_failure=False)
    assert {failure.message for failure in result.failures} == {
        "q waits for lock, held by p",
        "p waits for lock, held by q",
    }


@under_every_algorithm
def test_a_missed_condition_is_a_deadlock(algorithm: str) -> None:
    assert deadlock(awaited_flag(), algorithm).message == "q waits for a condition on flag"


@under_every_algorithm
def test_waiting_for_a_process_that_waits(algorithm: str) -> None:
    program = Program(semaphore=Semaphore(0))

    @program.process
    def p(s: Any) -> Process:
        yield s.semaphore.acquire()

    @program.process
    def q(s: Any) -> Process:
        yield s.join("p")

    message = "p waits for semaphore; q waits for the end of p"
    assert deadlock(program, algorithm).message == message


def test_a_waiting_daemon_is_no_deadlock() -> None:
    program = Program(box=Mailbox())

    @program.process(daemon=True)
    def server(s: Any) -> Process:
        while True:
            yield s.box.receive()

    @program.process
    def client(s: Any) -> Process:
        yield
        s.box.send(1)

    assert treadle.explore(program).ok


def test_others_that_wait_because_of_a_crash_are_no_deadlock() -> None:
    program = Program(lock=Lock())

    @program.process
    def p(s: Any) -> Process:
        yield s.lock.acquire()
        raise ValueError("gone with the lock")

    @program.process
    def q(s: Any) -> Process:
        yield s.join("p")
        yield s.lock.acquire()

    result = treadle.explore(program, stop_on_failure=False)
    assert [failure.kind for failure in result.failures] == ["exception"]


# Failures


def failing_in_both_orders() -> Program:
    program = Program(x=0)

    @program.process
    def p(s: Any) -> Process:
        yield
        s.x = 1

    @program.process
    def q(s: Any) -> Process:
        yield
        raise ValueError(s.x)

    return program


@under_every_algorithm
def test_a_search_stops_at_the_first_failure(algorithm: str) -> None:
    result = treadle.explore(failing_in_both_orders(), algorithm)
    assert (len(result.failures), result.executions, result.complete) == (1, 1, False)
    assert result.stopped_by == "the first failure"
    assert not result.ok


@under_every_algorithm
def test_a_search_goes_on_after_a_failure_if_told_to(algorithm: str) -> None:
    result = treadle.explore(failing_in_both_orders(), algorithm, stop_on_failure=False)
    assert {failure.message for failure in result.failures} == {"ValueError: 0", "ValueError: 1"}
    assert (result.complete, result.ok, result.stopped_by) == (True, False, "")


def test_the_same_failure_is_kept_once_and_counted_always() -> None:
    result = treadle.explore(opposite_locks(), "exhaustive", stop_on_failure=False)
    assert (len(result.failures), result.failing) == (1, 2)
    assert result.failure_kinds == {"deadlock": 1}


# Budgets


@under_every_algorithm
def test_max_executions_ends_a_search(algorithm: str) -> None:
    result = treadle.explore(jacm17.writers(4), algorithm, max_executions=5)
    assert result.executions + result.blocked == 5
    assert (result.complete, result.stopped_by) == (False, "max_executions = 5")
    assert result.estimate is not None
    assert result.estimate > 5


@under_every_algorithm
def test_a_budget_that_is_just_enough_leaves_the_proof(algorithm: str) -> None:
    needed = treadle.explore(store_buffering(), algorithm)
    enough = needed.executions + needed.blocked
    result = treadle.explore(store_buffering(), algorithm, max_executions=enough)
    assert (result.complete, result.stopped_by) == (True, "")


@under_every_algorithm
def test_a_timeout_ends_a_search(algorithm: str) -> None:
    result = treadle.explore(jacm17.writers(5), algorithm, timeout=1e-9)
    assert (result.executions, result.complete) == (1, False)
    assert result.stopped_by == "timeout = 1e-09 s"


def spinning() -> Program:
    program = Program(x=0)

    @program.process
    def waiter(s: Any) -> Process:
        while s.x == 0:
            yield

    @program.process
    def other(s: Any) -> Process:
        yield
        s.x = 1

    return program


@under_every_algorithm
def test_max_steps_names_the_process_that_spins_and_its_line(algorithm: str) -> None:
    result = treadle.explore(spinning(), algorithm, max_steps=50)
    (failure,) = result.failures
    assert (failure.kind, failure.process, failure.step) == ("budget", "waiter", 50)
    assert failure.message.startswith("no end after 50 steps: waiter spins at ")
    line = spinning.__code__.co_firstlineno + 6
    assert f"test_algorithms.py:{line};" in failure.message
    assert (result.complete, result.stopped_by) == (False, "max_steps = 50")


def test_a_search_that_was_cut_somewhere_proves_nothing() -> None:
    result = treadle.explore(spinning(), "exhaustive", max_steps=20, stop_on_failure=False)
    assert result.executions > 0
    assert (result.complete, result.stopped_by) == (False, "max_steps = 20")


@pytest.mark.parametrize("name", ["max_executions", "max_steps", "timeout"])
@pytest.mark.parametrize("value", [0, -1, "many", True, float("nan")])
def test_budgets_that_make_no_sense(name: str, value: object) -> None:
    with pytest.raises(treadle.TreadleError, match=f"{name} must be a (whole )?number .*above 0"):
        treadle.explore(store_buffering(), **{name: value})


def test_an_execution_needs_a_budget_of_steps() -> None:
    with pytest.raises(treadle.TreadleError, match="max_steps"):
        treadle.explore(store_buffering(), max_steps=None)  # type: ignore[arg-type]


# Nondeterminism


def counting() -> Program:
    """A model whose state outlives an execution."""
    program = Program(x=0, y=0, z=[0] * 100)
    calls = itertools.count()

    @program.process
    def p(s: Any) -> Process:
        yield
        s.z[next(calls) % 100] = 1
        yield
        s.x = 1

    @program.process
    def q(s: Any) -> Process:
        yield
        s.y  # noqa: B018
        yield
        s.x = 2

    return program


@pytest.mark.parametrize(
    ("algorithm", "schedule"),
    [*((algorithm, "oldest") for algorithm in covering()), ("optimal", "newest")],
)  # under the others, p's first step is in no prefix that is run again if q goes first
def test_state_that_outlives_an_execution_is_reported(algorithm: str, schedule: str) -> None:
    result = treadle.explore(counting(), algorithm, schedule=schedule)
    failure = result.failures[-1]
    assert failure.kind == "nondeterminism"
    assert (result.complete, result.stopped_by) == (False, "nondeterminism")
    assert failure.process == "p"
    assert f"step {failure.step + 1}, by p, did not do under the same schedule" in failure.message
    assert failure.schedule[failure.step] == "p"
    assert "p" not in failure.schedule[: failure.step]


@under_every_algorithm
def test_randomness_is_reported(algorithm: str) -> None:
    program = Program(x=[0] * 1000)

    def p(s: Any) -> Process:
        yield
        s.x[random.randrange(1000)] = 1
        yield
        s.x[0] += 1

    program.process(p, name="p")
    program.process(p, name="q")
    result = treadle.explore(program, algorithm, stop_on_failure=False)
    assert [failure.kind for failure in result.failures] == ["nondeterminism"]
    assert not result.complete


def sometimes(*, blocked: bool, after: int) -> Program:
    """From some execution on, q is blocked for ever or begins otherwise."""
    program = Program(x=0)
    runs = itertools.count()

    @program.process
    def p(s: Any) -> Process:
        yield
        s.x = 1

    @program.process
    def q(s: Any) -> Process:
        usual = next(runs) <= after  # number 0 is the kit's, to see where q begins
        if blocked:
            yield s.until(lambda: usual)
        elif usual:
            yield
        s.x = 2

    return program


@under_every_algorithm
@pytest.mark.parametrize("after", [1, 2])
@pytest.mark.parametrize("blocked", [True, False])
def test_a_process_that_is_not_always_there_is_reported(
    algorithm: str, after: int, blocked: bool
) -> None:
    result = treadle.explore(sometimes(blocked=blocked, after=after), algorithm)
    assert [failure.kind for failure in result.failures] == ["nondeterminism"]
    assert (result.failures[0].process, result.complete) == ("q", False)


# Invariants


def test_optimal_notices_when_its_invariant_breaks(monkeypatch: pytest.MonkeyPatch) -> None:
    set_conflicts = Footprint.set_conflicts

    def forgetting(self: Footprint, links: dict[int, list[int]]) -> None:
        """Let sleeping processes never be woken."""
        set_conflicts(self, links)
        self.conflict_set = frozenset()

    monkeypatch.setattr(Footprint, "set_conflicts", forgetting)
    with pytest.raises(treadle.TreadleBug, match="please report it"):
        treadle.explore(jacm17.readers(3))


# Progress


class Recorder:
    """A listener that remembers everything."""

    def __init__(self, interval: float = 0.0) -> None:
        self.interval = interval
        self.told: list[Progress] = []

    def __call__(self, progress: Progress) -> None:
        self.told.append(progress)


def test_the_whole_tree_is_done_at_the_end_of_an_exhaustive_search() -> None:
    recorder = Recorder()
    result = treadle.explore(store_buffering(), "exhaustive", listener=recorder)
    shares = [told.estimate.done for told in recorder.told if told.estimate is not None]
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1)
    assert len(shares) == result.executions


def test_nobody_estimates_if_nobody_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_args: object) -> None:
        raise AssertionError

    monkeypatch.setattr(Estimator, "estimate", refuse)
    assert treadle.explore(store_buffering()).complete


# Sampling


@pytest.mark.parametrize("algorithm", ["random", "pct"])
def test_sampling_stops_after_a_thousand_executions_and_proves_nothing(algorithm: str) -> None:
    result = treadle.explore(store_buffering(), algorithm)
    assert (result.executions, result.complete, result.blocked) == (1000, False, 0)
    assert (result.stopped_by, result.estimate) == ("max_executions = 1000", None)


@pytest.mark.parametrize("algorithm", ["random", "pct"])
def test_sampling_finds_a_bug(algorithm: str) -> None:
    result = treadle.explore(opposite_locks(), algorithm)
    assert [failure.kind for failure in result.failures] == ["deadlock"]


@pytest.mark.parametrize("algorithm", ["random", "pct"])
def test_sampling_notices_how_far_it_is(algorithm: str) -> None:
    recorder = Recorder()
    treadle.explore(store_buffering(), algorithm, max_executions=3, listener=recorder)
    assert [told.executions for told in recorder.told] == [1, 2, 3, 3]
    assert all(told.estimate is None for told in recorder.told)


def test_pct_of_depth_1_never_interrupts_a_process() -> None:
    program = Program(x=0)

    def p(s: Any) -> Process:
        for _ in range(5):
            yield
            s.x += 1

    for name in "pq":
        program.process(p, name=name)
    together = {class_of(program, "p " * 5 + "q " * 5), class_of(program, "q " * 5 + "p " * 5)}
    shallow = explored(program, "pct", budget=Budget(max_executions=20), depth=1)
    assert set(shallow.classes) == together
    deep = explored(program, "pct", budget=Budget(max_executions=20), depth=4)
    assert not set(deep.classes) <= together
