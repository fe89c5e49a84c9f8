"""What rewritten code calls before it touches something that may be shared.

The rewriter (`rewrite`) inserts a call to one of these functions before each instruction that reads
or writes an attribute, item, variable of an enclosing function or global. Nearly always the object
is not published, and the hook returns at once: that is the whole cost of instrumented code.
Otherwise the hook announces the access and returns when it is to happen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from treadle.events import Codes
from treadle.threads.shared import Shared, Table


def nothing(codes: Any) -> None:
    """Stand in for `announce` where nothing is shared with anybody yet."""


published: dict[int, Table] = {}
"""Tables of the published objects, by `id`."""
announce: Callable[[Any], None] = nothing
"""Ends the current task's step; returns when the next one begins."""
shared: Shared | None = None
hand_out: Callable[[Any, str], None] = nothing  # type: ignore[assignment]
"""Publishes a value under a name, on behalf of the current task."""


# Attributes


def load_attr(obj: Any, name: str) -> None:
    """Before `obj.name` is read."""
    table = published.get(id(obj))
    if table is not None:
        codes = table[name]
        if codes:
            announce(codes)


def store_attr(value: Any, obj: Any, name: str) -> None:
    """Before `obj.name = value`."""
    table = published.get(id(obj))
    if table is not None:
        hand_out(value, f"{table.label}.{name}")
        codes = table.writes[name]
        if codes:
            announce(codes)


def delete_attr(obj: Any, name: str) -> None:
    """Before `del obj.name`."""
    table = published.get(id(obj))
    if table is not None:
        codes = table.writes[name]
        if codes:
            announce(codes)


# Items


def load_item(obj: Any, key: Any) -> None:
    """Before `obj[key]` is read."""
    table = published.get(id(obj))
    if table is not None:
        codes = item_codes(table, obj, key)
        if codes:
            announce(codes)


def item_codes(table: Table, obj: Any, key: Any) -> Codes:
    raise NotImplementedError


# Variables of enclosing functions


def load_cell(cell: Any) -> None:
    """Before the variable of an enclosing function is read."""
    table = published.get(id(cell))
    if table is not None:
        codes = table["cell"]
        if codes:
            announce(codes)


def store_cell(value: Any, cell: Any) -> None:
    """Before the variable of an enclosing function is assigned."""
    table = published.get(id(cell))
    if table is not None:
        hand_out(value, table.label)
        codes = table.writes["cell"]
        if codes:
            announce(codes)
