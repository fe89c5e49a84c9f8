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
        self._functions: dict[int, FunctionType] = {}
        """By the identity of what they were lowered to."""

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
        return self.function(function)

    def function(self, function: FunctionType, *, is_method: bool = True) -> Method:
        """Return the instructions of a function."""
        method = self._lowering.method(function, is_method=is_method)
        self._functions[id(method)] = function
        return method

    def source_of(self, method: Method) -> FunctionType:
        """Return the function that instructions are of."""
        return self._functions[id(method)]

    def initialiser(self, cls: type) -> Method | None:
        """Return the instructions of a class's initialiser, if it has one of its own."""
        function = function_of(cls, INITIALISER)
        return None if function is None else self.function(function)

    def owners(self, method: str) -> tuple[type, ...]:
        """Return the classes that have a method."""
        return tuple(cls for cls in self.classes if function_of(cls, method) is not None)

    @cached_property
    def _named(self) -> dict[type, tuple[frozenset[str], tuple[str, ...]]]:
        return {cls: self._fields_in(cls) for cls in self.classes}

    def fields(self, cls: type) -> tuple[str, ...]:
        """Return the fields that the code of a class names."""
        return self._named[cls][1]

    def assigned(self, cls: type) -> frozenset[str]:
        """Return the fields that the code of a class gives values."""
        return self._named[cls][0]

    def _fields_in(self, cls: type) -> tuple[frozenset[str], tuple[str, ...]]:
        assigned, named = set[str](), dict[str, None]()
        above = [function_of(base, INITIALISER) for base in cls.__mro__]
        bodies = [self.function(each) for each in dict.fromkeys(above) if each is not None]
        for body in bodies + [self.method(cls, name) for name in self.methods(cls)]:
            for instruction in body.instructions:
                if isinstance(instruction, SetField):
                    assigned.add(instruction.field)
                    named[instruction.field] = None
                for expression in used(instruction):
                    named |= dict.fromkeys(sorted(fields_of(expression)))
        kept = [name for name in named if name in assigned or function_of(cls, name) is None]
        return frozenset(assigned), tuple(kept)
