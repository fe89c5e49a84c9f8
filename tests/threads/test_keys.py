"""Keys that are equal are one location, whatever their types are.

One thread assigns a key, another looks up an equal one: two orders, and two outcomes.
"""

from __future__ import annotations

import dataclasses
import datetime
import enum
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePosixPath
from typing import Any, NamedTuple

import pytest
from together import outcomes, together

import treadle


class Pair(NamedTuple):
    x: Any
    y: Any


class Text(str):
    __slots__ = ()


class Real(float):
    pass


class TextColour(str, enum.Enum):  # noqa: UP042
    RED = "red"


class Colour(enum.StrEnum):
    RED = "red"


class Number(enum.IntEnum):
    ONE = 1


class Flag(enum.Enum):
    ON = 1


class AnyCase(str):
    """Equal to what differs in case only."""

    __slots__ = ()

    def __hash__(self) -> int:
        return hash(self.lower())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and self.lower() == other.lower()


class Alias:
    """Equal to a string."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __hash__(self) -> int:
        return hash(self.name)

    def __eq__(self, other: object) -> bool:
        return self.name == (other.name if isinstance(other, Alias) else other)


@dataclasses.dataclass(frozen=True)
class Point:
    x: int


class Owner:
    def method(self) -> None:
        """Do nothing."""


OWNER = Owner()

EQUAL: list[tuple[Any, Any]] = [
    (1, True),
    (1, 1.0),
    (1, 1 + 0j),
    (1, Decimal(1)),
    (1, Fraction(1)),
    (1, Number.ONE),
    (0.5, Decimal("0.5")),
    (Fraction(1, 10), Decimal("0.1")),
    (1.5, Real(1.5)),
    ((1, 2), Pair(1, 2)),
    ((1, 2), (Decimal(1), Real(2))),
    ((1, (2, 3)), Pair(True, Pair(2.0, 3))),
    (frozenset({1}), frozenset({1.0})),
    ("red", Text("red")),
    ("red", TextColour.RED),
    ("red", Colour.RED),
    ("red", AnyCase("RED")),
    ("red", Alias("red")),
    (("red", 1), (Alias("red"), 1)),
    (None, Alias(None)),
    (..., Alias(...)),
    (Point(1), Point(1)),
    (Flag.ON, Flag.ON),
    (b"a", memoryview(b"a")),
    (PurePosixPath("a"), PurePosixPath("a")),
    (datetime.date(2000, 1, 1), datetime.date(2000, 1, 1)),
    (
        datetime.datetime(2000, 1, 1, 1, tzinfo=datetime.UTC),
        datetime.datetime(2000, 1, 1, 2, tzinfo=datetime.timezone(datetime.timedelta(hours=1))),
    ),
    (OWNER.method, OWNER.method),
]
USES: dict[str, Callable[[Any], tuple[Any, Callable[[Any, Any], Any], Callable[[Any, Any], Any]]]]
USES = {
    "a new key": lambda _: ({}, lambda d, key: d.__setitem__(key, 1), lambda d, key: d.get(key)),
    "an old key": lambda key: ({key: 0}, _assign, lambda d, other: d[other]),
    "deleted": lambda key: ({key: 0}, lambda d, other: d.pop(other), lambda d, other: other in d),
    "a set": lambda _: (set(), lambda s, key: s.add(key), lambda s, key: key in s),
    "discarded": lambda key: ({key}, lambda s, key: s.discard(key), lambda s, key: key in s),
}


def _assign(d: dict[Any, int], key: Any) -> None:
    d[key] = 1


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize(("one", "other"), EQUAL)
def test_equal_keys_are_one_location(one: Any, other: Any, use: str) -> None:
    for first, second in ((one, other), (other, one)):

        def program(first: Any = first, second: Any = second) -> Any:
            shared, change, look = USES[use](second)
            found: list[Any] = []
            together(lambda: change(shared, first), lambda: found.append(look(shared, second)))
            return found[0]

        assert len(outcomes(program)) == 2


def test_different_keys_are_different_locations() -> None:
    """Of values that can be compared, it is known."""
    keys = [1, Decimal(2), Fraction(1, 3), (1, 2), Pair(1, 3), Text("a"), Flag.ON, Number.ONE + 3]
    for one in keys:
        for other in keys:

            def test(one: Any = one, other: Any = other) -> None:
                shared: dict[Any, int] = {}
                together(lambda: shared.__setitem__(one, 1), lambda: shared.get(other))

            assert treadle.explore(test).executions == (2 if one is other else 1)
