"""What the names in actors' code stand for, and which functions and methods are known.

The caller says which class is the base of all actors, and what `until` and `pause` are: this
package knows no front end. A name is looked up as the function itself would: in its closure, its
module's variables and the builtins.
"""

from __future__ import annotations

import builtins
import dataclasses
import enum
import math
from collections import ChainMap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import FunctionType, ModuleType
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Known:
    """Objects of the front end by which the lowering recognises actors' code."""

    actor: type
    """The base class of all actors."""
    until: object
    pause: object

    def is_actor(self, value: object) -> bool:
        """Tell whether something is a class of actors."""
        return isinstance(value, type) and issubclass(value, self.actor)


PURE_BUILTINS = frozenset(
    (
        abs, all, any, bool, dict, divmod, enumerate, float, frozenset, hash, int, isinstance, len,
        list, max, min, print, range, repr, reversed, round, set, sorted, str, sum, tuple, zip,
    )
)  # fmt: skip
"""Functions that make a value of what they are given, and do nothing else."""
_PURE = "__treadle_pure__"
_PURE_CLASSES = frozenset({Fraction})
_PURE_MODULES = frozenset({math.__name__, "operator"})

CHANGING = frozenset(
    {
        "add", "append", "appendleft", "clear", "discard", "extend", "insert", "pop", "popitem",
        "popleft", "remove", "reverse", "setdefault", "sort", "update",
    }
)  # fmt: skip
"""Methods of collections that change them."""
READING = frozenset(
    {
        "copy", "count", "difference", "endswith", "find", "format", "get", "index", "intersection",
        "isalpha", "isdigit", "issubset", "items", "join", "keys", "lower", "lstrip", "replace",
        "rstrip", "split", "startswith", "strip", "union", "upper", "values",
    }
)  # fmt: skip
"""Methods of collections and strings that only read them (`get` with arguments)."""


def pure(function: _Function) -> _Function:
    """Say that a function has no effects and waits for nothing, as those of ABS."""
    setattr(function, _PURE, True)
    return function


def is_named_pure(value: object) -> bool:
    """Tell whether the user said of a function that it is pure: it does not raise either."""
    return hasattr(value, _PURE)


def is_pure(value: object) -> bool:
    """Tell whether a function or class makes a value of its arguments, and does nothing else."""
    if isinstance(value, type) and issubclass(value, BaseException):
        return True
    try:
        if value in PURE_BUILTINS or value in _PURE_CLASSES:
            return True
    except TypeError:  # it has no hash
        return False
    return getattr(value, "__module__", None) in _PURE_MODULES or hasattr(value, _PURE)


def is_constructor(value: object) -> bool:
    """Tell whether a class only keeps what it is given: dataclasses, named tuples, enumerations."""
    if not isinstance(value, type):
        return False
    if issubclass(value, enum.Enum) or (issubclass(value, tuple) and hasattr(value, "_fields")):
        return True
    return dataclasses.is_dataclass(value) and not hasattr(value, "__post_init__")


def is_constant(value: object) -> bool:
    """Tell whether a variable of a module can be taken for its value."""
    return value is None or isinstance(
        value, int | float | str | bytes | Fraction | type | FunctionType | enum.Enum | ModuleType
    ) or (isinstance(value, tuple | frozenset) and all(map(is_constant, value)))  # fmt: skip


UNKNOWN = object()
"""The value of a name that cannot be told."""


def names_of(function: FunctionType) -> Mapping[str, object]:
    """Return what the names stand for that a function takes from outside."""
    closure: dict[str, object] = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            closure[name] = cell.cell_contents
        except ValueError:  # it has no value yet
            closure[name] = UNKNOWN
    return ChainMap(closure, function.__globals__, vars(builtins))


def function_of(owner: type, method: str) -> FunctionType | None:
    """Return the function behind a method of a class; None if the class has none."""
    for base in owner.__mro__:
        if method in vars(base):
            return unwrapped(vars(base)[method])
    return None


def unwrapped(value: object) -> FunctionType | None:
    """Return a function, or the one that a descriptor keeps."""
    value = getattr(value, "function", value)
    return value if isinstance(value, FunctionType) else None


def methods_of(owner: type, base: type) -> frozenset[str]:
    """Return the names of all methods of a class of actors."""
    return frozenset(
        name
        for each in owner.__mro__
        if each is not base and issubclass(each, base)
        for name, value in vars(each).items()
        if unwrapped(value) is not None
    )
