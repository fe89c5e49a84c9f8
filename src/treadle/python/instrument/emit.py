"""Instructions that call hooks.

Hooks are called as methods are, the first argument in the place of the NULL of a call: that is one
instruction shorter.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import Any

from bytecode import Instr, Label
from bytecode.instr import CellVar, FreeVar

from treadle.python.accesses import any_order, callbacks, item_by_item, iterate
from treadle.python.accesses import instruction_hooks as hooks
from treadle.python.accesses.direct_methods import DIRECT
from treadle.python.accesses.known_builtins import Hook
from treadle.python.instrument.opcodes import (
    JUMP_IF_FALSE,
    JUMP_IF_TRUE,
    NEEDS_BOOLEANS,
    Location,
    call,
    load_closure,
    with_null,
)
from treadle.python.runtime.atoms import ATOMS
from treadle.python.runtime.spin import effects
from treadle.python.runtime.task import awaiting
from treadle.python.sharing.published import published

Item = Any
"""An instruction, label or pseudo-instruction of `bytecode`."""


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
        out.append(load_closure(at, cell))
    if len(out) == 1:  # no argument: the place of `self` stays empty
        return [*with_null(at, function), *call(at, 0), _pop(at)]
    return [*out, *call(at, len(out) - 2), _pop(at)]


def replaced(at: Location, function: Hook) -> list[Item]:
    """Return what replaces the top of the stack by what a function returns for it."""
    return [
        Instr("LOAD_CONST", function, location=at),
        Instr("SWAP", 2, location=at),
        *call(at, 0),
    ]


def instead(
    at: Location, depth: int, function: Hook, copies: Iterable[int], consts: Iterable[Any] = ()
) -> list[Item]:
    """Return the call of a hook whose result replaces what is at a depth of the stack."""
    called = hook(at, function, copies=copies, consts=consts)
    return [*called[:-1], Instr("SWAP", depth + 1, location=at), _pop(at)]


def guard(at: Location, depth: int, body: list[Item]) -> list[Item]:
    """Return instructions that are run only if what is at a depth of the stack is published."""
    skip = Label()
    copy = Instr("COPY", depth + 1, location=at)
    return [*is_published(at, copy), Instr(JUMP_IF_FALSE, skip, location=at), *body, skip]


def guard_two(at: Location, body: list[Item], depths: tuple[int, int] = (2, 1)) -> list[Item]:
    """Return instructions that are run only if one of two objects on the stack is published."""
    go, skip = Label(), Label()
    second, first = (is_published(at, Instr("COPY", 1 + n, location=at)) for n in depths)
    return [
        *second,
        Instr(JUMP_IF_TRUE, go, location=at),
        *first,
        Instr(JUMP_IF_FALSE, skip, location=at),
        go,
        *body,
        skip,
    ]


def guard_objects(at: Location, depths: Sequence[int], body: list[Item]) -> list[Item]:
    """Return instructions that are run unless everything at some depths is a number or the like."""
    go, skip = Label(), Label()
    out: list[Item] = []
    for depth in depths:
        out += [*_is_atom(at, depth), Instr(JUMP_IF_FALSE, go, location=at)]
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


def unless_direct(at: Location, shared: Label, unknown: Label) -> list[Item]:
    """Return what jumps if the top is published, or its methods are not all known."""
    return [
        *is_published(at, Instr("COPY", 2, location=at)),
        Instr(JUMP_IF_TRUE, shared, location=at),
        *_is_of(at, 1, DIRECT),
        Instr(JUMP_IF_FALSE, unknown, location=at),
    ]


def _is_atom(at: Location, depth: int) -> list[Item]:
    """Return what pushes whether nobody looks into what is at a depth of the stack."""
    return _is_of(at, depth, ATOMS)


def _is_of(at: Location, depth: int, kinds: Container[Any]) -> list[Item]:
    """Return what pushes whether the class of what is at a depth of the stack is one of some.

    Laid out as an ordinary call, `type(x)` is one fast instruction.
    """
    return [
        *with_null(at, type),
        Instr("COPY", depth + 2, location=at),
        *call(at, 1),
        Instr("LOAD_CONST", kinds, location=at),
        Instr("CONTAINS_OP", 0, location=at),
    ]


def guard_cell(at: Location, cell: CellVar | FreeVar, body: list[Item]) -> list[Item]:
    """Return instructions that are run only if a variable is published."""
    skip = Label()
    load = load_closure(at, cell)
    return [*is_published(at, load), Instr(JUMP_IF_FALSE, skip, location=at), *body, skip]


def is_published(at: Location, load: Instr) -> list[Item]:
    """Return what pushes whether an object, loaded by an instruction, is published."""
    return [
        Instr("LOAD_CONST", id, location=at),
        load,
        *call(at, 0),
        Instr("LOAD_CONST", published, location=at),
        Instr("CONTAINS_OP", 0, location=at),
    ]


def _pop(at: Location) -> Instr:
    return Instr("POP_TOP", location=at)


def contains(at: Location, *, is_negated: bool) -> list[Item]:
    """Return what looks for the second of the stack in the top, instead of the instruction."""
    out = [
        Instr("LOAD_CONST", item_by_item.contains, location=at),
        *(Instr("COPY", 3, location=at) for _ in range(2)),
        *call(at, 1),
        Instr("SWAP", 3, location=at),
        _pop(at),
        _pop(at),
    ]
    return [*out, Instr("UNARY_NOT", location=at)] if is_negated else out


def leave(at: Location) -> list[Item]:
    """Return what comes before a function returns: somebody in C may wait for that."""
    skip = Label()
    test = [Instr("LOAD_CONST", awaiting, location=at)]
    test += [Instr("TO_BOOL", location=at)] if NEEDS_BOOLEANS else []
    return [*test, Instr(JUMP_IF_FALSE, skip, location=at), *hook(at, callbacks.leave), skip]


def effect(at: Location) -> list[Item]:
    """Return what says that something changed, shared or not, by `effects[0] = True`."""
    loads = [Instr("LOAD_CONST", one, location=at) for one in (True, effects, 0)]
    return [*loads, Instr("STORE_SUBSCR", location=at)]


def before_reading(at: Location, reads: Hook, count: int, depth: int) -> list[Item]:
    """Return what comes before a built-in with some arguments that reads one of them at once."""
    if reads is hooks.read_elements and count == 1:
        return replaced(at, iterate.elements)
    if reads in (any_order.to_sum, any_order.to_collect):
        return replaced(at, reads)
    return hook(at, reads, copies=[depth])
