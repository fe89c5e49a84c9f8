"""Objects for which something stands in while a test is explored.

A real lock made before would block all tasks at once. Whoever has something to stand for the
instances of a class registers it here; calls of their methods, and `with` statements, go there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from treadle.python.runtime import control

_STAND_INS: dict[type, Callable[[Any], Any]] = {}
MADE_IN_C: set[type] = set()
"""Classes that stand for some in C: nobody else runs while an instance is made."""


def register_stand_in(kind: type, stand_in_for: Callable[[Any], Any]) -> None:
    """Say what stands for the instances of a class in an execution."""
    _STAND_INS[kind] = stand_in_for


def has_stand_in(obj: Any) -> bool:
    """Tell whether something stands for an object in the present execution."""
    return type(obj) in _STAND_INS and control.current() is not None


def stand_in_for(obj: Any) -> Any:
    """Return what stands for an object that has a stand-in."""
    return _STAND_INS[type(obj)](obj)
