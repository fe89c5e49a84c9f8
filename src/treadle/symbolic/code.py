"""The code of some classes of actors, as the IR: methods, fields, who has which method."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from types import FunctionType

from treadle.analyses.ir import Method, SetField, fields_of, used
from treadle.analyses.known import Known, function_of, methods_of
from treadle.analyses.lower import Lowering

INITIALISER = "__init__"


class Code:
    """Classes of actors that know each other, lowered when they are asked for."""

    def __init__(self, known: Known, classes: Iterable[type]) -> None:
        self.known = known
        self.classes = tuple(dict.fromkeys(classes))
        names = [methods_of(cls, known.actor) for cls in self.classes]
        self._lowering = Lowering(known, frozenset[str]().union(*names))

    def methods(self, cls: type) -> list[str]:
        """Return the methods of a class that can be sent, in the order of the source."""
        names = methods_of(cls, self.known.actor) - {INITIALISER}
        return sorted(names, key=lambda name: (self._line(cls, name), name))

    def _line(self, cls: type, name: str) -> int:
        function = function_of(cls, name)
        assert function is not None, "it was found among the methods"
        return function.__code__.co_firstlineno

    def method(self, cls: type, name: str) -> Method:
        """Return the instructions of a method."""
        function = function_of(cls, name)
        assert function is not None, f"{cls.__name__} has no method {name}"
        return self._lowering.method(function)

    def function(self, function: FunctionType, *, is_method: bool) -> Method:
        """Return the instructions of a function."""
        return self._lowering.method(function, is_method=is_method)

    def initialiser(self, cls: type) -> Method | None:
        """Return the instructions of a class's initialiser, if it has one of its own."""
        function = function_of(cls, INITIALISER)
        return None if function is None else self._lowering.method(function)

    def owners(self, method: str) -> tuple[type, ...]:
        """Return the classes that have a method."""
        return tuple(cls for cls in self.classes if function_of(cls, method) is not None)

    @cached_property
    def _fields(self) -> dict[type, tuple[str, ...]]:
        return {cls: tuple(self._fields_in(cls)) for cls in self.classes}

    def fields(self, cls: type) -> tuple[str, ...]:
        """Return the fields that the code of a class names."""
        return self._fields[cls]

    def _fields_in(self, cls: type) -> dict[str, None]:
        found: dict[str, None] = {}
        initialiser = self.initialiser(cls)
        bodies = [self.method(cls, name) for name in self.methods(cls)]
        for body in ([initialiser] if initialiser else []) + bodies:
            for instruction in body.instructions:
                if isinstance(instruction, SetField):
                    found[instruction.field] = None
                for expression in used(instruction):
                    found |= dict.fromkeys(sorted(fields_of(expression)))
        return {name: None for name in found if function_of(cls, name) is None}
