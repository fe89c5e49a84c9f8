"""Built-ins that cannot tell in which order elements were put into a container.

`sum`, `sorted`, `min` and `max` of integers, or of strings, and mostly `set` of integers, say the
same whoever appended first. So they read the content of a list or dictionary, but not its order:
two threads that add to it do not conflict with each other as long as nobody goes through it. So do
`==` and `!=` of dictionaries and of sets.

Whether the elements are such is known only when it is this thread's turn. If they are not, that the
order matters is noted then, and the exploration begins anew with it. That misses nothing: as long
as nobody sees an order, all orders of the same additions have the same elements.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

from treadle.python.accesses import instruction_hooks as hooks
from treadle.python.accesses import iterate
from treadle.python.accesses.access_deeds import WHOLE
from treadle.python.runtime import slots
from treadle.python.runtime.atoms import ATOMS
from treadle.python.sharing.containers import ContainerTable
from treadle.python.sharing.nested import content
from treadle.python.sharing.published import published

_KINDS = frozenset({list, dict, defaultdict, Counter, type({}.keys()), type({}.values())})
_PLAIN: tuple[frozenset[type], ...] = (frozenset({int}), frozenset({str}), frozenset())
_EQUALS: tuple[frozenset[type], ...] = (frozenset({dict, defaultdict}), frozenset({set, frozenset}))
"""What may be compared with each other, and is equal or not in whatever order it was filled."""

_FEWEST = 8
"""Places in the table of a small set, which is part of the set."""
_EMPTY = set().__sizeof__()
_PLACE = 2 * tuple.__itemsize__
"""Bytes of a place in the table of a set: a hash, and where the element is."""


def _is_plain(values: Any) -> bool:
    """Tell whether all elements are integers, or all are strings."""
    return frozenset(map(type, content(values))) in _PLAIN


def _has_one_order(values: Any) -> bool:
    """Tell whether a set of some elements is gone through in one order, however it was filled.

    It is if no two of them would be put in one place of its table. Where strings are put depends
    on the process.
    """
    held = content(values)
    if type(values) is not list or not {int}.issuperset(map(type, held)):
        return False
    made = set(held)
    places = max(_FEWEST, (made.__sizeof__() - _EMPTY) // _PLACE)
    return len({hash(one) % places for one in made}) == len(made)


def _is_read(values: Any, is_blind: Callable[[Any], bool] = _is_plain) -> bool:
    """Announce that a container is read in any order, if nobody can tell; tell whether that is."""
    if type(values) not in _KINDS or slots.item_by_item:
        return False
    table = published.get(id(values))
    if not isinstance(table, ContainerTable) or not is_blind(values):
        return False
    hooks.say(table.unordered_read(), WHOLE, values)
    if not is_blind(values):
        table.whole_read()
    return True


def to_sum(values: Any) -> Any:
    """Return what `sum` goes through."""
    return values if _is_read(values) else iterate.elements(values)


def to_collect(values: Any) -> Any:
    """Return what `set` and `frozenset` are made of."""
    return values if _is_read(values, _has_one_order) else iterate.elements(values)


def to_compare(values: Any) -> Any:
    """Return what `min` and `max` go through."""
    return values if _is_read(values) else iterate.to_compare(values)


def to_sort(values: Any) -> Any:
    """Return what `sorted` puts in order."""
    return list(values) if _is_read(values) else iterate.to_sort(values)


def to_equal(left: Any, right: Any, method: str) -> None:
    """Before `==` and `!=`."""
    pair = {type(left), type(right)}
    if not any(pair <= kinds for kinds in _EQUALS) or not _is_looked_into(left, right):
        hooks.read_both(left, right, method)
        return
    tables = [published.get(id(one)) for one in (left, right)]
    found = [table for table in tables if isinstance(table, ContainerTable)]
    hooks.say(tuple(code for table in found for code in table.unordered_read()), WHOLE, left)
    if not _is_looked_into(left, right):
        hooks.read_both(left, right, method)


def _is_looked_into(left: Any, right: Any) -> bool:
    """Tell whether two containers hold nothing that their comparison looks into."""
    return ATOMS.issuperset(map(type, (*content(left), *content(right))))
