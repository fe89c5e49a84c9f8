"""Programs explored with constraints that a solver finds, against brute force."""

from __future__ import annotations

import itertools
import math
import random
import sys
from collections.abc import Callable
from typing import Any

import pytest

import constrained_models as models
import treadle
from conditional_programs import Process, Shape, build, draw, final_states, reached
from treadle.actors import Actor
from treadle.actors import program as actor_program
from treadle.explore.choosers import SCHEDULES
from treadle.explore.constrained.dependence import ConditionalTrace, Uniform
from treadle.model import Program

BOTH = ("constrained", "optimal-constrained")
UNIFORMITY = ("static", "keeps")
FOUND: dict[str, Any] = {"constraints": "synthesised"}


def without_declarations(program: Program) -> Program:
    program.constraints.declared.clear()
    return program


def counts(program: Program, algorithm: str, **options: Any) -> tuple[int, int]:
    result = treadle.explore(program, algorithm, stop_on_failure=False, **FOUND, **options)
    assert result.complete
    return result.executions, result.blocked


@pytest.mark.parametrize(
    ("make", "args", "source_sets", "optimal"),
    models.PAPERS_COUNTS,
)
def test_as_few_as_with_what_the_papers_declare(
    make: Callable[..., Program], args: tuple[int, ...], source_sets: tuple[int, int], optimal: int
) -> None:
    assert counts(without_declarations(make(*args)), "constrained") == source_sets
    assert counts(without_declarations(make(*args)), "optimal-constrained") == (optimal, 0)


@pytest.mark.parametrize("algorithm", BOTH)
@pytest.mark.parametrize("n", [3, 4])
def test_workers_that_add_are_one_execution(n: int, algorithm: str) -> None:
    assert counts(without_declarations(models.adders(n)), algorithm) == (1, 0)
    plain = treadle.explore(without_declarations(models.adders(n)), "optimal")
    assert plain.executions == math.factorial(n)


def test_deposits_to_an_actor_are_one_execution() -> None:
    assert treadle.explore(deposits(4), "constrained", **FOUND).executions == 1


class Account(Actor):
    def __init__(self) -> None:
        self.balance = 0

    async def deposit(self, amount: int) -> None:
        self.balance += amount


@actor_program
def deposits(n: int) -> None:
    account = Account()
    for i in range(n):
        account.deposit.send(i)


def test_what_is_declared_is_kept_and_checked() -> None:
    program = models.adders(3)
    assert counts(program, "optimal-constrained") == (1, 0)

    wrong = Program("wrong", x=1)

    def add(s: Any) -> Any:
        yield
        s.x += 1

    def double(s: Any) -> Any:
        yield
        s.x *= 2

    wrong.process(add)
    wrong.process(double)
    wrong.independent("add", "double")
    [failure] = treadle.explore(wrong, "optimal-constrained", **FOUND).failures
    assert failure.kind == "constraint"


def test_modes_do_not_get_in_each_others_way() -> None:
    program = without_declarations(models.adders(3))
    for _ in range(2):
        assert treadle.explore(program, "optimal-constrained").executions == 6
        assert treadle.explore(program, "optimal-constrained", **FOUND).executions == 1
        none = treadle.explore(program, "optimal-constrained", constraints="none")
        assert none.executions == 6


def test_a_process_that_is_added_later_is_seen() -> None:
    program = Program("more", x=0)

    def add(s: Any, value: int) -> Any:
        yield
        s.x += value

    def double(s: Any) -> Any:
        yield
        s.x *= 2

    program.process(add, 1)
    program.process(add, 2)
    assert counts(program, "optimal-constrained") == (1, 0)
    program.process(double)
    assert counts(program, "optimal-constrained") == (4, 0)


# Kinds of values


def ends_of(program: Program, algorithm: str, **options: Any) -> set[Any]:
    seen: set[Any] = set()
    program.finally_(lambda s: seen.add((type(s.x), s.x)))
    treadle.explore(program, algorithm, stop_on_failure=False, **options)
    return seen


