"""What stands for the actors, tasks and values of all executions: objects, routines, values.

An *abstract object* is known by the newest `k` allocation sites of it and of those that made it
(object sensitivity). A site is the instruction `new` itself, not its line. A *routine* is a method
or function in an abstract object; one that is sent is an abstract task, and stands for its futures.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from types import FunctionType

from treadle.analyses.ir import Instruction, Method, Span

ENTRY = -1
"""The position of a task that has not begun."""
EXIT = -2
"""The position of a task that has ended."""


@dataclass(frozen=True, slots=True)
class Site:
    """An instruction that makes actors."""

    function: FunctionType
    position: int
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class AbstractObject:
    """All actors that were made at a site, by those that the next sites made; none made main."""

    cls: type | None
    sites: tuple[Site, ...] = ()
    owner: AbstractObject | None = None
    """The object whose group it belongs to, if it is `local`."""

    @property
    def group(self) -> AbstractObject:
        """The object that stands for its group: itself, unless it is local."""
        return self if self.owner is None else self.owner

    def __str__(self) -> str:
        if self.cls is None:
            return "main"
        return f"{self.cls.__name__} of {self.sites[0].span}" if self.sites else self.cls.__name__


@dataclass(frozen=True, slots=True)
class Routine:
    """A method of an abstract object, or a function that is called on its behalf."""

    object: AbstractObject
    function: FunctionType
    method: Method = field(compare=False, repr=False)

    @property
    def name(self) -> str:
        """The name of the method or function."""
        return self.method.name

    def __str__(self) -> str:
        return self.name if self.object.cls is None else f"{self.object.cls.__name__}.{self.name}"


@dataclass(frozen=True, slots=True)
class Point:
    """A position in a routine; `ENTRY` and `EXIT` stand for before and after all instructions."""

    routine: Routine
    position: int

    @property
    def instruction(self) -> Instruction | None:
        """The instruction there, if it is one."""
        if self.position < 0:
            return None
        return self.routine.method.instructions[self.position]

    @property
    def line(self) -> int:
        """The line in the source."""
        instruction = self.instruction
        if instruction is None:
            return self.routine.function.__code__.co_firstlineno
        return instruction.span.line

    @property
    def place(self) -> tuple[str, int]:
        """File and line."""
        return self.routine.method.file, self.line

    def __str__(self) -> str:
        return f"L{self.line}"


@dataclass(frozen=True, slots=True)
class Cell:
    """A collection or another value that keeps values; all that it holds is in one place."""

    key: Hashable
    is_data: bool = False
    """Whether it may have methods of the user's."""


@dataclass(frozen=True, slots=True)
class Literal:
    """A number, a text, a truth value or None."""

    kind: type
    value: object

    @classmethod
    def of(cls, value: object) -> Literal:
        """Return what stands for a value; 1 and True are told apart."""
        return cls(type(value), value)


class Data:
    """Some plain value: it is no actor and no future, and holds none."""

    def __repr__(self) -> str:
        return "data"


class Unknown:
    """Some value of which nothing is known."""

    def __repr__(self) -> str:
        return "?"


UNKNOWN = Unknown()
DATA = Data()

Part = AbstractObject | Routine | Cell | Literal | Data | Unknown
Value = frozenset[Part]
"""What an expression may stand for: actors, futures (by their tasks), collections, plain values.

Tuples are as good as their parts. Nothing at all: no execution gets there, as far as is known."""

NOTHING: Value = frozenset()
PLAIN: Value = frozenset({DATA})
ANYTHING: Value = frozenset({UNKNOWN})

_MOST_LITERALS = 4
"""Literals that are told apart; more are some plain value."""


def normal(value: Value) -> Value:
    """Return a value with few literals, and none if it may be any plain value."""
    literals = [one for one in value if isinstance(one, Literal)]
    if not literals or (DATA not in value and len(literals) <= _MOST_LITERALS):
        return value
    return value.difference(literals) | PLAIN


def carried_by(value: Value) -> Value:
    """Return what is more than plain values in a value."""
    return frozenset(one for one in value if not isinstance(one, Literal | Data))


def objects_in(value: Value) -> list[AbstractObject]:
    """Return the actors in a value, in a fixed order."""
    return sorted((one for one in value if isinstance(one, AbstractObject)), key=_order)


def tasks_in(value: Value) -> list[Routine]:
    """Return the tasks whose futures are in a value, in a fixed order."""
    return sorted((one for one in value if isinstance(one, Routine)), key=_order)


def _order(one: AbstractObject | Routine) -> tuple[object, ...]:
    if isinstance(one, Routine):
        return (*_order(one.object), one.name, one.function.__code__.co_firstlineno)
    where = [(s.function.__code__.co_filename, s.span.line, s.position) for s in one.sites]
    return (one.cls.__qualname__ if one.cls else "", where)
