"""Shrinking: against brute force, exactly on examples, and what it must never do."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import treadle
from brute import interleavings
from racy_model import racy
from random_programs import ALL, SIMPLE, Body, build, draw_program
from treadle.core.failure import Failure
from treadle.core.happens_before import Trace
from treadle.explore.choosers import SCHEDULES
from treadle.findings.shrink.order import fewest_switches
from treadle.findings.shrink.shrinking import Shrunk
from treadle.findings.shrink.trials import cost_of
from treadle.model import Lock, Program

Key = tuple[str, object]
Cost = tuple[int, int]


def key_of(failure: Failure) -> Key:
    """Return what makes a failure of a model the same one."""
    if failure.waits:
        return failure.kind, frozenset(map(str, failure.waits))
    return failure.kind, (failure.process, failure.message)


def smallest_by_brute_force(program: Program, limit: int) -> dict[Key, Cost] | None:
    """Return the fewest switches, then steps, of every failure; None if there are too many."""
    smallest: dict[Key, Cost] = {}
    for number, (run, steps) in enumerate(interleavings(program)):
        if number >= limit:
            return None
        names = [process for process, _ in steps]
        schedule = treadle.Schedule(names)
        found = [Failure.of_crash(program, crash, schedule) for crash in run.crashes]
        if not found and (ending := run.ending()).waits:
            found.append(Failure.of_deadlock(ending, schedule))
        for failure in found:
            cost = cost_of(names[: failure.step + 1])
            smallest[key_of(failure)] = min(cost, smallest.get(key_of(failure), cost))
    return smallest


def failing_programs(
    kinds: tuple[str, ...], lengths: tuple[int, ...], wanted: int
) -> Iterator[tuple[list[Body], dict[Key, Cost]]]:
    """Yield programs that fail, with the smallest executions that brute force finds."""
    rng = random.Random(f"{kinds} {lengths}")
    while wanted:
        bodies = draw_program(rng, kinds, lengths)
        smallest = smallest_by_brute_force(build(bodies), limit=1500)
        if smallest:
            wanted -= 1
            yield bodies, smallest


@pytest.mark.parametrize(
    ("kinds", "lengths"),
    [
        ((*SIMPLE, "check", "check"), (3, 3)),
        ((*SIMPLE, "check", "check"), (2, 2, 2)),
        (ALL, (3, 3)),
        (("read", "write", "locked", "down", "await", "check"), (2, 2, 2)),
        (("read", "increment", "spawn", "join", "receive", "send", "check"), (3, 2)),
    ],
    ids=["checks", "three processes", "everything", "blocking", "spawning"],
)
def test_nothing_smaller_exists_by_brute_force(kinds, lengths):
    for number, (bodies, smallest) in enumerate(failing_programs(kinds, lengths, wanted=25)):
        schedule = list(SCHEDULES)[number % len(SCHEDULES)]
        program = build(bodies)
        result = treadle.explore(program, "source", schedule=schedule, stop_on_failure=False)
        assert {key_of(failure) for failure in result.failures} == set(smallest), bodies
        for failure in result.failures:
            shrunk = treadle.shrink(failure, attempts=5000)
            assert key_of(shrunk.failure) == key_of(failure)
            assert shrunk.after == smallest[key_of(failure)], (bodies, failure.schedule)
            assert shrunk.is_smallest
            again = treadle.replay(build(bodies), str(shrunk.failure.schedule))
            assert again is not None
            assert key_of(again) == key_of(failure)


def test_a_few_replays_give_something_that_replays_too():
    for bodies, smallest in failing_programs((*SIMPLE, "check", "check"), (3, 3), wanted=20):
        program = build(bodies)
        for failure in treadle.explore(
            program, "random", stop_on_failure=False, max_executions=50
        ).failures:
            for attempts in (1, 2, 5, 10):
                shrunk = treadle.shrink(failure, attempts=attempts)
                assert smallest[key_of(failure)] <= shrunk.after <= shrunk.before
                again = treadle.replay(program, shrunk.failure.schedule)
                assert again is not None
                assert key_of(again) == key_of(failure)


# Models, exactly


SCATTERED = "bystander p bystander q bystander p bystander q check*2"


def test_what_the_failure_does_not_need_goes():
    program = racy(bystander=True)
    failure = treadle.replay(program, SCATTERED)
    assert failure is not None
    shrunk = treadle.shrink(failure)
    assert str(shrunk) == "shrunk from 8 switches and 10 steps to 3 and 6, 155 replays"
    assert str(shrunk.failure.schedule) == "q p*2 q check*2"
    assert (shrunk.failure.kind, shrunk.failure.message) == (failure.kind, failure.message)
    assert (shrunk.failure.step, shrunk.is_smallest) == (5, True)


def test_the_same_every_time():
    first, second = (treadle.shrink(the_scattered_failure()) for _ in range(2))
    assert str(first) == str(second)
    assert first.failure.token == second.failure.token


def the_scattered_failure() -> Failure:
    failure = treadle.replay(racy(bystander=True), SCATTERED)
    assert failure is not None
    return failure


def test_what_is_smallest_already_comes_back_unchanged():
    program = racy(bystander=True)
    failure = treadle.replay(program, "p q*2 p check*2")
    assert failure is not None
    shrunk = treadle.shrink(failure)
    assert shrunk.failure is failure
    assert str(shrunk) == "nothing is smaller than its 3 switches and 6 steps, 153 replays"


def test_replays_are_bounded():
    shrunk = treadle.shrink(the_scattered_failure(), attempts=10)
    assert 10 <= shrunk.replays <= 12  # an improvement is still verified
    assert not shrunk.is_smallest
    assert treadle.shrink(the_scattered_failure(), seconds=0).replays == 4  # as it is, and ordered


def test_two_failures_of_one_execution_stay_apart():
    program = Program(x=0)

    @program.process
    def p(s: Any) -> Iterator[None]:
        yield
        assert s.x == 0, "p"

    @program.process
    def q(s: Any) -> Iterator[None]:
        yield
        assert s.x == 0, "q"

    @program.process
    def w(s: Any) -> Iterator[None]:
        yield
        s.x = 1

    result = treadle.explore(program, stop_on_failure=False)
    found = {failure.message: treadle.shrink(failure) for failure in result.failures}
    schedules = [str(shrunk.failure.schedule) for shrunk in found.values()]
    assert sorted(schedules) == ["w p", "w q"]


def test_assertions_without_a_message_are_told_apart_by_their_lines():
    program = Program(x=0, y=0)

    @program.process
    def p(s: Any) -> Iterator[None]:
        s.x = 1
        yield
        s.y = 1

    @program.process
    def q(s: Any) -> Iterator[None]:
        x = s.x
        yield
        y = s.y
        assert not (x and not y)
        assert not x

    both = treadle.replay(program, "p*2 q*2")
    assert both is not None
    shrunk = treadle.shrink(both)
    assert str(shrunk.failure.schedule) == "p*2 q*2"  # "p q*2" fails sooner, in the other line


def test_a_deadlock_keeps_its_waits():
    program = Program(a=Lock(), b=Lock(), x=0)

    def both(s: Any, first: str, second: str) -> Iterator[Any]:
        s.x = s.x + 1
        yield getattr(s, first).acquire()
        yield getattr(s, second).acquire()
        getattr(s, first).release()
        getattr(s, second).release()

    program.process(both, "a", "b", name="left")
    program.process(both, "b", "a", name="right")
    failure = treadle.replay(program, "left right left right")
    assert failure is not None
    assert failure.kind == "deadlock"
    shrunk = treadle.shrink(failure)
    assert (shrunk.before, shrunk.after) == ((3, 4), (1, 4))
    assert set(shrunk.failure.waits) == set(failure.waits)


def test_budgets_and_nondeterminism_are_left_alone():
    program = Program(flag=False)

    @program.process
    def waiting(s: Any) -> Iterator[None]:
        while not s.flag:
            yield

    (failure,) = treadle.explore(program, max_steps=50).failures
    assert failure.kind == "budget"
    assert treadle.shrink(failure) == Shrunk(failure, (0, 50), (0, 50), 0, is_smallest=False)


def test_a_failure_that_cannot_be_repeated_is_left_alone():
    calls: list[int] = []
    program = Program(x=0)

    @program.process
    def moody(s: Any) -> Iterator[None]:
        yield
        calls.append(s.x)
        assert len(calls) != 1

    failure = treadle.replay(program, "moody")
    assert failure is not None
    shrunk = treadle.shrink(failure)
    assert (shrunk.failure, shrunk.replays, shrunk.is_smallest) == (failure, 1, False)


def test_only_failures_of_a_program():
    lonely = Failure("assertion", "x", treadle.Schedule(["p"]), 0)
    with pytest.raises(treadle.TreadleError, match="only a failure that an exploration"):
        treadle.shrink(lonely)


# The order with the fewest switches


def test_an_order_keeps_dependent_steps_in_theirs():
    program = racy(bystander=True)
    trace = Trace(program.vocabulary)
    run = program.start()
    for name in treadle.Schedule.parse(SCATTERED):
        process = program.vocabulary.process_number(name)
        assert process is not None
        trace.append(process, run.step(process))
    trace.extend()
    names = program.vocabulary.process_names

    def ordered(needed: int) -> str:
        return str(treadle.Schedule(names[p] for p in fewest_switches(trace, needed)))

    assert ordered((1 << len(trace)) - 1) == "q p*2 q bystander*4 check*2"
    assert ordered(trace.before[9]) == "q p*2 q check*2"
    assert ordered(0) == ""


def test_an_order_that_is_too_hard_to_find_is_left_as_it_was(monkeypatch):
    monkeypatch.setattr("treadle.findings.shrink.order._MOST_STATES", 1)
    shrunk = treadle.shrink(the_scattered_failure(), attempts=3)
    assert str(shrunk.failure.schedule) == "p q p q check*2"


# Threads

EXAMPLES = Path(__file__).parents[1] / "examples" / "threads"


@pytest.fixture
def example(monkeypatch) -> Callable[[str, str], Callable[[], object]]:
    monkeypatch.syspath_prepend(str(EXAMPLES))

    def load(module: str, name: str) -> Callable[[], object]:
        return getattr(__import__(module), name)  # type: ignore[no-any-return]

    return load


@pytest.mark.parametrize(
    ("module", "name", "before", "after", "schedule"),
    [
        ("lost_update", "racy", (4, 10), (4, 10), "main*2 main.1 main.2*2 main.1 main*4"),
        ("changing_dictionary", "changed_in_the_loop", (2, 6), (2, 4), "main*2 main.1 main"),
        ("bank_transfer", "opposite_order", (2, 4), (2, 4), "main*2 main.1 main.2"),
        (
            "lazy_initialisation",
            "checked_once",
            (6, 18),
            (4, 18),
            "main*2 main.2 main.1*6 main.2*5 main*4",
        ),
        (
            "lazy_initialisation",
            "stored_too_early",
            (2, 10),
            (2, 9),
            "main*2 main.1*4 main.2*3",
        ),
    ],
)
def test_examples_with_threads(example, module, name, before, after, schedule):
    test = example(module, name)
    failure = treadle.explore(test).failures[0]
    shrunk = treadle.shrink(failure)
    assert (shrunk.before, shrunk.after, shrunk.is_smallest) == (before, after, True)
    assert str(shrunk.failure.schedule) == schedule
    again = treadle.replay(test, shrunk.failure.token)
    assert again is not None
    assert (again.kind, again.message) == (failure.kind, failure.message)
