"""To which objects nobody has a reference any more but Treadle, which keeps what is shared."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterable
from typing import Any

from treadle.python.runtime.atoms import ATOMS


def only_kept(kept: Iterable[Any]) -> list[Any]:
    """Return those of the kept objects to which nobody else refers."""
    return [value for value in kept if sys.getrefcount(value) <= _KEPT]


_KEPT = 3
"""References that `sys.getrefcount` counts then: where it is kept, the name, and the argument."""
_SEEN = 2
"""The same without the place where it is kept."""


def freed_with(value: Any, own: Callable[[int], int]) -> set[int]:
    """Return the `id` of what is freed if nobody refers to an object; some are Treadle's own."""
    freed = {id(value)}
    gone: dict[int, int] = {}
    todo = [value]
    while todo:
        children = gc.get_referents(todo.pop())
        while children:
            child = children.pop()
            if type(child) in ATOMS or id(child) in freed:
                continue
            gone[id(child)] = gone.get(id(child), 0) + 1
            if sys.getrefcount(child) - _SEEN <= gone[id(child)] + own(id(child)):
                freed.add(id(child))
                todo.append(child)
    return freed
