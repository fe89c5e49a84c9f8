"""Instructions that call hooks, as Python 3.11, 3.12 and 3.13 want them.

A call finds its callable and arguments on the stack: `[NULL, callable, arguments]` up to 3.12,
`[callable, NULL, arguments]` from 3.13 on. The NULL may be replaced by a first argument, with the
callable before it: that is how methods are called, and it is how hooks are called here, because it
is one instruction shorter.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any

from bytecode import Instr, Label
from bytecode.instr import CellVar, FreeVar, InstrLocation

from treadle.python.accesses.known_builtins import Hook
from treadle.python.runtime.atoms import ATOMS
from treadle.python.sharing.published import published

Item = Any
"""An instruction, label or pseudo-instruction of `bytecode`."""
Location = InstrLocation | None

VERSION = sys.version_info[:2]
_JUMP_IF_FALSE = "POP_JUMP_FORWARD_IF_FALSE" if VERSION == (3, 11) else "POP_JUMP_IF_FALSE"
JUMP_IF_TRUE = "POP_JUMP_FORWARD_IF_TRUE" if VERSION == (3, 11) else "POP_JUMP_IF_TRUE"


def hook(
    at: Location,
    function: Hook,
    *,
    copies: Iterable[int] = (),
    consts: Iterable[Any] = (),
    cell: CellVar | FreeVar | None = None,
) -> list[Item]:
    """Return the call of a hook with copies of what is on the stack (1 is the top), and constants.

    What the hook returns is dropped. The first argument lies where the `self` of a method does.
    """
    out = [Instr("LOAD_CONST", function, location=at)]
    out += [Instr("COPY", depth + 1 + n, location=at) for n, depth in enumerate(copies)]
    out += [Instr("LOAD_CONST", const, location=at) for const in consts]
    if cell is not None:
        out.append(_load_closure(at, cell))
    if len(out) == 1:  # no argument: the place of `self` stays empty
        null = Instr("PUSH_NULL", location=at)
        return [*([*out, null] if VERSION >= (3, 13) else [null, *out]), *_call(at, 0), _pop(at)]
    return [*out, *_call(at, len(out) - 2), _pop(at)]


def replaced(at: Location, function: Hook) -> list[Item]:
    """Return what replaces the top of the stack by what a function returns for it."""
    return [
        Instr("LOAD_CONST", function, location=at),
        Instr("SWAP", 2, location=at),
        *_call(at, 0),
    ]


def guard(at: Location, depth: int, body: list[Item]) -> list[Item]:
    """Return instructions that are run only if what is at a depth of the stack is published."""
    skip = Label()
    copy = Instr("COPY", depth + 1, location=at)
    return [*is_published(at, copy), Instr(_JUMP_IF_FALSE, skip, location=at), *body, skip]


def guard_two(at: Location, body: list[Item], depths: tuple[int, int] = (2, 1)) -> list[Item]:
    """Return instructions that are run only if one of two objects on the stack is published."""
    go, skip = Label(), Label()
    second, first = (is_published(at, Instr("COPY", 1 + n, location=at)) for n in depths)
    return [
        *second,
        Instr(JUMP_IF_TRUE, go, location=at),
        *first,
        Instr(_JUMP_IF_FALSE, skip, location=at),
        go,
        *body,
        skip,
    ]


def guard_objects(at: Location, depths: Sequence[int], body: list[Item]) -> list[Item]:
    """Return instructions that are run unless everything at some depths is a number or the like."""
    go, skip = Label(), Label()
    out: list[Item] = []
    for depth in depths:
        out += [*_is_atom(at, depth), Instr(_JUMP_IF_FALSE, go, location=at)]
    return [*out, Instr("JUMP_FORWARD", skip, location=at), go, *body, skip]


def guard_item(at: Location, body: list[Item]) -> list[Item]:
    """Return instructions that are run if the top is published, or what is below no number."""
    go, skip = Label(), Label()
    return [
        *is_published(at, Instr("COPY", 2, location=at)),
        Instr(JUMP_IF_TRUE, go, location=at),
        *_is_atom(at, 2),
        Instr(JUMP_IF_TRUE, skip, location=at),
        go,
        *body,
        skip,
    ]


def _is_atom(at: Location, depth: int) -> list[Item]:
    """Return what pushes whether nobody looks into what is at a depth of the stack.

    Laid out as an ordinary call, `type(x)` is one fast instruction.
    """
    function, null = Instr("LOAD_CONST", type, location=at), Instr("PUSH_NULL", location=at)
    return [
        *((function, null) if VERSION >= (3, 13) else (null, function)),
        Instr("COPY", depth + 2, location=at),
        *_call(at, 1),
        Instr("LOAD_CONST", ATOMS, location=at),
        Instr("CONTAINS_OP", 0, location=at),
    ]


def guard_cell(at: Location, cell: CellVar | FreeVar, body: list[Item]) -> list[Item]:
    """Return instructions that are run only if a variable is published."""
    skip = Label()
    load = _load_closure(at, cell)
    return [*is_published(at, load), Instr(_JUMP_IF_FALSE, skip, location=at), *body, skip]


def is_published(at: Location, load: Instr) -> list[Item]:
    """Return what pushes whether an object, loaded by an instruction, is published."""
    return [
        Instr("LOAD_CONST", id, location=at),
        load,
        *_call(at, 0),
        Instr("LOAD_CONST", published, location=at),
        Instr("CONTAINS_OP", 0, location=at),
    ]


def _pop(at: Location) -> Instr:
    return Instr("POP_TOP", location=at)


def _call(at: Location, count: int) -> list[Instr]:
    precall = [Instr("PRECALL", count, location=at)] if VERSION == (3, 11) else []
    return [*precall, Instr("CALL", count, location=at)]


def _load_closure(at: Location, cell: CellVar | FreeVar) -> Instr:
    return Instr("LOAD_CLOSURE" if VERSION < (3, 13) else "LOAD_FAST", cell, location=at)


def load_attribute(at: Location, name: str) -> list[Item]:
    """Return what loads an attribute, not as a method."""
    arg: Any = name if VERSION == (3, 11) else (False, name)
    return [Instr("LOAD_ATTR", arg, location=at)]


def null_for_call(at: Location) -> list[Item]:
    """Return what puts the NULL of a call where it belongs, the callable being on the stack."""
    null = Instr("PUSH_NULL", location=at)
    return [null] if VERSION >= (3, 13) else [null, Instr("SWAP", 2, location=at)]


def callable_depth(i: Item) -> int:
    """Return where on the stack the callable of a call lies."""
    count = 1 + (i.arg & 1) if i.name == "CALL_FUNCTION_EX" else i.arg
    names = 1 if i.name == "CALL_KW" else 0
    depth: int = count + names + (2 if VERSION >= (3, 13) else 1)
    return depth
