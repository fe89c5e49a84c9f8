"""What a library keeps for the whole process, as one location: whether anybody changes it."""

from __future__ import annotations

import sys
import types
from typing import TYPE_CHECKING, Any

from treadle.core.events import Codes, Mode, code

if TYPE_CHECKING:
    from treadle.python.runtime.slots import Knowledge

CHANGED = "changed"
HELD = "held"
"""Code under test has hold of something that a library keeps."""
_TOOLS = (
    type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodType,
    staticmethod, classmethod, property,
)  # fmt: skip
"""Classes of what modules and classes have to work with, and do not keep."""


def at(shared: Knowledge, place: str, mode: Mode) -> int:
    """Return the code of something that a library keeps."""
    return code(shared.location(("library", place), place), mode)


def looked_at(shared: Knowledge, place: str) -> Codes:
    """Return the codes of looking at something that a library keeps, if it is ever changed."""
    return (at(shared, place, Mode.READ),) if shared.happens(place, CHANGED) else ()


def state_of(package: str) -> str:
    """Return the name of what a package keeps whose functions are not looked into."""
    return f"the state of {package}"


def looked_at_directly(shared: Knowledge, module: str, value: Any) -> Codes:
    """Return the codes of looking at a value of a library's module or class without a call.

    Its functions may have put it there, and those of the standard library are known.
    """
    package = module.partition(".")[0]
    if package in sys.stdlib_module_names or issubclass(type(value), _TOOLS):
        return ()
    return looked_at(shared, state_of(package))
