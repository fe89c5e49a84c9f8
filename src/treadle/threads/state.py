"""A comparable value of an execution's state: every published object, shallowly, and what failed.

References to published objects are compared by the object's name, which is the same in every
execution; what is not published and not immutable is compared by its class.
"""

from __future__ import annotations

import types
from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from treadle.result import error_in_words, without_addresses
from treadle.threads.children import ATOMS
from treadle.threads.shared import Shared

if TYPE_CHECKING:
    from treadle.threads.run import ThreadRun


def fingerprint(run: ThreadRun) -> object:
    """Return the state of an execution, for comparison with that of another one."""
    shared = run.program.shared
    names = run.program.vocabulary.process_names
    crashes = tuple(
        (names[crash.process], without_addresses(error_in_words(crash.exception)))
        for crash in run.crashes
    )
    objects = tuple(
        (shared.published[id(value)].key, _content(shared, value))
        for value in shared.objects()
        if id(value) in shared.published
    )
    return crashes, objects


def _content(shared: Shared, value: Any) -> object:
    kind = type(value)
    if kind in (list, deque, bytearray):
        return tuple([_name(shared, item) for item in value])
    if kind is dict:
        return tuple([(_name(shared, key), _name(shared, item)) for key, item in value.items()])
    if kind is set:
        return frozenset(_name(shared, item) for item in value)
    if kind is types.CellType:
        try:
            return _name(shared, value.cell_contents)
        except ValueError:
            return "unbound"
    if issubclass(type(value), type | types.FunctionType):
        return value.__qualname__
    try:
        attributes = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return kind.__qualname__
    return _named_items(shared, attributes.items())


def _named_items(shared: Shared, items: Iterable[tuple[str, Any]]) -> object:
    return tuple([(name, _name(shared, item)) for name, item in items])


def _name(shared: Shared, value: Any) -> object:
    """Return what a reference to a value is compared by."""
    kind = type(value)
    if kind in ATOMS:
        return kind.__name__, repr(value) if kind is slice else _hashable(value)
    if kind in (tuple, frozenset):
        return kind.__name__, tuple(_name(shared, item) for item in value)
    table = shared.published.get(id(value))
    return kind.__qualname__ if table is None else ("object", table.key)


def _hashable(value: Any) -> object:
    return (
        value if issubclass(type(value), int | float | complex | str | bytes) else str(type(value))
    )
