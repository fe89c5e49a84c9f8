"""What a `defaultdict` does for a missing key: it calls a factory, and stores what that makes."""

from __future__ import annotations

import types
from collections import defaultdict
from typing import Any

from treadle.python.accesses import stand_ins
from treadle.python.accesses.access_deeds import STORED
from treadle.python.runtime import control, slots
from treadle.python.runtime.looking import module_of_class
from treadle.python.sharing.containers import ContainerTable


def make_default(obj: Any, key: Any, table: ContainerTable) -> None:
    """Do what a `defaultdict` does for a missing key.

    A factory in C is part of the step that finds the key missing. One in Python takes steps: two
    threads may both make a value, and the later one replaces the other.
    """
    factory = obj.default_factory
    if factory is None or dict.__contains__(obj, key) or not _has_own_missing(type(obj)):
        return
    is_in_c = _runs_no_code(factory)
    if not is_in_c:
        control.point()  # also if something stands in for it that is no code under test
    value = slots.resolve(factory)()
    table.hand_out(key, slots.hand_out)
    table.hand_out(value, slots.hand_out, key)
    codes = () if is_in_c else table.item_write(key)
    if codes:
        slots.announce(codes, STORED, obj, value)
    dict.__setitem__(obj, key, value)


def _has_own_missing(kind: Any) -> bool:
    """Tell whether a class of dictionaries makes missing values as `defaultdict` does."""
    return kind.__missing__ is defaultdict.__missing__


def _runs_no_code(factory: Any) -> bool:
    """Tell whether a factory is written in C."""
    if isinstance(factory, types.BuiltinFunctionType):
        return True
    if not isinstance(factory, type) or module_of_class(factory) not in _BUILT_IN:
        return isinstance(factory, type) and factory in stand_ins.MADE_IN_C
    made_by: Any = (factory.__init__, factory.__new__)  # type: ignore[misc]
    return not any(issubclass(type(one), types.FunctionType) for one in made_by)


_BUILT_IN = ("builtins", "collections", "types", "_thread")
