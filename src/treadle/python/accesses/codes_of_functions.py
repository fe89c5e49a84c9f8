"""Code objects of functions: who looks at one finds what a call of the function will run."""

from __future__ import annotations

from types import FunctionType, MethodType
from typing import Any

from treadle.python.runtime import slots


def look_at_code(obj: Any) -> None:
    """Before `obj.__code__` is read."""
    function = obj.__func__ if type(obj) is MethodType else obj
    if type(function) is FunctionType:
        slots.settle(function)