@pytest.mark.parametrize("algorithm", BOTH)
@pytest.mark.parametrize(
    "start", [0, 0.1, "a", True, (1,)], ids=["int", "float", "str", "bool", "tuple"]
)
def test_what_is_no_number_is_not_taken_for_one(start: Any, algorithm: str) -> None:
    """Adding commutes for whole numbers, and for nothing else."""

    def program() -> Program:
        program = Program("add", x=start)

        def add(s: Any, value: Any) -> Any:
            yield
            s.x = s.x + value

        for value in (start, start * 2, start * 3):
            program.process(add, value)
        return program

    expected = ends_of(program(), "exhaustive")
    assert ends_of(program(), algorithm, **FOUND) == expected
    few = treadle.explore(program(), algorithm, **FOUND).executions
    assert (few == 1) == (type(start) in (int, bool) or (algorithm == "constrained" and few == 1))


@pytest.mark.parametrize("algorithm", BOTH)
def test_somebody_who_stores_another_kind_is_taken_into_account(algorithm: str) -> None:
    """While nobody can tell what `strange` stores, what is found for numbers is not relied on."""

    def program() -> Program:
        program = Program("kinds", x=0)

        def add(s: Any) -> Any:
            yield
            s.x += 1

        def take(s: Any) -> Any:
            yield
            s.x = s.x + 0.1

        def strange(s: Any) -> Any:
            yield
            s.x = float("0.3")

        program.process(add, name="p")
        program.process(add, name="q")
        program.process(take)
        program.process(strange)
        return program

    assert ends_of(program(), algorithm, **FOUND) == ends_of(program(), "exhaustive")


@pytest.mark.parametrize("algorithm", BOTH)
def test_one_true_and_a_number_are_told_apart(algorithm: str) -> None:
    program = Program("kinds", x=0)
    for name, value in (("a", 1), ("b", True)):

        def store(s: Any, stored: Any = value) -> Any:
            yield
            s.x = stored

        program.process(store, name=name)
    assert ends_of(program, algorithm, **FOUND) == {(int, 1), (bool, True)}


# Random programs

SHAPES = {
    "plain": Shape(blocks=5),
    "locals": Shape(blocks=5, locals=True, assertions=True),
    "guards": Shape(processes=(2, 4), blocks=4, guards=True, assertions=True),
    "processes": Shape(processes=(2, 3), blocks=4, spawns=True, assertions=True),
    "branches": Shape(processes=(2, 3), blocks=3, spawns=True, branches=True),
}


@pytest.mark.parametrize("uniformity", UNIFORMITY)
@pytest.mark.parametrize("algorithm", BOTH)
@pytest.mark.parametrize("shape", SHAPES)
def test_no_final_state_is_missed(shape: str, algorithm: str, uniformity: str) -> None:
    for number in range(12):
        processes = draw(random.Random(number), SHAPES[shape])
        schedule = list(SCHEDULES)[number % len(SCHEDULES)]
        found = reached(build(processes), algorithm, schedule, uniformity=uniformity, **FOUND)
        assert found.is_complete
        assert found.final_states == final_states(processes), number
        assert algorithm == "constrained" or not found.blocked


@pytest.mark.slow
@pytest.mark.minutes
@pytest.mark.parametrize("shape", SHAPES)
def test_no_final_state_is_missed_in_many(shape: str) -> None:
    for number in range(12, 300):
        processes = draw(random.Random(number), SHAPES[shape])
        expected = final_states(processes)
        for algorithm, uniformity in itertools.product(BOTH, UNIFORMITY):
            found = reached(build(processes), algorithm, uniformity=uniformity, **FOUND)
            assert found.final_states == expected, (number, algorithm, uniformity)


Relation = frozenset[tuple[tuple[int, int], frozenset[tuple[int, int]]]]


def classes_of(processes: list[Process], uniformity: str) -> dict[Relation, set[object]]:
    """Return the conditional classes of all interleavings, with the states that they end in."""
    program = build(processes)
    program.choose_constraints("synthesised", uniformity)
    program.use_constraints(wanted=program.has_constraints)
    uniform = Uniform(program)
    found: dict[Relation, set[object]] = {}
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
        if not enabled:
            found.setdefault(relation_of(trace), set()).add(run.fingerprint())
        run.close()
    return found


def relation_of(trace: ConditionalTrace) -> Relation:
    """Return what happens before each event, events being named by process and position."""
    names = [(p, trace.processes[:index].count(p)) for index, p in enumerate(trace.processes)]
    return frozenset(
        (names[n], frozenset(name for e, name in enumerate(names) if trace.before[n] >> e & 1))
        for n in range(len(names))
    )


