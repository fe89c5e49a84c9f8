"""What a step of a thread sees and leaves behind, as far as two orders can be compared by it.

The frames of a suspended thread do not show what is on their stacks. But a thread is deterministic:
where it stands after some steps follows from where it stood before and from the values that these
steps returned to it. So a read's effect is the value that it returns, whatever the thread does with
it. Compared are values of attributes, closure variables and globals; what a step touches besides
them (a lock, the content of a container, a class) is equal to nothing.

Only atoms are ever equal: of two tuples or objects that look the same, a thread can see which one
it has got.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from treadle.core.events import Codes, Mode, location_of, mode_of
from treadle.core.failure import error_in_words
from treadle.core.program import Incomparable
from treadle.python.runtime.looking import found_in, members_of, mro_of
from treadle.python.sharing.tables import CellTable, ObjectTable, Table
from treadle.python.sharing.variable import Variable

if TYPE_CHECKING:
    from treadle.threads.run import ThreadRun

_PLAIN = frozenset({int, str, bytes, bool, type(None)})


def seen_by(run: ThreadRun, codes: Codes) -> object:
    """Return what a step that is about to make these accesses will see."""
    if any(mode_of(access) not in (Mode.READ, Mode.WRITE, Mode.STORE) for access in codes):
        return Incomparable()
    return values_at(run, [location_of(a) for a in codes if mode_of(a) is Mode.READ])


def effect(run: ThreadRun, processes: Sequence[int], locations: Sequence[int]) -> object:
    """Return which threads have ended, and how, and the values of locations."""
    alive = run.scheduler.alive
    crashes = [
        (crash.process, type(crash.exception), error_in_words(crash.exception))
        for crash in run.crashes
        if crash.process in processes
    ]
    return [process in alive for process in processes], crashes, values_at(run, locations)


def values_at(run: ThreadRun, locations: Iterable[int]) -> list[object]:
    """Return the comparable values of locations."""
    wanted = sorted(set(locations))
    cells = run.program.shared.cells
    if not wanted:
        return []
    holders = {table.key: value for value, table in _holders(run)}
    values: list[object] = []
    for location in wanted:
        cell = cells.get(location)
        if cell is None or cell.holder not in holders:
            values.append(Incomparable())
            continue
        found = _value(holders[cell.holder], cell.name)
        values.append(_comparable(found[0]) if found else "unbound")
    return values


def _holders(run: ThreadRun) -> Iterator[tuple[Any, Table]]:
    """Yield the published objects whose values can be compared, with their tables."""
    shared = run.program.shared
    for value in shared.objects():
        table = shared.published.get(id(value))
        if table is not None and (isinstance(table, CellTable) or type(table) is ObjectTable):
            yield value, table


def _value(holder: Any, name: Any) -> list[Any]:
    """Return what a cell holds, nothing if it is unbound."""
    if isinstance(holder, types.CellType):
        try:
            return [holder.cell_contents]
        except ValueError:
            return []
    if isinstance(holder, Variable):
        holder, name = sys.modules.get(holder.module), holder.name
    if _has_descriptor(type(holder), name):
        return [Incomparable()]
    try:
        attributes = object.__getattribute__(holder, "__dict__")
    except AttributeError:
        return [Incomparable()]
    return [attributes[name]] if name in attributes else []


def _has_descriptor(kind: type, name: str) -> bool:
    """Tell whether an attribute is not kept among the others, but in a slot, or computed."""
    held = (members_of(owner).get(name) for owner in mro_of(kind))
    return any(found_in(type(one), "__set__") is not None for one in held)


def _comparable(value: Any) -> object:
    """Return what a value is compared by."""
    kind = type(value)
    if kind in _PLAIN:
        return kind, value
    if kind is float or kind is complex:
        return kind, repr(value)
    return Incomparable()
