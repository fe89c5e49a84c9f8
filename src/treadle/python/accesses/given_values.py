"""Before a value is stored that code did not compute: a constant, or what a function was given.

Then the store says which value it is, and two stores of one value are independent
(`treadle.core.stored`). At the granularity of accesses that would be right of any value, since a
store is a step of its own. But a racy `x += 1` stores equal values just when an update is lost, and
its orders are counted by everybody as if it did not.
"""

from __future__ import annotations

from typing import Any

from treadle.python.accesses import instruction_hooks as hooks
from treadle.python.accesses.access_deeds import STORED
from treadle.python.accesses.uninstrumented import has_plain_attributes
from treadle.python.runtime import control
from treadle.python.runtime.atoms import ATOMS
from treadle.python.sharing.namespaces import instrumented
from treadle.python.sharing.published import published
from treadle.python.sharing.tables import Table

_PLAIN = instrumented.plain_classes


def store_attr(value: Any, obj: Any, name: str) -> None:
    """Before `obj.name = value`."""
    table, kind = published.get(id(obj)), type(obj)
    is_plain = kind in _PLAIN or has_plain_attributes(kind)
    if table is None or not is_plain or type(value) not in ATOMS:
        hooks.store_attr(value, obj, name)
    else:
        _store(table, name, obj, value)


def store_cell(value: Any, cell: Any) -> None:
    """Before the variable of an enclosing function, or a global one, is assigned."""
    table = published.get(id(cell))
    if table is None or type(value) not in ATOMS:
        hooks.store_cell(value, cell)
    else:
        _store(table, "cell", cell, value)


def _store(table: Table, name: str, obj: Any, value: Any) -> None:
    """Announce a store, and which value it is, unless it is only a part of a step."""
    is_step = control.collected is None
    hooks.say(table.storing(name, value) if is_step else table.stores[name], STORED, obj, value)
