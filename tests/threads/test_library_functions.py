"""Attributes of functions of libraries, and of members of their enumerations, are locations.

One thread assigns something to a function or a member that a library has, another one calls it or
looks. Each program has exactly the outcomes that real threads have.
"""

from __future__ import annotations

import colorsys
import http
import json
import string
import textwrap
from collections.abc import Callable, Iterator
from http import HTTPStatus
from json import dumps
from typing import Any

import pytest
from together import Look, looking

_SORTED = {**(json.dumps.__kwdefaults__ or {}), "sort_keys": True}


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    """Put back what the programs assign."""
    functions: tuple[Any, ...] = (json.dumps, colorsys.rgb_to_hls, textwrap.TextWrapper.fill)
    before = [(one, one.__defaults__, one.__kwdefaults__, one.__code__) for one in functions]
    phrase = HTTPStatus.OK.phrase
    yield
    for one, defaults, by_name, code in before:
        one.__defaults__, one.__kwdefaults__, one.__code__ = defaults, by_name, code
        vars(one).clear()
    HTTPStatus.OK.phrase = phrase


def an_attribute() -> Look:
    return lambda: setattr(json.dumps, "calls", 1), lambda: getattr(json.dumps, "calls", 0)


def an_attribute_by_name() -> Look:
    def change() -> None:
        dumps.calls = 1  # type: ignore[attr-defined]

    return change, lambda: hasattr(dumps, "calls")


def an_item_of_its_attributes() -> Look:
    return lambda: json.dumps.__dict__.update(calls=1), lambda: hasattr(json.dumps, "calls")


def defaults() -> Look:
    def change() -> None:
        colorsys.rgb_to_hls.__defaults__ = (0, 0, 0)

    def look() -> str:
        try:
            return str(colorsys.rgb_to_hls())  # type: ignore[call-arg]
        except TypeError:
            return "refused"

    return change, look


def defaults_by_name() -> Look:
    def change() -> None:
        json.dumps.__kwdefaults__ = _SORTED

    return change, lambda: json.dumps({"b": 1, "a": 2})


def code() -> Look:
    def white(r: float, g: float, b: float) -> str:
        del r, g, b
        return "white"

    def change() -> None:
        colorsys.rgb_to_hls.__code__ = white.__code__

    return change, lambda: colorsys.rgb_to_hls(0, 0, 0)


def a_method() -> Look:
    def change() -> None:
        textwrap.TextWrapper.fill.calls = 1  # type: ignore[attr-defined]

    return change, lambda: hasattr(textwrap.TextWrapper.fill, "calls")


def a_method_of_ones_own_class() -> Look:
    class Formatter(string.Formatter):
        def start(self, at: int = 1) -> int:
            return at

    def change() -> None:
        Formatter.start.__defaults__ = (5,)

    return change, lambda: Formatter().start()


def one() -> int:
    return 1


def two() -> int:
    return 2


def code_of_a_function_of_a_module() -> Look:
    def change() -> None:
        one.__code__ = two.__code__

    return change, lambda: one()


def a_member() -> Look:
    def change() -> None:
        http.HTTPStatus.OK.phrase = "Fine"

    return change, lambda: http.HTTPStatus(200).phrase


def a_member_by_setattr() -> Look:
    return lambda: setattr(HTTPStatus.OK, "phrase", "Fine"), lambda: HTTPStatus["OK"].phrase


OUTCOMES: dict[Callable[[], Look], set[str]] = {
    an_attribute: {"0", "1"},
    an_attribute_by_name: {"False", "True"},
    an_item_of_its_attributes: {"False", "True"},
    defaults: {"'refused'", "'(0.0, 0.0, 0.0)'"},
    defaults_by_name: {"""'{"a": 2, "b": 1}'""", """'{"b": 1, "a": 2}'"""},
    code: {"(0.0, 0.0, 0.0)", "'white'"},
    a_method: {"False", "True"},
    a_method_of_ones_own_class: {"1", "5"},
    code_of_a_function_of_a_module: {"1", "2"},
    a_member: {"'OK'", "'Fine'"},
    a_member_by_setattr: {"'OK'", "'Fine'"},
}


@pytest.mark.parametrize("make", OUTCOMES, ids=lambda make: make.__name__)
def test_what_is_assigned_to_it_is_seen(make: Callable[[], Look]) -> None:
    assert looking(make) == OUTCOMES[make]
