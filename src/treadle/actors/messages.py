"""Messages are values: what is sent, returned or retrieved is copied, so that no two actors share.

Atoms, actors and futures are handed over as they are, and so are tuples and frozen sets of them.
Everything else is copied, as deep as it goes.
"""

from __future__ import annotations

import copy
import types
from collections.abc import Callable
from typing import Any

from treadle.actors import control
from treadle.core.words import brief, exception_in_words

ATOMS: frozenset[type[Any]] = frozenset(
    {int, float, complex, bool, str, bytes, type(None), type(Ellipsis), range, type}
)
"""Classes whose objects nobody can change."""
HANDED_OVER: set[type[Any]] = set(ATOMS)
"""Classes whose objects are handed over as they are: atoms, futures, and every class of actors."""


def is_immutable(value: Any) -> bool:
    """Tell whether nobody can change a value, nor what it consists of."""
    kind = type(value)
    if kind in HANDED_OVER:
        return True
    if kind is tuple or kind is frozenset:
        return all(map(is_immutable, value))
    return isinstance(value, type | types.BuiltinFunctionType) or _is_constant_function(value)


def _is_constant_function(value: Any) -> bool:
    """Tell whether a value is a function that brings nothing along that could be changed."""
    return (
        isinstance(value, types.FunctionType)
        and not value.__closure__
        and not value.__kwdefaults__
        and is_immutable(value.__defaults__ or ())
    )


def copied(value: Any, what: Callable[[], str]) -> Any:
    """Return a value that is not shared with anybody; `what` says what it is, for an error."""
    if is_immutable(value):
        return value
    if isinstance(value, types.FunctionType | types.MethodType):
        reason = "it is a function with variables of its own"
    else:
        try:
            return copy.deepcopy(value)
        except Exception as error:
            reason = exception_in_words(error)
    control.refuse(
        f"{what()} cannot be copied ({brief(value)}: {reason}): messages are values, send data or "
        f"actors"
    )
