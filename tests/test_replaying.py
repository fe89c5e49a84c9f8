"""Replaying a token: the recorded failure, another one, none, or what differs."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import treadle
from treadle.core.failure import Failure
from treadle.findings.database import Database, RecordedStep
from treadle.findings.tokens import read_token
from treadle.model import Lock, Program
from treadle.session.memory import REPLAYED, Memory
from treadle.session.replaying import rerun
from treadle.session.session import opened
from treadle.session.settings import Settings


def counting(*, change: str = "") -> Program:
    """Two processes that count to two, and lose an update; with a change of the code, if any."""
    program = Program(x=0, y=0, lock=Lock())

    def increment(s: Any) -> Iterator[Any]:
        if change == "locked":
            yield s.lock.acquire()
        if change == "another read":
            value = s.y
        else:
            value = s.x
        yield
        s.x = value + 1
        if change == "locked":
            s.lock.release()
        if change == "longer":
            yield

    program.process(increment, name="p")
    if change != "alone":
        program.process(increment, name="q")

    @program.process
    def check(s: Any) -> Iterator[Any]:
        yield s.join("p")
        if change != "alone":
            yield s.join("q")
        if change == "another message":
            assert s.x == 2, "something else"
        assert s.x == (1 if change == "mended" else 2), "an update is lost"

    return program


@pytest.fixture
def failure() -> Failure:
    found = treadle.replay(counting(), "p q*2 p check*2")
    assert found is not None
    return found


def recorded(failure: Failure) -> list[RecordedStep]:
    return [RecordedStep.of(step) for step in failure.trace]


def test_the_same_failure(failure):
    replayed = rerun(counting(), failure.token, recorded=recorded(failure))
    assert replayed.is_same
    assert (str(replayed), replayed.difference) == ("", "")
    assert replayed.failure is not None
    assert replayed.failure.trace == failure.trace
    assert replayed.failure.token == failure.token


def test_it_runs_only_once():
    runs: list[int] = []
    program = Program(x=0)

    @program.process
    def p(s: Any) -> Iterator[None]:
        yield
        runs.append(s.x)
        raise ValueError

    failure = treadle.replay(program, "p")
    assert failure is not None
    assert failure.trace  # the report needs no other run
    assert len(runs) == 1


def test_a_written_schedule_expects_nothing():
    replayed = rerun(counting(), "p*2 q*2 check*2")
    assert (replayed.failure, replayed.is_same, replayed.able) == (None, None, [])
    assert rerun(counting(), ["p"]).able == ["p", "q"]
    assert str(rerun(counting(), "p q*2 p check*2")) == ""


def test_the_failure_is_gone(failure):
    replayed = rerun(counting(change="mended"), failure.token)
    assert (replayed.failure, replayed.is_same) == (None, False)
    assert str(replayed) == "The recorded failure did not show."


def test_another_failure(failure):
    replayed = rerun(counting(change="another message"), failure.token)
    assert replayed.failure is not None
    assert replayed.is_same is False
    assert str(replayed) == "This is not the recorded failure."


def test_the_first_step_that_differs_in_words(failure):
    program = counting(change="another read")
    now = rerun(program, "p").steps[0].where
    then = failure.trace[0].where
    replayed = rerun(program, failure.token, recorded=recorded(failure))
    difference = f"step 1: recorded p read x ({then}), now p read y ({now})"
    assert replayed.difference == difference
    assert str(replayed) == (
        f"The recorded failure showed again, although the program has changed: {difference}"
    )


def test_the_first_step_that_differs_without_the_database(failure):
    program = counting(change="another read")
    now = rerun(program, "p").steps[0].where
    replayed = rerun(program, failure.token)
    assert replayed.difference == f"step 1 is not the recorded one: now p read y ({now})"


def test_a_process_that_cannot_go_on(failure):
    with pytest.raises(treadle.ScheduleMismatch) as error:
        rerun(counting(change="locked"), failure.token, recorded=recorded(failure))
    then, now = failure.trace[0].where, rerun(counting(change="locked"), "p").steps[0].where
    assert str(error.value) == (
        f"the program has changed: step 1: recorded p read x ({then}), now p acquire lock; read x "
        f"({now}); then the schedule does not fit the program: step 2 is for 'q', but it cannot "
        f"take a step (enabled: p); explore again to get a new schedule"
    )


def test_a_process_that_is_gone(failure):
    with pytest.raises(treadle.ScheduleMismatch) as error:
        rerun(counting(change="alone"), failure.token)
    assert str(error.value) == (
        "the schedule does not fit the program: step 2 is for 'q', but there is no such process "
        "(enabled: p); explore again to get a new schedule"
    )


def test_a_process_that_has_more_to_do(failure):
    with pytest.raises(treadle.ScheduleMismatch, match="step 5 is for 'check', but it cannot"):
        rerun(counting(change="longer"), failure.token)


def test_a_budget_shows_again():
    program = Program(flag=False)

    @program.process
    def waiting(s: Any) -> Iterator[None]:
        while not s.flag:
            yield

    (failure,) = treadle.explore(program, max_steps=40).failures
    replayed = rerun(program, failure.token)
    assert replayed.is_same
    assert replayed.failure is not None
    assert replayed.failure.message == failure.message
    assert len(failure.token) < 100


def test_of_two_failures_the_recorded_one():
    program = Program(x=0)

    def fail(s: Any, message: str) -> Iterator[None]:
        yield
        raise ValueError(f"{message} {s.x}")

    program.process(fail, "one", name="p")
    program.process(fail, "two", name="q")
    result = treadle.explore(program, stop_on_failure=False)
    assert [failure.message for failure in result.failures] == [
        "ValueError: one 0",
        "ValueError: two 0",
    ]
    for failure in result.failures:
        for schedule in (failure.token, str(failure.schedule.upto(failure.step + 1))):
            again = treadle.replay(program, schedule)
            assert again is not None
            assert again.message == failure.message


def failing_twice() -> Program:
    """Three processes fail in one execution, two of them in the same words."""
    program = Program(x=0)

    def fail(s: Any) -> Iterator[Any]:
        yield
        s.x += 1
        raise AssertionError

    program.process(fail, name="p")
    program.process(fail, name="q")

    @program.process
    def r(s: Any) -> Iterator[Any]:
        yield
        raise ValueError(s.x)

    return program


def threads_failing_twice() -> None:
    numbers: list[int] = []

    def fail() -> None:
        numbers.append(1)
        raise AssertionError

    def fail_otherwise() -> None:
        raise ValueError(len(numbers))

    for function in (fail, fail, fail_otherwise):
        threading.Thread(target=function).start()


@pytest.mark.parametrize("test", [failing_twice(), threads_failing_twice])
@pytest.mark.parametrize("algorithm", ["optimal", "optimal-context-observers"])
def test_of_several_crashes_in_one_execution_each_is_shown_again(test, algorithm):
    found = treadle.explore(test, algorithm, stop_on_failure=False).failures
    p, q, r = sorted({failure.process for failure in found})
    assert sorted((failure.process, failure.message) for failure in found) == [
        (p, "AssertionError"),
        (q, "AssertionError"),
        (r, "ValueError: 0"),
        (r, "ValueError: 1"),
        (r, "ValueError: 2"),
    ]
    for failure in found:
        for schedule in (failure.token, failure.schedule, str(failure.schedule)):
            again = treadle.replay(test, schedule)
            assert again is not None
            assert (again.process, again.message) == (failure.process, failure.message)
            assert again.step == failure.step == len(failure.schedule) - 1


def test_a_budget_shows_again_behind_a_crash():
    program = Program(x=0)

    @program.process
    def p(s):
        yield
        raise ValueError(s.x)

    @program.process
    def q(s):
        while True:
            yield
            s.x = 0

    budget, crash = treadle.explore(program, stop_on_failure=False, max_steps=9).failures
    assert [budget.kind, crash.kind] == ["budget", "exception"]
    for failure in (budget, crash):
        again = rerun(program, failure.token)
        assert again.is_same
        assert again.failure is not None
        assert again.failure.kind == failure.kind


# Options


class Box:
    value = 0


def racing() -> None:
    box = Box()

    def increment() -> None:
        box.value += 1

    threads = [threading.Thread(target=increment) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def failing_in_a_thread() -> None:
    thread = threading.Thread(target=int, args=("x",))
    box = Box()
    other = threading.Thread(target=setattr, args=(box, "value", 1))
    thread.start()
    other.start()
    other.join()
    thread.join()
    assert box.value == 0


def test_a_token_knows_its_options():
    (failure, *_) = treadle.explore(racing, races=True, granularity="gil").failures
    again = treadle.replay(racing, failure.token)
    assert again is not None
    assert (again.kind, again.granularity, again.options) == (
        "race",
        "gil",
        {"granularity": "gil", "races": True},
    )
    assert treadle.replay(racing, failure.token, granularity="gil", races=True) is not None


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ({"granularity": "gil"}, "granularity='gil' is not what the token was recorded with"),
        ({"instrument": ["json"]}, r"instrument=\('json',\) is not what .* recorded with \(\(\)\)"),
        ({"races": False}, r"races=False is not what the token was recorded with \(True\)"),
        ({"thread_exceptions": False}, "thread_exceptions=False is not what"),
    ],
)
def test_other_options_are_refused(option, words):
    (failure, *_) = treadle.explore(racing, races=True).failures
    with pytest.raises(treadle.TreadleError, match=words):
        treadle.replay(racing, failure.token, **option)


def test_a_program_made_with_other_options_is_refused(failure):
    (found, *_) = treadle.explore(racing, races=True).failures
    with (
        opened(racing, Settings().changed({"granularity": "gil"})) as coarse,
        pytest.raises(treadle.ScheduleMismatch, match="recorded with granularity='access', and"),
    ):
        coarse.rerun(read_token(found.token))
    with pytest.raises(treadle.ScheduleMismatch, match="recorded with a model, and this program"):
        treadle.replay(racing, failure.token)


def test_exceptions_of_threads_are_left_alone_again(monkeypatch):
    monkeypatch.setattr(threading, "excepthook", lambda _args: None)
    (failure,) = treadle.explore(failing_in_a_thread, thread_exceptions=False).failures
    assert failure.kind == "assertion"
    again = treadle.replay(failing_in_a_thread, failure.token)
    assert again is not None
    assert (again.kind, again.options) == ("assertion", {"thread_exceptions": False})


# What earlier runs found


def remembered(memory: Memory, test: Any, **options: Any) -> treadle.Result | None:
    with opened(test, Settings().changed(options)) as session:
        return memory.result_of(session)


@pytest.fixture
def memory(tmp_path) -> Memory:
    return Memory(Database(tmp_path / "kept"), "bank.py::counting")


def test_what_failed_is_tried_first(memory, failure):
    assert remembered(memory, counting()) is None
    assert memory.keep(failure)
    result = remembered(memory, counting(), algorithm="source")
    assert result is not None
    assert (result.algorithm, result.complete, result.notes) == ("source", False, [REPLAYED])
    assert [found.token for found in result.failures] == [failure.token]
    assert memory.database.load(memory.test) == [failure.token]


async def torn() -> None:
    seen: list[int] = []

    async def add() -> None:
        before = len(seen)
        await treadle.pause()
        seen[before:] = [before]

    await asyncio.gather(add(), add())
    assert seen == [0, 1]


def test_what_failed_names_the_algorithm_that_would_have_explored(memory):
    (found,) = treadle.explore(torn).failures
    memory.keep(found)
    result = remembered(memory, torn)
    assert result is not None
    assert (result.algorithm, result.notes) == ("fifo", [REPLAYED])


@pytest.mark.parametrize("change", ["mended", "locked", "alone"])
def test_what_fails_no_more_is_forgotten(memory, failure, change):
    memory.keep(failure)
    assert remembered(memory, counting(change=change)) is None
    assert memory.database.load(memory.test) == []


def test_another_failure_in_its_place_is_shown_too(memory, failure):
    memory.keep(failure)
    program = counting(change="another message")
    result = remembered(memory, program)
    assert result is not None
    assert "something else" in result.failures[0].message
    assert memory.database.load(memory.test) == []


def test_damaged_tokens_are_forgotten(memory):
    memory.database.save(memory.test, "t1_nonsense")
    assert remembered(memory, counting()) is None
    assert memory.database.load(memory.test) == []


def test_what_was_found_with_other_options_waits(memory):
    (race, *_) = treadle.explore(racing, races=True).failures
    assert memory.keep(race)
    assert remembered(memory, racing) is None
    assert remembered(memory, racing, granularity="gil", races=True) is None
    assert memory.database.load(memory.test) == [race.token]
    assert remembered(memory, racing, races=True) is not None


def test_budgets_are_not_kept(memory):
    budget = Failure("budget", "no end", treadle.Schedule(["p"]), 1)
    assert memory.keep(budget)
    assert memory.database.load(memory.test) == []
