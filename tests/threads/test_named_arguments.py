"""Names of arguments belong to code under test: no stand-in of Treadle's has one of them itself."""

from __future__ import annotations

import functools
import string
import types
from collections import ChainMap, Counter, UserDict, defaultdict
from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import pytest
from together import together

import treadle

NAMES = (
    "args", "body", "cache", "call", "cls", "dic", "function", "held", "kind", "kwargs", "message",
    "name", "obj", "owner", "self", "source", "stand_in", "table", "target", "text", "value",
)  # fmt: skip
"""Names that parameters of stand-ins have, and such as they might have."""
given = functools.partial


def updated(kind: Callable[[], Any]) -> Callable[[Any, dict[str, Any]], object]:
    def call(shared: Any, named: dict[str, Any]) -> object:
        found = kind()
        shared.append(found)
        found.update(**named)
        return {name: found[name] for name in named}

    return call


CALLS: dict[str, Callable[[Any, dict[str, Any]], object]] = {
    "dict": lambda shared, named: dict({"own": shared}, **named) | {"own": 0},
    "update of a dict": updated(dict),
    "update of a defaultdict": updated(lambda: defaultdict(int)),
    "update of a ChainMap": updated(ChainMap),
    "partial": lambda shared, named: given(dict, **named)(shared=shared),
    "format": lambda shared, named: "{kind} {function} {0}".format(shared, **named),
    "attributes": lambda shared, named: vars(types.SimpleNamespace(**{**named, "own": shared})),
    "mock": lambda shared, named: Mock(return_value=3)(shared, **named),
}
"""What a call with a shared list and named arguments gives."""
WITHOUT_SELF: dict[str, Callable[[Any, dict[str, Any]], object]] = {
    "Counter": lambda shared, named: [Counter(**named), shared],
    "update of a Counter": updated(Counter),
    "UserDict": lambda shared, named: [UserDict(**named).data, shared],
    "template": lambda shared, named: string.Template("$kind").substitute(own=shared, **named),
}
"""Those of functions of the library that need these two names for themselves."""


@pytest.mark.parametrize("name", [*CALLS, *WITHOUT_SELF])
def test_any_name_may_be_given(name: str) -> None:
    call = {**CALLS, **WITHOUT_SELF}[name]
    named = {one: at for at, one in enumerate(NAMES) if name in CALLS or one != "self"}
    if name == "mock":
        named.pop("self")
    expected = repr(call([], named)) if name != "mock" else "3"

    def test() -> None:
        shared: list[Any] = []
        results: list[str] = []
        together(lambda: results.append(repr(call(shared, named))), lambda: len(shared))
        assert results == [expected] or "update" not in name

    result = treadle.explore(test)
    assert not result.failures
    assert result.complete
