"""What differs from one Python to the next in bytecode: all of it is here.

A call finds its callable and arguments on the stack: `[NULL, callable, arguments]` up to 3.12,
`[callable, NULL, arguments]` from 3.13 on. The NULL may be replaced by a first argument, with the
callable before it: that is how methods are called.

Each opcode that a supported Python has is in one of three tables: those that touch something,
those that touch nothing, and those that stand for others. On a new Python a test names the opcodes
that are in none, and the operands that have changed.
"""

from __future__ import annotations

import dis
import sys
from typing import Any

from bytecode import Instr
from bytecode.instr import (
    BITFLAG_OPCODES,
    FORMAT_VALUE_OPS,
    CellVar,
    FreeVar,
    InstrLocation,
)

Location = InstrLocation | None

VERSION = sys.version_info[:2]

for _misread in (BITFLAG_OPCODES, FORMAT_VALUE_OPS):
    # `bytecode` 0.19 cannot read template strings: it takes their operand for something else.
    _misread.discard(dis.opmap.get("BUILD_INTERPOLATION", -1))

NULL_LAST = VERSION >= (3, 13)
"""Whether the NULL of a call lies above its callable."""
CALLS_WITH_PRECALL = VERSION == (3, 11)
TAKES_KEYWORDS_ALWAYS = VERSION >= (3, 14)
"""Whether `f(*args)` has a place for keywords on the stack, which may be NULL."""
HAS_SPECIAL_METHODS = VERSION >= (3, 14)
"""Whether `with` calls `__enter__` and `__exit__` by the instruction for calls."""
TESTS_LOOPS_ONCE = VERSION >= (3, 14)
"""Whether the test of a `while` loop stands only before its body, not after it as well."""
CUTS_TRIES = VERSION >= (3, 14)
"""Whether a `try` around an `await` is in several pieces, whose depths `bytecode` gets wrong."""
ITERATES_BY_INDEX = VERSION >= (3, 15)
"""Whether a loop has two slots on the stack: what it goes through, and an index or NULL.

A generator expression then has both on its stack before it begins, instead of in `.0`.
"""
RESUME_PLACE = 3 if VERSION < (3, 15) else 7
"""The bits of the operand of RESUME that say where it stands."""
AFTER_YIELD = 1
"""The place of a RESUME after a plain `yield`; 0 is where a function begins."""
_CONDITIONAL = "POP_JUMP_FORWARD_IF_" if VERSION == (3, 11) else "POP_JUMP_IF_"
JUMP_IF_FALSE = f"{_CONDITIONAL}FALSE"
JUMP_IF_TRUE = f"{_CONDITIONAL}TRUE"
NEEDS_BOOLEANS = VERSION >= (3, 13)
"""Whether conditional jumps take nothing but True and False."""
_LOAD_CLOSURE = "LOAD_CLOSURE" if VERSION < (3, 13) else "LOAD_FAST"

COMMON_CONSTANTS: dict[str, Any] = {
    "CONSTANT_NONE": None,
    "CONSTANT_EMPTY_STR": "",
    "CONSTANT_TRUE": True,
    "CONSTANT_FALSE": False,
    "CONSTANT_MINUS_ONE": -1,
}
"""Constants that Python 3.15 has an instruction for."""

