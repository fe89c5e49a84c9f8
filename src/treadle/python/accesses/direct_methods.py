"""Classes whose methods rewritten code may call as they are, if the object is nobody else's.

A method under test announces what it touches, and one of a built-in container touches nothing but
its container. A method of a library or of another class in C may have the same name, and change
what it is given: `numbers.shuffle(shared)` of a generator that nobody else has.
"""

from __future__ import annotations

import abc
import types
import typing
from collections import deque
from typing import Any

from treadle.python.accesses.uninstrumented import modules_under_test
from treadle.python.runtime.looking import members_of, module_of_class, mro_of
from treadle.python.sharing.namespaces import instrumented

DIRECT = instrumented.direct_classes
_BUILT_IN = frozenset({list, dict, set, frozenset, str, tuple, int, float, bool, deque})
"""Not those of bytes, which look into buffers that they are given."""
_WITHOUT_METHODS = frozenset({object, abc.ABC, typing.Generic, typing.Protocol})


def look_at(obj: Any) -> None:
    """Before a method of an object is loaded: find out whether this can be left out next time."""
    kind = type(obj)
    if kind not in DIRECT and all(map(_is_direct, mro_of(kind))):
        DIRECT.add(kind)


def _is_direct(owner: type) -> bool:
    """Tell whether all methods of a class itself are under test, or a built-in container's."""
    if owner in _BUILT_IN or owner in _WITHOUT_METHODS:
        return True
    return module_of_class(owner) in modules_under_test and all(
        _is_under_test(value)
        for name, value in members_of(owner).items()
        if not name.startswith("__")
    )


def _is_under_test(value: Any) -> bool:
    """Tell whether what a class has under a name runs code under test, if it is called at all."""
    value = getattr(value, "__func__", value)
    if isinstance(value, types.FunctionType):
        return id(value.__globals__) in instrumented
    return isinstance(value, property) or not callable(value)
