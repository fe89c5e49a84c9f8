"""Messages are values: what is sent, returned or retrieved is copied, so that no two actors share.

Atoms, actors and futures are handed over as they are, and so are tuples and frozen sets of them.
Everything else is copied, as deep as it goes.
"""

from __future__ import annotations

import copy
import dataclasses
import datetime
import enum
import types
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any, NoReturn

from treadle.actors import control
from treadle.core.words import brief, exception_in_words

HANDED_OVER: set[type[Any]] = {
    int, float, complex, bool, str, bytes, type(None), type(Ellipsis), range, type,
    Fraction, Decimal, datetime.date, datetime.datetime, datetime.time, datetime.timedelta,
}  # fmt: skip
"""Classes whose objects are handed over as they are: atoms, futures, and every class of actors."""


def is_immutable(value: Any) -> bool:
    """Tell whether nobody can change a value, nor what it consists of.

    A class says so of its objects by `__treadle_value__ = True`.

    >>> is_immutable((1, ("a", None))), is_immutable((1, ["a"]))
    (True, False)
    """
    kind = type(value)
    if kind in HANDED_OVER:
        return True
    if kind is tuple or kind is frozenset:
        return all(map(is_immutable, value))
    if getattr(kind, "__treadle_value__", False):
        return True
    if isinstance(value, type | types.BuiltinFunctionType | enum.Enum):
        return True
    return _is_frozen(value) or _is_constant_function(value)


def _is_frozen(value: Any) -> bool:
    """Tell whether a value is of a frozen dataclass, and so is what it consists of."""
    parameters = getattr(type(value), "__dataclass_params__", None)
    if parameters is None or not parameters.frozen:
        return False
    parts = (getattr(value, field.name) for field in dataclasses.fields(value))
    return all(map(is_immutable, parts))


def _is_constant_function(value: Any) -> bool:
    """Tell whether a value is a function that brings nothing along that could be changed."""
    return (
        isinstance(value, types.FunctionType)
        and not value.__closure__
        and not value.__kwdefaults__
        and is_immutable(value.__defaults__ or ())
    )


def copied(value: Any, what: Callable[[], str]) -> Any:
    """Return a value that is not shared with anybody; `what` says what it is, for an error.

    >>> sent = [1]
    >>> copied(sent, str) == sent, copied(sent, str) is sent
    (True, False)
    """
    if is_immutable(value):
        return value
    for part in _parts(value, {}):
        if isinstance(part, types.FunctionType) and not _is_constant_function(part):
            _refuse(part, what(), "it is a function with variables of its own")
    try:
        return copy.deepcopy(value)
    except Exception as error:
        _refuse(value, what(), exception_in_words(error))


def _parts(value: Any, seen: dict[int, Any]) -> Iterator[Any]:
    """Yield a value and what it consists of: copying leaves functions as they are."""
    if id(value) in seen or is_immutable(value):
        return
    seen[id(value)] = value
    yield value
    inner: list[Any] = (
        [getattr(value, "__self__", None), *vars(value).values()]
        if (hasattr(value, "__dict__"))
        else []
    )
    if isinstance(value, dict):
        inner += [*value.keys(), *value.values()]
    elif isinstance(value, list | tuple | set | frozenset):
        inner += value
    for part in inner:
        yield from _parts(part, seen)


def _refuse(value: object, what: str, reason: str) -> NoReturn:
    control.refuse(
        f"{what} cannot be copied ({brief(value)}: {reason}): messages are values, send data or "
        f"actors"
    )
