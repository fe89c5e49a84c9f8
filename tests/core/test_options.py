"""Options as they are declared: what each kind of values admits, keeps, reads and refuses."""

from __future__ import annotations

import math
from typing import Annotated, TypedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.core.errors import TreadleError
from treadle.core.options import (
    COUNT,
    COUNT_OR_NONE,
    FLAG,
    SECONDS_OR_NONE,
    Directory,
    Either,
    Names,
    Number,
    OneOf,
    Option,
    Values,
    declared_in,
    find_option,
    merged,
)

COLOURS = OneOf(["red", "green"])
PACKAGES = Names("packages", '["json"]', "PACKAGE")

KINDS: dict[str, tuple[Values, list[object], list[object], str]] = {
    "flag": (FLAG, [True, False], [0, 1, "true", None], "true or false"),
    "number": (Number(), [0, -3, 10**30], [1.0, True, "1", None], "a whole number"),
    "count": (COUNT, [1, 10**30], [0, -1, 1.5, True, False, None], "a whole number above 0"),
    "count or none": (
        COUNT_OR_NONE,
        [1, None, False],
        [0, -1, True, "none"],
        "a whole number above 0, or false for none",
    ),
    "fraction": (Number(float), [0, -1.5, math.inf], [True, "1.5"], "a number"),
    "seconds": (
        SECONDS_OR_NONE,
        [0.1, 3, None, False, math.inf],
        [0, -1, 0.0, math.nan, True, "5"],
        "a number of seconds above 0, or false for none",
    ),
    "names": (
        PACKAGES,
        [(), ("a",), ["a", "b"], {"a": 1}, iter("ab")],
        ["a", [1], [["a"]], b"a", None, 3],
        'a list of packages, like ["json"]',
    ),
    "directory": (
        Directory(),
        [".treadle", "/a b", None, False],
        ["", 3, True, ["a"]],
        "a directory, or false for none",
    ),
    "either": (
        Either([COUNT, COLOURS]),
        [1, "red", "green"],
        [0, "blue", None, True, 1.5],
        "a whole number above 0, or one of red, green",
    ),
    "either or none": (
        Either([COUNT_OR_NONE, PACKAGES]),
        [2, None, False, ["a"]],
        [0, "a", True],
        'a whole number above 0, or a list of packages, like ["json"], or false for none',
    ),
}
"""Values, what they admit, what they refuse, and how they say what they admit."""


@pytest.mark.parametrize(
    ("kind", "value"), [(kind, value) for kind, row in KINDS.items() for value in row[1]]
)
def test_what_is_admitted_is_kept(kind: str, value: object) -> None:
    values = KINDS[kind][0]
    option = Option(values, None, "", name="it")
    kept = option.read(value)
    if values.can_be_none and value in (None, False):
        assert kept is None
    else:
        assert values.admits(kept)
    assert option.read(kept) == kept, "what was read once can be read again"


@pytest.mark.parametrize(
    ("kind", "value"), [(kind, value) for kind, row in KINDS.items() for value in row[2]]
)
def test_what_is_refused_is_named_with_what_is_right(kind: str, value: object) -> None:
    values, *_, words = KINDS[kind]
    option = Option(values, None, "", name="it")
    with pytest.raises(TreadleError) as caught:
        option.read(value, "here: ")
    assert str(caught.value) == f"here: it must be {words}, not {values.stored(value)!r}"


def test_one_of_several_names() -> None:
    option = Option(COLOURS, "red", "", name="colour")
    assert option.read("green") == "green"
    for value, said in [
        ("gren", "'gren': choose one of red, green (did you mean 'green'?)"),
        ("xyz", "'xyz': choose one of red, green"),
        (None, "None: choose one of red, green"),
        (["red"], "['red']: choose one of red, green (did you mean 'red'?)"),
    ]:
        with pytest.raises(TreadleError) as caught:
            option.read(value)
        assert str(caught.value) == f"unknown colour {said}"


def test_names_may_be_asked_for_when_they_are_needed() -> None:
    known = ["a"]
    late, early = OneOf(lambda: known), OneOf(tuple(known))
    known.append("b")
    assert (late.names, early.names) == (["a", "b"], ["a"])
    assert (late.admits("b"), early.admits("b")) == (True, False)


@given(st.lists(st.text()))
def test_any_collection_of_names_is_kept_as_a_tuple(names: list[str]) -> None:
    option = Option(PACKAGES, (), "", name="it")
    assert option.read(names) == option.read(name for name in names) == tuple(names)


@given(st.one_of(st.integers(), st.floats(allow_nan=False)))
def test_numbers_are_those_above_zero(number: float) -> None:
    assert SECONDS_OR_NONE.admits(number) == (number > 0)
    assert COUNT.admits(number) == (isinstance(number, int) and number > 0)
    assert Number().admits(number) == isinstance(number, int)


# Words of a command line


