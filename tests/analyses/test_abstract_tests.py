"""How tests on abstract values may come out: exactly as they can, and both ways if in doubt."""

from __future__ import annotations

import operator as operators
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.analyses.abstract import (
    ANYTHING,
    DATA,
    NOTHING,
    PLAIN,
    UNKNOWN,
    AbstractObject,
    Cell,
    Literal,
    Routine,
    Value,
    carried_by,
    normal,
)
from treadle.analyses.abstract_tests import (
    BOTH,
    COMPARISONS,
    TESTS,
    compared,
    computed,
    either,
    truths_of,
)
from treadle.analyses.ir import Method

TRUE, FALSE = frozenset({True}), frozenset({False})


class Thing:
    pass


class Sized:
    def __len__(self) -> int:
        return 0


class Equal:
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


def function() -> None:
    pass


METHOD = Method("function", "file.py", (), ())
THING, OTHER = AbstractObject(Thing), AbstractObject(Equal)
TASK = Routine(THING, function, METHOD)


def literals(*values: object) -> Value:
    return frozenset(map(Literal.of, values))


plain = st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from(["", "a"]))
some = st.lists(plain, min_size=1, max_size=3)


# Values


def test_numbers_and_truth_values_are_told_apart() -> None:
    assert literals(1) != literals(True)
    assert literals(0, False, None) != literals(0, None)
    assert Literal.of("a") == Literal.of("a")


def test_many_literals_are_some_plain_value() -> None:
    assert normal(literals(1, 2, 3, 4)) == literals(1, 2, 3, 4)
    assert normal(literals(1, 2, 3, 4, 5)) == PLAIN
    assert normal(literals(1) | PLAIN) == PLAIN
    assert normal(literals(*range(9)) | {THING}) == PLAIN | {THING}
    assert normal(NOTHING) == NOTHING


def test_what_is_more_than_plain() -> None:
    cell = Cell("a list")
    assert carried_by(literals(1, None) | PLAIN) == NOTHING
    assert carried_by(literals(1) | {THING, TASK, cell, UNKNOWN}) == {THING, TASK, cell, UNKNOWN}
    assert repr(DATA) == "data"
    assert repr(UNKNOWN) == "?"


# Truth


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (NOTHING, frozenset()),
        (literals(None), FALSE),
        (literals(0, False, ""), FALSE),
        (literals(1, "a"), TRUE),
        (literals(0, 1), BOTH),
        (frozenset({THING}), TRUE),
        (frozenset({TASK}), TRUE),
        (literals(None) | {TASK}, BOTH),
        (frozenset({AbstractObject(Sized)}), BOTH),
        (frozenset({Cell("a list")}), BOTH),
        (PLAIN, BOTH),
        (ANYTHING, BOTH),
    ],
)
def test_truths(value: Value, expected: frozenset[bool]) -> None:
    assert truths_of(value) == expected


@given(some)
def test_truths_of_literals_are_exact(values: list[Any]) -> None:
    assert truths_of(literals(*values)) == {bool(value) for value in values}


# Comparisons


@given(st.sampled_from(["==", "!=", "<", "<=", ">", ">="]), some, some)
def test_comparisons_leave_nothing_out(operator: str, left: list[Any], right: list[Any]) -> None:
    found = compared(operator, literals(*left), literals(*right))
    possible = set()
    for one, other in product(left, right):
        try:
            possible.add(bool(COMPARISONS[operator](one, other)))
        except TypeError:
            possible |= {True, False}
    assert found == possible


@given(some, some)
def test_identity_leaves_nothing_out(left: list[Any], right: list[Any]) -> None:
    for operator, function in (("is", operators.is_), ("is not", operators.is_not)):
        found = compared(operator, literals(*left), literals(*right))
        assert found >= {function(one, other) for one, other in product(left, right)}


@pytest.mark.parametrize(
    ("operator", "left", "right", "expected"),
    [
        ("is", literals(None), literals(None), TRUE),
        ("is not", literals(None), literals(None), FALSE),
        ("is", literals(None), literals(0), FALSE),
        ("is", literals(1), literals(1), BOTH),
        ("is", frozenset({THING}), literals(None), FALSE),
        ("is not", frozenset({TASK}), literals(None), TRUE),
        ("is", literals(None) | {THING}, literals(None), BOTH),
        ("is", frozenset({THING}), frozenset({THING}), BOTH),
        ("is", frozenset({THING}), frozenset({OTHER}), FALSE),
        ("is", frozenset({THING}), frozenset({TASK}), FALSE),
        ("==", frozenset({THING}), literals(None), FALSE),
        ("!=", frozenset({THING}), literals(None), TRUE),
        ("==", frozenset({OTHER}), literals(None), BOTH),
        ("<", frozenset({THING}), literals(1), BOTH),
        ("is", PLAIN, literals(None), BOTH),
        ("is", ANYTHING, literals(None), BOTH),
        ("==", frozenset({Cell("a list")}), literals(None), BOTH),
        ("is", NOTHING, literals(None), frozenset()),
    ],
)
def test_comparisons(operator: str, left: Value, right: Value, expected: frozenset[bool]) -> None:
    assert compared(operator, left, right) == expected


# `and`, `or`


@given(st.lists(st.lists(st.booleans(), min_size=1), min_size=1, max_size=3))
def test_and_and_or_are_exact(truths: list[list[bool]]) -> None:
    sets = [frozenset(one) for one in truths]
    assert either("and", sets) == {all(choice) for choice in product(*truths)}
    assert either("or", sets) == {any(choice) for choice in product(*truths)}


def test_what_is_not_reached_has_no_truth() -> None:
    assert either("and", [TRUE, frozenset()]) == frozenset()
    assert either("or", [frozenset(), TRUE]) == frozenset()


# Arithmetic


@given(st.sampled_from("+-*"), st.lists(st.integers(-5, 5), min_size=1, max_size=3), st.integers())
def test_arithmetic_is_exact(operator: str, values: list[int], other: int) -> None:
    function = {"+": operators.add, "-": operators.sub, "*": operators.mul}[operator]
    found = computed(operator, [literals(*values), literals(other)])
    expected = literals(*(function(one, other) for one in values))
    assert found in (expected, PLAIN)
    if abs(other) < 1000:
        assert found == expected


def test_other_arithmetic_is_some_plain_value() -> None:
    assert computed("//", [literals(1), literals(1)]) == PLAIN
    assert computed("+", [literals("a"), literals("b")]) == PLAIN
    assert computed("+", [PLAIN, literals(1)]) == PLAIN
    assert computed("neg", [literals(1)]) == PLAIN
    assert computed("*", [literals(1 << 40), literals(2)]) == PLAIN


def test_all_comparisons_are_tests() -> None:
    assert set(COMPARISONS) < TESTS
