"""Options as words on a command line: the same for `treadle` and for pytest."""

from __future__ import annotations

import argparse

import click
import pytest

from _treadle_pytest import _flags
from treadle.cli.options import takes
from treadle.core.arguments import Argument, Takes, argument
from treadle.core.options import (
    COUNT,
    COUNT_OR_NONE,
    FLAG,
    SECONDS_OR_NONE,
    Directory,
    Either,
    Names,
    OneOf,
    Option,
    Values,
)
from treadle.session.options import everything

PACKAGES = Names("packages", '["json"]', "PACKAGE")
EITHER = Either([OneOf(["stay"]), COUNT])


def option(values: Values, default: object = None) -> Option:
    """Return an option called `my_option`."""
    return Option(values, default, "What it does.", name="my_option")


@pytest.mark.parametrize(
    ("values", "expected", "metavar", "off_flag"),
    [
        (FLAG, {"takes": Takes.NOTHING, "can_be_switched_off": True}, "", "no-my-option"),
        (COUNT, {"number": int}, "N", ""),
        (SECONDS_OR_NONE, {"number": float}, "SECONDS", ""),
        (OneOf(["red", "green"]), {"choices": ["red", "green"]}, "", ""),
        (OneOf(lambda: ("a", "b")), {"choices": ["a", "b"]}, "", ""),
        (PACKAGES, {"takes": Takes.ONE_WORD_EACH_TIME}, "PACKAGE", ""),
        (Directory(), {"can_be_switched_off": True}, "DIRECTORY", "no-my-option"),
        (EITHER, {"is_meant": True}, "NAME", ""),
    ],
)
def test_how_an_option_is_written(
    values: Values, expected: dict[str, object], metavar: str, off_flag: str
) -> None:
    written = argument(option(values))
    assert written == Argument(option(values), **expected)  # type: ignore[arg-type]
    assert written.metavar == metavar
    assert written.off_flag == off_flag


def test_an_option_may_have_another_word_for_its_opposite() -> None:
    written = argument(Option(FLAG, True, "Stop.", off="go-on", name="stop"))
    assert written.off_flag == "go-on"


def read_by_click(declared: Option, *words: str) -> object:
    """Return what a command makes of words."""
    command = click.Command("it", callback=lambda my_option: my_option)
    return takes(declared)(command).main([*words], standalone_mode=False)


def read_by_pytest(declared: Option, *words: str) -> object:
    """Return what pytest makes of words; None if they do not say anything."""
    parser = argparse.ArgumentParser(exit_on_error=False)
    for flag, settings in _flags(declared):
        parser.add_argument(flag, **{"default": None, **settings})
    prefixed = [word.replace("--", "--treadle-", 1) for word in words]
    return parser.parse_args(prefixed).treadle_my_option


SAID: list[tuple[Values, list[str], object]] = [
    (FLAG, ["--my-option"], True),
    (FLAG, ["--no-my-option"], False),
    (COUNT, ["--my-option", "3"], 3),
    (COUNT_OR_NONE, ["--my-option=7"], 7),
    (COUNT_OR_NONE, ["--my-option", "none"], False),
    (SECONDS_OR_NONE, ["--my-option", "1.5"], 1.5),
    (SECONDS_OR_NONE, ["--my-option", "none"], False),
    (OneOf(["red", "green"]), ["--my-option", "red"], "red"),
    (PACKAGES, ["--my-option", "a", "--my-option", "b"], ["a", "b"]),
    (Directory(), ["--my-option", "kept"], "kept"),
    (EITHER, ["--my-option", "stay"], "stay"),
    (EITHER, ["--my-option", "12"], 12),
    (EITHER, ["--my-option", "neither"], "neither"),
]


@pytest.mark.parametrize(("values", "words", "expected"), SAID)
def test_both_read_the_same(values: Values, words: list[str], expected: object) -> None:
    by_click = read_by_click(option(values, () if values is PACKAGES else None), *words)
    assert (list(by_click) if isinstance(by_click, tuple) else by_click) == expected
    assert read_by_pytest(option(values), *words) == expected


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (COUNT, ["--my-option", "many"]),
        (COUNT, ["--my-option", "none"]),
        (SECONDS_OR_NONE, ["--my-option", "soon"]),
        (OneOf(["red", "green"]), ["--my-option", "blue"]),
    ],
)
def test_both_refuse_the_same(values: Values, words: list[str]) -> None:
    with pytest.raises(click.UsageError):
        read_by_click(option(values), *words)
    with pytest.raises(argparse.ArgumentError):
        read_by_pytest(option(values), *words)


def test_what_nobody_says_is_told_from_what_somebody_does() -> None:
    for values, _, _ in SAID:
        assert read_by_pytest(option(values)) is None


def test_every_option_that_there_is_has_a_flag() -> None:
    flags = [flag for declared in everything().values() for flag, _ in _flags(declared)]
    assert len(set(flags)) == len(flags)
    for declared in everything().values():
        assert f"--treadle-{declared.flag}" in flags
