"""Values as a path of the code sees them: of a kind that is known, with a term of that kind.

`1`, `True` and `1.0` are three values, so what a block stores is compared by kind first. Numbers
and truth values are computed with; texts, bytes and members of an enumeration are moved and
compared; so is the result of a pure function. All else is opaque: it is moved, and equal to nothing
but itself.
"""

from __future__ import annotations

import enum
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from treadle.smt.terms import Constant, Poly, Sort, Var

Tag: TypeAlias = Literal["int", "bool", "none", "str", "bytes", "enum", "result", "opaque"]
TAGS: tuple[Tag, ...] = get_args(Tag)
COMPARED: frozenset[Tag] = frozenset({"str", "bytes", "enum", "result"})
"""What is moved and compared, and nothing else; code does not compare results."""

_BY_TYPE: dict[type, Tag] = {
    int: "int",
    bool: "bool",
    type(None): "none",
    str: "str",
    bytes: "bytes",
}


def tag_of(value: object) -> Tag:
    """Return the kind of a value.

    >>> tag_of(True), tag_of(1), tag_of(1.0)
    ('bool', 'int', 'opaque')
    """
    if isinstance(value, enum.Enum) and _is_plain_enum(type(value)):
        return "enum"
    return _BY_TYPE.get(type(value), "opaque")


def _is_plain_enum(kind: type) -> bool:
    """Tell whether the members of an enumeration are equal only to themselves, and true."""
    own = {name for base in kind.__mro__[:-1] for name in vars(base)}
    return own.isdisjoint({"__eq__", "__bool__", "__len__"})


def in_order(kinds: Iterable[Tag]) -> tuple[Tag, ...]:
    """Return kinds in the order in which they are asked for; the last one is not asked for."""
    return tuple(sorted(kinds, key=("none", "bool", "int", "str", "bytes", "enum", "opaque").index))


@dataclass(frozen=True, slots=True)
class Value:
    """A value of a kind: `term` is a `Poly`, a truth value or variable, a constant or variable.

    An opaque one has what it is known by.
    """

    tag: Tag
    term: Any = None

    @staticmethod
    def number(term: Poly | int) -> Value:
        """Return a whole number."""
        return Value("int", Poly.constant(term) if isinstance(term, int) else term)

    @staticmethod
    def truth(term: bool | Var) -> Value:
        """Return a truth value."""
        return Value("bool", term)

    @staticmethod
    def opaque(known_by: Hashable) -> Value:
        """Return something that is only moved."""
        return Value("opaque", known_by)

    @staticmethod
    def constant(value: object) -> Value | None:
        """Return a value that stands in the code; None if it is opaque."""
        tag = tag_of(value)
        if tag == "opaque":
            return None
        if tag == "int":
            assert isinstance(value, int)
            return Value.number(value)
        if tag in ("bool", "none"):
            return Value(tag, value)
        return Value(tag, Constant(_sort(tag), value))

    @staticmethod
    def of(var: Var, tag: Tag) -> Value:
        """Return the value of a variable."""
        if tag == "none":
            return Value("none")
        if tag == "opaque":
            return Value.opaque(var.text)
        return Value.number(Poly.var(var)) if tag == "int" else Value(tag, var)


NONE = Value("none")


def _sort(tag: Tag) -> Sort:
    assert tag != "none"
    assert tag != "opaque"
    return tag
