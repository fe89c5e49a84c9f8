"""Code as a list of instructions in which the newest Pythons look like the older ones.

What a compiler merges or abbreviates is written out: two loads in one instruction become two, small
numbers and `None` become constants, borrowed references plain ones (a hook between a load and its
use could let go of what was borrowed). So the rewriter knows one form of each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from types import CodeType
from typing import Any

from bytecode import Bytecode, Instr
from bytecode.instr import CellVar

from treadle.python.instrument.decorators import with_plain_decorators
from treadle.python.instrument.opcodes import (
    COMMON_CONSTANTS,
    CUTS_TRIES,
    NULL_LAST,
    TESTS_LOOPS_ONCE,
)
from treadle.python.instrument.while_loops import test_again_at_the_end


def decoded(code: CodeType) -> Bytecode:
    """Return the instructions of a code object, written out; a `try` keeps its stack's depth."""
    found: Any = Bytecode.from_code(code, conserve_exception_block_stackdepth=True)
    found[:] = list(_written_out(found))
    if not NULL_LAST:
        found[:] = list(with_plain_decorators(found))
    if TESTS_LOOPS_ONCE:
        found[:] = test_again_at_the_end(found, code.co_filename)
    result: Bytecode = found
    return result


_MOST_CONSTANTS = 8


def encoded(instructions: Any, code: CodeType) -> CodeType:
    """Return the code object of instructions that are those of another one, with hooks.

    A hook copies what is on the stack, once, and adds a few constants: this is the room it takes.
    Below it nothing changes, so each `try` keeps its depth. What `bytecode` computes is only right
    where none is cut: else it is too little, or less than nothing.
    """
    room = 2 * code.co_stacksize + _MOST_CONSTANTS
    if CUTS_TRIES:
        exact: CodeType = instructions.to_code(stacksize=room, compute_exception_stack_depths=False)
        return exact
    made: CodeType = instructions.to_code()
    return made.replace(co_stacksize=max(made.co_stacksize, room))


def _written_out(items: Iterable[Any]) -> Iterator[Any]:
    for item in items:
        expand = _EXPANDED.get(item.name) if isinstance(item, Instr) else None
        if expand is None:
            yield item
        else:
            yield from expand(item)


def _borrowed(i: Any) -> list[Instr]:
    return [Instr("LOAD_FAST", i.arg, location=i.location)]


def _cell(i: Any) -> list[Instr]:
    """`bytecode` takes the cell of a parameter for a local variable (from Python 3.14 on)."""
    cell = CellVar(i.arg) if isinstance(i.arg, str) else i.arg
    return [Instr(i.name, cell, location=i.location)]


def _two(first: str, second: str) -> Callable[[Any], list[Instr]]:
    def expand(i: Any) -> list[Instr]:
        return [
            Instr(first, i.arg[0], location=i.location),
            Instr(second, i.arg[1], location=i.location),
        ]

    return expand


def _number(i: Any) -> list[Instr]:
    return [Instr("LOAD_CONST", int(i.arg), location=i.location)]


def _common_constant(i: Any) -> list[Instr]:
    if i.arg.name not in COMMON_CONSTANTS:
        return [i]
    return [Instr("LOAD_CONST", COMMON_CONSTANTS[i.arg.name], location=i.location)]


_EXPANDED: dict[str, Callable[[Any], list[Instr]]] = {
    "LOAD_DEREF": _cell,
    "LOAD_FAST_BORROW": _borrowed,
    "LOAD_FAST_BORROW_LOAD_FAST_BORROW": _two("LOAD_FAST", "LOAD_FAST"),
    "LOAD_FAST_LOAD_FAST": _two("LOAD_FAST", "LOAD_FAST"),
    "STORE_FAST_LOAD_FAST": _two("STORE_FAST", "LOAD_FAST"),
    "STORE_FAST_STORE_FAST": _two("STORE_FAST", "STORE_FAST"),
    "LOAD_SMALL_INT": _number,
    "LOAD_COMMON_CONSTANT": _common_constant,
}