CALLS = frozenset({"CALL", "CALL_KW", "CALL_FUNCTION_EX"})
BEFORE_CALLS = CALLS | {"KW_NAMES", "PRECALL"}
NOT_CALLABLE = frozenset({"GET_ITER", "MAKE_FUNCTION", "LOAD_SPECIAL"})
"""Where calls of comprehensions have their argument, others their callable."""
LEAVING = frozenset({"RETURN_VALUE", "RETURN_CONST", "YIELD_VALUE"})
CONDITIONAL_JUMPS = [
    f"POP_JUMP_{direction}IF_{outcome}"
    for direction in ("", "FORWARD_", "BACKWARD_")
    for outcome in ("TRUE", "FALSE", "NONE", "NOT_NONE")
]
TOUCHING = BEFORE_CALLS | LEAVING | {
    "LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR", "STORE_ATTR", "DELETE_ATTR", "BINARY_SUBSCR",
    "STORE_SUBSCR", "DELETE_SUBSCR", "BINARY_SLICE", "STORE_SLICE", "LOAD_FAST", "LOAD_DEREF",
    "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF", "STORE_DEREF", "DELETE_DEREF", "LOAD_GLOBAL",
    "LOAD_FROM_DICT_OR_GLOBALS", "STORE_GLOBAL", "DELETE_GLOBAL", "LOAD_NAME", "STORE_NAME",
    "DELETE_NAME", "GET_ITER", "GET_AWAITABLE", "GET_ANEXT", "RAISE_VARARGS",
    "GET_YIELD_FROM_ITER", "UNPACK_SEQUENCE", "UNPACK_EX", "LIST_EXTEND", "SET_UPDATE",
    "DICT_UPDATE", "DICT_MERGE", "GET_LEN", "CONTAINS_OP", "COMPARE_OP", "BINARY_OP", "UNARY_NOT",
    "UNARY_NEGATIVE", "UNARY_INVERT", "UNARY_POSITIVE", "CALL_INTRINSIC_1", "TO_BOOL",
    "FORMAT_VALUE", "FORMAT_SIMPLE", "FORMAT_WITH_SPEC", "CONVERT_VALUE", "BEFORE_WITH",
    "LOAD_SPECIAL", "MATCH_KEYS", "MATCH_CLASS", "RESUME", "JUMP_BACKWARD",
    "JUMP_BACKWARD_NO_INTERRUPT", "JUMP_IF_TRUE_OR_POP", "JUMP_IF_FALSE_OR_POP", *CONDITIONAL_JUMPS,
}  # fmt: skip
"""Opcodes that the rewriter does something about."""
WRITTEN_OUT = frozenset(
    {
        "LOAD_FAST_BORROW", "LOAD_FAST_BORROW_LOAD_FAST_BORROW", "LOAD_FAST_LOAD_FAST",
        "STORE_FAST_LOAD_FAST", "STORE_FAST_STORE_FAST", "LOAD_SMALL_INT", "LOAD_COMMON_CONSTANT",
    }
)  # fmt: skip
"""Opcodes that stand for others, which `decode` puts in their place."""
HARMLESS = frozenset(
    {
        # the stack, constants, local variables, and what nobody else has yet
        "NOP", "CACHE", "EXTENDED_ARG", "COPY", "SWAP", "POP_TOP", "PUSH_NULL", "LOAD_CONST",
        "LOAD_ASSERTION_ERROR", "LOAD_BUILD_CLASS", "LOAD_FAST_CHECK", "LOAD_FAST_AND_CLEAR",
        "STORE_FAST", "DELETE_FAST", "LOAD_CLOSURE", "MAKE_CELL", "COPY_FREE_VARS",
        "MAKE_FUNCTION", "SET_FUNCTION_ATTRIBUTE", "BUILD_CONST_KEY_MAP", "BUILD_INTERPOLATION",
        "BUILD_LIST", "BUILD_MAP", "BUILD_SET", "BUILD_SLICE", "BUILD_STRING", "BUILD_TEMPLATE",
        "BUILD_TUPLE", "LIST_APPEND", "SET_ADD", "MAP_ADD", "LIST_TO_TUPLE", "IS_OP",
        "MATCH_MAPPING", "MATCH_SEQUENCE",
        # the bodies of classes and modules, and imports
        "LOAD_LOCALS", "SETUP_ANNOTATIONS",
        "IMPORT_NAME", "IMPORT_FROM", "IMPORT_STAR", "PRINT_EXPR", "CALL_INTRINSIC_2",
        # where to go on
        "FOR_ITER", "END_FOR", "POP_ITER", "NOT_TAKEN", "JUMP_FORWARD",
        "RETURN_GENERATOR", "SEND", "END_SEND", "CLEANUP_THROW",
        # exceptions, `with` and `async`, whose functions are code under test or a library's
        "RERAISE", "PUSH_EXC_INFO", "POP_EXCEPT", "CHECK_EXC_MATCH",
        "CHECK_EG_MATCH", "PREP_RERAISE_STAR", "WITH_EXCEPT_START", "BEFORE_ASYNC_WITH",
        "GET_AITER", "END_ASYNC_FOR", "ASYNC_GEN_WRAP",
        # what the interpreter puts there itself, and `co_code` does not show
        "RESERVED", "INTERPRETER_EXIT", "EXIT_INIT_CHECK", "ENTER_EXECUTOR", "TRACE_RECORD",
    }
)  # fmt: skip
"""Opcodes that touch nothing shared."""


def call(at: Location, count: int) -> list[Instr]:
    """Return the call of what lies on the stack, with a number of arguments."""
    precall = [Instr("PRECALL", count, location=at)] if CALLS_WITH_PRECALL else []
    return [*precall, Instr("CALL", count, location=at)]


def with_null(at: Location, function: Any) -> list[Instr]:
    """Return what loads a function for a call, with the NULL that belongs to it."""
    load, null = Instr("LOAD_CONST", function, location=at), Instr("PUSH_NULL", location=at)
    return [load, null] if NULL_LAST else [null, load]


def null_for_call(at: Location) -> list[Instr]:
    """Return what puts the NULL of a call where it belongs, the callable being on the stack."""
    null = Instr("PUSH_NULL", location=at)
    return [null] if NULL_LAST else [null, Instr("SWAP", 2, location=at)]


def load_closure(at: Location, cell: CellVar | FreeVar) -> Instr:
    """Return what loads a cell, not its content."""
    return Instr(_LOAD_CLOSURE, cell, location=at)


def load_attribute(at: Location, name: str) -> list[Instr]:
    """Return what loads an attribute, not as a method."""
    arg: Any = name if VERSION == (3, 11) else (False, name)
    return [Instr("LOAD_ATTR", arg, location=at)]


def callable_depth(i: Any) -> int:
    """Return where on the stack the callable of a call lies."""
    if i.name == "CALL_FUNCTION_EX":
        count = 2 if TAKES_KEYWORDS_ALWAYS else 1 + (i.arg & 1)
    else:
        count = i.arg
    names = 1 if i.name == "CALL_KW" else 0
    return int(count + names + (2 if NULL_LAST else 1))
