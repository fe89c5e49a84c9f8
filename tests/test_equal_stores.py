"""Two stores of one value commute in every state, so they are independent."""

from __future__ import annotations

import math
from typing import Any

import pytest

import treadle
from algorithms import covering
from brute import brute_force, explored
from random_programs import compile_process
from treadle.core.events import Mode, Vocabulary, code
from treadle.core.happens_before import Trace
from treadle.core.stored import Stores
from treadle.explore.data_races import data_races
from treadle.explore.registry import ALGORITHMS
from treadle.model import Program

by_whoever_knows_values = pytest.mark.parametrize(
    "algorithm",
    [name for name in covering() if ALGORITHMS[name].knows_values and name != "exhaustive"],
)


def writers(*values: object, reader: bool = False) -> Program:
    """Return processes that store a value each, and perhaps one that looks."""
    program = Program("writers", x=0, a=[0])

    def write(s: Any, value: object) -> Any:
        yield
        s.x = value

    def read(s: Any) -> Any:
        yield
        assert s.x is not None

    for number, value in enumerate(values):
        program.process(write, value, name=f"w{number}")
    if reader:
        program.process(read)
    return program


@by_whoever_knows_values
def test_example_6_of_the_thesis(algorithm: str) -> None:
    program = Program("example 6", x=1, y=0, z=0)

    @program.process
    def p(s: Any) -> Any:
        s.y = 1
        yield
        s.x = 5

    @program.process
    def q(s: Any) -> Any:
        s.z = 2
        yield
        s.x = 5

    @program.process
    def r(s: Any) -> Any:
        yield
        assert s.x > 0

    assert treadle.explore(program, algorithm).executions == 4


@by_whoever_knows_values
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_writers_of_one_value(n: int, algorithm: str) -> None:
    assert treadle.explore(writers(*[7] * n), algorithm).executions == 1
    assert treadle.explore(writers(*[7] * n, reader=True), algorithm).executions == 2**n


@by_whoever_knows_values
def test_one_true_and_a_float_are_three_values(algorithm: str) -> None:
    assert treadle.explore(writers(1, True, 1.0), algorithm).executions == math.factorial(3)
    assert treadle.explore(writers("a", "a", b"a"), algorithm).executions == 4
    assert treadle.explore(writers(0.0, -0.0, 0.0), algorithm).executions == 4


def two(first: str, second: str, **shared: Any) -> int:
    """Return how many executions two processes of one step each have."""
    program = Program("two", **{"x": 0, "y": 0, "a": [0, 0], **shared})
    program.process(compile_process("p", ["pass", *first.split("; ")]), name="p")
    program.process(compile_process("q", ["pass", *second.split("; ")]), name="q")
    return treadle.explore(program).executions


@pytest.mark.parametrize(
    ("first", "second", "executions"),
    [
        ("s.x = 1", "s.x = 1", 1),
        ("s.x = 1", "s.x = 2", 2),
        ("s.x = 2; s.x = 1", "s.x = 1", 1),
        ("s.x = 1; s.x = 2", "s.x = 1", 2),
        ("s.x = 1; s.y = 1", "s.x = 1; s.y = 1", 1),
        ("s.x = 1; s.y = 1", "s.x = 1; s.y = 2", 2),
        ("s.a[0] = 1", "s.a[0] = 1", 1),
        ("s.a[-1] = 1", "s.a[1] = 1", 1),
        ("s.a[0] = 1", "s.a[1] = 1", 1),
        ("s.x = 1; t = s.y", "s.x = 1", 1),
        ("t = s.y; s.x = 1", "s.x = 1", 2),
        ("s.x = 1; t = s.x", "s.x = 1", 1),
        ("s.x = 1; t = s.x", "s.x = 2", 2),
        ("t = s.x; s.x = 1", "s.x = 1", 2),
        ("s.x = 1; s.cas('x', 1, 2)", "s.x = 1", 2),
        ("s.x = s.y", "s.x = s.y", 2),
        ("s.x = 1; s.x = s.x + 1", "s.x = 2", 2),
        ("s.x = [1]", "s.x = [1]", 2),
    ],
)
def test_what_is_an_equal_store(first: str, second: str, executions: int) -> None:
    assert two(first, second) == executions


@pytest.mark.parametrize(
    ("bodies", "classes"),
    [
        ((["s.x = 1", "t = s.x"], ["s.x = 1"]), 1),
        ((["s.x = 1", "t = s.x", "yield", "s.y = 1"], ["s.x = 1", "t = s.x"], ["s.y = 2"]), 2),
        ((["s.x = 1", "t = s.x", "s.y = t"], ["s.x = 1"], ["t = s.y"]), 4),
        ((["s.x = 1", "t = s.x"], ["s.x = 1"], ["t = s.x"]), 4),
        ((["s.x = 1", "if s.x == 1: s.y = 1"], ["s.x = 1"], ["t = s.y"]), 4),
    ],
)
def test_what_a_step_has_stored_itself_it_may_read_back(
    bodies: tuple[list[str], ...], classes: int
) -> None:
    """Nobody can come between, so the read orders nothing: brute force and reductions agree."""
    program = Program("read back", x=0, y=0, z=0)
    for index, body in enumerate(bodies):
        program.process(compile_process(f"p{index}", ["pass", *body]), name=f"p{index}")
    everything = brute_force(program, 1000)
    found = explored(program, "optimal")
    assert set(found.classes) == everything.classes
    assert len(found.classes) == classes
    assert found.final_states == everything.final_states


