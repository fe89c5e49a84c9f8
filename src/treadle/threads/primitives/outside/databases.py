"""Connections of `sqlite3`: what is named of them, and which thread may use them.

A connection checks that only the thread which made it uses it and its cursors, unless it was told
not to. For `sqlite3` all tasks are one thread, so that is checked here.
"""

from __future__ import annotations

import sqlite3
from typing import Any

from treadle.python.accesses.checked_owners import CHECKED
from treadle.python.runtime import control
from treadle.threads.primitives.outside.handles import naming
from treadle.threads.primitives.patches import Patches

_IN_MEMORY = (":memory:", "", b":memory:", b"")
"""Databases that belong to one connection."""
_OF_ANY_THREAD = frozenset({"interrupt", "iterdump", "setinputsizes", "setoutputsize", "__enter__"})
_PLACE_OF_CHECK = 4
"""Where `check_same_thread` stands among the arguments."""
_WRONG = (
    "SQLite objects created in a thread can only be used in that same thread. The object was "
    "created in thread id {} and this is thread id {}."
)


def _is_private(database: Any = "", *_: Any, **__: Any) -> bool:
    return database in _IN_MEMORY


_original: Any = sqlite3.connect
_naming = naming(_original, "sqlite3.connect", "a database", _is_private)


def _owners() -> dict[int, int]:
    """Return who may use a connection: idents of threads, by `id` of connections."""
    found: dict[int, int] = control.the_program().scheduler.scratch.setdefault("connections", {})
    return found


def _connect(*args: Any, **kwargs: Any) -> Any:
    """`sqlite3.connect`."""
    connection = _naming(*args, **kwargs)
    me = control.current()
    if me is not None:
        given = args[_PLACE_OF_CHECK:] or (kwargs.get("check_same_thread", True),)
        _owners().pop(id(connection), None)
        if given[0]:
            _owners()[id(connection)] = me.path.ident
    return connection


def _check(used: Any, method: str) -> None:
    """Refuse a connection or a cursor to a thread that has not made it, as `sqlite3` does."""
    connection = used.connection if isinstance(used, sqlite3.Cursor) else used
    owner, me = _owners().get(id(connection)), control.task().path.ident
    if owner not in (None, me) and method not in _OF_ANY_THREAD:
        raise sqlite3.ProgrammingError(_WRONG.format(owner, me))


CHECKED.update(dict.fromkeys((sqlite3.Connection, sqlite3.Cursor), _check))
PATCHES: Patches = Patches(references=[(_original, _connect)])
