"""Containers that C code looks into: what is in them, and whether anybody else has any of that.

`(a.x, a.items) == (1, [])` compares a list that others change, inside of a tuple that nobody else
has. So what a call or an operator in C reads is found by a walk through the built-in containers in
its operands, published or not. Most of them hold numbers and strings: that is found out quickly.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Container, Iterable
from typing import Any

from treadle.threads.children import ATOMS

KEYS = (type({}.keys()), type(OrderedDict[Any, Any]().keys()))
_VALUES = (type({}.values()), type(OrderedDict[Any, Any]().values()))
_ITEMS = (type({}.items()), type(OrderedDict[Any, Any]().items()))
CONTAINERS = (list, tuple, dict, set, frozenset, deque, *KEYS, *_VALUES, *_ITEMS)
"""Built-in containers, and views of them."""
_DEEPEST = 20


def content(value: Any) -> list[Any]:
    """Return the elements of a built-in container, whatever a subclass says; of others, none."""
    if isinstance(value, dict):
        return [*dict.keys(value), *dict.values(value)]
    if isinstance(value, _ITEMS):
        return [part for pair in value for part in pair]
    for kind in CONTAINERS:
        if isinstance(value, kind):
            return [*kind.__iter__(value)]  # type: ignore[call-overload]
    return []


def holds(value: Any, published: Container[int], depth: int = 0) -> bool:
    """Tell whether something published may be met by looking into a built-in container."""
    if not isinstance(value, CONTAINERS):
        return False
    parts: Iterable[Any] = value if value.__class__ in (tuple, list) else content(value)
    if ATOMS.issuperset(map(type, parts)):
        return False
    if depth > _DEEPEST:  # perhaps it holds itself
        return True
    return any(
        part.__class__ not in ATOMS
        and (id(part) in published or holds(part, published, depth + 1))
        for part in parts
    )
