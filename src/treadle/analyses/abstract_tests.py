"""How tests on abstract values may come out, and what arithmetic on literals gives.

A branch that no execution takes is left out: a future that is None for certain is not waited for, a
counter that nobody counts up stays at 0. Wherever more is possible, both ways are.
"""

from __future__ import annotations

import operator as operators
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

from treadle.analyses.abstract import (
    PLAIN,
    AbstractObject,
    Literal,
    Part,
    Routine,
    Value,
)

BOTH = frozenset((True, False))

COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operators.eq, "!=": operators.ne, "<": operators.lt, "<=": operators.le,
    ">": operators.gt, ">=": operators.ge, "is": operators.is_, "is not": operators.is_not,
}  # fmt: skip
TESTS = frozenset((*COMPARISONS, "in", "not in", "not", "nonempty"))
"""Operators whose results are truth values."""
_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operators.add, "-": operators.sub, "*": operators.mul,
    "+=": operators.add, "-=": operators.sub, "*=": operators.mul,
}  # fmt: skip
_EQUAL = frozenset(("==", "is"))
_DIFFERENT = frozenset(("!=", "is not"))


def truths_of(value: Value) -> frozenset[bool]:
    """Return whether a value may count as true, and as false."""
    return frozenset[bool]().union(*map(_truths, value))


def _truths(one: Part) -> frozenset[bool]:
    match one:
        case Literal(_, value):
            return frozenset({bool(value)})
        case AbstractObject(cls) if not (hasattr(cls, "__bool__") or hasattr(cls, "__len__")):
            return frozenset({True})
        case Routine():
            return frozenset({True})
        case _:
            return BOTH


def either(operator: str, truths: Sequence[frozenset[bool]]) -> frozenset[bool]:
    """Return how `and` or `or` may come out."""
    if not all(truths):
        return frozenset()
    decisive, other = operator == "or", operator != "or"
    found = {decisive} if any(decisive in one for one in truths) else set()
    return frozenset(found | {other} if all(other in one for one in truths) else found)


def compared(operator: str, left: Value, right: Value) -> frozenset[bool]:
    """Return how a comparison of two values may come out."""
    pairs = product(left, right)
    return frozenset[bool]().union(*(_compared(operator, one, other) for one, other in pairs))


def _compared(operator: str, one: Part, other: Part) -> frozenset[bool]:
    if isinstance(one, Literal) and isinstance(other, Literal):
        return _literals_compared(operator, one, other)
    known = (Literal, AbstractObject, Routine)
    if not isinstance(one, known) or not isinstance(other, known) or one == other:
        return BOTH
    if operator in ("==", "!=") and (_has_equality(one) or _has_equality(other)):
        return BOTH
    if operator in _EQUAL:
        return frozenset({False})
    return frozenset({True}) if operator in _DIFFERENT else BOTH


def _has_equality(one: Part) -> bool:
    """Tell whether a class says itself what is equal."""
    return isinstance(one, AbstractObject) and getattr(one.cls, "__eq__", None) is not object.__eq__


def _literals_compared(operator: str, one: Literal, other: Literal) -> frozenset[bool]:
    if operator in ("is", "is not"):
        if not {one.kind, other.kind} & {bool, type(None)}:
            return BOTH  # which numbers are one object is the interpreter's business
        return frozenset({(one == other) == (operator == "is")})
    try:
        return frozenset({bool(COMPARISONS[operator](one.value, other.value))})
    except TypeError:
        return BOTH


def computed(operator: str, values: Sequence[Value]) -> Value:
    """Return what an operator makes of plain values."""
    function = _ARITHMETIC.get(operator)
    if function is None or len(values) != 2:
        return PLAIN
    found = set()
    for one, other in product(*values):
        if not (_is_number(one) and _is_number(other)):
            return PLAIN
        found.add(Literal.of(function(one.value, other.value)))  # type: ignore[union-attr]
    return frozenset(found)


def _is_number(one: Part) -> bool:
    return isinstance(one, Literal) and one.kind is int and abs(one.value) < _LARGE  # type: ignore[arg-type]


_LARGE = 1 << 30
