"""Terms in their normal form, and what Python calls them."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from treadle.smt.terms import (
    AtLeastZero,
    Constant,
    IsA,
    IsSame,
    IsTrue,
    IsZero,
    Poly,
    Var,
    at_least_zero,
    closure_of,
    in_python,
    is_known,
    is_zero,
    shared_by,
)
from treadle.smt.values import Value, in_order, tag_of

X, Y = Var("s.x", "int", shared=frozenset({"x"})), Var("first.y", "int")
x, y = Poly.var(X), Poly.var(Y)
SMALL = range(-4, 5)


def number(value: int) -> Poly:
    return Poly.constant(value)


@pytest.mark.parametrize(
    ("poly", "text"),
    [
        (number(0), "0"),
        (number(-3), "-3"),
        (x, "s.x"),
        (-x, "-s.x"),
        (x + y, "first.y + s.x"),
        (x - y, "s.x - first.y"),
        (x.plus(1), "s.x + 1"),
        (x.plus(-1), "s.x - 1"),
        (x * number(2), "2 * s.x"),
        (x * y, "first.y * s.x"),
        (x * x, "s.x * s.x"),
        (x - x, "0"),
        ((x + y) * (x - y), "s.x * s.x - first.y * first.y"),
        ((x.plus(1)) * (x.plus(-1)), "s.x * s.x - 1"),
    ],
)
def test_polynomials_are_in_normal_form(poly: Poly, text: str) -> None:
    assert poly.text() == text


@pytest.mark.parametrize(
    "pair",
    [
        (x + y, y + x),
        (x * y, y * x),
        ((x + y) * number(3), x * number(3) + y * number(3)),
        ((x + y) * (x + y), x * x + number(2) * x * y + y * y),
        (-(x - y), y - x),
    ],
)
def test_equal_terms_are_the_same(pair: tuple[Poly, Poly]) -> None:
    assert pair[0] == pair[1]
    assert is_zero(pair[0] - pair[1]) is True


BOUNDS = [
    (x, "s.x >= 0", "s.x < 0"),
    (x.plus(-1), "s.x > 0", "s.x <= 0"),
    (x.plus(1), "s.x > -2", "s.x < -1"),
    (-x, "s.x <= 0", "s.x > 0"),
    ((-x).plus(-1), "s.x < 0", "s.x >= 0"),
    ((-x).plus(3), "s.x < 4", "s.x > 3"),
    (x - y, "s.x >= first.y", "first.y > s.x"),
    ((x - y).plus(-1), "s.x > first.y", "first.y >= s.x"),
    ((x - y).plus(2), "s.x + 2 >= first.y", "first.y > s.x + 2"),
    (x * number(2) - number(3), "s.x > 1", "s.x < 2"),
    (number(-2) * x + number(3), "s.x < 2", "s.x > 1"),
]


@pytest.mark.parametrize(("poly", "positive", "negative"), BOUNDS)
def test_bounds(poly: Poly, positive: str, negative: str) -> None:
    found = at_least_zero(poly)
    assert not isinstance(found, bool)
    atom, holds = found
    assert (atom.text(holds), atom.text(not holds)) == (positive, negative)
    for a, b in itertools.product(SMALL, repeat=2):
        scope = {"s": _Names(x=a), "first": _Names(y=b)}
        value = eval(poly.text(), {}, scope)
        assert eval(positive, {}, scope) == (value >= 0)
        assert eval(negative, {}, scope) == (value < 0)


class _Names:
    def __init__(self, **names: Any) -> None:
        self.__dict__.update(names)


def test_opposite_bounds_are_one_condition() -> None:
    above, below = at_least_zero(x.plus(-1)), at_least_zero(-x)
    assert not isinstance(above, bool)
    assert not isinstance(below, bool)
    assert above[0] == below[0]
    assert above[1] != below[1]


@pytest.mark.parametrize(
    ("poly", "text"),
    [
        (x, "s.x == 0"),
        (x.plus(-5), "s.x == 5"),
        (x - y, "first.y == s.x"),
        (y - x, "first.y == s.x"),
        (x * number(2) - number(4), "s.x == 2"),
    ],
)
def test_equalities(poly: Poly, text: str) -> None:
    found = is_zero(poly)
    assert not isinstance(found, bool)
    assert found[0].text(found[1]) == text
    assert found[0].text(not found[1]) == text.replace("==", "!=")


@pytest.mark.parametrize(
    ("poly", "expected"),
    [(number(0), True), (number(2), False), (x * number(2) - number(3), False)],
)
def test_equalities_that_are_clear(poly: Poly, expected: bool) -> None:
    assert is_zero(poly) is expected


@pytest.mark.parametrize(("value", "expected"), [(0, True), (1, True), (-1, False)])
def test_bounds_that_are_clear(value: int, expected: bool) -> None:
    assert at_least_zero(number(value)) is expected


def test_other_conditions() -> None:
    flag, word = Var("s.b", "bool"), Var("s.t", "str")
    member = Var("first.k in s.d", "bool", "in", ("d", y))
    assert IsTrue(flag).text(True) == "s.b"
    assert IsTrue(flag).text(False) == "not s.b"
    assert IsTrue(member).text(False) == "first.k not in s.d"
    assert IsSame(word, Constant("str", "on")).text(True) == "s.t == 'on'"
    assert IsSame(word, Var("second.t", "str")).text(False) == "s.t != second.t"
    assert IsA(X, "none").text(True) == "s.x is None"
    assert IsA(X, "none").text(False) == "s.x is not None"
    assert IsA(X, "bool").text(True) == "type(s.x) is bool"


def test_what_has_to_be_known_first_comes_first() -> None:
    in_range = (AtLeastZero(y), True)
    cell = Var("s.a[first.y]", "int", "cell", ("a", y), frozenset({"a"}), (in_range,))
    value = (IsZero(Poly.var(cell)), True)
    assert in_python((value, in_range)) == "first.y >= 0 and s.a[first.y] == 0"
    assert in_python((in_range, value)) == "first.y >= 0 and s.a[first.y] == 0"
    assert in_python(()) == "True"
    assert closure_of(cell) == {in_range}
    assert shared_by(value[0]) == {"a"}
    nested = Var("s.a[s.a[first.y]]", "int", "cell", ("a", Poly.var(cell)), frozenset({"a"}))
    assert closure_of(nested) == {in_range}


def test_what_cannot_be_evaluated() -> None:
    unknown = Var("round 1", "int", is_known=False)
    inside = Var("s.a[round 1]", "int", "cell", ("a", Poly.var(unknown)))
    assert is_known(IsZero(x))
    assert not is_known(IsZero(Poly.var(unknown)))
    assert not is_known(IsZero(Poly.var(inside)))


@pytest.mark.parametrize(
    ("value", "tag"),
    [
        (0, "int"),
        (True, "bool"),
        (None, "none"),
        ("", "str"),
        (b"", "bytes"),
        (1.0, "opaque"),
        ((), "opaque"),
        ([], "opaque"),
        (print, "opaque"),
    ],
)
def test_kinds_of_values(value: Any, tag: str) -> None:
    assert tag_of(value) == tag
    constant = Value.constant(value)
    assert (constant is None) == (tag == "opaque")
    if constant is not None:
        assert constant.tag == tag


def test_a_number_that_is_more_than_a_number_is_opaque() -> None:
    import enum

    class Level(enum.IntEnum):
        LOW = 1

    class Truthful(enum.Enum):
        NO = 0

        def __bool__(self) -> bool:
            return False

    class Own(int):
        pass

    assert [tag_of(value) for value in (Level.LOW, Truthful.NO, Own(1))] == ["opaque"] * 3


def test_the_kind_that_cannot_be_named_is_asked_for_last() -> None:
    assert in_order({"enum", "none", "int"}) == ("none", "int", "enum")
    assert in_order({"str", "bool"}) == ("bool", "str")
