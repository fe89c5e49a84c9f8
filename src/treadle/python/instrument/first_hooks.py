"""Code that calls a hook where it begins."""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType
from typing import Any

from bytecode import Bytecode, Instr

from treadle.python.instrument.decode import encoded
from treadle.python.instrument.emit import hook
from treadle.python.instrument.opcodes import RESUME_PLACE


def with_hook_at_first(code: CodeType, called: Callable[[], None]) -> CodeType:
    """Return code that calls a hook where it begins."""
    instructions: Any = Bytecode.from_code(code, conserve_exception_block_stackdepth=True)
    at = next(index for index, one in enumerate(instructions) if _is_beginning(one))
    instructions[at + 1 : at + 1] = hook(instructions[at].location, called)
    return encoded(instructions, code)


def _is_beginning(item: Any) -> bool:
    if not isinstance(item, Instr) or item.name != "RESUME":
        return False
    place: Any = item.arg
    return not place & RESUME_PLACE
