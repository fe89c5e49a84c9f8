"""Operators of libraries that make an attribute of an object which threads share.

The attribute is not there before, so what such code touches is known only when it is over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from of_others import modules_of_others
from together import outcomes, together

OPERATORS = ("add", "getitem", "neg", "lt", "contains", "bool", "len", "hash", "str", "enter")
RESULTS = {"contains": "True", "bool": "True", "len": "1", "hash": "1", "str": "'x'"}
METHOD = """
    def __{name}__(self, *_):
        self.made = 1
        return {result}
"""
LIBRARY = """
class Box:
{methods}
    def __exit__(self, *_):
        pass

    @property
    def size(self):
        self.made = 1

class Asking(Box):
    def __getattr__(self, name):
        if name != "other":
            raise AttributeError(name)
        self.made = 1
"""


def _with(box: Any) -> None:
    with box:
        pass


def _if(box: Any) -> str:
    if box:
        return "full"
    return "empty"


CALLS: dict[str, Callable[[Any], object]] = {
    "+": lambda box: box + 1,
    "[]": lambda box: box[0],
    "-": lambda box: -box,
    "<": lambda box: box < 1,
    "in": lambda box: 1 in box,
    "if": _if,
    "len": len,
    "hash": hash,
    "str": str,
    "f-string": lambda box: f"{box}",
    "with": _with,
    "property": lambda box: box.size,
    "__getattr__": lambda box: box.other,
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A module that lies where the code of others does."""
    methods = [METHOD.format(name=name, result=RESULTS.get(name)) for name in OPERATORS]
    sources = {"operators_of_others": LIBRARY.format(methods="".join(methods))}
    with modules_of_others(tmp_path_factory.mktemp("made"), sources) as module:
        yield module


@pytest.mark.parametrize("call", CALLS)
def test_an_attribute_that_an_operator_makes_is_seen(library: Any, call: str) -> None:
    def test() -> bool:
        box = (library.Asking if call == "__getattr__" else library.Box)()
        found: list[bool] = []
        together(lambda: CALLS[call](box), lambda: found.append(hasattr(box, "made")))
        return found[0]

    assert outcomes(test) == {"False", "True"}


@pytest.mark.parametrize("algorithm", ["exhaustive", "optimal"])
def test_each_of_two_operators_has_made_its_own(library: Any, algorithm: str) -> None:
    def negate(one: Any, other: Any) -> None:
        _ = -one
        _ = -other

    def test() -> list[bool]:
        one, other = library.Box(), library.Box()
        found: list[bool] = []

        def look() -> None:
            found.extend([hasattr(one, "made"), hasattr(other, "made")])

        together(lambda: negate(one, other), look)
        return found

    every = {str([one, other]) for one in (False, True) for other in (False, True)}
    assert outcomes(test, algorithm) == every
