"""What stands for context managers that are not code under test, in a `with` statement."""

from __future__ import annotations

import contextlib
from typing import Any

from treadle.python.accesses import instruction_hooks as hooks
from treadle.python.accesses import stand_ins
from treadle.python.accesses.library_state import SettingManager, sets_something
from treadle.python.accesses.uninstrumented import behind, state_of
from treadle.python.runtime import notes, slots
from treadle.python.runtime.looking import module_of_class
from treadle.python.sharing.published import published


def enter(manager: Any) -> Any:
    """Return what to enter instead of a context manager: locks made before have a model."""
    if stand_ins.has_stand_in(manager):
        return stand_ins.stand_in_for(manager)
    if sets_something(manager):
        return SettingManager(manager)
    if type(manager) is contextlib.closing:
        return _Closing(manager)
    if id(manager) in published:
        if behind(type(manager), "__exit__").is_foreign:
            return _Manager(manager)
        if module_of_class(type(manager)) == contextlib.__name__:
            return _OfContextlib(manager)
    return manager


class _Closing:
    """Stands for `contextlib.closing`: what is closed may be in C, and says nothing of itself."""

    def __init__(self, manager: Any) -> None:
        self._manager = manager

    def __enter__(self) -> Any:
        return self._manager.__enter__()

    def __exit__(self, *_: object) -> None:
        slots.resolve(self._manager.thing.close)()


class _OfContextlib:
    """Stands for a published context manager that `contextlib` made, which changes as it is used.

    Of a function that yields once it can be entered once.
    """

    def __init__(self, manager: Any) -> None:
        self._manager = manager

    def __enter__(self) -> Any:
        self._change("__enter__")
        return self._manager.__enter__()

    def __exit__(self, *error: Any) -> Any:
        self._change("__exit__")
        return self._manager.__exit__(*error)

    def _change(self, method: str) -> None:
        hooks.say((state_of(published[id(self._manager)]),))
        kind = type(self._manager)
        notes.note(f"{kind.__module__}.{kind.__qualname__}.{method}")


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
