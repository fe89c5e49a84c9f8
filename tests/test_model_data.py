"""What the model kit's shared variables, arrays, dictionaries and counters mean."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import treadle
from brute import brute_force
from model_kit import Process, alone, executions, refused, together, words
from treadle.model import Counter, Lock, Program

# Shared data


def test_scalars() -> None:
    def p(s: Any) -> Process:
        assert (s.x, s.y) == (1, "a")
        s.x = s.x + 1
        yield
        assert s.x == 2

    alone(p, x=1, y="a")


def test_every_execution_begins_with_the_declared_values() -> None:
    def p(s: Any) -> Process:
        yield
        assert (s.x, list(s.array), s.d["k"], s.counter.value) == (0, [0, 0], 0, 0)
        s.x = s.array[0] = s.d["k"] = 1
        s.counter.add(1)

    program = together(p, x=0, array=[0, 0], d={"k": 0}, counter=Counter(0))
    assert treadle.explore(program).ok
    assert treadle.explore(program).ok


def test_arrays() -> None:
    def p(s: Any) -> Process:
        yield
        assert (s.a[0], s.a[2], s.a[-1], len(s.a), list(s.a)) == (1, 3, 3, 3, [1, 2, 3])
        s.a[-3] = 7
        assert s.a[0] == 7
        assert repr(s.a) == "<shared array a>"
        with pytest.raises(IndexError):
            s.a[3]
        with pytest.raises(IndexError):
            s.a[-4] = 0

    alone(p, a=[1, 2, 3])


def test_a_negative_index_is_the_same_location() -> None:
    def p(s: Any) -> Process:
        yield
        s.a[-1] = 1

    def q(s: Any) -> Process:
        yield
        s.a[2]

    assert executions(together(p, q, a=[0, 0, 0])) == 2
    assert words(together(p, a=[0, 0, 0]), "p") == ["write a[2] = 1"]


def test_elements_are_independent() -> None:
    def element(s: Any, i: int) -> Process:
        yield
        s.a[i] += 1

    program = Program(a=[0, 0])
    program.process(element, 0)
    program.process(element, 1)
    assert executions(program) == 1


def test_an_empty_array() -> None:
    def p(s: Any) -> Process:
        yield
        assert len(s.a) == 0

    alone(p, a=[])


def test_dictionaries() -> None:
    def p(s: Any) -> Process:
        yield
        assert s.d["a"] == 1
        assert s.d.get("b") is None
        assert s.d.get("b", 2) == 2
        assert "a" in s.d
        assert "b" not in s.d
        s.d["b"] = 3
        assert sorted(s.d) == ["a", "b"]
        assert len(s.d) == 2
        del s.d["a"]
        assert list(s.d) == ["b"]
        assert repr(s.d) == "<shared dictionary d>"
        with pytest.raises(KeyError):
            s.d["a"]
        with pytest.raises(KeyError):
            del s.d["a"]

    alone(p, d={"a": 1})


@pytest.mark.parametrize(
    ("first", "second", "classes"),
    [
        ("s.d['a'] = 1", "s.d['b'] = 1", 2),  # both change the set of keys
        ("s.d['k'] = 1", "s.d['l'] = 1", 1),
        ("s.d['k'] = 1", "len(s.d)", 1),
        ("s.d['a'] = 1", "len(s.d)", 2),
        ("s.d['a'] = 1", "'a' in s.d", 2),
        ("s.d['a'] = 1", "s.d.get('b')", 1),
        ("s.d['k'] = 1", "s.d['k']", 2),
        ("del s.d['k']", "list(s.d)", 2),
        ("del s.d['k']", "s.d.get('k')", 2),
        ("del s.d['k']", "s.d['l']", 1),
    ],
)
def test_which_accesses_of_a_dictionary_are_dependent(
    first: str, second: str, classes: int
) -> None:
    def p(s: Any, statement: str) -> Process:
        yield
        exec(statement, {"s": s})

    program = Program(d={"k": 0, "l": 0})
    program.process(p, first)
    program.process(p, second)
    assert executions(program) == classes


def test_counters() -> None:
    def p(s: Any) -> Process:
        yield
        s.n.add(2)
        s.n.add(-1)
        assert s.n.value == 6
        assert repr(s.n) == "<counter 6>"

    alone(p, n=Counter(5))


def test_a_counter_that_tells_its_value_is_dependent() -> None:
    def p(s: Any) -> Process:
        yield
        assert s.n.next() in (1, 2)

    program = Program(n=Counter())
    program.process(p, name="p")
    program.process(p, name="q")
    assert treadle.explore(program).ok
    assert executions(program) == 2


def test_compare_and_swap() -> None:
    def p(s: Any) -> Process:
        yield
        assert s.cas("x", 0, 1)
        assert not s.cas("x", 0, 2)
        assert s.x == 1
        assert s.a.cas(-1, "b", "c")
        assert not s.a.cas(0, "b", "c")
        assert list(s.a) == ["a", "c"]

    alone(p, x=0, a=["a", "b"])


@pytest.mark.parametrize(
    ("olds", "classes"),
    [
        ([0, 0, 0], 3),  # one succeeds, the others only read
        ([0, 0, 5], 2 + 2),  # who succeeds, and whether the third read before or after
        ([0, False], 2),  # equal, though of different types
        ([0, 0.0], 2),
        ([[0], 0], 2),  # a value without a stable name
        ([0, 1], 2),
    ],
)
@pytest.mark.parametrize("form", ["scalar", "element"])
def test_compare_and_swaps_against_each_other(olds: list[Any], classes: int, form: str) -> None:
    def p(s: Any, i: int) -> Process:
        yield
        if form == "scalar":
            s.cas("x", olds[i], i + 1)
        else:
            s.a.cas(0, olds[i], i + 1)

    program = Program(x=0, a=[0])
    for i in range(len(olds)):
        program.process(p, i)
    assert executions(program) == classes == len(brute_force(program, 100).classes)


def test_compare_and_swap_needs_a_scalar() -> None:
    def p(s: Any) -> Process:
        yield
        s.cas("a", 0, 1)

    refused(p, match=r"s\.cas\('a', \.\.\.\) needs the name of a shared scalar", a=[0])


def test_additions_commute_but_not_with_reading() -> None:
    def p(s: Any) -> Process:
        yield
        s.n.add(1)

    def q(s: Any) -> Process:
        yield
        s.n.value  # noqa: B018

    program = Program(n=Counter())
    for name in "abc":
        program.process(p, name=name)
    assert executions(program) == 1
    program.process(q)
    assert executions(program) == 8


def test_the_state_prints_the_same_in_every_execution() -> None:
    """Else messages that show it, like those of pytest's assertions, would differ too."""
    printed = set()

    def p(s: Any) -> Process:
        yield
        printed.add(repr(s))
        s.x = 1

    def q(s: Any) -> Process:
        yield
        s.x = 2

    treadle.explore(together(p, q, x=0))
    assert len(printed) == 1


def test_a_shared_object_cannot_be_replaced() -> None:
    def p(s: Any) -> Process:
        yield
        s.a = [1]

    with pytest.raises(treadle.TreadleError, match="'a' cannot be replaced"):
        treadle.explore(together(p, a=[0]))


def test_lists_of_lists_and_of_objects() -> None:
    def p(s: Any) -> Process:
        yield s.locks[1].acquire()
        s.grid[1][0] = 5
        yield
        assert s.grid[1][0] == 5
        assert s.grid[0][0] == 1
        s.locks[1].release()

    program = together(p, grid=[[1, 2], [3, 4]], locks=[Lock(), Lock()])
    assert treadle.explore(program).ok
    assert words(program, "p p") == [
        "acquire locks[1]; write grid[1][0] = 5",
        "read grid[1][0] = 5; read grid[0][0] = 1; release locks[1]",
    ]


def test_every_order_of_three_writers() -> None:
    finals = []

    def p(s: Any, i: int) -> Process:
        yield
        s.order = (*s.order, i)
        if len(s.order) == 3:
            finals.append(s.order)

    program = Program(order=())
    for i in range(3):
        program.process(p, i)
    treadle.explore(program)
    assert set(finals) == set(itertools.permutations(range(3)))
