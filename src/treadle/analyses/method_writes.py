"""What the methods of actors may write, and where their tasks can stand: blocks and call graphs.

A *block* of a method is the code from its start, or from a wait, to the next wait; blocks are told
apart by the span of the wait that they begin behind. What a task may still write is what its method
writes, and whatever it calls, sends or makes, by name: a least fixpoint over the call graph. On
which actors, only the heap can tell (`actors.heap`). What is not understood may write everything.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import CodeType, FunctionType

from treadle.analyses.ir import (
    Await,
    Call,
    Get,
    Havoc,
    Instruction,
    Local,
    Method,
    New,
    Pause,
    Send,
    SetField,
    Span,
    This,
    Until,
    Update,
    fields_of,
    parts,
    used,
)
from treadle.analyses.known import Known, function_of, methods_of
from treadle.analyses.lower import Lowering

_WAITS = (Await, Get, Until, Pause)
ANY_FIELD = "*"
"""Stands for all fields of a class."""

Written = tuple[str, str]
"""A field: the qualified name of the class of the object, and the name of the field."""
_Node = tuple[type | None, FunctionType]
"""A function, for an object of a class if it is a method."""


class MethodWrites:
    """The methods of some classes of actors."""

    def __init__(self, known: Known, classes: Sequence[type]) -> None:
        self._known = known
        self._classes = classes
        names = frozenset[str]().union(*(methods_of(cls, known.actor) for cls in classes))
        self._lowering = Lowering(known, names)
        self._written: dict[_Node, frozenset[Written] | None] = {}

    def methods(self) -> Iterator[tuple[type, str, FunctionType]]:
        """Yield all methods that can be sent, by class and name."""
        for cls in self._classes:
            for name in sorted(methods_of(cls, self._known.actor)):
                function = function_of(cls, name)
                if function is not None and name != "__init__":
                    yield cls, name, function

    def _lowered(self, function: FunctionType, *, is_method: bool = True) -> Method:
        return self._lowering.method(function, is_method=is_method)

    # Blocks

    def waits(self, function: FunctionType) -> list[Span]:
        """Return where a method may wait, in the order of its source."""
        instructions = self._lowered(function).instructions
        return sorted({each.span for each in instructions if isinstance(each, _WAITS)})

    def obstacle(self, function: FunctionType) -> str:
        """Say why nothing can be said of the blocks of a method; empty if something can."""
        found = self.obstacle_at(function)
        return "" if found is None else f"line {found[0]}: {found[1]}"

    def obstacle_at(self, function: FunctionType) -> tuple[int, str] | None:
        """Return in which line something keeps us from saying anything, and what; None: nothing."""
        for instruction in self._lowered(function).instructions:
            match instruction:
                case Havoc(why):
                    return instruction.span.line, why
                case Get():
                    return instruction.span.line, "it waits and keeps its actor"
                case Call(crosses=True):
                    return instruction.span.line, "it may wait and keep its actor"
        return None

    def span_at(self, code: CodeType, lasti: int) -> Span | None:
        """Return where a suspended frame waits."""
        line, end_line, column, end_column = list(code.co_positions())[lasti // 2]
        if line is None or end_line is None or column is None or end_column is None:
            return None
        return Span(line, column, end_line, end_column)

    def live(self, function: FunctionType, wait: Span) -> frozenset[str]:
        """Return the local names that a task may still look at behind a wait."""
        method = self._lowered(function)
        at = [i for i, each in enumerate(method.instructions) if each.span == wait]
        todo = [each for each in at if isinstance(method.instructions[each], _WAITS)]
        seen: set[int] = set()
        found: set[str] = set()
        while todo:
            position = todo.pop()
            if position in seen:
                continue
            seen.add(position)
            for expression in used(method.instructions[position]):
                found |= {part.name for part in parts(expression) if isinstance(part, Local)}
            todo += (*method.successors(position), *method.handled_at(position))
        return frozenset(found)

    # What may be written

    def written(self, cls: type | None, function: FunctionType) -> frozenset[Written] | None:
        """Return the fields that a task of a function may write, on whichever actor; None: all."""
        node = (cls, function)
        if node not in self._written:
            self._written[node] = self._closed(node)
        return self._written[node]

    def _closed(self, start: _Node) -> frozenset[Written] | None:
        todo, seen = [start], {start}
        found: set[Written] = set()
        while todo:
            cls, function = todo.pop()
            for instruction in self._lowered(function, is_method=cls is not None).instructions:
                if isinstance(instruction, Havoc):
                    return None
                found |= set(self._fields(cls, instruction))
                for callee in self._callees(cls, instruction):
                    if callee not in seen:
                        seen.add(callee)
                        todo.append(callee)
        return frozenset(found)

    def _fields(self, cls: type | None, instruction: Instruction) -> Iterator[Written]:
        """Yield the fields that an instruction writes: what a field holds may have another name."""
        if cls is None:
            return
        match instruction:
            case SetField(name):
                yield cls.__qualname__, name
            case Update(_, container):
                names = fields_of(container)
                for name in names or {ANY_FIELD}:
                    yield cls.__qualname__, name

    def _callees(self, cls: type | None, instruction: Instruction) -> Iterator[_Node]:
        match instruction:
            case Send(_, receiver, name):
                yield from self._named(cls if isinstance(receiver, This) else None, name)
            case Call(_, receiver, name, function=function):
                if isinstance(function, FunctionType):
                    yield (None if receiver is None else cls), function
                else:
                    yield from self._named(cls if isinstance(receiver, This) else None, name)
            case New(type=made):
                yield from self._named(made, "__init__")
                yield from self._named(made, "run")

    def _named(self, cls: type | None, name: str) -> Iterator[_Node]:
        """Yield the methods of a name, of one class or of all."""
        for owner in self._classes if cls is None else (cls,):
            function = function_of(owner, name)
            if function is not None and function_of(self._known.actor, name) is not function:
                yield owner, function
