"""Small programs with all their outcomes: whatever CPython can do must be seen, nothing else.

Most of them were passed wrongly at some time, because an access was not seen.
"""

from __future__ import annotations

import collections
import copy
import dataclasses
import enum
import functools
import operator
import types
from collections.abc import Callable
from typing import Any

import pytest
from together import together

import treadle


class Colour(str, enum.Enum):  # noqa: UP042 - a `StrEnum` on every version
    RED = "red"


class Number(enum.IntEnum):
    ONE = 1


@dataclasses.dataclass
class Point:
    x: int = 0
    y: int = 0


def equal_keys(first: Any, second: Any) -> int:
    shared = {first: 0}

    def increment(key: Any) -> None:
        shared[key] = shared[key] + 1

    together(lambda: increment(first), lambda: increment(second))
    return shared[first]


def snapshot(make: Callable[[], Any], take: Callable[[Any], Any]) -> Any:
    """One thread sets x, then y; the other takes a snapshot."""
    shared = make()
    seen = []

    def write() -> None:
        shared.x = 1
        shared.y = 1

    together(write, lambda: seen.append(take(shared)))
    return seen[0]


def of_attributes(value: Any) -> tuple[int, int]:
    return value.x, value.y


def of_dictionary(value: Any) -> tuple[int, int]:
    return value["x"], value["y"]


def best(choose: Callable[[dict[str, int]], str]) -> str:
    """One thread changes what the elements are compared by."""
    worth = {"a": 1, "b": 2}
    seen = []

    def write() -> None:
        worth["a"] = 3

    together(write, lambda: seen.append(choose(worth)))
    return seen[0]


def best_after_sort(worth: dict[str, int]) -> str:
    names = ["a", "b"]
    names.sort(key=worth.get)  # type: ignore[arg-type]
    return names[-1]


def calls_of_a_cache() -> int:
    calls = []

    @functools.cache
    def compute(key: int) -> int:
        calls.append(key)
        return key

    together(lambda: compute(1), lambda: compute(1))
    return len(calls)


def factory_of_a_dictionary() -> int:
    made = []

    def factory() -> list[int]:
        made.append(1)
        return []

    shared: dict[str, list[int]] = collections.defaultdict(factory)

    def add() -> None:
        shared["k"].append(1)

    together(add, add)
    return len(shared["k"])


JOBS = [1, 2, 3]


def first_of_an_iterator() -> int:
    jobs = iter(JOBS)
    got: dict[str, int] = {}

    def take(name: str) -> None:
        got[name] = next(jobs)

    together(lambda: take("a"), lambda: take("b"))
    return got["a"]


def extended_by_an_iterator() -> int:
    jobs = iter([1, 2, 3])
    first: list[int] = []
    second: list[int] = []
    together(lambda: first.extend(jobs), lambda: second.extend(jobs))
    return len(first)


def truth_of_a_list() -> bool:
    shared: list[int] = []
    seen = []
    together(lambda: shared.append(1), lambda: seen.append(bool(shared)))
    return seen[0]


def missing_key(make: Callable[[], Any]) -> int:
    """Check, then act, on a class of the standard library that is not instrumented."""
    shared = make()
    inserted = []

    def insert() -> None:
        if "k" not in shared:
            inserted.append(1)
            shared["k"] = 1

    together(insert, insert)
    return len(inserted)


HALVES = {(0, 0), (1, 0), (1, 1)}
PROGRAMS: dict[str, tuple[Callable[[], Any], set[Any]]] = {
    "enum key": (lambda: equal_keys(Colour.RED, "red"), {1, 2}),
    "number key": (lambda: equal_keys(Number.ONE, 1), {1, 2}),
    "tuple key": (lambda: equal_keys((Colour.RED, 1), ("red", 1)), {1, 2}),
    "other keys": (lambda: equal_keys("red", "red"), {1, 2}),
    "copy": (lambda: snapshot(Point, lambda p: of_attributes(copy.copy(p))), HALVES),
    "deepcopy": (
        lambda: snapshot(Point, lambda p: of_attributes(copy.deepcopy([p])[0])),
        {(0, 0), (1, 0), (1, 1)},
    ),
    "asdict": (lambda: snapshot(Point, lambda p: of_dictionary(dataclasses.asdict(p))), HALVES),
    "replace": (lambda: snapshot(Point, lambda p: of_attributes(dataclasses.replace(p))), HALVES),
    "vars": (lambda: snapshot(Point, lambda p: of_dictionary(dict(vars(p)))), HALVES),
    "namespace": (
        lambda: snapshot(
            lambda: types.SimpleNamespace(x=0, y=0), lambda p: of_dictionary(dict(vars(p)))
        ),
        HALVES,
    ),
    "attrgetter": (lambda: snapshot(Point, operator.attrgetter("x", "y")), HALVES),
    "max by get": (lambda: best(lambda worth: max(["a", "b"], key=worth.get)), {"a", "b"}),  # type: ignore[arg-type]
    "sorted by item": (
        lambda: best(lambda worth: sorted(["a", "b"], key=worth.__getitem__)[-1]),
        {"a", "b"},
    ),
    "sort by get": (lambda: best(best_after_sort), {"a", "b"}),
    "cache": (calls_of_a_cache, {1, 2}),
    "defaultdict": (factory_of_a_dictionary, {1, 2}),
    "iterator": (first_of_an_iterator, {1, 2}),
    "extend": (extended_by_an_iterator, {0, 3}),
    "bool": (truth_of_a_list, {False, True}),
    "UserDict": (lambda: missing_key(collections.UserDict), {1, 2}),
    "ChainMap": (lambda: missing_key(collections.ChainMap), {1, 2}),
}


@pytest.mark.parametrize("algorithm", ["optimal", "source"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_outcome_is_seen(name: str, algorithm: str) -> None:
    program, expected = PROGRAMS[name]

    def test() -> None:
        raise ValueError(repr(program()))

    result = treadle.explore(test, algorithm, stop_on_failure=False)
    assert result.complete
    assert {failure.message for failure in result.failures} == {
        f"ValueError: {outcome!r}" for outcome in expected
    }
