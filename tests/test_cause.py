"""The two steps that a report points at: the rule of `findings.cause`, on models and threads."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import pytest

import treadle
from brute import failures_of, interleavings
from random_programs import build, draw_program
from treadle.core.failure import Cause, Failure
from treadle.core.schedule import Schedule
from treadle.findings.recording import explain
from treadle.model import Condition, Lock, Program, Semaphore

Process = Iterator[Any]


def failure_of(test: Any, **options: Any) -> Failure:
    return treadle.explore(test, **options).failures[0]


def pair(cause: Cause | None) -> tuple[str, str]:
    """Return the two steps, each as `process: what it did`."""
    assert cause is not None
    first, second = (
        f"{step.process}: {'; '.join(map(str, step.accesses))}"
        for step in (cause.first, cause.second)
    )
    return first, second


def together(*functions: Callable[..., Process], **shared: Any) -> Program:
    program = Program(**shared)
    for function in functions:
        program.process(function)
    return program


# What is chosen


def test_a_lost_update_is_due_to_a_write_between_read_and_write():
    def p(s: Any) -> Process:
        value = s.x
        yield
        s.x = value + 1

    def q(s: Any) -> Process:
        value = s.x
        yield
        s.x = value + 1

    def check(s: Any) -> Process:
        yield s.join("p")
        yield s.join("q")
        assert s.x == 2

    cause = failure_of(together(p, q, check, x=0)).cause
    assert pair(cause) == ("p: read x = 0", "q: write x = 1")
    assert cause is not None
    assert cause.decides
    assert cause.location == "x"


def test_the_race_nearest_to_the_failure_comes_first():
    def writer(s: Any) -> Process:
        s.early = 1
        yield
        s.late = 1

    def reader(s: Any) -> Process:
        early = s.early
        yield
        late = s.late
        yield
        assert not (early and late)

    cause = failure_of(together(writer, reader, early=0, late=0)).cause
    assert pair(cause) == ("writer: write late = 1", "reader: read late = 1")


def test_races_that_the_failing_step_does_not_depend_on_do_not_count():
    def writer(s: Any) -> Process:
        s.x = 1
        yield
        s.other = 1

    def reader(s: Any) -> Process:
        yield
        assert s.x == 0

    def bystander(s: Any) -> Process:
        yield
        s.other = 2

    found = failure_of(together(writer, bystander, reader, x=0, other=0), schedule="oldest")
    assert pair(found.cause) == ("writer: write x = 1", "reader: read x = 1")


def test_what_comes_too_late_is_found_after_the_failing_step():
    def reader(s: Any) -> Process:
        yield
        assert s.x == 1

    def writer(s: Any) -> Process:
        yield
        s.x = 1

    found = failure_of(together(reader, writer, x=0))
    assert len(found.schedule.upto(found.step + 1)) == 1
    assert pair(found.cause) == ("reader: read x = 0", "writer: write x = 1")
    assert found.cause is not None
    assert found.cause.decides
    assert found.cause.indices == (0, 1)


def test_nothing_is_claimed_if_the_other_order_fails_too():
    def p(s: Any) -> Process:
        yield
        s.x = 1

    def q(s: Any) -> Process:
        yield
        s.x = 2

    def check(s: Any) -> Process:
        yield s.join("p")
        yield s.join("q")
        assert s.x == 0

    found = failure_of(together(p, q, check, x=0))
    assert found.cause is not None
    assert not found.cause.decides
    assert "These two could have come in the other order" in str(found)


def test_a_failure_without_concurrency_has_no_cause():
    def p(s: Any) -> Process:
        yield
        assert s.x

    assert failure_of(together(p, x=0)).cause is None


def test_data_comes_before_locks():
    def waiter(s: Any) -> Process:
        yield
        if not s.ready:
            yield s.c.acquire()
            yield s.c.wait()
            s.c.release()

    def teller(s: Any) -> Process:
        yield s.c.acquire()
        s.ready = True
        s.c.notify()
        s.c.release()

    cause = failure_of(together(waiter, teller, c=Condition(), ready=False)).cause
    assert cause is not None
    assert (cause.decides, cause.location) == (True, "ready")


def test_two_acquisitions_may_decide():
    def p(s: Any) -> Process:
        yield s.lock.acquire()
        s.first = s.first or "p"
        s.lock.release()

    def q(s: Any) -> Process:
        yield s.lock.acquire()
        s.first = s.first or "q"
        s.lock.release()

    def check(s: Any) -> Process:
        yield s.join("p")
        yield s.join("q")
        assert s.first == "q"

    cause = failure_of(together(p, q, check, lock=Lock(), first="")).cause
    assert cause is not None
    assert cause.decides
    assert {cause.first.process, cause.second.process} == {"p", "q"}


def test_no_pair_is_named_if_the_other_order_ends_in_the_same_deadlock():
    def both(s: Any) -> Process:
        yield s.slots.acquire()
        yield s.slots.acquire()
        s.slots.release()
        s.slots.release()

    def one(s: Any) -> Process:
        yield s.slots.acquire()

    found = failure_of(together(both, one, slots=Semaphore(2)), schedule="newest")
    assert found.kind == "deadlock"
    assert found.cause is None


def test_a_pair_is_named_if_the_other_order_fails_in_another_way():
    def consumer(s: Any) -> Process:
        yield s.c.acquire()
        if not s.items:
            yield s.c.wait()
        s.items -= 1
        assert s.items >= 0
        s.c.release()

    def producer(s: Any) -> Process:
        yield s.c.acquire()
        s.items += 1
        s.c.notify_all()
        s.c.release()

    program = together(consumer, producer, items=0, c=Condition())
    program.process(consumer, name="second")
    found = next(f for f in treadle.explore(program, stop_on_failure=False).failures if f.exception)
    cause = treadle.shrink(found).failure.cause
    assert cause is not None
    assert not cause.decides


def test_what_was_interrupted_comes_before_a_data_race():
    def test() -> None:
        started = threading.Event()
        starts = []

        def start() -> None:
            if not started.is_set():
                started.set()
                starts.append(1)
                starts[0] = len(starts)

        threads = [threading.Thread(target=start) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(starts) == 1

    cause = treadle.shrink(treadle.explore(test).failures[0]).failure.cause
    assert cause is not None
    assert cause.decides
    assert (cause.first.source, cause.second.source) == (
        "if not started.is_set():",
        "started.set()",
    )


def test_a_race_that_was_found_is_the_pair():
    box = [0]

    def test() -> None:
        box[0] = 0
        thread = threading.Thread(target=lambda: box.__setitem__(0, 1))
        thread.start()
        box[0] = 2
        thread.join()

    found = failure_of(test, races=True)
    assert found.cause is not None
    assert found.cause.indices == found.pair
    assert not found.cause.decides


def test_unsynchronised_accesses_come_before_guarded_ones():
    class Account:
        def __init__(self) -> None:
            self.guarded, self.bare = 0, 0
            self.lock = threading.Lock()

    def test() -> None:
        account = Account()

        def work() -> None:
            account.bare = 1
            with account.lock:
                account.guarded = 1

        thread = threading.Thread(target=work)
        thread.start()
        bare = account.bare
        with account.lock:
            assert not (bare and account.guarded)
        thread.join()

    cause = failure_of(test).cause
    assert pair(cause) == ("main.1: write account.bare = 1", "main: read account.bare = 1")


def test_a_thread_that_looks_twice_is_interrupted_after_the_first_look():
    class Tickets:
        def __init__(self) -> None:
            self.left, self.sold = 1, 0

        def buy(self) -> None:
            if self.left > 0:
                self.left -= 1
                self.sold += 1

    def test() -> None:
        tickets = Tickets()
        threads = [threading.Thread(target=tickets.buy) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert tickets.sold <= 1

    cause = failure_of(test).cause
    assert pair(cause) == ("main.1: read tickets.left = 1", "main.2: write tickets.left = 0")
    assert cause is not None
    assert cause.first.source == "if self.left > 0:"


def test_the_schedule_fits_after_trials_that_showed_something_new():
    class Box:
        def __init__(self) -> None:
            self.value: Any = None

    def test() -> None:
        box = Box()

        def work() -> None:
            if box.value is None:
                box.value = 1
            else:
                box.unheard_of = 2  # type: ignore[attr-defined]

        thread = threading.Thread(target=work)
        thread.start()
        seen = box.value
        box.value = 3
        thread.join()
        assert seen is None

    found = failure_of(test)
    words = str(found)
    assert str(found) == words
    assert [record.process for record in found.trace] == list(found.schedule)
    assert treadle.replay(test, found.schedule) is not None


# What is claimed


def event(schedule: Schedule, index: int) -> tuple[str, int]:
    """Return the process of a step, and how many steps it took before."""
    return schedule[index], schedule[:index].count(schedule[index])


def passes_the_other_way_round(program: Program, found: Failure, limit: int) -> bool:
    """Tell, by brute force, whether some execution passes in which the pair is reversed."""
    assert found.cause is not None
    first, second = (event(found.schedule, index) for index in found.cause.indices)
    for run, steps in islice(interleavings(program), limit):
        schedule = Schedule(process for process, _ in steps)
        events = [event(schedule, index) for index in range(len(schedule))]
        if (
            first in events
            and second in events
            and events.index(second) < events.index(first)
            and not failures_of(run)
        ):
            return True
    return False


LENGTHS = [(1, 1), (2, 2), (1, 1, 1), (3, 2), (2, 1, 1), (2, 2, 1), (4, 2), (3, 3), (2, 2, 2)]


@pytest.mark.parametrize(
    ("kinds", "claims"),
    [
        (("locked", "try", "if", "check"), 15),
        (("up", "down", "check"), 3),
        (("await", "either", "increment", "check"), 5),
        (("send", "receive", "select", "poll", "check"), 9),
    ],
    ids=["locks", "semaphores", "awaits", "mailboxes"],
)
def test_a_pair_that_decides_can_be_reversed_and_then_passes(kinds: tuple[str, ...], claims: int):
    made = 0
    for seed in range(300):
        source = random.Random(seed)
        lengths = source.choice(LENGTHS)
        program = build(draw_program(source, ("write", "read", "check", *kinds), lengths))
        result = treadle.explore(program, stop_on_failure=False, max_executions=40)
        for found in result.failures:
            cause = found.cause
            if cause is None or not cause.decides or cause.indices[1] >= len(found.schedule):
                continue
            made += 1
            assert cause.indices[0] < cause.indices[1]
            assert cause.first.process != cause.second.process
            assert passes_the_other_way_round(program, found, 20_000)
    assert made == claims


@pytest.mark.parametrize("kind", ["budget", "nondeterminism"])
def test_other_kinds_name_no_pair(kind: Any):
    def p(s: Any) -> Process:
        yield
        s.x = 1

    def q(s: Any) -> Process:
        yield
        s.x = 2

    program = together(p, q, x=0)
    found = Failure(kind, "", Schedule("pq"), 1, "q")
    explain(program, found)
    assert found.cause is None
    assert "order" not in str(found)
