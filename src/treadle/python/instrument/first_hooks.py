"""Code that calls a hook where it begins."""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType

from bytecode import Bytecode, Instr

from treadle.python.instrument.emit import hook


def with_hook_at_first(code: CodeType, called: Callable[[], None]) -> CodeType:
    """Return code that calls a hook where it begins."""
    instructions = Bytecode.from_code(code)
    for index, one in enumerate(instructions):
        if isinstance(one, Instr) and one.name == "RESUME":
            instructions[index + 1 : index + 1] = hook(one.location, called)
            break
    return instructions.to_code()
