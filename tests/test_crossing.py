"""Steps that commute and create processes together: which of them creates what depends on order."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treadle
from conditional_programs import (
    Final,
    Process,
    Reached,
    Shape,
    _block,
    _statement,
    draw,
    final_states,
    reached,
)
from constrained_programs import anonymous, constrained
from drawn import Drawn
from random_programs import Source
from treadle.core.constraints import Declared, Together, Unordered, are_same
from treadle.core.program import Restart
from treadle.explore.choosers import SCHEDULES
from treadle.model import Program

BOTH = ("constrained", "optimal-constrained")
by_both = pytest.mark.parametrize("algorithm", BOTH)


def counts(program: Program, algorithm: str) -> tuple[int, int]:
    result = treadle.explore(program, algorithm, stop_on_failure=False)
    assert result.complete
    return result.executions, result.blocked


def ends_of(program: Program, algorithm: str, look: Any) -> set[Any]:
    """Return what is seen in the final states that an exploration reaches."""
    seen: set[Any] = set()
    program.finally_(lambda s: seen.add(look(s)))
    assert treadle.explore(program, algorithm, stop_on_failure=False).complete
    program.finals.clear()
    return seen


# Who creates


def reports(n: int) -> Program:
    """Every second result makes a report: whoever brings it."""
    program = Program("reports", nr=1, total=0, done=0)

    def result(s: Any) -> Any:
        yield
        if s.nr > 0:
            s.nr = 0
        else:
            s.nr = 1
            s.spawn(report)

    def report(s: Any) -> Any:
        yield
        s.done += 1

    for i in range(n):
        program.process(result, name=f"r{i}")
    program.independent("result", "result")
    program.independent("report", "report")
    return program


@by_both
@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_whoever_comes_second_creates(n: int, algorithm: str) -> None:
    assert counts(reports(n), algorithm) == (1, 0)
    assert ends_of(reports(n), algorithm, lambda s: (s.nr, s.done)) == {((n + 1) % 2, n // 2)}


def disjunctive(*, looks: bool) -> Program:
    """a and b: who comes first creates x, the other one y; in a trace, x happens after one of them.

    If x looks at what only a writes, b x a y ends otherwise than all orders that begin with a.
    """
    program = Program("disjunctive", first=1, z=0, seen=9, other=0)

    @program.process
    def a(s: Any) -> Any:
        yield
        s.z = 1
        if s.first == 1:
            s.first = 0
            s.spawn(x)
        else:
            s.spawn(y)

    @program.process
    def b(s: Any) -> Any:
        yield
        if s.first == 1:
            s.first = 0
            s.spawn(x)
        else:
            s.spawn(y)

    if looks:

        def x(s: Any) -> Any:
            yield
            s.seen = s.z

    else:

        def x(s: Any) -> Any:
            yield
            s.seen = 5

    def y(s: Any) -> Any:
        yield
        s.other = 1

    program.independent("a", "b")
    return program


@by_both
def test_a_child_that_has_one_creator_or_the_other(algorithm: str) -> None:
    """No order of events says so: the search begins anew, with a and b being dependent."""
    assert ends_of(disjunctive(looks=True), "exhaustive", lambda s: s.seen) == {0, 1}
    for schedule in SCHEDULES:
        program = disjunctive(looks=True)
        seen: set[int] = set()
        program.finally_(lambda s, seen=seen: seen.add(s.seen))
        result = treadle.explore(program, algorithm, schedule=schedule)
        assert result.complete
        assert seen == {0, 1}
    assert counts(disjunctive(looks=False), algorithm) == (1, 0)


def test_what_was_distrusted_is_trusted_in_the_next_exploration() -> None:
    program = disjunctive(looks=True)
    treadle.explore(program, "optimal-constrained")
    assert program.constraints.distrusted
    treadle.explore(program, "optimal")
    assert not program.constraints.distrusted


def with_a_straight_child() -> Program:
    """The second of a and b creates `late`; b always creates `own`, which races with a."""
    program = Program("straight", nr=1, x=0, seen=9, done=0)

    @program.process
    def a(s: Any) -> Any:
        yield
        s.x = 1
        if s.nr > 0:
            s.nr = 0
        else:
            s.spawn(late)

    @program.process
    def b(s: Any) -> Any:
        yield
        s.spawn(own)
        if s.nr > 0:
            s.nr = 0
        else:
            s.spawn(late)

    def own(s: Any) -> Any:
        yield
        s.seen = s.x

    def late(s: Any) -> Any:
        yield
        s.done = 1

    program.independent("a", "b")
    return program


@by_both
def test_a_straight_child_has_one_creator(algorithm: str) -> None:
    """It can come before a; were both its creators, it could not ("all children joint")."""
    program = with_a_straight_child()
    assert ends_of(program, algorithm, lambda s: (s.seen, s.done)) == {(0, 1), (1, 1)}
    if algorithm == "constrained":  # the other one plans b and its child without a
        assert not program.constraints.distrusted


@by_both
def test_children_that_differ_are_no_crossing(algorithm: str) -> None:
    program = Program("differs", nr=1, done=0)

    def result(s: Any, amount: int) -> Any:
        yield
        if s.nr > 0:
            s.nr = 0
        else:
            s.spawn(report, amount)

    def report(s: Any, amount: int) -> Any:
        yield
        s.done = amount

    program.process(result, 1)
    program.process(result, 2)
    program.independent("result", "result")
    [failure] = treadle.explore(program, algorithm).failures
    assert failure.kind == "constraint"
    assert "what they create differs" in failure.message


@by_both
def test_a_constraint_is_checked_wherever_two_steps_meet(algorithm: str) -> None:
    """Where a and b are asked about x is 0, and they commute; after c they do not."""
    program = Program("later", x=0, y=0)

    @program.process
    def c(s: Any) -> Any:
        yield
        s.x = 1

    @program.process
    def a(s: Any) -> Any:
        yield
        s.y = s.y + s.x

    @program.process
    def b(s: Any) -> Any:
        yield
        s.y = s.y * 2

    program.independent("a", "b")
    program.independent("a", "c")(lambda s, _first, _second: s.x == 1)
    [failure] = treadle.explore(program, algorithm).failures
    assert failure.kind == "constraint"


@by_both
def test_a_planned_step_may_create_something_else(algorithm: str) -> None:
    """p1 creates a process or not, by what p0 wrote; it is planned as it was seen before."""
    program = Program("planned", x=0, y=0, z=0)

    @program.process
    def p0(s: Any) -> Any:
        yield
        s.y = 1
        s.z = 0

    @program.process
    def p1(s: Any) -> Any:
        yield
        if s.z == 0:
            s.spawn(child)
        s.x = (s.y + 1) % 2

    @program.process
    def p2(s: Any) -> Any:
        yield
        s.x = 0
        yield
        s.z = (s.x + s.y) % 2
        if s.y == 0:
            s.y = 1
        else:
            s.x = 1

    def child(s: Any) -> Any:
        yield
        s.y = 1

    program.independent("p0", "p1")(lambda s, _first, _second: s.y == 1 and s.z == 0)
    every = ends_of(program, "exhaustive", lambda s: (s.x, s.y, s.z))
    assert ends_of(program, algorithm, lambda s: (s.x, s.y, s.z)) == every


# Random programs


def draw_crossing(rng: Source) -> list[Process]:
    """Draw a program in which several processes run one block, which may create others."""
    guard, statements = _block(rng, Shape(branches=True, spawns=True))
    if "spawn" not in repr(statements):
        child = _statement(rng, Shape(), 2)
        statements.append(
            ("if", "x", "==", 0, [("set", "x", ("constant", 1))], [("spawn", [child])])
        )
    others = draw(rng, Shape(processes=(1, 1), blocks=2, assertions=True))
    return [[(guard, statements)] for _ in range(rng.randint(2, 3))] + others


def explored(program: Program, algorithm: str, schedule: str) -> Reached:
    while True:
        try:
            return reached(program, algorithm, schedule)
        except Restart:
            continue


def whoever(states: set[Final]) -> set[Final]:
    return {(values, anonymous(failed)) for values, failed in states}


def check(processes: list[Process], algorithm: str, schedule: str) -> None:
    found = explored(constrained(processes, crossing=True), algorithm, schedule)
    assert found.is_complete
    assert whoever(found.final_states) == whoever(final_states(processes))
    assert algorithm == "constrained" or not found.blocked


@by_both
def test_random_programs_that_cross(algorithm: str) -> None:
    for number in range(10):
        check(draw_crossing(random.Random(number)), algorithm, list(SCHEDULES)[number % 4])


BRANCHES = Shape(processes=(2, 3), blocks=4, spawns=True, branches=True, assertions=True)


@by_both
def test_random_programs_that_create_in_branches(algorithm: str) -> None:
    for number in (26, 34, 64, 80, 88, 103, 106, 131):
        check(draw(random.Random(number), BRANCHES), algorithm, list(SCHEDULES)[number % 4])


@settings(max_examples=6)
@given(data=st.data(), schedule=st.sampled_from(list(SCHEDULES)))
def test_programs_that_hypothesis_draws(data: st.DataObject, schedule: str) -> None:
    processes = draw_crossing(Drawn(data.draw))
    for algorithm in BOTH:
        check(processes, algorithm, schedule)


@pytest.mark.minutes
@by_both
def test_many_random_programs(algorithm: str) -> None:
    for number in range(1000, 1400):
        schedule = list(SCHEDULES)[number % 4]
        check(draw_crossing(random.Random(number)), algorithm, schedule)
        check(draw(random.Random(number), BRANCHES), algorithm, schedule)


# The pieces


def test_what_steps_create_together() -> None:
    assert not Together((), ()).is_crossing
    assert Together((), (0,)).is_crossing
    assert Together((1,), ()).is_crossing


def test_values_in_whatever_order() -> None:
    assert Unordered([1, 2, 2]) == Unordered([2, 1, 2])
    assert Unordered([1, 2, 2]) != Unordered([1, 1, 2])
    assert Unordered([1]) != [1]
    assert not are_same([1], [])
    assert Declared("put", "get", None).names == "put and get"
