"""`@program.finally_`: a look at the final state of every execution."""

from __future__ import annotations

from typing import Any

import pytest

import treadle
from treadle.explore.registry import ALGORITHMS
from treadle.model import Lock, Program

by_every_algorithm = pytest.mark.parametrize(
    "algorithm", [name for name, kind in ALGORITHMS.items() if kind.covers]
)


def writers(seen: set[int]) -> Program:
    """Return two processes whose last write is looked at when both are over."""
    program = Program("writers", x=0)

    def write(s: Any, value: int) -> Any:
        yield
        s.x = value

    program.process(write, 1)
    program.process(write, 2)

    @program.finally_
    def end(s: Any) -> None:
        seen.add(s.x)

    return program


@by_every_algorithm
def test_every_final_state_is_looked_at(algorithm: str) -> None:
    seen: set[int] = set()
    assert treadle.explore(writers(seen), algorithm).ok
    assert seen == {1, 2}


def test_it_costs_no_reduction() -> None:
    plain, looking = writers(set()), writers(set())
    plain.finals.clear()
    for algorithm in ("optimal", "source", "context", "optimal-context"):
        counts = [treadle.explore(program, algorithm).executions for program in (plain, looking)]
        assert counts[0] == counts[1], algorithm
    assert treadle.explore(plain, "observers").executions == 1
    assert treadle.explore(looking, "observers").executions == 2


@by_every_algorithm
def test_what_does_not_hold_is_a_failure_that_can_be_replayed(algorithm: str) -> None:
    program = writers(set())

    @program.finally_
    def last(s: Any) -> None:
        if s.x == 2:
            raise AssertionError("two")

    [failure] = treadle.explore(program, algorithm).failures
    assert (failure.kind, failure.message) == ("assertion", "AssertionError: two")
    assert failure.schedule == ("write(1)", "write(2)")
    again = treadle.replay(program, failure.token)
    assert again is not None
    assert again.message == failure.message


def test_deadlocked_executions_end_as_well() -> None:
    program = Program("stuck", x=0, lock=Lock())
    seen = []

    @program.process
    def p(s: Any) -> Any:
        yield s.lock.acquire()
        s.x = 1
        yield s.lock.acquire()

    @program.finally_
    def end(s: Any) -> None:
        seen.append(s.x)
        assert s.x == 0

    result = treadle.explore(program, stop_on_failure=False)
    assert [failure.kind for failure in result.failures] == ["deadlock", "assertion"]
    assert set(seen) == {1}


def test_it_may_only_read() -> None:
    program = writers(set())

    @program.finally_
    def end(s: Any) -> None:
        s.x = 0

    with pytest.raises(treadle.TreadleError, match="must only read"):
        treadle.explore(program)