def test_values_that_were_computed_are_not_compared() -> None:
    """Racy increments keep the number of orders that everybody knows."""
    program = Program("racy", x=0)

    def increment(s: Any) -> Any:
        yield
        seen = s.x
        yield
        s.x = seen + 1

    program.process(increment, name="p")
    program.process(increment, name="q")
    assert treadle.explore(program).executions == 4


def test_a_data_race_of_equal_stores_is_one() -> None:
    vocabulary = Vocabulary()
    location = vocabulary.location("x", "x")
    value = vocabulary.location(("stored", location, int, 1), "(stored)")
    vocabulary.data.add(location)
    trace = Trace(vocabulary)
    codes = (code(location, Mode.STORE), code(value, Mode.STORED))
    trace.append(vocabulary.process("p"), codes)
    trace.append(vocabulary.process("q"), codes)
    trace.extend()
    assert not trace.races
    assert list(data_races(trace)) == [(0, 1)]


def test_many_values_of_one_location_are_not_all_told_apart() -> None:
    program = writers(*range(100), *range(100))
    program.name_values(wanted=True)
    run = program.start()
    lengths = [len(run.step(process)) for process in run.enabled()]
    assert lengths == [2] * 64 + [1] * 36 + [2] * 64 + [1] * 36


def codes_of(program: Program) -> list[tuple[Any, ...]]:
    """Return what the steps of one run log, each process to its end."""
    program.name_values(wanted=True)
    run = program.start()
    processes: list[int] = []
    codes: list[tuple[Any, ...]] = []
    run.finish(-1, 10_000, processes, codes)
    run.close()
    return codes


def test_of_very_many_values_no_more_is_kept_and_nothing_else_changes() -> None:
    values = range(1500)
    for _ in range(2):
        assert list(map(len, codes_of(writers(*values, *values)))) == ([2] * 64 + [1] * 1436) * 2
    stores = Stores(7)
    vocabulary = Vocabulary()
    for value in values:
        stores.codes(value, vocabulary)
    assert len(stores) == 1024
    assert stores.codes(1400, vocabulary) == (code(7, Mode.STORE),)
    assert len(vocabulary.location_names) == 64


@pytest.mark.parametrize("value", [[], {}, float("nan"), (1, 2)])
def test_values_that_are_no_atoms_have_no_name(value: object) -> None:
    stores = Stores(3)
    assert stores.codes(value, Vocabulary()) == (code(3, Mode.STORE),)
    assert not stores


def elements(*stores: tuple[int, object]) -> Program:
    """Return processes that store a value each in an element of an array."""
    program = Program("elements", a=[0, 0, 0])

    def write(s: Any, index: int, value: object) -> Any:
        yield
        s.a[index] = value

    for number, (index, value) in enumerate(stores):
        program.process(write, index, value, name=f"w{number}")
    return program


def test_elements_have_names_of_their_own() -> None:
    program = elements((0, 1), (1, 1), (-2, 1), (0, True), (0, "1"), (0, [1]), (0, 1), (2, None))
    codes = codes_of(program)
    assert [len(step) for step in codes] == [2, 2, 2, 2, 2, 1, 2, 2]
    assert codes[1] == codes[2], "-2 is 1"
    assert codes[0] == codes[6]
    assert len(set(codes)) == 6
    assert codes_of(program) == codes, "the same in every run"


@by_whoever_knows_values
def test_elements_that_are_stored_alike(algorithm: str) -> None:
    assert treadle.explore(elements((0, 1), (0, 1), (-3, 1)), algorithm).executions == 1
    assert treadle.explore(elements((0, 1), (0, 1), (0, 2)), algorithm).executions == 4


def test_without_names_a_store_is_one_code() -> None:
    program = elements((0, 1), (0, 1))
    program.name_values(wanted=True)
    named = program.start()
    program.name_values(wanted=False)
    plain = program.start()
    first, second = program.start().enabled()
    assert [len(named.step(first)), len(plain.step(first))] == [2, 1]
    assert [len(named.step(second)), len(plain.step(second))] == [2, 1]


def test_a_spawned_process_names_its_values_in_its_own_run_only() -> None:
    program = Program("spawning", x=0)

    def child(s: Any) -> Any:
        yield
        s.x = 5

    @program.process
    def parent(s: Any) -> Any:
        yield
        s.spawn(child)

    program.name_values(wanted=True)
    first, second = program.start(), program.start()
    (process,) = first.enabled()
    first.step(process)
    (born,) = first.enabled()
    assert born not in second.naming
    assert len(first.step(born)) == 2


def test_reports_show_a_store_once() -> None:
    program = elements((0, 1), (1, "two"))
    program.name_values(wanted=True)
    run = program.start(detail=True)
    for process in run.enabled():
        assert len(run.step(process)) == 2
    words = [[access.location for access in record.accesses] for record in run.records()]
    assert words == [["a[0]"], ["a[1]"]]