@pytest.mark.parametrize("uniformity", UNIFORMITY)
@pytest.mark.parametrize("shape", ["plain", "locals"])
def test_one_execution_for_each_class(shape: str, uniformity: str) -> None:
    small = Shape(processes=(2, 4), blocks=4, locals=shape == "locals", assertions=True)
    for number in range(12):
        processes = draw(random.Random(number), small)
        classes = classes_of(processes, uniformity)
        assert all(len(states) == 1 for states in classes.values()), number
        found = reached(build(processes), "optimal-constrained", uniformity=uniformity, **FOUND)
        assert (found.executions, found.blocked) == (len(classes), 0), number


# Keeps


def guarded(n: int, opened: int = 0) -> Program:
    """Two steps that commute once somebody has opened; the others may only open again."""
    program = Program("keeps", open=opened, x=0)

    def a(s: Any) -> Any:
        yield
        if s.open == 0:
            s.x = 1

    def b(s: Any) -> Any:
        yield
        if s.open == 0:
            s.x = 2

    def opens(s: Any) -> Any:
        yield
        s.open += 1

    program.process(a)
    program.process(b)
    for i in range(n):
        program.process(opens, name=f"opens{i}")
    program.independent("a", "b")(lambda s, _first, _second: s.open > 0)
    return program


def test_what_others_keep_true_is_relied_on() -> None:
    static, keeps = (
        treadle.explore(guarded(2), "optimal-constrained", uniformity=uniformity).executions
        for uniformity in UNIFORMITY
    )
    assert keeps < static


@pytest.mark.parametrize(
    ("text", "is_kept"),
    [
        ("s.open += 1", True),
        ("s.open = 2", True),
        ("s.open = abs(s.open) + 1", True),
        ("if s.open < 5:\n        s.open += 1", True),
        ("s.open -= 1", False),
        ("s.open = 0", False),
        ("s.open = -1\n    assert s.x == 5\n    s.open = 1", False),
        ("s.open = float(1)", False),
        ("s.open = k", False),
    ],
)
def test_which_blocks_keep_a_constraint(text: str, is_kept: bool) -> None:
    import linecache

    source = f"def other(s, k):\n    yield\n    {text}\n"
    linecache.cache["<other>"] = len(source), None, source.splitlines(keepends=True), "<other>"
    namespace: dict[str, Any] = {}
    exec(compile(source, "<other>", "exec"), namespace)
    for opened, expected in ((1, is_kept), (0, False)):
        program = guarded(0, opened)
        program.process(namespace["other"], 3)
        program.choose_constraints("declared", "keeps")
        program.use_constraints(wanted=True)
        run = program.start()
        numbers = [program.vocabulary.process_number(name) for name in "ab"]
        assert run.are_independent(*numbers) == expected
        run.drop()


def test_keeps_never_loses_a_state_of_the_guarded_program() -> None:
    for n in (1, 2):
        expected = ends_of(guarded(n), "exhaustive")
        for algorithm in BOTH:
            assert ends_of(guarded(n), algorithm, uniformity="keeps") == expected


# Without the solver


@pytest.fixture
def no_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "z3", None)


@pytest.mark.usefixtures("no_solver")
@pytest.mark.parametrize("algorithm", BOTH)
def test_without_the_solver_what_is_declared_works(algorithm: str) -> None:
    assert treadle.explore(models.adders(4), algorithm).executions == 1


@pytest.mark.usefixtures("no_solver")
@pytest.mark.parametrize(
    "option", [{"constraints": "synthesised"}, {"uniformity": "keeps"}], ids=str
)
def test_without_the_solver_an_error_names_the_extra(option: dict[str, Any]) -> None:
    with pytest.raises(treadle.TreadleError, match=r"pip install treadle\[smt\]"):
        treadle.explore(models.adders(2), "constrained", **option)
    assert treadle.explore(models.adders(2), "optimal", **option).executions == 2


def test_what_is_not_understood_is_named() -> None:
    program = Program("unknown", x=0)

    def shift(s: Any) -> Any:
        yield
        s.x = s.x << 1

    def add(s: Any) -> Any:
        yield
        s.x += 1

    program.process(shift)
    program.process(add, name="p")
    program.process(add, name="q")
    result = treadle.explore(program, "optimal-constrained", **FOUND)
    line = shift.__code__.co_firstlineno + 2
    assert result.notes == [
        f"shift is dependent on all that it conflicts with: line {line}, the operator LShift is "
        f"not translated"
    ]
    assert result.executions == 4
