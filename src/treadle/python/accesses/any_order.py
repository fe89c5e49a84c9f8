"""Built-ins that cannot tell in which order elements were put into a container.

`sum`, `sorted`, `min` and `max` of integers, or of strings, say the same whoever appended first. So
they read the content of a list or dictionary, but not its order: two threads that add to it do not
conflict with each other as long as nobody goes through it.

Whether the elements are such is known only when it is this thread's turn. If they are not, that the
order matters is noted then, and the exploration begins anew with it. That misses nothing: as long
as nobody sees an order, all orders of the same additions have the same elements.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

from treadle.python.accesses import instruction_hooks as hooks
from treadle.python.accesses import iterate
from treadle.python.accesses.access_deeds import WHOLE
from treadle.python.runtime import slots
from treadle.python.sharing.containers import ContainerTable
from treadle.python.sharing.nested import content
from treadle.python.sharing.published import published

_KINDS = frozenset({list, dict, defaultdict, Counter, type({}.keys()), type({}.values())})
_PLAIN: tuple[frozenset[type], ...] = (frozenset({int}), frozenset({str}), frozenset())


def _is_plain(values: Any) -> bool:
    """Tell whether all elements are integers, or all are strings."""
    return frozenset(map(type, content(values))) in _PLAIN


def _is_read(values: Any) -> bool:
    """Announce that a container is read in any order, if nobody can tell; tell whether that is."""
    if type(values) not in _KINDS or slots.item_by_item:
        return False
    table = published.get(id(values))
    if not isinstance(table, ContainerTable) or not _is_plain(values):
        return False
    hooks.say(table.unordered_read(), WHOLE, values)
    if not _is_plain(values):
        table.whole_read()
    return True


def to_sum(values: Any) -> Any:
    """Return what `sum` goes through."""
    return values if _is_read(values) else iterate.elements(values)


def to_compare(values: Any) -> Any:
    """Return what `min` and `max` go through."""
    return values if _is_read(values) else iterate.to_compare(values)


def to_sort(values: Any) -> Any:
    """Return what `sorted` puts in order."""
    return list(values) if _is_read(values) else iterate.to_sort(values)
