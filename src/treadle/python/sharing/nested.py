"""Containers that C code looks into: what is in them, and whether anybody else has any of that.

`(a.x, a.items) == (1, [])` compares a list that others change, inside of a tuple that nobody else
has. So what a call or an operator in C reads is found by a walk through the built-in containers in
its operands, published or not. Most of them hold numbers and strings: that is found out quickly.
"""

from __future__ import annotations

import functools
import itertools
import types
from collections import OrderedDict, deque
from collections.abc import Container, Iterable, Sized
from typing import Any

from treadle.python.runtime.atoms import ATOMS
from treadle.python.runtime.escapes import escapes
from treadle.python.runtime.looking import has_dict
from treadle.python.sharing.children import children_of_instance, no_children
from treadle.python.sharing.walks import walk_of_kind

_EMPTY: tuple[dict[Any, Any], ...] = ({}, OrderedDict())
KEYS: tuple[type, ...] = tuple(type(empty.keys()) for empty in _EMPTY)
"""Classes of what `keys()` of dictionaries returns."""
_VALUES: tuple[type, ...] = tuple(type(empty.values()) for empty in _EMPTY)
_ITEMS: tuple[type, ...] = tuple(type(empty.items()) for empty in _EMPTY)
CONTAINERS: tuple[type, ...] = (list, tuple, dict, set, frozenset, deque, *KEYS, *_VALUES, *_ITEMS)
"""Built-in containers, and views of them."""
SHOWING = (types.SimpleNamespace, BaseException)
"""Classes in C whose comparison or words look at attributes."""
CALLED_IN_C = frozenset({types.BuiltinFunctionType, types.MethodWrapperType})
"""Methods in C: a library may call them, and they say nothing of themselves."""
_DEEPEST = 20
MOST_OBJECTS = 10_000
"""How many objects one operation is taken to touch, at most."""
_TOO_MANY = f"of what hangs on its arguments, only {MOST_OBJECTS:,} objects are looked at"
_PLAIN = frozenset({list, tuple, set, frozenset, dict})
_INERT = (
    type, types.FunctionType, types.CellType, types.BuiltinFunctionType, types.MethodType,
    types.ModuleType, types.CodeType, types.FrameType,
)  # fmt: skip
"""Classes of what is passed around, and not looked into."""


def content(value: Any) -> list[Any]:
    """Return the elements of a built-in container, whatever a subclass says; of others, none."""
    if issubclass(type(value), dict):
        return [*dict.keys(value), *dict.values(value)]
    if issubclass(type(value), _ITEMS):
        return [*itertools.chain.from_iterable(value)]
    if not issubclass(type(value), CONTAINERS):
        return []
    iterate: Any = next(kind for kind in CONTAINERS if issubclass(type(value), kind)).__iter__  # type: ignore[attr-defined]
    return [*iterate(value)]


def shown_by(value: Any) -> list[Any]:
    """Return what C code looks at to compare an instance of `SHOWING`, or to put it into words."""
    parts = [part for part, _ in children_of_instance(value, "")]
    return [*parts, value.args] if issubclass(type(value), BaseException) else parts


def holds(value: Any, published: Container[int], depth: int = 0) -> bool:
    """Tell whether something published may be met by looking into a built-in container."""
    parts: Iterable[Any]
    if issubclass(type(value), CONTAINERS):
        parts = value if type(value) in (tuple, list) else content(value)
    elif issubclass(type(value), SHOWING):
        parts = shown_by(value)
    else:
        return False
    if ATOMS.issuperset(map(type, parts)):
        return False
    if depth > _DEEPEST:  # perhaps it holds itself
        return True
    return any(
        type(part) not in ATOMS and (id(part) in published or holds(part, published, depth + 1))
        for part in parts
    )


def held_by(values: Iterable[Any], published: Container[int]) -> list[Any]:
    """Return what is published and hangs on something that is not, by attributes or items.

    A library that is given a new object with a shared list in it can reach the list.
    """
    found: list[Any] = []
    seen: set[int] = set()
    inert: dict[object, bool] = dict.fromkeys(ATOMS, True)
    todo = deque(
        [value for value in values if id(value) not in published or type(value) in CALLED_IN_C]
    )
    while todo and goes_on(seen):
        value = todo.popleft()  # what is near first: there may be too many
        value = value.__self__ if type(value) in CALLED_IN_C else value
        kind = type(value)
        if kind not in inert:
            inert[kind] = _is_passed_around(kind)
        if inert[kind] or id(value) in seen:
            continue
        seen.add(id(value))
        if id(value) in published:
            found.append(value)
        elif kind is functools.partial:
            todo += [value.func, *value.args, *value.keywords.values()]
        else:
            todo += [part for part in parts_of(value) if type(part) not in ATOMS]
    return found


def goes_on(seen: Sized) -> bool:
    """Tell whether to look further; what grows for ever would be looked at for ever."""
    if len(seen) < MOST_OBJECTS:
        return True
    escapes.add(_TOO_MANY)
    return False


def _is_passed_around(kind: type) -> bool:
    """Tell whether instances of a class are not looked into: an event loop of Treadle's is not."""
    if issubclass(kind, _INERT):
        return True
    is_own = f"{kind.__module__}.".startswith("treadle.")
    return is_own and walk_of_kind(kind).labelled is no_children


def parts_of(value: Any) -> list[Any]:
    """Return the elements of a container and the attributes of an instance."""
    kind = type(value)
    if kind in _PLAIN and ATOMS.issuperset(map(type, value)):
        return [*value.values()] if kind is dict else []
    if has_dict(kind) or hasattr(kind, "__slots__"):
        return [*content(value), *(part for part, _ in children_of_instance(value, ""))]
    return content(value)
