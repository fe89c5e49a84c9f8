"""Values of ABS in Python: all of them immutable, and in an order that hashes do not decide.

| ABS | Python |
|---|---|
| `Int`, `Rat`, `Float`, `Bool`, `String` | `int`, `Fraction`, `float`, `bool`, `str` |
| `List<A>` | `tuple` |
| `Map<K, V>`, `Set<A>` | `Map`, `Set`: by insertion |
| data types | frozen dataclasses that derive from `Data` |
| exceptions | classes that derive from `AbsException` |
| `null`, `Unit` | `None` |
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, ClassVar

from treadle.actors.messages import HANDED_OVER

HANDED_OVER.add(Fraction)


@functools.total_ordering
class Data:
    """The base of all data types; constructors are ordered as they were declared."""

    _rank: ClassVar[int] = 0
    """Which of the constructors of its type a class is."""
    _constructors: ClassVar[int] = 0

    def __init_subclass__(cls) -> None:
        HANDED_OVER.add(cls)
        parent = cls.__mro__[1]
        if issubclass(parent, Data) and parent is not Data:
            cls._rank = parent._constructors
            parent._constructors += 1

    def __lt__(self, other: Any) -> bool:
        if not isinstance(other, Data):
            return NotImplemented
        return (self._rank, parts_of(self)) < (other._rank, parts_of(other))

    def __str__(self) -> str:
        return _constructed(self)


class AbsException(Exception):
    """The base of all exceptions of ABS; what they are given is in `args`."""

    def __str__(self) -> str:
        return ", ".join(map(text_of, self.args))

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.args == self.args

    __hash__ = Exception.__hash__


class DivisionByZeroException(AbsException):
    """A number was divided by zero."""


class AssertionFailException(AbsException):
    """An assertion failed."""


class PatternMatchFailException(AbsException):
    """No pattern of a `case` fits the value."""


class NullPointerException(AbsException):
    """Something was asked of `null`."""


def parts_of(value: Data | AbsException) -> tuple[Any, ...]:
    """Return what a constructor was given."""
    if isinstance(value, AbsException):
        return value.args
    return tuple(getattr(value, field.name) for field in fields(value))  # type: ignore[arg-type]


def _constructed(value: Data | AbsException) -> str:
    name = type(value).__name__.rstrip("_")
    given = parts_of(value)
    return f"{name}({', '.join(map(text_of, given))})" if given else name


def text_of(value: Any) -> str:
    """Return a value as ABS prints it."""
    match value:
        case None:
            return "null"
        case AbsException():
            return _constructed(value)
        case tuple():
            return f"list[{', '.join(map(text_of, value))}]"
        case _:
            return str(value)


# The data types of the standard library


class PairType(Data):
    """`data Pair<A, B>`."""


@dataclass(frozen=True)
class Pair(PairType):
    """`Pair(A fst, B snd)`."""

    fst: Any
    snd: Any


class TripleType(Data):
    """`data Triple<A, B, C>`."""


@dataclass(frozen=True)
class Triple(TripleType):
    """`Triple(A fstT, B sndT, C trdT)`."""

    fstT: Any  # noqa: N815 - the library's name
    sndT: Any  # noqa: N815
    trdT: Any  # noqa: N815


class Maybe(Data):
    """`data Maybe<A>`."""


@dataclass(frozen=True)
class Nothing(Maybe):
    """`Nothing`."""


@dataclass(frozen=True)
class Just(Maybe):
    """`Just(A fromJust)`."""

    fromJust: Any  # noqa: N815


class Either(Data):
    """`data Either<A, B>`."""


@dataclass(frozen=True)
class Left(Either):
    """`Left(A left)`."""

    left: Any


@dataclass(frozen=True)
class Right(Either):
    """`Right(B right)`."""

    right: Any


# Collections


class Set(AbstractSet[Any]):
    """A set that keeps the order of insertion."""

    __slots__ = ("_items",)

    def __init__(self, items: Iterable[Any] = ()) -> None:
        self._items = dict.fromkeys(items)

    def __contains__(self, item: object) -> bool:
        return item in self._items

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        return self._hash()

    def __repr__(self) -> str:
        return f"set[{', '.join(map(text_of, self))}]"


class Map(Mapping[Any, Any]):
    """A dictionary that nobody can change, in the order of insertion."""

    __slots__ = ("_items",)

    def __init__(self, items: Iterable[tuple[Any, Any]] = ()) -> None:
        self._items = dict(items)

    def __getitem__(self, key: Any) -> Any:
        return self._items[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        return hash(frozenset(self._items.items()))

    def __repr__(self) -> str:
        pairs = (f"Pair({text_of(key)}, {text_of(value)})" for key, value in self.items())
        return f"map[{', '.join(pairs)}]"


HANDED_OVER.update((Set, Map))