@pytest.mark.parametrize(
    ("values", "text", "value"),
    [
        (COUNT, "3", 3),
        (COUNT, "-3", -3),
        (COUNT_OR_NONE, "none", False),
        (SECONDS_OR_NONE, "1e-9", 1e-9),
        (SECONDS_OR_NONE, "none", False),
        (COLOURS, "blue", "blue"),
        (PACKAGES, "json", "json"),
        (Directory(), "kept", "kept"),
        (Either([COUNT, COLOURS]), "3", 3),
        (Either([COLOURS, COUNT]), "3", 3),
        (Either([COUNT, COLOURS]), "red", "red"),
        (Either([COUNT_OR_NONE, COLOURS]), "none", False),
        (Either([COLOURS, OneOf(["blue"])]), "blue", "blue"),
    ],
)
def test_words_that_mean_something(values: Values, text: str, value: object) -> None:
    option = Option(values, None, "", name="it")
    assert option.parsed(text) == option.meant(text) == value
    assert type(option.parsed(text)) is type(value)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (FLAG, "true"),
        (COUNT, "many"),
        (COUNT, "none"),
        (COUNT, "1.5"),
        (SECONDS_OR_NONE, "soon"),
        (Either([COUNT, COLOURS]), "blue"),
        (Either([COUNT, COLOURS]), "0"),
        (Either([FLAG, COUNT]), "true"),
    ],
)
def test_words_that_mean_nothing(values: Values, text: str) -> None:
    option = Option(values, None, "", name="it")
    with pytest.raises(ValueError, match=text):
        option.parsed(text)
    assert option.meant(text) == text
    with pytest.raises(TreadleError, match=r"^it must be "):
        option.read(option.meant(text))


def test_names_on_a_command_line() -> None:
    assert Option(FLAG, True, "", name="stop_on_failure", off="keep-going").off_flag == "keep-going"
    option = Option(FLAG, True, "", name="thread_exceptions")
    assert (option.flag, option.off_flag) == ("thread-exceptions", "no-thread-exceptions")


# Declarations


class Base(TypedDict, total=False):
    colour: Annotated[str, Option(COLOURS, "red", "Which colour.")]


class Derived(Base, total=False):
    count: Annotated[int, "something else", Option(COUNT, 1, "How many.", in_tokens=False)]


def test_what_a_class_declares() -> None:
    declared = declared_in(Derived)
    assert list(declared) == ["colour", "count"]
    assert declared["colour"] == Option(COLOURS, "red", "Which colour.", name="colour")
    assert declared["count"] == Option(COUNT, 1, "How many.", in_tokens=False, name="count")
    assert list(declared_in(Base)) == ["colour"]


def test_unknown_names() -> None:
    declared = declared_in(Derived)
    assert find_option(declared, "count") is declared["count"]
    with pytest.raises(TreadleError, match=r"^here: unknown setting 'cuont': did you mean 'count'"):
        find_option(declared, "cuont", "here: ")
    with pytest.raises(TreadleError, match=r"^unknown setting 'x': choose from colour, count$"):
        find_option(declared, "x")


# One name, several front ends


def option(values: Values, default: object = None) -> Option:
    return Option(values, default, "Help.", name="it")


def test_an_option_of_one_front_end_is_itself() -> None:
    one = option(COUNT, 3)
    assert merged([one]) is one


@pytest.mark.parametrize(
    "values", [FLAG, COUNT, COLOURS, PACKAGES, Directory()], ids=lambda v: type(v).__name__
)
def test_options_with_the_same_values_stay_what_they_are(values: Values) -> None:
    one, other = option(values, 1), option(values, 2)
    assert merged([one, other]) is one, "a flag of two front ends is still a flag"


def test_equal_numbers_are_the_same_values() -> None:
    assert merged([option(COUNT), option(Number(above_zero=True))]).values == COUNT
    assert isinstance(merged([option(COUNT), option(COUNT_OR_NONE)]).values, Either)


def test_options_with_other_values_admit_both() -> None:
    both = merged([option(COUNT, 3), option(COLOURS, "red"), option(COUNT, 5)])
    assert (both.default, both.help, both.name) == (3, "Help.", "it")
    assert both.values.in_words == "a whole number above 0, or one of red, green"
    assert both.values.metavar == "N"
    assert (both.read(7), both.read("red")) == (7, "red")
    assert not both.values.can_be_none
    assert merged([option(COUNT), option(COUNT_OR_NONE)]).values.can_be_none


def test_a_value_is_kept_as_the_first_keeps_it_that_admits_it() -> None:
    values = Either([COLOURS, PACKAGES])
    assert values.stored(["a"]) == ("a",)
    assert values.stored("red") == "red"
    assert values.stored(["a", 1]) == ["a", 1], "nobody's: as it is, for the error"


def test_names_of_several_are_said_once() -> None:
    both = merged([option(OneOf(["any", "fifo"]), "any"), option(OneOf(["fifo", "old"]), "fifo")])
    assert both.values.in_words == "one of any, fifo, old"
