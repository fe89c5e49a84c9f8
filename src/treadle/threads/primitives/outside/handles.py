"""What leads out of sight however deep in a library it is made: databases, input.

Calls by code under test are seen by their module (`treadle.python.accesses.outside_modules`). These
are replaced besides, since libraries make them for their users. Audit events would tell of them
all, but `id` raises one too, which rewritten code calls all the time.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable
from typing import Any

from treadle.python.accesses.outside_modules import NOT_SEEN
from treadle.python.runtime.escapes import escapes
from treadle.threads.primitives.outside.world import concerns_program
from treadle.threads.primitives.patches import Patches

_IN_MEMORY = (":memory:", "", b":memory:", b"")
"""Databases that belong to one connection."""


def _naming(
    original: Any,
    name: str,
    what: str,
    stays: Callable[..., bool] = lambda *_, **__: False,
) -> Callable[..., Any]:
    """Stand for a function that leads outside, unless it stays inside with its arguments."""

    def call(*args: Any, **kwargs: Any) -> Any:
        if not stays(*args, **kwargs) and concerns_program():
            escapes.add(NOT_SEEN.format(what), name)
        return original(*args, **kwargs)

    return call


def _is_private(database: Any = "", *_: Any, **__: Any) -> bool:
    return database in _IN_MEMORY


def patches() -> Patches:
    """Return what is replaced of the modules that are loaded."""
    found = Patches(
        references=[(builtins.input, _naming(_input, "input", "standard input"))],
    )
    database = sys.modules.get("sqlite3")
    if database is not None:
        connect = _originals.setdefault("sqlite3", database.connect)
        stand_in = _naming(connect, "sqlite3.connect", "a database", _is_private)
        found.references.append((connect, stand_in))
    return found


_originals: dict[str, Any] = {}
_input: Any = builtins.input
