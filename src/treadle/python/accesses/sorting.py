"""`list.sort` with code under test: two steps, for others see the list empty in between.

CPython takes the items out of the list, sorts them, and puts them back; a list that is not empty
then "was modified during sort". Here they are put in order by positions while the first key of the
real `sort` is made: at that time, the real list is empty. The real `sort` then has only numbers to
compare, and does the rest itself: puts the items back, or complains.
"""

from __future__ import annotations

import operator
import types
from collections.abc import Callable
from typing import Any

from treadle.python.accesses.uninstrumented import may_call_back
from treadle.python.sharing.nested import content

Key = Callable[[Any], Any]


_IN_C = (types.BuiltinFunctionType, types.MethodDescriptorType, operator.itemgetter)


def calls_back(items: Any, key: Any) -> bool:
    """Tell whether sorting may run code under test."""
    if key is None:
        return any(map(may_call_back, content(items)))
    return not issubclass(type(key), _IN_C) and getattr(key, "__module__", "") != "builtins"


def sort(items: list[Any], key: Key | None, reverse: bool, end: Callable[[], None]) -> None:
    """Sort a list, which was announced; call `end` before the items are put back."""
    taken = list(items)
    order = list(range(len(taken)))
    ranks: list[int] = []
    errors: list[BaseException] = []

    def rank(_: Any) -> int:
        if not ranks:
            try:
                order.sort(
                    key=taken.__getitem__ if key is None else lambda at: key(taken[at]),
                    reverse=reverse,
                )
            except BaseException as error:  # as far as it is sorted, it stays so
                errors.append(error)
            ranks.extend(sorted(range(len(order)), key=order.__getitem__, reverse=True))
            end()
        return ranks.pop()

    try:
        list.sort(items, key=rank)
    except ValueError:  # somebody has changed it: that is said unless there is worse
        if not errors:
            raise
    if errors:
        raise errors[0]
