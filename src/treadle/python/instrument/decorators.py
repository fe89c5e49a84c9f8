"""Calls of decorators in the form of all other calls (up to Python 3.12).

A decorator is called with its argument in the place of `self`: `[callable, function]`, `CALL 0`,
while `f()` has `[NULL, callable]` before the same instruction. Only what came right before tells
them apart: the end of a `def` or `class`, or the call of another decorator. Here the former becomes
`[NULL, callable, function]`, `CALL 1`. From Python 3.13 on the callable lies below in both forms.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import CodeType
from typing import Any

from bytecode import Instr

from treadle.python.instrument.opcodes import CALLS, call

_GENERIC = "<generic parameters of "
"""What the function is called that makes a `def f[T]` or `class C[T]`, and is called at once."""


def with_plain_decorators(items: Iterable[Any]) -> Iterator[Any]:
    """Yield instructions among which decorators are called as everything else is."""
    ends = _Ends()
    precalls: list[Instr] = []
    for item in items:
        if not isinstance(item, Instr):
            yield item
        elif item.name == "PRECALL":
            precalls.append(item)
        elif ends.are_followed_by(item):
            precalls.clear()
            yield from _plain(item)
        else:
            yield from precalls
            precalls.clear()
            yield item


def _plain(i: Instr) -> list[Instr]:
    at = i.location
    null = [Instr("PUSH_NULL", location=at)]  # goes below the callable and its argument
    return [*null, *(Instr("SWAP", depth, location=at) for depth in (3, 2)), *call(at, 1)]


class _Ends:
    """Whether the instruction before made what a decorator may get."""

    def __init__(self) -> None:
        self._made = False
        self._code: Any = None
        """The constant that was loaded last: the code of a function that is made."""
        self._is_generic = False
        self._classes: set[Any] = set()
        """Where statements `class` stand."""
        self._class_line: int | None = None
        """The line of the class that the instruction before may have made."""

    def are_followed_by(self, i: Any) -> bool:
        """Tell whether an instruction, the next one, calls a decorator."""
        is_decorator = i.name == "CALL" and i.arg == 0 and (self._made or self._is_above(i))
        self._made = is_decorator or self._makes(i)
        is_class = i.name in CALLS and i.location in self._classes and i.location is not None
        self._class_line = i.location.lineno if is_class else None
        if i.name == "LOAD_BUILD_CLASS":
            self._classes.add(i.location)
        return is_decorator

    def _is_above(self, i: Any) -> bool:
        """Tell whether a call right after that of a class is above it: bases are not."""
        line = i.location.lineno if i.location else None
        return self._class_line is not None and line is not None and line < self._class_line

    def _makes(self, i: Any) -> bool:
        """Tell whether an instruction makes the function of a `def`, or something generic."""
        if i.name == "LOAD_CONST":
            self._code = i.arg
        elif i.name == "MAKE_FUNCTION" and isinstance(self._code, CodeType):
            self._is_generic = self._code.co_name.startswith(_GENERIC)
            return not self._code.co_name.startswith("<")  # as lambdas and comprehensions do
        elif i.name in CALLS and self._is_generic:
            self._is_generic = False
            return True
        return False
