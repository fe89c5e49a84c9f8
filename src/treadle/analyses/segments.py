"""Segments: what a macro-step may access, told before it runs ("shared memory" in SYCO's words).

A task runs from where it stands to the next wait. Which wait that is may depend on values, but a
step's footprint must not. So the footprint is static: all instructions that can be reached from
there without passing a *certain stop*:

- `get` of a future that this task has surely not joined yet,
- `await` of a future that was sent in this same segment (its task cannot have run),
- `pause`.

Passed are conditions, which may hold, other waits, and synchronous calls, together with all that
the callee may do from its start. A task that stands inside of a callee also does the rest of its
callers.

Fields are named by the class of the object and not by the object, since a synchronous call may go
to any object of the group.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from types import CodeType, FunctionType
from typing import NamedTuple

from treadle.analyses.futures import Facts, Origin, facts_of
from treadle.analyses.ir import (
    Await,
    Call,
    Expression,
    Get,
    Havoc,
    Instruction,
    Method,
    New,
    Operation,
    Pause,
    Send,
    SetField,
    Span,
    Until,
    Update,
    fields_of,
    parts,
    used,
)
from treadle.analyses.known import Known as Known
from treadle.analyses.known import function_of, methods_of, unwrapped
from treadle.analyses.lower import Lowering

Access = tuple[str, str]
"""A field: the qualified name of the class of the object, and the name of the field."""

_WAITS = (Await, Get, Until, Pause, Call, New)
"""Instructions at which a task can stand."""


class Frame(NamedTuple):
    """A suspended frame; `cls` is the class of its `self`, None if it has none."""

    code: CodeType
    lasti: int
    cls: type | None


@dataclass(frozen=True, slots=True)
class Segment:
    """What a step may do, however it ends."""

    reads: frozenset[Access] = frozenset()
    writes: frozenset[Access] = frozenset()
    may_block: bool = False
    """Whether it may end in a wait that does not release."""
    older: bool = False
    """Whether it may test a future that was sent before this step."""
    awaits: frozenset[Access] = frozenset()
    """The fields in the condition that the task stands at."""
    unknown: str = ""
    """Why nothing is known: file, line and reason. It may access every field of the group then."""


class Segments:
    """The segments of all methods of some classes.

    `known` tells how actors' code is recognised, `classes` are all classes of actors that there are
    so far; `add` takes one that is met later.
    """

    def __init__(self, known: Known, classes: Iterable[type]) -> None:
        self._known = known
        self._classes = list(dict.fromkeys(classes))
        self._given: dict[_Start, Segment] = {}
        self._begin()

    def _begin(self) -> None:
        names = [methods_of(cls, self._known.actor) for cls in self._classes]
        self._lowering = Lowering(self._known, frozenset[str]().union(*names))
        self._walks = _Walks(self._known, self._classes, self._lowering)

    def add(self, cls: type) -> bool:
        """Take another class; return whether a segment that was given out is different now."""
        if cls in self._classes:
            return False
        self._classes.append(cls)
        self._begin()
        before, self._given = self._given, {}
        return any(self._segment(start) != segment for start, segment in before.items())

    def at_start(self, cls: type, method: str) -> Segment:
        """Return the first segment of a task."""
        return self._segment((cls, method))

    def main(self, function: FunctionType) -> Segment:
        """Return the first segment of a main function."""
        return self._segment((None, function))

    def after(self, frames: Sequence[Frame]) -> Segment:
        """Return the segment of a suspended task, from its frames, the outermost first."""
        return self._segment(tuple(frames))

    def _segment(self, start: _Start) -> Segment:
        segment = self._given.get(start)
        if segment is None:
            segment = self._given[start] = self._walks.segment(start)
        return segment


_Start = tuple[type, str] | tuple[None, FunctionType] | tuple[Frame, ...]
"""Where a segment begins: a method, a main function, or suspended frames."""


@dataclass(slots=True)
class _Walk:
    """One segment while it is collected."""

    reads: set[Access] = field(default_factory=set)
    writes: set[Access] = field(default_factory=set)
    awaits: set[Access] = field(default_factory=set)
    may_block: bool = False
    older: bool = False
    unknown: str = ""
    entered: set[tuple[type | None, FunctionType, bool]] = field(default_factory=set)
    """Callees that were walked already."""

    def segment(self) -> Segment:
        return Segment(
            frozenset(self.reads),
            frozenset(self.writes),
            self.may_block,
            self.older,
            frozenset(self.awaits),
            self.unknown,
        )

    def is_unknown(self, file: str, span: Span, why: str) -> None:
        """Note what is unknown; the first is enough."""
        self.unknown = self.unknown or f"{file}:{span.line}: {why}"


@dataclass(frozen=True, slots=True)
class _Body:
    """A method that a walk goes through, for an object of a class; `elsewhere`: of a new group."""

    cls: type | None
    method: Method
    facts: dict[int, Facts]
    elsewhere: bool = False


class _Walks:
    """Collects segments."""

    def __init__(self, known: Known, classes: list[type], lowering: Lowering) -> None:
        self._known = known
        self._classes = classes
        self._lowering = lowering
        self._functions: dict[CodeType, FunctionType] = {}
        """The functions that code belongs to, for all that a task can stand in."""
        self._bodies: dict[tuple[FunctionType, bool, bool], tuple[Method, dict[int, Facts]]] = {}
        self._owners: dict[str, list[type]] = {}
        """Which classes have a field."""
        for cls in classes:
            self._know_class(cls)

    def _know_class(self, cls: type) -> None:
        for name in sorted(methods_of(cls, self._known.actor)):
            function = function_of(cls, name)
            assert function is not None, "it was found among the methods"
            self._know_code(function, function.__code__)
            for instruction in self._lowering.method(function).instructions:
                if isinstance(instruction, SetField):
                    owners = self._owners.setdefault(instruction.field, [])
                    owners += [cls] if cls not in owners else []

    def _know_code(self, function: FunctionType, code: CodeType) -> None:
        self._functions[code] = function
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                self._know_code(function, constant)

    def segment(self, start: _Start) -> Segment:
        """Collect a segment from its start."""
        walk = _Walk()
        match start:
            case (type() as cls, str() as name):
                function = function_of(cls, name)
                if function is None:
                    walk.unknown = f"{cls.__qualname__} has no method {name}"
                else:
                    self._from(walk, self._body(cls, function, starts_task=True), [0])
            case (None, FunctionType() as function):
                self._know_code(function, function.__code__)
                self._from(walk, self._body(None, function, starts_task=True), [0])
            case _:
                self._rest(walk, start)
        return walk.segment()

    def _body(
        self,
        cls: type | None,
        function: FunctionType,
        *,
        starts_task: bool,
        elsewhere: bool = False,
    ) -> _Body:
        key = (function, cls is not None, starts_task)
        if key not in self._bodies:
            method = self._lowering.method(function, is_method=cls is not None)
            self._bodies[key] = (method, facts_of(method, starts_task=starts_task))
        return _Body(cls, *self._bodies[key], elsewhere)

    # A task that stands somewhere

    def _rest(self, walk: _Walk, frames: Sequence[Frame]) -> None:
        """Walk what is left of each frame."""
        owner: type | None = None
        for at, frame in enumerate(frames):
            function = self._functions.get(frame.code)
            if function is None:
                walk.unknown = walk.unknown or _unknown_frame(frame)
                continue
            if frame.code is function.__code__:  # else a generator in the one before
                owner = frame.cls
            body = self._body(owner, function, starts_task=at == 0)
            positions = positions_of(body.method, frame)
            inner = frames[at + 1].code if at + 1 < len(frames) else None
            if not positions and (inner is None or self._functions.get(inner) is not function):
                walk.unknown = walk.unknown or _unknown_frame(frame)
            if inner is None:
                self._note_condition(walk, body, positions)
            self._from(walk, body, [next_ for each in positions for next_ in _next(body, each)])

    def _note_condition(self, walk: _Walk, body: _Body, positions: list[int]) -> None:
        for position in positions:
            instruction = body.method.instructions[position]
            if isinstance(instruction, Until):
                walk.awaits |= set(self._reads(body, instruction.condition))

    # Walking

    def _from(self, walk: _Walk, body: _Body, starts: list[int]) -> None:
        """Walk all that can be reached from some positions; `fresh` is what was sent meanwhile."""
        fresh: dict[int, frozenset[Origin]] = dict.fromkeys(starts, frozenset())
        work = list(starts)
        seen: set[int] = set()
        while work:
            at = work.pop()
            if at not in body.facts:
                continue  # behind an endless loop
            instruction = body.method.instructions[at]
            if at not in seen:
                seen.add(at)
                self._collect(walk, body, at, instruction)
            after = fresh[at] | {at} if isinstance(instruction, Send) else fresh[at]
            stops = _stops(instruction, body.facts[at], fresh[at])
            onward = () if stops else body.method.successors(at)
            for next_ in (*onward, *body.method.handled_at(at)):
                met = after & fresh.get(next_, after)
                if met != fresh.get(next_):
                    fresh[next_] = met
                    work.append(next_)

    def _collect(self, walk: _Walk, body: _Body, at: int, instruction: Instruction) -> None:
        """Add what one instruction may do."""
        self._note_accesses(walk, body, instruction)
        facts = body.facts[at]
        match instruction:
            case Get(_, future):
                walk.may_block |= not facts.is_joined(future)
            case Await(_, future):
                walk.older |= not facts.is_joined(future)
            case Havoc(why):
                walk.is_unknown(body.method.file, instruction.span, why)
            case New(type=cls, local=local):
                self._enter_initialiser(walk, cls, elsewhere=body.elsewhere or not local)
            case Call():
                self._enter(walk, body, instruction)

    def _note_accesses(self, walk: _Walk, body: _Body, instruction: Instruction) -> None:
        if body.elsewhere:
            return
        for expression in used(instruction):
            walk.reads |= set(self._reads(body, expression))
            self._refuse_methods(walk, body, expression, instruction)
        match instruction:
            case SetField(name) if body.cls is not None:
                walk.writes.add((body.cls.__qualname__, name))
            case Update(_, container, operation):
                walk.writes |= set(self._reads(body, container))
                if operation.startswith("."):
                    walk.writes |= set(self._of_any_owner(operation.strip(".=")))

    def _reads(self, body: _Body, expression: Expression) -> Iterator[Access]:
        """Yield the fields that an expression reads: by `self`, or by another name for an actor."""
        for name in fields_of(expression):
            assert body.cls is not None, "only methods have fields"
            yield (body.cls.__qualname__, name)
        for part in parts(expression):
            if isinstance(part, Operation) and part.operator.startswith("."):
                yield from self._of_any_owner(part.operator[1:])

    def _of_any_owner(self, name: str) -> Iterator[Access]:
        return ((cls.__qualname__, name) for cls in self._owners.get(name, ()))

    def _refuse_methods(
        self, walk: _Walk, body: _Body, expression: Expression, instruction: Instruction
    ) -> None:
        """A method or a property that is read like a field may do anything."""
        for name in fields_of(expression):
            value = inspect.getattr_static(body.cls, name, None)
            if isinstance(value, property) or unwrapped(value) is not None:
                why = f"self.{name} is a method or a property, and read as a value"
                walk.is_unknown(body.method.file, instruction.span, why)

    # Calls

    def _enter_initialiser(self, walk: _Walk, cls: type, *, elsewhere: bool) -> None:
        function = function_of(cls, "__init__")
        if function is not None and function_of(self._known.actor, "__init__") is not function:
            self._enter_function(walk, cls, function, elsewhere=elsewhere)

    def _enter(self, walk: _Walk, body: _Body, call: Call) -> None:
        walk.may_block |= call.crosses
        if isinstance(call.function, FunctionType):
            owner = None if call.receiver is None else body.cls
            self._know_code(call.function, call.function.__code__)
            self._enter_function(walk, owner, call.function, elsewhere=body.elsewhere)
            return
        is_own = call.receiver is not None and str(call.receiver) == "this"
        owners = [body.cls] if is_own and body.cls else self._classes
        callees = [(cls, function_of(cls, call.method)) for cls in owners]
        found = [(cls, function) for cls, function in callees if function is not None]
        if not found and not call.crosses:
            why = f"no method {call.method} is known"
            walk.is_unknown(body.method.file, call.span, why)
        for cls, function in found:
            self._enter_function(walk, cls, function, elsewhere=body.elsewhere)

    def _enter_function(
        self, walk: _Walk, cls: type | None, function: FunctionType, *, elsewhere: bool
    ) -> None:
        if (cls, function, elsewhere) not in walk.entered:
            walk.entered.add((cls, function, elsewhere))
            body = self._body(cls, function, starts_task=False, elsewhere=elsewhere)
            self._from(walk, body, [0])


def _next(body: _Body, at: int) -> tuple[int, ...]:
    return (*body.method.successors(at), *body.method.handled_at(at))


def _stops(instruction: Instruction, facts: Facts, fresh: frozenset[Origin]) -> bool:
    """Tell whether the step surely ends here."""
    match instruction:
        case Get(_, future):
            return facts.is_unjoined(future)
        case Await(_, future):
            return facts.origin_of(future) in fresh
        case Pause():
            return True
        case _:
            return False


def positions_of(method: Method, frame: Frame) -> list[int]:
    """Return where in a method a suspended frame stands, by the span of its blocking expression."""
    spans = list(frame.code.co_positions())
    line, end_line, column, end_column = spans[frame.lasti // 2]
    return [
        at
        for at, each in enumerate(method.instructions)
        if isinstance(each, _WAITS) and each.span == (line, column, end_line, end_column)
    ]


def _unknown_frame(frame: Frame) -> str:
    line = list(frame.code.co_positions())[frame.lasti // 2][0]
    return f"{frame.code.co_filename}:{line}: {frame.code.co_name} is not code of actors"
