"""Lists without a global lock: what looks through one sees it change meanwhile.

"Thread Safety Guarantees" in CPython's library reference says of free-threaded builds: `x in y`,
`y.index(x)` and `y.count(x)` read a list item by item, going through one is never one step, and it
is empty while it is sorted. With `granularity="free-threaded"` these methods are run here instead,
one step for each item (`slots.item_by_item`).
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterator
from typing import Any

from treadle.python.accesses import instruction_hooks as hooks
from treadle.python.accesses import sorting
from treadle.python.accesses.known_functions import resolve_key, say
from treadle.python.sharing.containers import ListTable
from treadle.python.sharing.published import published


def _from(items: list[Any], table: ListTable, start: int, stop: int) -> Iterator[tuple[int, Any]]:
    """Yield the items of a list with their places, each read in a step of its own."""
    place = start
    while place < stop:
        hooks.say(table.next_item(place))
        if place >= list.__len__(items):
            return
        yield place, list.__getitem__(items, place)
        place += 1


def _is_same(one: Any, other: Any) -> bool:
    """Compare as C code does: first whether it is the very same, then by the operator."""
    if one is other:
        return True
    hooks.read_both(one, other, "__eq__")
    return bool(one == other)


def _index(
    items: list[Any], table: ListTable, wanted: Any, start: Any = 0, stop: Any = sys.maxsize
) -> int:
    ends = [operator.index(end) for end in (start, stop)]
    if min(ends) < 0:
        hooks.say(table.size())
        ends = [max(end + list.__len__(items), 0) if end < 0 else end for end in ends]
    for place, item in _from(items, table, *ends):
        if _is_same(item, wanted):
            return place
    raise ValueError(f"{wanted!r} is not in list")


def _count(items: list[Any], table: ListTable, wanted: Any) -> int:
    return sum(_is_same(item, wanted) for _, item in _from(items, table, 0, sys.maxsize))


def _contains(items: list[Any], table: ListTable, wanted: Any) -> bool:
    return any(_is_same(item, wanted) for _, item in _from(items, table, 0, sys.maxsize))


def _sort(items: list[Any], table: ListTable, *, key: Any = None, reverse: Any = False) -> None:
    given = {"key": key}
    resolve_key(given)
    codes = table.whole_write()
    say(codes)
    sorting.sort(items, given["key"], bool(reverse), lambda: say(codes))


_METHODS: dict[str, Callable[..., Any]] = {
    "index": _index,
    "count": _count,
    "__contains__": _contains,
    "sort": _sort,
}


def method(owner: Any, name: str) -> Callable[..., Any] | None:
    """Return what to call instead of a method of a published list; it wants the table, too."""
    return _METHODS.get(name) if type(owner) is list else None


def contains(wanted: Any, obj: Any) -> bool:
    """Stand for `wanted in obj`."""
    table = published.get(id(obj))
    if type(obj) is list and isinstance(table, ListTable):
        return _contains(obj, table, wanted)
    hooks.contains(wanted, obj)
    return wanted in obj
