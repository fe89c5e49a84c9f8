"""Calls of methods that are made as they are, if the object is nobody else's.

`self.items.append(x)` loads a method and calls it. Where that is known of a call, and the method
touches nothing beyond its object, it is enough to look at the object when the method is loaded.
Not so if code under test may run in between and publish it: `threads.append(spawn())`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bytecode import Instr, Label

from treadle.python.accesses.container_methods import LOOKING, READING_ARGUMENTS
from treadle.python.accesses.known_builtins import (
    BUILTIN_METHODS,
    HARMLESS_CALLS,
    IN_WORDS,
    READING,
)
from treadle.python.accesses.stand_ins import METHODS
from treadle.python.instrument.opcodes import callable_depth
from treadle.python.instrument.scope import Scope
from treadle.python.instrument.stack_origins import Origin, Origins

_QUIET = frozenset(
    {
        "LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_CONST", "LOAD_GLOBAL", "LOAD_DEREF", "LOAD_CLOSURE",
        "LOAD_NAME", "STORE_FAST", "BUILD_TUPLE", "BUILD_LIST", "BUILD_MAP", "BUILD_SLICE",
        "BUILD_CONST_KEY_MAP", "BUILD_STRING", "MAKE_FUNCTION", "SET_FUNCTION_ATTRIBUTE",
        "PUSH_NULL", "KW_NAMES", "PRECALL", "COPY", "SWAP", "NOP", "IS_OP", "POP_TOP",
    }
)  # fmt: skip
"""Instructions that run nobody's code."""
_OPERATORS = frozenset(
    {
        "BINARY_OP", "BINARY_SUBSCR", "BINARY_SLICE", "COMPARE_OP", "CONTAINS_OP", "TO_BOOL",
        "UNARY_NOT", "UNARY_NEGATIVE", "UNARY_INVERT", "FORMAT_VALUE", "FORMAT_SIMPLE",
        "FORMAT_WITH_SPEC", "CONVERT_VALUE", "LIST_EXTEND",
    }
)  # fmt: skip
"""Instructions that run special methods, if there are any under test."""


def direct_calls(source: Iterable[Any], scope: Scope) -> set[int]:
    """Return the instructions that load a method or call it, where both are known to match."""
    origins = Origins(scope.imported)
    direct: set[int] = set()
    loaded: dict[int, int] = {}
    ran = -1
    """Where code under test may have run last."""
    for position, item in enumerate(source):
        if isinstance(item, Label):
            origins.forget()
        elif isinstance(item, Instr):
            called = None
            if item.name in ("CALL", "CALL_KW"):
                called = origins.top(callable_depth(item))
                is_known = called.name == "LOAD_METHOD" and _touches_owner_only(called.arg, scope)
                if is_known and loaded[id(called.by)] >= ran:
                    direct |= {id(called.by), id(item)}
            if not _is_quiet(item, called, scope):
                ran = position
            origins.follow(item)
            loaded[id(item)] = position
    return direct


def _touches_owner_only(name: str, scope: Scope) -> bool:
    """Tell whether a method of this name touches nothing beyond the object that it belongs to.

    Methods under test announce what they touch themselves; one that somebody replaces is looked at.
    For some objects, like real locks, something else does the work.
    """
    if name.startswith("__") or name in READING_ARGUMENTS or name in LOOKING:
        return False
    if name in scope.class_names | METHODS:
        return False
    return name in scope.methods or name in BUILTIN_METHODS


def _is_quiet(i: Any, called: Origin | None, scope: Scope) -> bool:
    """Tell whether an instruction runs no code under test."""
    if called is not None:
        return _calls_a_builtin(called, scope)
    if i.name in ("LOAD_ATTR", "LOAD_METHOD"):
        name = i.arg[1] if isinstance(i.arg, tuple) else i.arg
        return name not in scope.computed and not scope.specials
    return i.name in _QUIET or (i.name in _OPERATORS and not scope.specials)


def _calls_a_builtin(called: Origin, scope: Scope) -> bool:
    if called.name == "LOAD_METHOD":
        is_built_in = called.arg in BUILTIN_METHODS and called.arg not in scope.methods
        return is_built_in and not scope.specials
    if called.name != "LOAD_GLOBAL" or called.arg in scope.shadowed | scope.own:
        return False
    if called.arg in READING or called.arg in IN_WORDS:
        return not scope.specials
    return called.arg in HARMLESS_CALLS
