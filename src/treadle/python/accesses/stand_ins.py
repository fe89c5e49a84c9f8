"""Objects for which something stands in while a test is explored.

A real lock made before would block all tasks at once. Whoever has something to stand for the
instances of a class registers it here; calls of their methods, and `with` statements, go there.

Functions and classes that are replaced may be held where no module refers to them by name: as a
default argument, in a class, a dictionary or a closure. Whatever holds them, calls go to what
stands for them.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from treadle.python.runtime import control

_STAND_INS: dict[type, Callable[[Any], Any]] = {}
HELD: dict[int, Any] = {}
"""What stands for functions and classes, by the `id` of these; who installs patches fills it."""
METHODS: set[str] = set()
"""Names of methods of objects that have a stand-in."""
MADE_IN_C: set[type] = set()
"""Classes that stand for some in C: nobody else runs while an instance is made."""


def register_stand_in(kind: type, stand_in_for: Callable[[Any], Any]) -> None:
    """Say what stands for the instances of a class in an execution."""
    _STAND_INS[kind] = stand_in_for
    METHODS.update(name for name in vars(kind) if not name.startswith("__"))


def has_stand_in(obj: Any) -> bool:
    """Tell whether something stands for an object in the present execution."""
    return type(obj) in _STAND_INS and control.current() is not None


def stand_in_for(obj: Any) -> Any:
    """Return what stands for an object that has a stand-in."""
    return _STAND_INS[type(obj)](obj)


def instead_of(function: Any, inner: Any) -> Any:
    """Return what stands for a function, or for the one that a method is bound to; else None."""
    found = HELD.get(id(function))
    if found is None and function is not inner:
        found = HELD.get(id(inner))
        return None if found is None else types.MethodType(found, function.__self__)
    return found


def in_place_of_class_method(function: Any) -> Any:
    """Return what was put in the place of a method in C of a class, like `datetime.now`."""
    found = getattr(function.__self__, function.__name__, None)
    return found if type(found) is types.MethodType else None
