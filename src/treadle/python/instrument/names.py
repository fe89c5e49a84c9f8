"""What comes before instructions with names: globals, and what `exec` and `eval` look up.

A global variable that somebody assigns has something that stands for it. Code that `exec` runs has
its names in dictionaries, which may be anybody's.
"""

from __future__ import annotations

from typing import Any

from treadle.python.accesses import given_values
from treadle.python.accesses import instruction_hooks as hooks
from treadle.python.instrument.emit import Item, effect, hook
from treadle.python.instrument.scope import Scope

NAMING = ("LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS", "STORE_GLOBAL", "DELETE_GLOBAL", "LOAD_NAME",
          "STORE_NAME", "DELETE_NAME")  # fmt: skip
"""Instructions with names."""
ATTRIBUTE_STORES = (hooks.store_attr, given_values.store_attr)
"""Hooks of assigning an attribute: something, or something that is given."""
VARIABLE_STORES = (hooks.store_cell, given_values.store_cell)
"""The same of a variable."""


def before_name(i: Any, scope: Scope, *, is_given: bool) -> list[Item]:
    """Return what comes before a name is read, assigned (something that is given) or deleted."""
    access, _, kind = i.name.partition("_")  # FROM_DICT_OR_GLOBALS is found in the body of a class
    name = i.arg[1] if isinstance(i.arg, tuple) else i.arg
    if scope.is_executed:
        return _in_namespace(i, access, name, is_global=kind == "GLOBAL")
    variable = scope.variables.get(name)
    if variable is None or (kind == "NAME" and access != "LOAD"):
        return []  # the body of a class assigns its own
    if access == "LOAD":
        return hook(i.location, hooks.load_global, consts=[variable])
    if access == "STORE":
        stored = hook(i.location, VARIABLE_STORES[is_given], copies=[1], consts=[variable])
        return [*effect(i.location), *stored]
    return [*effect(i.location), *hook(i.location, hooks.delete_global, consts=[variable])]


def _in_namespace(i: Any, access: str, name: str, *, is_global: bool) -> list[Item]:
    at = i.location
    if access == "LOAD":
        return hook(at, hooks.load_name, consts=[name])
    if access == "STORE":
        stored = hook(at, hooks.store_name, copies=[1], consts=[name, is_global])
        return [*effect(at), *stored]
    return [*effect(at), *hook(at, hooks.delete_name, consts=[name, is_global])]
