"""What don't-do sets must not hide: programs in which a forbidden step was relied on, or passed on.

Each of them was once explored without its failure, or twice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import treadle
from algorithms import coarser
from brute import Observed, brute_force, explored
from treadle.model import Condition, Program, Semaphore


def before_a_forbidden_step() -> Program:
    """Behind q, p is forbidden: it commutes with q. But r may look at y before p has written it.

    The plan to let r begin is covered by a branch that begins with p, until that is forbidden.
    """
    program = Program("before_a_forbidden_step", x=0, y=1, a=0)

    @program.process
    def p(s: Any) -> Any:
        yield
        s.y = 0
        assert s.x < 2

    @program.process
    def q(s: Any) -> Any:
        yield
        s.x = 1
        yield
        s.y = 0
        assert s.a < 2

    @program.process
    def r(s: Any) -> Any:
        yield
        s.a = 1
        yield
        assert s.y == 0, "r was first"

    return program


def blocked_behind_a_stop() -> Program:
    """When a run stops before p, r waits for what q has; it may come before q, and then before p.

    The deadlock in which p waits for ever needs r to come first.
    """
    program = Program("blocked_behind_a_stop", y=0, sem=Semaphore(1), cv=Condition())

    def child(s: Any) -> Any:
        yield s.cv.acquire()
        s.cv.release()

    @program.process
    def p(s: Any) -> Any:
        yield s.cv.acquire()
        if s.y == 2:
            yield s.cv.wait()
        s.cv.release()

    @program.process
    def q(s: Any) -> Any:
        s.spawn(child)
        yield s.sem.acquire()

    @program.process
    def r(s: Any) -> Any:
        yield s.sem.acquire()
        s.y = 2

    return program


def looked_at_later() -> Program:
    """q reads y and p writes the value that is there: p behind q is forbidden.

    Behind q's own write, p overwrites something that w waits for.
    """
    program = Program("looked_at_later", y=0)

    @program.process
    def p(s: Any) -> Any:
        yield
        s.y = 0

    @program.process
    def w(s: Any) -> Any:
        yield s.until(lambda: s.y == 2)

    @program.process
    def q(s: Any) -> Any:
        old = s.y
        yield
        s.y = old + 2

    return program


@pytest.mark.parametrize("algorithm", coarser())
@pytest.mark.parametrize("make", [before_a_forbidden_step, blocked_behind_a_stop, looked_at_later])
def test_nothing_is_hidden(make: Callable[[], Program], algorithm: str) -> None:
    found = treadle.explore(make(), algorithm, stop_on_failure=False)
    everything = treadle.explore(make(), "exhaustive", stop_on_failure=False)
    assert everything.failures
    assert {failure.message for failure in found.failures} == {
        failure.message for failure in everything.failures
    }


def waits_and_then_reads() -> Program:
    """If x is 2 in the end, w waits for ever, and nobody looks at y."""
    program = Program("waits_and_then_reads", x=0, y=0)

    @program.process
    def p(s: Any) -> Any:
        yield
        s.y = 5

    @program.process
    def q(s: Any) -> Any:
        yield
        s.x = 2

    @program.process
    def r(s: Any) -> Any:
        yield
        s.x = 1

    @program.process
    def w(s: Any) -> Any:
        yield s.until(lambda: s.x == 1)
        assert s.y != 7

    return program


def test_an_observer_that_goes_on_waiting_looks_at_nothing_else() -> None:
    classes = explored(waits_and_then_reads(), "observers", order=Observed).classes
    assert len(classes) == len(set(classes)) == 5
    assert set(classes) == brute_force(waits_and_then_reads(), 100, Observed).classes
