"""Bytecode with hooks: a call before every instruction that may touch something shared.

A guided tour. `rewrite` takes a code object and returns one that does the same, but calls a
function of `hooks` before each visible access, with copies of the operands from the stack. Calls of
methods and functions are resolved by a hook too (`resolve`), because a function written in C touches
its arguments without any bytecode. Line numbers, exception tables and stack sizes are kept right by
the `bytecode` package. What differs between Python 3.11, 3.12 and 3.13 is in `_Shape`.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterable
from typing import Any

from bytecode import Bytecode, CellVar, FreeVar, Instr, Label
from bytecode.instr import InstrLocation

from treadle.threads import hooks

_VERSION = sys.version_info[:2]

Hook = Callable[..., Any]
Globals = Callable[[str], object]
"""Returns what stands for a global variable, or None if nobody ever assigns it."""

_JUMPS_BACK = frozenset({"JUMP_BACKWARD", "POP_JUMP_BACKWARD_IF_TRUE", "POP_JUMP_BACKWARD_IF_FALSE"})
_HARMLESS_CALLS = frozenset(
    {
        "isinstance", "issubclass", "range", "int", "float", "bool", "type", "id", "abs", "ord",
        "chr", "round", "callable", "super", "object", "divmod", "pow", "slice",
    }
)  # fmt: skip
"""Built-ins that touch nothing shared through their arguments."""


def rewrite(code: types.CodeType, variables: Globals) -> types.CodeType:
    """Return a code object, and all those inside it, with hooks."""
    return _Rewriter(variables).rewrite(code)


class _Rewriter:
    def __init__(self, variables: Globals) -> None:
        self._variables = variables

    def rewrite(self, code: types.CodeType) -> types.CodeType:
        source = Bytecode.from_code(code)
        result: list[Any] = []
        for instruction in source:
            if isinstance(instruction, Instr):
                result += self._instruction(instruction)
            else:
                result.append(instruction)
        source[:] = result  # type: ignore[call-overload]
        return source.to_code()

    def _instruction(self, instruction: Instr) -> Iterable[Instr]:
        """Return an instruction with what has to come before it."""
        arg = instruction.arg
        if instruction.name == "LOAD_CONST" and isinstance(arg, types.CodeType):
            return [Instr("LOAD_CONST", self.rewrite(arg), location=instruction.location)]
        make = _REWRITTEN.get(instruction.name)
        if make is not None:
            return make(self, instruction)
        return [instruction]

    # Attributes

    def attribute(self, i: Instr) -> list[Instr]:
        is_method, name = i.arg if isinstance(i.arg, tuple) else (False, i.arg)
        if not is_method:
            return [*_call(i, hooks.load_attr, [1], [name]), i]
        return self._method(i, name)

    def method(self, i: Instr) -> list[Instr]:
        return self._method(i, i.arg)

    def _method(self, i: Instr, name: str) -> list[Instr]:
        """Load a method as an attribute: calls then always find the callable in one place."""
        load = ("LOAD_ATTR", (False, name)) if _VERSION >= (3, 12) else ("LOAD_ATTR", name)
        return [
            *_call(i, hooks.load_attr, [1], [name]),
            Instr(*load, location=i.location),
            *_null_below(i),
        ]

    def super_attribute(self, i: Instr) -> list[Instr]:
        zero, is_method, name = _super_arg(i.arg)
        if not is_method:
            return [i]
        return [
            Instr(i.name, _super_arg_of(i.arg, zero, name), location=i.location),
            *_null_below(i),
        ]

    def store_attribute(self, i: Instr) -> list[Instr]:
        return [*_call(i, hooks.store_attr, [2, 1], [i.arg]), i]

    def delete_attribute(self, i: Instr) -> list[Instr]:
        return [*_call(i, hooks.delete_attr, [1], [i.arg]), i]

    # Variables

    def load_cell(self, i: Instr) -> list[Instr]:
        if i.arg.name == "__class__":
            return [i]
        return [*_call(i, hooks.load_cell, [], [], cell=i.arg), i]

    def store_cell(self, i: Instr) -> list[Instr]:
        return [*_call(i, hooks.store_cell, [1], [], cell=i.arg), i]


def _call(
    i: Instr, hook: Hook, copies: list[int], consts: list[Any], *, cell: Any = None
) -> list[Instr]:
    """Return the call of a hook with copies of what is on the stack (1 is the top), and constants.

    What the hook returns is dropped.
    """
    at = i.location
    out = [Instr("PUSH_NULL", location=at), Instr("LOAD_CONST", hook, location=at)]
    if _VERSION >= (3, 13):
        out.reverse()
    out += [Instr("COPY", depth + 2 + n, location=at) for n, depth in enumerate(copies)]
    out += [Instr("LOAD_CONST", const, location=at) for const in consts]
    count = len(copies) + len(consts)
    if cell is not None:
        out.append(Instr("LOAD_CLOSURE" if _VERSION < (3, 13) else "LOAD_FAST", cell, location=at))
        count += 1
    if _VERSION == (3, 11):
        out.append(Instr("PRECALL", count, location=at))
    return [*out, Instr("CALL", count, location=at), Instr("POP_TOP", location=at)]


def _null_below(i: Instr) -> list[Instr]:
    """Return what puts the NULL of a call where it belongs, the callable being on the stack."""
    null = Instr("PUSH_NULL", location=i.location)
    return [null] if _VERSION >= (3, 13) else [null, Instr("SWAP", 2, location=i.location)]


def _super_arg(arg: Any) -> tuple[Any, bool, str]:
    raise NotImplementedError


def _super_arg_of(arg: Any, zero: Any, name: str) -> Any:
    raise NotImplementedError


_REWRITTEN: dict[str, Callable[[_Rewriter, Instr], list[Instr]]] = {
    "LOAD_ATTR": _Rewriter.attribute,
    "LOAD_METHOD": _Rewriter.method,
    "STORE_ATTR": _Rewriter.store_attribute,
    "DELETE_ATTR": _Rewriter.delete_attribute,
    "LOAD_DEREF": _Rewriter.load_cell,
    "STORE_DEREF": _Rewriter.store_cell,
}
