"""Functions of the standard library that set attributes of a class or function they are given.

`dataclass(Point)` gives a class methods, `update_wrapper(f, g)` a function another name. They are
not instrumented, so what they set is found out, taken back, and set again, one after the other, as
they do it themselves.
"""

from __future__ import annotations

import sys
import types
from typing import Any

from treadle.python.accesses import instruction_hooks as hooks
from treadle.python.accesses.known_functions import FUNCTIONS
from treadle.python.sharing.published import published

_APPLIED = [
    ("dataclasses", "dataclass"), ("dataclasses", "dataclass.<locals>.wrap"),
    ("functools", "total_ordering"), ("functools", "update_wrapper"),
    ("abc", "update_abstractmethods"), ("abc", "abstractmethod"), ("typing", "final"),
    ("typing", "runtime_checkable"), ("typing", "no_type_check"),
    ("enum", "unique"), ("unittest.case", "skip.<locals>.decorator"),
    *([("typing", "override")] if sys.version_info >= (3, 12) else []),
]  # fmt: skip
"""Functions whose first argument gets attributes."""
_OF_FUNCTIONS = ("__module__", "__name__", "__qualname__", "__doc__", "__annotations__")
_MISSING = object()


def _held(obj: Any) -> dict[str, Any]:
    """Return the attributes of a class or function itself."""
    is_function = isinstance(obj, types.FunctionType)
    own = {name: getattr(obj, name) for name in _OF_FUNCTIONS} if is_function else {}
    return {**own, **vars(obj)}


def _apply(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call something that sets attributes of its first argument."""
    target = args[0] if args else None
    if id(target) not in published or not isinstance(target, type | types.FunctionType):
        return function(*args, **kwargs)
    before = _held(target)
    result = function(*args, **kwargs)
    after = _held(target)
    names = [name for name in after if after[name] is not before.get(name, _MISSING)]
    for name in names:
        _put(target, name, before.get(name, _MISSING))
    for name in names:
        FUNCTIONS[setattr](target, name, after[name])
        hooks.point()  # it is Python code, which calls `setattr`
    return result


def _put(obj: Any, name: str, value: Any) -> None:
    if value is _MISSING:
        delattr(obj, name)
    else:
        setattr(obj, name, value)


LIBRARY = dict.fromkeys(_APPLIED, _apply)
