"""Constrained DPOR: declared constraints, the relation, and the two algorithms on it."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import constrained_models as models
import treadle
from conditional_programs import Process, Shape, draw, final_states, reached
from constrained_programs import constrained
from drawn import Drawn
from random_programs import compile_process
from treadle.explore.choosers import SCHEDULES
from treadle.explore.constrained.dependence import ConditionalTrace, Uniform
from treadle.model import Program
from treadle.papers.cav18 import bb

BOTH = ("constrained", "optimal-constrained")
by_both = pytest.mark.parametrize("algorithm", BOTH)


def counts(program: Program, algorithm: str) -> tuple[int, int]:
    result = treadle.explore(program, algorithm, stop_on_failure=False)
    assert result.complete
    return result.executions, result.blocked


@pytest.mark.parametrize(
    ("make", "args", "source_sets", "optimal"),
    [*models.PAPERS_COUNTS, (bb, (4,), (16, 0), 16)],
)
def test_the_papers_programs(
    make: Callable[..., Program], args: tuple[int, ...], source_sets: tuple[int, int], optimal: int
) -> None:
    assert counts(make(*args), "constrained") == source_sets
    assert counts(make(*args), "optimal-constrained") == (optimal, 0)


def test_registry_of_four() -> None:
    assert counts(models.registry(4), "optimal-constrained") == (12, 0)
    assert counts(models.registry(4), "optimal") == (24, 0)


@pytest.mark.parametrize("n", [2, 3, 4])
def test_without_the_constraints_there_are_as_many_as_under_optimal(n: int) -> None:
    program = bb(n)
    orders = math.comb(2 * n, n)
    assert treadle.explore(program, "optimal").executions == orders
    none = treadle.explore(program, "optimal-constrained", constraints="none")
    assert (none.executions, none.blocked) == (orders, 0)


@by_both
def test_the_counterexamples_to_the_printed_algorithm(algorithm: str) -> None:
    for make, missed in (
        (models.counterexample_a, lambda s: s.bad == 1),
        (models.counterexample_b, lambda s: s.x == s.y == 0),
    ):
        for schedule in SCHEDULES:
            program, seen = make(), set()
            program.finally_(lambda s, is_it=missed, seen=seen: seen.add(bool(is_it(s))))
            treadle.explore(program, algorithm, schedule=schedule)
            assert seen == {True, False}


# Random programs

SHAPES = {
    "plain": Shape(blocks=5),
    "locals": Shape(blocks=5, locals=True, assertions=True),
    "guards": Shape(processes=(2, 4), blocks=4, guards=True, assertions=True),
    "processes": Shape(processes=(2, 3), blocks=4, spawns=True, assertions=True),
}


@by_both
@pytest.mark.parametrize("shape", SHAPES)
def test_no_final_state_is_missed(shape: str, algorithm: str) -> None:
    for number in range(40):
        processes = draw(random.Random(number), SHAPES[shape])
        schedule = list(SCHEDULES)[number % len(SCHEDULES)]
        found = reached(constrained(processes), algorithm, schedule)
        assert found.is_complete
        assert found.final_states == final_states(processes), number
        assert algorithm == "constrained" or not found.blocked


@settings(max_examples=8)
@given(
    data=st.data(), shape=st.sampled_from(list(SHAPES)), schedule=st.sampled_from(list(SCHEDULES))
)
def test_programs_that_hypothesis_draws(data: st.DataObject, shape: str, schedule: str) -> None:
    processes = draw(Drawn(data.draw), SHAPES[shape])
    expected = final_states(processes)
    for algorithm in BOTH:
        found = reached(constrained(processes), algorithm, schedule)
        assert (found.is_complete, found.final_states) == (True, expected)
        assert algorithm == "constrained" or not found.blocked


SMALL = {
    "plain": Shape(processes=(3, 4), blocks=4, assertions=True),
    "guards": Shape(processes=(3, 4), blocks=4, guards=True),
    "processes": Shape(processes=(2, 3), blocks=3, spawns=True, assertions=True),
}

Relation = frozenset[tuple[tuple[int, int], frozenset[tuple[int, int]]]]


def relation_of(trace: ConditionalTrace) -> Relation:
    """Return what happens before each event, events being named by process and position."""
    names: list[tuple[int, int]] = []
    for index, process in enumerate(trace.processes):
        names.append((process, trace.processes[:index].count(process)))
    return frozenset(
        (names[n], frozenset(name for e, name in enumerate(names) if trace.before[n] >> e & 1))
        for n in range(len(names))
    )


Begun = tuple[ConditionalTrace, object, bool]
"""What was executed, the state that it leads to, and whether that is an end."""


def all_prefixes(processes: list[Process]) -> dict[tuple[int, ...], Begun]:
    """Return each beginning of an interleaving."""
    program = constrained(processes)
    program.use_constraints(wanted=True)
    uniform = Uniform(program)
    found: dict[tuple[int, ...], Begun] = {}
    todo: list[tuple[int, ...]] = [()]
    while todo:
        schedule = todo.pop()
        trace = ConditionalTrace(program.vocabulary)
        trace.uniform = uniform
        run = program.start()
        for process in schedule:
            trace.append(process, run.step(process))
        trace.extend()
        enabled = run.enabled()
        todo += [(*schedule, process) for process in enabled]
        found[schedule] = trace, run.fingerprint(), not enabled
        run.close()
    return found


def all_executions(processes: list[Process]) -> dict[tuple[int, ...], tuple[Relation, object]]:
    """Return each interleaving with its conditional order and its final state."""
    return {
        schedule: (relation_of(trace), state)
        for schedule, (trace, state, is_over) in all_prefixes(processes).items()
        if is_over
    }


RELATED = {
    "plain": (25, Shape(processes=(2, 4), blocks=4, assertions=True)),
    "locals": (25, Shape(processes=(2, 4), blocks=4, locals=True, assertions=True)),
    "guards": (8, SMALL["guards"]),
    "processes": (8, SMALL["processes"]),
}


@pytest.mark.parametrize("shape", RELATED)
def test_the_relation_over_all_interleavings(shape: str) -> None:
    """Properties 4 and 5, and one execution of `optimal-constrained` for each class."""
    count, small = RELATED[shape]
    for number in range(count):
        processes = draw(random.Random(number), small)
        executions = all_executions(processes)
        ends: dict[Relation, set[object]] = {}
        for relation, state in executions.values():
            ends.setdefault(relation, set()).add(state)
        assert all(len(states) == 1 for states in ends.values()), number
        for schedule, (relation, state) in executions.items():
            for other in swapped(schedule, relation):
                assert executions[other] == (relation, state), number
        found = reached(constrained(processes), "optimal-constrained")
        assert (found.executions, found.blocked) == (len(ends), 0), number


@pytest.mark.parametrize(
    ("shape", "expected"), [("plain", 122), ("guards", 317), ("processes", 199)]
)
def test_an_independent_step_changes_no_verdict_on_others(shape: str, expected: int) -> None:
    """Property 7: if p -> r in E.p.r and not p -> q in E.p.q, then p -> r in E.p.q.r."""
    triples = 0
    for number in range(30):
        prefixes = all_prefixes(draw(random.Random(number), SMALL[shape]))
        for schedule in [schedule for schedule in prefixes if len(schedule) >= 3]:
            *start, p, q, r = schedule
            e, without = len(start), (*start, p, r)
            if len({p, q, r}) < 3 or without not in prefixes:
                continue
            if is_first(e, prefixes[without]) and not is_first(e, prefixes[schedule[:-1]]):
                triples += 1
                assert is_first(e, prefixes[schedule]), (number, schedule)
    assert triples == expected


def is_first(e: int, begun: Begun) -> bool:
    """Tell whether an event happens before the last one."""
    return bool(begun[0].before[-1] >> e & 1)


def swapped(schedule: tuple[int, ...], relation: Relation) -> list[tuple[int, ...]]:
    """Return an interleaving with each two adjacent events swapped that are not ordered."""
    before = dict(relation)
    found = []
    for i, (p, q) in enumerate(itertools.pairwise(schedule)):
        first, second = (p, schedule[:i].count(p)), (q, schedule[: i + 1].count(q))
        if first not in before[second]:
            found.append((*schedule[:i], q, p, *schedule[i + 2 :]))
    return found


# Declaring


def pair(first: str, second: str, **shared: Any) -> Program:
    """Return two processes of one block each, `a` and `b`, and a look at their locals."""
    program = Program("pair", **{"x": 0, "y": 0, **shared})
    for name, text in (("a", first), ("b", second)):
        lines = ["local = 0", *text.split("; ")]
        program.process(compile_process(name, lines), name=name)
    return program


@by_both
@pytest.mark.parametrize(
    ("program", "blocks", "holds", "differs"),
    [
        (pair("s.x = 1", "s.x = 2"), ("a", "b"), None, "s.x"),
        (pair("s.x = s.x + 1", "s.x = s.x * 2"), ("a", "b"), lambda s, *_: s.x < 1, "s.x"),
        (pair("local = s.x; yield; s.y = local", "s.x = 1"), ("a:1", "b"), None, "how a goes on"),
        (pair("assert s.x == 0", "s.x = 1"), ("a", "b"), None, "failures"),
    ],
)
def test_a_wrong_declaration_is_a_failure(
    program: Program, blocks: tuple[str, str], holds: Any, differs: str, algorithm: str
) -> None:
    program.constraints.declared.clear()
    program.constraints.checked.clear()
    declaration = program.independent(*blocks)
    if holds is not None:
        declaration(holds)
    result = treadle.explore(program, algorithm)
    [failure] = result.failures
    assert (failure.kind, result.complete) == ("constraint", False)
    assert f"{differs} differs" in failure.message
    assert "x = 0" in failure.message
    assert failure.schedule == ("a", "b")
    assert failure.cause is None  # no order of the two is the right one
    assert "this execution passes" not in str(failure)
    again = treadle.replay(program, failure.token)
    assert again is not None
    assert (again.kind, again.message) == (failure.kind, failure.message)


@by_both
def test_a_bound_that_is_too_weak_by_one(algorithm: str) -> None:
    program = models.registry(2)
    program.constraints.declared.clear()
    program.independent("register", "register")(lambda s, *_: s.free >= 1)
    assert treadle.explore(program, algorithm).ok  # with two places, both get one
    narrow = Program("narrow", free=1, who=[0, 0])

    def take(s: Any, me: int) -> Any:
        yield
        if s.free > 0:
            s.free -= 1
            s.who[me] = 1

    narrow.process(take, 0)
    narrow.process(take, 1)
    narrow.independent("take", "take")(lambda s, *_: s.free >= 1)
    [failure] = treadle.explore(narrow, algorithm).failures
    assert failure.kind == "constraint"


@by_both
def test_a_guard_that_was_left_out(algorithm: str) -> None:
    program = Program("guard", free=1)

    def take(s: Any) -> Any:
        yield s.until(lambda: s.free > 0)
        s.free -= 1

    program.process(take, name="p")
    program.process(take, name="q")
    program.independent("take", "take")
    [failure] = treadle.explore(program, algorithm).failures
    assert failure.kind == "constraint"
    assert "is enabled differs" in failure.message


def test_steps_behind_a_guard_are_independent_only_where_both_are_enabled() -> None:
    """p and q commute, but where both are asked about p waits: nothing is said of them there."""
    program = Program("guard", go=0, x=0)

    @program.process
    def g(s: Any) -> Any:
        yield
        s.go = 1

    @program.process
    def p(s: Any) -> Any:
        yield s.until(lambda: s.go == 1)
        s.x += 1

    @program.process
    def q(s: Any) -> Any:
        yield
        s.x += 1

    program.independent("p", "q")
    for algorithm in BOTH:
        result = treadle.explore(program, algorithm)
        assert result.ok, algorithm
    assert counts(program, "optimal-constrained") == (2, 0)


@by_both
def test_a_constraint_may_only_read(algorithm: str) -> None:
    program = pair("s.x += 1", "s.x += 1")

    @program.independent("a", "b")
    def writes(s: Any, first: Any, second: Any) -> bool:
        del first, second
        s.x = 1
        return True

    with pytest.raises(treadle.TreadleError, match="must only read"):
        treadle.explore(program, algorithm)


@by_both
def test_locals_of_both_steps_decide(algorithm: str) -> None:
    def executions(*keys: int) -> int:
        program = Program("table", table=[0] * 3)

        def put(s: Any, key: int) -> Any:
            yield
            index = key
            s.table[index] = s.table[index] + 1

        for key in keys:
            program.process(put, key)

        @program.independent("put", "put")
        def _(s: Any, first: Any, second: Any) -> bool:
            del s
            return bool(first.key != second.key)

        return counts(program, algorithm)[0]

    assert executions(0, 1, 2) == 1
    assert executions(0, 0) == (2 if algorithm == "optimal-constrained" else 1)


def test_blocks_have_names() -> None:
    program = Program("names", x=0, y=0)

    @program.process
    def several(s: Any) -> Any:
        yield s.label("first")
        s.x += 1
        yield
        s.y += 1

    @program.process
    def one(s: Any) -> Any:
        before = 1
        yield
        s.x += before

    @program.process
    def starts(s: Any) -> Any:
        s.x += 1
        yield
        s.y += 1

    assert list(program.constraints.names()) == [
        "several:first", "several:1", "several:2", "one", "starts:1", "starts:2",
    ]  # fmt: skip
    for declared in (("several:first", "one"), ("several:1", "starts:1"), ("one", "starts:1")):
        program.independent(*declared)
    program.independent("several:2", "starts:2")
    for algorithm in BOTH:
        assert counts(program, algorithm) == (1, 0)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("several", "'several' has several blocks: say which one, several:1, several:2"),
        ("nobody", "no block is called 'nobody': there are one, several:1, several:2"),
        ("strange", "'strange' cannot be independent by a constraint"),
    ],
)
def test_names_that_mean_nothing(name: str, message: str) -> None:
    program = Program("names", x=0)

    @program.process
    def several(s: Any) -> Any:
        yield
        s.x += 1
        yield
        s.x += 1

    @program.process
    def one(s: Any) -> Any:
        yield
        s.x += 1

    @program.process
    def strange(s: Any) -> Any:
        yield
        with nullcontext():
            s.x += 1

    program.independent(name, "one")
    with pytest.raises(treadle.TreadleError, match=message):
        treadle.explore(program, "optimal-constrained")


# Uniformity


def test_what_another_may_write_decides_nothing() -> None:
    """A constraint on z holds now; but as long as somebody may write z, it is not relied on."""

    def program_with(*others: str) -> Program:
        program = Program("others", x=0, z=0, w=[0, 0])

        def a(s: Any) -> Any:
            yield
            if s.z == 1:
                s.x = 1

        def b(s: Any) -> Any:
            yield
            if s.z == 1:
                s.x = 2

        program.process(a)
        program.process(b)
        for position, text in enumerate(others):
            program.process(compile_process(f"o{position}", text.split("; ")), name=f"o{position}")
        program.independent("a", "b")(lambda s, *_: s.z == 0)
        return program

    def executions(*others: str) -> int:
        return counts(program_with(*others), "optimal-constrained")[0]

    assert executions() == 1
    assert executions("s.w[0] = 1") == 1
    assert executions("s.w[0] = s.z") == 1
    # Where z = 0 comes first, nobody can write z any more; else a and b are ordered.
    assert executions("s.z = 0") == 5
    assert executions("yield; yield; s.z = 0") == 5
    assert executions("len(str(s))") == 2  # not understood: it may write everything


def test_the_result_counts_what_was_asked_and_what_was_used() -> None:
    def asked(n: int, **options: Any) -> tuple[int, int]:
        result = treadle.explore(models.adders(n), "optimal-constrained", **options)
        return result.pairs_asked, result.constraints_used

    assert asked(4) == (6, 6)  # each two of them, once
    assert asked(4, constraints="none") == (0, 0)
    result = treadle.explore(bb(2), "optimal-constrained")
    assert result.pairs_asked > result.constraints_used > 0
