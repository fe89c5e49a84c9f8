"""What stands for context managers that are not code under test, in a `with` statement."""

from __future__ import annotations

from typing import Any

from treadle.python.accesses import instruction_hooks as hooks
from treadle.python.accesses import stand_ins
from treadle.python.accesses.library_state import SettingManager, sets_something
from treadle.python.accesses.uninstrumented import behind
from treadle.python.sharing.published import published


def enter(manager: Any) -> Any:
    """Return what to enter instead of a context manager: locks made before have a model."""
    if stand_ins.has_stand_in(manager):
        return stand_ins.stand_in_for(manager)
    if sets_something(manager):
        return SettingManager(manager)
    if id(manager) in published and behind(type(manager), "__exit__").is_foreign:
        return _Manager(manager)
    return manager


class _Manager:
    """Stands for a published context manager that is not instrumented."""

    def __init__(self, manager: Any) -> None:
        self._manager = manager

    def __enter__(self) -> Any:
        hooks.read_one(self._manager, "__enter__")
        return self._manager.__enter__()

    def __exit__(self, *error: Any) -> Any:
        hooks.read_one(self._manager, "__exit__")
        return self._manager.__exit__(*error)
