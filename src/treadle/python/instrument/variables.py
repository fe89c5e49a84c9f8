"""Which variables keep their value, so that reading them is no access, and which were imported."""

from __future__ import annotations

import dis
import types
from collections.abc import Iterable
from typing import Any

from bytecode import Instr, Label
from bytecode.instr import CellVar


def fixed_variables(code: types.CodeType, source: Iterable[Any]) -> frozenset[str]:
    """Return the variables of a function that no inner function sees change.

    They are assigned at most once, outside of loops and before a closure is made of them.
    """
    cells = frozenset(code.co_cellvars)
    stores: dict[str, int] = {}
    unsafe: set[str] = set()
    captured: set[str] = set()
    in_loop: set[str] = set()
    labels: dict[int, int] = {}
    order: list[tuple[int, str]] = []
    for position, i in enumerate(source):
        if isinstance(i, Label):
            labels[id(i)] = position
        if not isinstance(i, Instr):
            continue
        name = i.arg.name if isinstance(i.arg, CellVar) else i.arg
        if isinstance(name, str) and name in cells:
            if i.name == "STORE_DEREF":
                stores[name] = stores.get(name, 0) + 1
                order.append((position, name))
                if name in captured:
                    unsafe.add(name)
            elif i.name == "DELETE_DEREF":
                unsafe.add(name)
            elif i.name in ("LOAD_CLOSURE", "LOAD_FAST"):
                captured.add(name)
        elif isinstance(i.arg, Label) and id(i.arg) in labels:
            start = labels[id(i.arg)]
            in_loop.update(name for at, name in order if at > start)
    for inner in inner_codes(code):
        unsafe.update(_stored_in(inner))
    steady = cells - unsafe - in_loop
    return frozenset(name for name in steady if stores.get(name, 0) <= 1)


def given_variables(code: types.CodeType) -> frozenset[str]:
    """Return the parameters that hold what the function was called with, whatever it does."""
    count = code.co_argcount + code.co_kwonlyargcount
    stored = {
        name
        for i in dis.get_instructions(code)
        if i.opname.startswith(("STORE_FAST", "DELETE_FAST", "LOAD_FAST_AND_CLEAR"))
        for name in (i.argval if isinstance(i.argval, tuple) else [i.argval])
    }
    return frozenset(code.co_varnames[:count]) - stored


def imported_variables(source: Iterable[Any]) -> frozenset[str]:
    """Return the local variables that hold a module, or something out of one."""
    found: set[Any] = set()
    is_import = False
    for i in source:
        if isinstance(i, Instr) and i.name in ("IMPORT_NAME", "IMPORT_FROM"):
            is_import = True
        elif isinstance(i, Instr) and is_import and i.name.startswith("STORE_"):
            found.add(getattr(i.arg, "name", i.arg))
            is_import = False
    return frozenset(found)


def _stored_in(code: types.CodeType) -> set[str]:
    """Return the variables of enclosing functions that a code object assigns."""
    names: set[str] = set()
    if code.co_freevars:
        names.update(
            i.argval
            for i in dis.get_instructions(code)
            if i.opname in ("STORE_DEREF", "DELETE_DEREF") and i.argval in code.co_freevars
        )
    for inner in inner_codes(code):
        names |= _stored_in(inner) - set(code.co_cellvars)
    return names


def inner_codes(code: types.CodeType) -> list[types.CodeType]:
    """Return the code objects among the constants of one."""
    return [const for const in code.co_consts if isinstance(const, types.CodeType)]
