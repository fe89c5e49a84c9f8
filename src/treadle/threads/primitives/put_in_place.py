"""What tests put in the place of something: `unittest.mock.patch`, and pytest's `monkeypatch`.

Both assign attributes and items on behalf of the test, in code that is not instrumented. So what
they put there is published here, also if no thread runs yet: threads reach it by a name afterwards.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from typing import Any

from treadle.python.accesses import instruction_hooks as hooks
from treadle.python.accesses.known_functions import LIBRARY
from treadle.python.accesses.library_state import has_threads
from treadle.python.runtime import control, notes, slots
from treadle.python.runtime.looking import members_of
from treadle.python.sharing.children import attributes_of
from treadle.python.sharing.containers import ContainerTable
from treadle.python.sharing.published import published
from treadle.threads.primitives.patches import Patches


def assign(owner: Any, name: str, act: Callable[[], Any], called: str) -> Any:
    """Let a library assign an attribute, or delete it."""
    if control.current() is None:
        return act()
    table = published.get(id(owner))
    codes = () if table is None else table.writes[name]  # which has it put back, too
    if has_threads():
        hooks.say(codes)
        if table is None:
            notes.note(called)
    result = act()
    is_class = issubclass(type(owner), type)
    if is_class or type(owner) is types.ModuleType or id(owner) in published:
        held = members_of(owner) if is_class else attributes_of(owner)
        slots.hand_out(held.get(name), f"{getattr(owner, '__name__', 'patched')}.{name}")
    return result


def change_items(held: Any, values: Any, act: Callable[[], Any], called: str) -> Any:
    """Let a library change items of a dictionary, and put some values there."""
    if control.current() is None:
        return act()
    table = published.get(id(held))
    if isinstance(table, ContainerTable):
        table.hand_out_all(values, slots.hand_out)
        codes = table.whole_write()
        hooks.say(codes if has_threads() else ())
    elif isinstance(held, str) and has_threads():
        notes.note(called)
    return act()


# pytest


def _monkey_attribute(function: Any, target: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call `monkeypatch.setattr` or `delattr`, which also take a path for owner and name."""
    name, owner = str(args[0] if args else kwargs.get("name")), target
    if isinstance(target, str):
        name, owner = sys.modules["_pytest.monkeypatch"].derive_importpath(target, raising=False)
    called = "pytest.MonkeyPatch.setattr"
    return assign(owner, name, lambda: function(target, *args, **kwargs), called)


def _monkey_item(function: Any, dic: Any, name: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call `monkeypatch.setitem` or `delitem`."""
    values, called = (*args, *kwargs.values()), "pytest.MonkeyPatch.setitem"
    return change_items(dic, values, lambda: function(dic, name, *args, **kwargs), called)


PATCHES: Patches = Patches()
"""None: calls by code under test are seen by their names."""
for _name in ("setattr", "delattr"):
    LIBRARY["_pytest.monkeypatch", f"MonkeyPatch.{_name}"] = _monkey_attribute
for _name in ("setitem", "delitem"):
    LIBRARY["_pytest.monkeypatch", f"MonkeyPatch.{_name}"] = _monkey_item
