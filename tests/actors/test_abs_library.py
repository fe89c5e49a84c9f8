"""ABS's standard library: every function, on values that tell it from its neighbours."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from abs_code import evaluated
from treadle.actors.abs.functions import FUNCTIONS
from treadle.actors.abs.values import (
    DivisionByZeroException,
    Just,
    Left,
    Map,
    Nothing,
    Pair,
    PatternMatchFailException,
    Right,
    Set,
    Triple,
    text_of,
)

HALF = Fraction(1, 2)
PAIRS = 'map[Pair(1, "a"), Pair(2, "b"), Pair(1, "c")]'

VALUES: list[tuple[str, Any]] = [
    # truth and operators
    ("True && !False || False", True),
    ("~True", False),
    ("and(True, False)", False),
    ("or(True, False)", True),
    ("not(True)", False),
    ("1 + 2 * 3 - 4", 3),
    ("(1 + 2) * 3", 9),
    ("-2 + 3", 1),
    ("7 % 3", 1),
    ("1 / 2", HALF),
    ("4 / 2", 2),
    ("1 / 3 + 1 / 6", HALF),
    ("1.5 / 0.5", 3.0),
    ("1 < 2 && 2 <= 2 && 3 > 2 && 3 >= 3 && 1 != 2", True),
    ("Nothing < Just(1) && Just(1) < Just(2)", True),
    ('"a" + "b"', "ab"),
    (r'"a\n\"\\"', 'a\n"\\'),
    ("if 1 == 1 then 2 else 3", 2),
    ("when 1 == 2 then 2 else 3", 3),
    ("let (Int x) = 2 in x * x", 4),
    ("let Int x = 2, Int y = x + 1 in x * y", 6),
    ("let (Int x) = 1 in let (Int x) = x + 1 in x", 2),
    ("`a $1 + 1$ b$list[1]$`", "a 2 blist[1]"),
    (r"`\$ \` $1$`", "$ ` 1"),
    (".5", 0.5),
    ("ABS.StdLib.list[1]", (1,)),
    # numbers
    ("max(1, 2)", 2),
    ("min(1 / 2, 2)", HALF),
    ("abs(-3)", 3),
    ("truncate(-7 / 2)", -3),
    ("floor(-7 / 2)", -4),
    ("ceil(7 / 2)", 4),
    ("numerator(6 / 4)", 3),
    ("denominator(6 / 4)", 2),
    ("float(1 / 2)", 0.5),
    ("rat(0.5)", HALF),
    ("pow(2, 3)", 8),
    ("pow(2, -1)", HALF),
    ("sqrt(9)", 3.0),
    ("log(1)", 0.0),
    ("sqrt_newton(4, 1, 1 / 1000)", Fraction(3281, 1640)),
    ("truncate(1000 * exp_newton(1, 1 / 1000000))", 2718),
    ("truncate(1000 * exp_newton(-1, 1 / 1000000))", 367),
    ("exp(0)", 1.0),
    # pairs and their kin
    ("fst(Pair(1, 2))", 1),
    ("snd(Pair(1, 2))", 2),
    ("fstT(Triple(1, 2, 3))", 1),
    ("sndT(Triple(1, 2, 3))", 2),
    ("trd(Triple(1, 2, 3))", 3),
    ("trdT(Triple(1, 2, 3))", 3),
    ("Triple(1, 2, 3)", Triple(1, 2, 3)),
    ("isJust(Just(1))", True),
    ("isNothing(Just(1))", False),
    ("fromJust(Just(1))", 1),
    ("fromMaybe(Nothing, 2)", 2),
    ("fromMaybe(Just(1), 2)", 1),
    ("left(Left(1))", 1),
    ("right(Right(2))", 2),
    ("isLeft(Left(1))", True),
    ("isRight(Left(1))", False),
    # lists
    ("Cons(1, Cons(2, Nil))", (1, 2)),
    ("list[]", ()),
    ("list(list[1, 2])", (1, 2)),
    ("head(list[1, 2])", 1),
    ("tail(list[1, 2])", (2,)),
    ("last(list[1, 2])", 2),
    ("length(list[1, 2])", 2),
    ("isEmpty(Nil)", True),
    ("nth(list[5, 6], 1)", 6),
    ("appendright(list[1], 2)", (1, 2)),
    ("concatenate(list[1], list[2])", (1, 2)),
    ("without(list[1, 2, 1], 1)", (2,)),
    ("reverse(list[1, 2])", (2, 1)),
    ("copy(7, 2)", (7, 7)),
    ("range(2, 4)", (2, 3, 4)),
    ("sum(list[1, 2])", 3),
    ("contains(list[1, 2], 2)", True),
    ("map((Int x) => x + 1)(list[1, 2])", (2, 3)),
    ("filter((Int x) => x > 1)(list[1, 2])", (2,)),
    ("foldl((Int x, Int r) => 2 * r + x)(list[1, 2], 1)", 8),
    ("foldr((Int x, Int r) => 2 * r + x)(list[1, 2], 1)", 9),
    # sets
    ("set[3, 1, 3]", Set((1, 3))),
    ("set(list[1, 1])", Set((1,))),
    ("EmptySet", Set()),
    ("Insert(1, EmptySet)", Set((1,))),
    ("emptySet(set[])", True),
    ("size(set[1, 2])", 2),
    ("contains(set[1], 2)", False),
    ("insertElement(set[1], 2)", Set((1, 2))),
    ("remove(set[1, 2], 1)", Set((2,))),
    ("union(set[1], set[2])", Set((1, 2))),
    ("intersection(set[1, 2], set[2, 3])", Set((2,))),
    ("difference(set[1, 2], set[2, 3])", Set((1,))),
    ("isSubset(set[1], set[1, 2])", True),
    ("hasNext(set[1])", True),
    ("take(set[3, 1])", 3),
    ("takeMaybe(set[])", Nothing()),
    ("next(set[3, 1])", Pair(Set((1,)), 3)),
    ("elements(set[3, 1, 3])", (3, 1)),
    ("set[1, 2] == set[2, 1]", True),
    # maps
    (PAIRS, Map([(1, "a"), (2, "b")])),
    ("map(list[Pair(1, 2)])", Map([(1, 2)])),
    ("EmptyMap", Map()),
    ("InsertAssoc(Pair(1, 2), EmptyMap)", Map([(1, 2)])),
    ("emptyMap(map[])", True),
    (f"lookup({PAIRS}, 1)", Just("a")),
    (f"lookup({PAIRS}, 3)", Nothing()),
    (f"lookupMaybe({PAIRS}, 2)", Just("b")),
    (f"lookupUnsafe({PAIRS}, 2)", "b"),
    (f'lookupDefault({PAIRS}, 3, "d")', "d"),
    (f"elements(keys({PAIRS}))", (1, 2)),
    (f"values({PAIRS})", ("a", "b")),
    (f"entries({PAIRS})", (Pair(1, "a"), Pair(2, "b"))),
    (f'values(put({PAIRS}, 1, "z"))', ("z", "b")),
    (f'values(insert({PAIRS}, Pair(3, "z")))', ("a", "b", "z")),
    (f"values(removeKey({PAIRS}, 1))", ("b",)),
    (f"values(remove({PAIRS}, 2))", ("a",)),
    # strings
    ('strlen("abc")', 3),
    ('substr("abcd", 1, 2)', "bc"),
    ('concatenate("a", "b")', "ab"),
    ("intToString(5)", "5"),
    ("toString(1 / 2)", "1/2"),
    ("toString(Just(Pair(True, null)))", "Just(Pair(True, null))"),
    ("toString(list[1, 2])", "list[1, 2]"),
    ("toString(set[1, 2])", "set[1, 2]"),
    ("toString(map[Pair(1, Nil)])", "map[Pair(1, list[])]"),
    ("Unit", None),
    # case
    ("case 3 { 1 => 10; 3 => 30; _ => 0; }", 30),
    ("case -1 { -1 => 1; _ => 2 }", 1),
    ('case "x" { "y" => 1; z => strlen(z); }', 1),
    ("case list[1, 2] { Nil => 0; Cons(h, Cons(t, Nil)) => 10 * h + t; }", 12),
    ("case Pair(1, Just(2)) { Pair(a, Just(b)) => a + b; Pair(a, Nothing) => a; }", 3),
    ("case Pair(2, 2) { Pair(a, a) => 1; _ => 2; }", 1),
    ("case Pair(2, 3) { Pair(a, a) => 1; _ => 2; }", 2),
    ("case True { False => 1 | True => 2 }", 2),
    ("case Unit { Unit => 5; }", 5),
    ("case set[] { EmptySet => 1; _ => 2; }", 1),
    ("case set[1, 2] { EmptySet => 0; Insert(x, r) => 10 * x + size(r); }", 11),
    ('case map[Pair(1, "a"), Pair(2, "b")] { InsertAssoc(Pair(k, v), r) => Pair(v, r); }',
     Pair("a", Map([(2, "b")]))),
    ("let (Int k) = 2 in case map[Pair(2, 3)] { InsertAssoc(Pair(k, y), _) => y; }", 3),
    ("let (Int a) = 2 in case 2 { a => 1; _ => 2; }", 1),
]  # fmt: skip


@pytest.mark.parametrize(("text", "value"), VALUES, ids=[text for text, _ in VALUES])
def test_values(text: str, value: Any) -> None:
    found = evaluated(text)
    assert found == value
    assert type(found) is type(value)


def test_every_function_has_a_value() -> None:
    called = {name for name in FUNCTIONS for text, _ in VALUES if f"{name}(" in text}
    assert set(FUNCTIONS) - called == {"print", "println"}
    assert len(FUNCTIONS) > 60


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("head(Nil)", "head(Nil)"),
        ("tail(Nil)", "tail(Nil)"),
        ("last(Nil)", "last(Nil)"),
        ("nth(list[1], 1)", "nth(…, 1)"),
        ("nth(list[1], -1)", "nth(…, -1)"),
        ("fromJust(Nothing)", "fromJust(Nothing)"),
        ("left(Right(1))", "left(Right(1))"),
        ("take(EmptySet)", "take(EmptySet)"),
        ("lookupUnsafe(map[], 3)", "lookupUnsafe(…, 3)"),
        ("case 1 { 2 => 3; }", "1"),
    ],
)
def test_what_has_no_value_fails_as_a_match_does(text: str, says: str) -> None:
    with pytest.raises(PatternMatchFailException) as failed:
        evaluated(text)
    assert failed.value.args == (says,)


@pytest.mark.parametrize("text", ["1 / 0", "1 % 0", "pow(0, -1)"])
def test_division_by_zero(text: str) -> None:
    with pytest.raises(DivisionByZeroException):
        evaluated(text)


def test_collections_keep_their_order_and_compare_without_it() -> None:
    assert list(Set((3, 1, 2))) == [3, 1, 2]
    assert hash(Set((3, 1))) == hash(Set((1, 3)))
    assert list(Map([(2, 0), (1, 0)])) == [2, 1]
    assert hash(Map([(2, 0), (1, 0)])) == hash(Map([(1, 0), (2, 0)]))
    assert text_of(Left(())) == "Left(list[])"
    assert Left(5) < Right(1), "constructors are ordered as they were declared"
