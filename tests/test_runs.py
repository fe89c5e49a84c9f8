"""What both front ends owe the search: recorded steps are compared; a difference stops the run."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

from treadle.core.events import Codes
from treadle.core.program import Program
from treadle.model import Lock
from treadle.model import Program as ModelProgram
from treadle.threads.program import ThreadProgram

LIMIT = 100


def model() -> Program:
    program = ModelProgram("two writers", x=0)
    for name in ("p", "q"):

        @program.process(name=name)
        def write(s: Any) -> Iterator[None]:
            for _ in range(2):
                yield
                s.x = s.x + 1

    return program


class Counter:
    def __init__(self) -> None:
        self.value = 0

    def increment(self) -> None:
        self.value += 1


def count() -> None:
    counter = Counter()
    threads = [threading.Thread(target=counter.increment) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def threads() -> Program:
    program = ThreadProgram(count, "two threads")
    program.try_out()
    return program


@pytest.fixture(params=[model, threads])
def program(request: pytest.FixtureRequest) -> Iterator[Program]:
    made: Program = request.param()
    with made.controlled():
        yield made


def natural(program: Program) -> tuple[list[int], list[Codes]]:
    """Return the processes and accesses of the execution that the default schedule leads to."""
    processes: list[int] = []
    codes: list[Codes] = []
    run = program.start()
    assert run.finish(-1, LIMIT, processes, codes)
    run.close()
    return processes, codes


def test_execute_takes_what_is_recorded_and_goes_on(program: Program) -> None:
    processes, codes = natural(program)
    assert len(codes) > 3
    for length in range(len(codes) + 1):
        taken, done = processes[:length], codes[:length]
        run = program.start()
        assert run.execute(taken, done, LIMIT) == -1
        assert (taken, done) == (processes, codes)
        assert not run.enabled()
        run.close()


def test_execute_stops_at_the_limit(program: Program) -> None:
    processes, codes = natural(program)
    taken, done = processes[:1], codes[:1]
    run = program.start()
    assert run.execute(taken, done, 3) == -1
    assert (taken, done) == (processes[:3], codes[:3])
    assert run.enabled()
    run.close()


@pytest.mark.parametrize("goes_on", [False, True])
def test_a_step_that_differs_replaces_what_was_recorded(program: Program, goes_on: bool) -> None:
    processes, codes = natural(program)
    for wrong in range(len(codes)):
        taken, done = list(processes), list(codes)
        done[wrong] = (12345,)
        run = program.start()
        if goes_on:
            assert run.execute(taken, done, LIMIT) == wrong
        else:
            assert run.replay(taken, done, len(done)) == wrong
        assert (taken, done) == (processes, codes)
        del taken[wrong + 1 :], done[wrong + 1 :]
        assert run.finish(taken[-1], LIMIT, taken, done)  # it went no further than that step
        assert (taken, done) == (processes, codes)
        run.close()


def test_a_step_that_cannot_be_taken_replaces_nothing(program: Program) -> None:
    processes, codes = natural(program)
    run = program.start()
    taken, done = [*processes, processes[-1]], [*codes, (12345,)]
    assert run.replay(taken, done, len(done)) == len(codes)
    assert done == [*codes, (12345,)]
    run.close()


def test_the_state_of_a_model_goes_with_its_run() -> None:
    """No garbage collector is needed: what was stored in it is gone."""
    program = ModelProgram("kept", x=None, own=[0, 0])
    kept: list[weakref.ref[Any]] = []

    @program.process
    def p(s: Any) -> Iterator[None]:
        stored = set[int]()
        kept.append(weakref.ref(stored))
        s.x = s.own[0] = stored
        del stored
        yield

    gc.disable()
    try:
        run = program.start()
        assert run.finish(-1, 100, [], [])
        assert kept[-1]() is not None
        run.close()
        assert kept[-1]() is None
    finally:
        gc.enable()


def test_going_on_stops_where_a_process_waits_crashes_or_ends() -> None:
    """One process after the other, each as far as it can go; steps as `step` takes them."""
    program = ModelProgram("all sorts", x=0, lock=Lock())

    @program.process
    def holds(s: Any) -> Iterator[Any]:
        yield s.lock.acquire()
        s.x = 1
        yield
        s.x = 2
        yield s.lock.acquire()  # in vain: it has it

    @program.process
    def crashes(s: Any) -> Iterator[Any]:
        yield
        s.x = 3
        yield
        raise ValueError

    @program.process
    def ends(s: Any) -> Iterator[Any]:
        yield
        s.x = 4

    processes: list[int] = []
    codes: list[Codes] = []
    run = program.start()
    assert run.finish(-1, 100, processes, codes)
    assert [program.vocabulary.process_names[process] for process in processes] == [
        "holds", "holds", "crashes", "crashes", "ends",
    ]  # fmt: skip
    assert [crash.step for crash in run.crashes] == [3]
    again = program.start()
    assert [again.step(process) for process in processes] == codes
    assert len(again.blocked()) == 1
    run.close()
    again.close()
