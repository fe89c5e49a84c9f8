"""The tasks that a context needs, so that it can come to the deadlock of a cycle.

"Generation of Initial Contexts for Effective Deadlock Detection" (LOPSTR 2017), algorithm 1. The
tasks that hold an actor are needed. So are those that change a field on which it depends whether a
task comes to its call and its wait: but only if the task releases its actor before, for until then
symbolic execution tries all values of all fields anyway. The list `L` holds instructions, each at
most once, so it is finite, which definition 5 of the paper is not.

The paper is of two minds about which fields an assignment itself has. Here, fields are those that
are read or written on a path from the beginning of the method to the instruction, itself excluded:
with this, its worked example comes out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from treadle.analyses.deadlock_cycles import Cycle
from treadle.analyses.dependency_graph import Edge, Reason
from treadle.analyses.futures import facts_of
from treadle.analyses.ir import (
    Assign,
    Await,
    Call,
    Field,
    Get,
    Instruction,
    Local,
    Method,
    Pause,
    SetField,
    Until,
    Update,
    fields_of,
    parts,
    used,
)
from treadle.analyses.known import function_of
from treadle.symbolic.code import Code
from treadle.symbolic.contexts import AbstractTask

_RELEASING = (Await, Until, Pause)


@dataclass(frozen=True, slots=True)
class At:
    """An instruction of a method of a class: what the paper calls a pair (i, t)."""

    cls: type
    method: str
    position: int

    @property
    def task(self) -> tuple[type, str]:
        """The class and the method."""
        return self.cls, self.method


@dataclass(frozen=True, slots=True)
class Stop:
    """An arrow of a cycle that is due to a wait; `holds`: it leaves a location (o → t2)."""

    at: At
    holds: bool
    inside: At | None = None
    """The wait itself, if `at` is only the call of the method that has it."""


def stops_of(code: Code, cycle: Cycle) -> list[Stop]:
    """Return the arrows of a cycle that are due to waits."""
    return [
        stop
        for edge in cycle.edges
        if edge.reason is not Reason.TURN
        for stop in _stops_at(code, edge)
    ]


def _stops_at(code: Code, edge: Edge) -> list[Stop]:
    task, routine, holds = edge.task, edge.point.routine, edge.leaves_group
    if task.object.cls is None:  # main, which is in no context
        return []
    if routine.function is task.function:
        return [Stop(At(task.object.cls, task.name, edge.point.position), holds)]
    inside = None
    if routine.object.cls is not None and function_of(routine.object.cls, routine.name):
        inside = At(routine.object.cls, routine.name, edge.point.position)
    body = code.method(task.object.cls, task.name)
    return [
        Stop(At(task.object.cls, task.name, position), holds, inside)
        for position in body.reachable()
        if isinstance(body.instructions[position], Call)
    ]


def interfering_tasks(code: Code, stops: Sequence[Stop], most: int) -> list[AbstractTask]:
    """Return the tasks of a cycle that contexts have to have, each from 1 to `most` times."""
    tasks = dict.fromkeys(at.task for at in interfering_instructions(code, stops))
    return [AbstractTask(cls, method, 1, most) for cls, method in tasks]


def interfering_instructions(code: Code, stops: Sequence[Stop]) -> list[At]:
    """Return the list `L` of algorithm 1."""
    flows: dict[tuple[type, str], _Flow] = {}
    queue: list[At] = []
    found: dict[At, None] = {}
    for stop in stops:
        for at in (stop.at, stop.inside):
            if at is not None:
                call = _call_of(code, at)
                queue += [at] if call is None else [call, at]
        if stop.holds:
            found[stop.at] = None
    while queue:
        at = queue.pop()
        if at.task not in flows:
            flows[at.task] = _Flow(code, at.cls, code.method(*at.task))
        for name in flows[at.task].changeable_before(at.position):
            for modifier in _modifiers(code, at.cls, name):
                if modifier not in found:
                    found[modifier] = None
                    queue.append(modifier)
    return list(found)


def _call_of(code: Code, at: At) -> At | None:
    """Return the send in the same method whose future an instruction waits for."""
    method = code.method(*at.task)
    instruction = method.instructions[at.position]
    if not isinstance(instruction, Get | Await):
        return None
    facts = facts_of(method, starts_task=True).get(at.position)
    origin = None if facts is None else facts.origin_of(instruction.future)
    return At(at.cls, at.method, origin) if isinstance(origin, int) else None


class _Flow:
    """What may come before an instruction of a method, what it calls of its own class included."""

    def __init__(self, code: Code, cls: type, method: Method) -> None:
        self._code = code
        self._cls = cls
        self._method = method
        self._after = {at: method.ahead_of(at) for at in method.reachable()}

    def changeable_before(self, position: int) -> list[str]:
        """Return the fields on the way to a position, if others may run on that way."""
        before = [at for at, after in self._after.items() if position in after]
        bodies = [self._method.instructions[at] for at in sorted(before)]
        bodies += [each for body in self._called(bodies) for each in body.instructions]
        if not any(isinstance(each, _RELEASING) for each in bodies):
            return []
        return list(dict.fromkeys(name for each in bodies for name in _touched(each)))

    def _called(self, instructions: Iterable[Instruction]) -> list[Method]:
        """Return the methods that are called, not sent, and those that they call."""
        found: dict[str, Method] = {}
        todo = list(instructions)
        while todo:
            each = todo.pop()
            if isinstance(each, Call) and each.method not in found and each.receiver is not None:
                for cls in self._code.owners(each.method):
                    found[each.method] = body = self._code.method(cls, each.method)
                    todo += body.instructions
        return list(found.values())


def _touched(instruction: Instruction) -> Iterator[str]:
    """Yield the fields that an instruction reads or writes."""
    if isinstance(instruction, SetField):
        yield instruction.field
    for expression in used(instruction):
        yield from sorted(fields_of(expression))


def _modifiers(code: Code, cls: type, name: str) -> Iterator[At]:
    """Yield the instructions of a class's methods that change a field."""
    for method in code.methods(cls):
        body = code.method(cls, method)
        for position in body.reachable():
            if _changes(body, body.instructions[position], name):
                yield At(cls, method, position)


def _changes(body: Method, instruction: Instruction, name: str) -> bool:
    match instruction:
        case SetField(field):
            return field == name
        case Update(_, container):
            return any(
                part == Field(name) or (isinstance(part, Local) and name in _behind(body, part))
                for part in parts(container)
            )
        case _:
            return False


def _behind(body: Method, local: Local) -> frozenset[str]:
    """Return the fields whose values a local name may hold."""
    names, fields = {local.name}, set[str]()
    while True:
        before = len(names), len(fields)
        for each in body.instructions:
            if isinstance(each, Assign) and each.target in names:
                fields |= fields_of(each.value)
                names |= {part.name for part in parts(each.value) if isinstance(part, Local)}
        if before == (len(names), len(fields)):
            return frozenset(fields)
