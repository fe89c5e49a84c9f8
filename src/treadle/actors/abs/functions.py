"""Where functions of ABS's standard library are declared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from treadle.actors.abs.values import PatternMatchFailException
from treadle.analyses.known import pure

_Function = TypeVar("_Function", bound=Callable[..., Any])

FUNCTIONS: dict[str, str] = {}
"""The functions of the standard library: their names in ABS, and here."""


def in_abs(function: _Function) -> _Function:
    """Declare a function of the standard library."""
    name = function.__name__
    FUNCTIONS[name.rstrip("_")] = name
    return pure(function)


@pure
def failed(what: str) -> Any:
    """Fail, as a `case` does that no pattern fits."""
    raise PatternMatchFailException(what)
