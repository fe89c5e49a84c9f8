"""Values of symbolic execution: Python's own where they are known, else what stands for them.

Numbers, booleans, texts, None, tuples and data of the program are themselves. A `Term` is a number
or a boolean that depends on symbols; an `Unknown` is not decided yet: which actor, how long a list.
Lists, dictionaries and sets can be changed, so a value only names the `Box` that has the items.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from treadle.symbolic.kinds import Kind

Value = Any
"""A value of the program under test, or one of the classes below."""


@dataclass(frozen=True, slots=True)
class Reference:
    """An actor, by its name in the state."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Future:
    """What a task returns, by the task's name."""

    task: str

    def __str__(self) -> str:
        return f"the future of {self.task}"


@dataclass(frozen=True, slots=True)
class Unknown:
    """A symbol that is not decided yet."""

    name: str
    kind: Kind

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Box:
    """Something that can be changed; the state has its items."""

    name: str
    kind: str
    """`list`, `dict` or `set`."""


@dataclass(frozen=True, slots=True)
class Rest:
    """What an iteration has still to go through of a list: as long as the list is by then."""

    box: Box
    first: int


class Whatever:
    """A value that the engine does not follow; a decision about it ends the path."""

    def __repr__(self) -> str:
        return "?"


WHATEVER = Whatever()


class AnyValue:
    """Whatever value, in a concrete execution that does not depend on it."""

    __treadle_value__ = True

    def __repr__(self) -> str:
        return "ANY"


ANY: Any = AnyValue()
"""A value for fields and arguments that an execution does not look at."""


@dataclass(frozen=True, slots=True)
class Data:
    """A value of a data type with symbols inside."""

    constructor: type
    names: tuple[str, ...]
    parts: tuple[Value, ...]

    def part(self, name: str) -> Value:
        """Return what a constructor was given by name."""
        return self.parts[self.names.index(name)]


class Term:
    """A number or boolean over symbols: an expression of z3's, compared by what it is."""

    __slots__ = ("expression", "is_boolean", "is_text")

    def __init__(self, expression: Any, *, is_boolean: bool, is_text: bool = False) -> None:
        self.expression = expression
        self.is_boolean = is_boolean
        self.is_text = is_text
        """Whether the number stands for a text."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Term) and bool(self.expression.eq(other.expression))

    def __hash__(self) -> int:
        return int(self.expression.hash())

    def __bool__(self) -> bool:
        raise TypeError("a symbolic value was taken for a boolean")

    def __repr__(self) -> str:
        return str(self.expression)


SYMBOLIC = (Term, Unknown, Whatever, Data, Box, Rest)
"""What the program's own functions must not be given."""


def is_plain(value: Value) -> bool:
    """Tell whether a value has nothing symbolic inside, so that functions can be given it."""
    if isinstance(value, SYMBOLIC):
        return False
    return all(map(is_plain, inside(value)))


def inside(value: Value) -> Iterator[Value]:
    """Yield what an immutable value consists of."""
    if isinstance(value, tuple | frozenset):
        yield from value
    elif dataclasses.is_dataclass(value) and not isinstance(value, type | Reference | Future):
        for field in dataclasses.fields(value):
            yield getattr(value, field.name)


_codes: dict[str, int] = {"": 0}
_texts: dict[int, str] = {0: ""}
_FIRST_CODE = 1_000_000_007


def code_of(text: str) -> int:
    """Return the number that stands for a text in terms; texts are only compared there."""
    if text not in _codes:
        _codes[text] = code = _FIRST_CODE + len(_codes)
        _texts[code] = text
    return _codes[text]


def text_of(code: int) -> str:
    """Return the text that a number stands for; one that no program has for any other."""
    return _texts.get(code, f"text {code}")
