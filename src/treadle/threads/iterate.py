"""Iteration over published containers: each step of an iterator is an access.

Before a loop begins, a published container is replaced by an iterator of ours that announces each
`next`. Loops get generators, which are fast; `iter(x)` gets an object that threads may share.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from typing import Any

from treadle.events import Codes, Mode
from treadle.threads import hooks
from treadle.threads.containers import ContainerTable, ListTable, is_overridden
from treadle.threads.shared import ObjectTable, register

_END = object()


def iterate(obj: Any) -> Any:
    """Return what a loop over an object goes through."""
    table = hooks.published.get(id(obj))
    if isinstance(table, ContainerTable):
        if is_overridden(obj.__class__, "__iter__"):
            return obj
        if isinstance(table, ListTable):
            return _each_item(obj, table)
        _say(table.keys_read())  # an iterator knows the size that it began with
        return _each(iter(obj), table.keys_read)
    return _each(obj, lambda: next_codes(obj)) if is_shared_iterator(obj) else obj


def _say(codes: Codes) -> None:
    if codes:
        hooks.announce(codes)


def is_shared_iterator(obj: Any) -> bool:
    """Tell whether something is an iterator in C, or a generator, that others have as well."""
    if id(obj) not in hooks.published:
        return False
    step = getattr(obj.__class__, "__next__", None)
    return step is not None and not isinstance(step, types.FunctionType)


def next_codes(obj: Any) -> Codes:
    """Return the codes of taking the next value of an iterator that is published."""
    table = hooks.published.get(id(obj))
    return () if table is None else (table.at("position", Mode.WRITE, " position"),)


def _each_item(obj: Any, table: ListTable) -> Iterator[Any]:
    index = 0
    while True:
        _say(table.next_item(index))
        if index >= len(obj):
            return
        yield obj[index]
        index += 1


def _each(iterator: Iterator[Any], find: Callable[[], Codes]) -> Iterator[Any]:
    while True:
        _say(find())
        value = next(iterator, _END)
        if value is _END:
            return
        yield value


def backwards(obj: Any) -> Any:
    """Return what `reversed` goes through."""
    table = hooks.published.get(id(obj))
    if not isinstance(table, ContainerTable) or is_overridden(obj.__class__, "__reversed__"):
        return reversed(obj)
    _say(table.whole_read())
    return _each(reversed(obj), table.whole_read)


class SharedIterator:
    """What `iter(x)` returns for a published container; threads may share it."""

    def __init__(self, obj: Any, table: ContainerTable) -> None:
        self._obj = obj
        self._table = table
        self._index = 0
        if not isinstance(table, ListTable):
            _say(table.keys_read())
        self._native = iter(obj)

    def __iter__(self) -> SharedIterator:
        return self

    def __next__(self) -> Any:
        table = self._table
        if isinstance(table, ListTable):
            _say(table.next_item(self._index))
            self._index += 1
        else:
            _say(table.keys_read())
        return next(self._native)


def iterator_of(obj: Any, *sentinel: Any) -> Any:
    """Stand for `iter`."""
    table = hooks.published.get(id(obj))
    if sentinel or not isinstance(table, ContainerTable):
        return iter(obj, *sentinel)
    if is_overridden(obj.__class__, "__iter__"):
        return iter(obj)
    return SharedIterator(obj, table)


register(SharedIterator, ObjectTable)
