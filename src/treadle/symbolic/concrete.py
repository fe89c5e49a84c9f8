"""From a path to values with which it is taken: actors with their fields, tasks with arguments.

z3 gives values to the symbols that the path constrains. What the path says nothing about is `ANY`:
no step of the execution looks at it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from treadle.symbolic.kinds import Kind
from treadle.symbolic.search import Path
from treadle.symbolic.solver import z3
from treadle.symbolic.state import State
from treadle.symbolic.step import Machine
from treadle.symbolic.values import (
    ANY,
    Box,
    Data,
    Future,
    Reference,
    Term,
    Unknown,
    Value,
    Whatever,
    text_of,
)

_OPEN = object()
"""What a symbol is that nobody has decided about."""


@dataclass(frozen=True, slots=True)
class RestoredActor:
    """An actor that is there from the beginning."""

    name: str
    """In the symbolic execution."""
    label: str
    """In a concrete one: the class and a number."""
    cls: type
    fields: dict[str, Value]


@dataclass(frozen=True, slots=True)
class SentTask:
    """A task that is there from the beginning."""

    actor: str
    method: str
    arguments: dict[str, Value]


@dataclass(frozen=True, slots=True)
class Concrete:
    """A concrete initial state, and the schedule that goes the same way from it."""

    actors: tuple[RestoredActor, ...]
    tasks: tuple[SentTask, ...]
    schedule: tuple[str, ...]
    constraints: tuple[str, ...]
    """What has to hold of the values, as one reads it."""


class Concretion:
    """Gives values to what a path leaves open."""

    def __init__(self, machine: Machine, start: State, path: Path) -> None:
        self._machine = machine
        self._start = start
        self._path = path
        self._state = path.state
        self._numbers: Mapping[str, int | bool] = machine.solver.values(self._state.path) or {}
        self._extra: list[RestoredActor] = []
        """Actors that are only known not to be None."""
        self.labels = self._labels()

    def _labels(self) -> dict[str, str]:
        """Return what the actors are called in a concrete execution."""
        counts: dict[type, int] = {}
        labels = {}
        for name, actor in self._state.actors.items():
            if actor.initial:
                counts[actor.cls] = number = counts.get(actor.cls, 0) + 1
                labels[name] = f"{actor.cls.__name__}{number}"
        self._counts = counts
        return labels

    def concrete(self) -> Concrete:
        """Return the initial state with values."""
        tasks = tuple(
            SentTask(task.actor, task.method, self._arguments(task.name))
            for task in self._start.tasks.values()
        )
        actors = [
            RestoredActor(name, label, self._state.actors[name].cls, self._fields(name))
            for name, label in self.labels.items()
        ]
        return Concrete(
            (*actors, *self._extra),
            tasks,
            ("main", *self._path.schedule),
            constraints_of(self._state, self.labels),
        )

    def _arguments(self, task: str) -> dict[str, Value]:
        sent = self._start.tasks[task]
        assert sent.cls is not None
        return {
            name: self._unknown(
                f"{task}.{name}", self._machine.kinds.of_parameter(sent.cls, sent.method, name)
            )
            for name in sent.frames[0].names
        }

    def _fields(self, actor: str) -> dict[str, Value]:
        cls = self._state.actors[actor].cls
        kinds, code = self._machine.kinds, self._machine.code
        return {
            name: self._symbol(f"{actor}.{name}", kinds.of_field(cls, name))
            for name in code.fields(cls)
            if name in code.assigned(cls)
        }

    def _symbol(self, name: str, kind: Kind) -> Value:
        """Return the first value of a field: `ANY` if no step has read it."""
        return self._unknown(name, kind) if name in self._state.seen else ANY

    def first_value(self, value: Value) -> Value:
        """Return a concrete value for one at the beginning."""
        match value:
            case Unknown(name, kind):
                return self._unknown(name, kind)
            case Term():
                return self._computed(value)
            case Box(name):
                items = self._state.born.get(name, ())
                return self._contained(value.kind, [self.first_value(item) for item in items])
            case tuple():
                return tuple(map(self.first_value, value))
            case _:
                return value

    def _unknown(self, name: str, kind: Kind) -> Value:
        decided = self._state.resolved.get(name, _OPEN)
        if decided is not _OPEN and not isinstance(decided, Term):
            return self.first_value(decided)
        if name in self._state.nonnull and kind.name == "actor":
            return self._somebody(name, kind)
        if name in self._numbers:
            return self._number(self._numbers[name], kind)
        is_open = kind.name in ("actor", "any", "future") or kind.is_nullable
        is_known = decided is not _OPEN or name in self._state.nonnull
        is_known = is_known or (kind == Kind("any") and name in self._state.seen)
        return ANY if is_open and not is_known else self._some(kind)

    def _some(self, kind: Kind) -> Value:
        """Return a value that the path may compute with, and does not decide about."""
        made = {"list": [], "tuple": (), "dict": {}, "set": set(), "str": "", "bool": False}
        return made.get(kind.name, 0)

    def _somebody(self, name: str, kind: Kind) -> Value:
        """Return an actor that nobody asks anything: only that it is one matters."""
        cls = kind.classes[0]
        if all(actor.name != name for actor in self._extra):
            self._counts[cls] = number = self._counts.get(cls, 0) + 1
            self._extra.append(RestoredActor(name, f"{cls.__name__}{number}", cls, {}))
        return Reference(name)

    def _number(self, number: int | bool, kind: Kind) -> Value:
        return text_of(int(number)) if kind.name == "str" else number

    # At the end

    def last_value(self, value: Value) -> Value:
        """Return a concrete value for one at the end; `ANY` where it cannot be told."""
        while isinstance(value, Unknown) and value.name in self._state.resolved:
            value = self._state.resolved[value.name]
        match value:
            case Unknown():
                return self.first_value(value)
            case Term():
                return self._computed(value)
            case Box(name, kind):
                return self._contents(kind, self._state.boxes[name])
            case tuple():
                return tuple(map(self.last_value, value))
            case Data(cls, _, parts):
                return cls(*map(self.last_value, parts))
            case Whatever():
                return ANY
            case _:
                return value

    def _contents(self, kind: str, items: tuple[Value, ...]) -> Value:
        return self._contained(kind, [self.last_value(item) for item in items])

    @staticmethod
    def _contained(kind: str, values: list[Value]) -> Value:
        return {"list": list, "dict": dict, "set": set}[kind](values)

    def _computed(self, term: Term) -> Value:
        """Return the value of a term; symbols that the path leaves open are 0."""
        module = z3()
        pairs = []
        for symbol in _symbols(term.expression):
            number = self._numbers.get(str(symbol), 0)
            made = module.BoolVal(bool(number)) if module.is_bool(symbol) else module.IntVal(number)
            pairs.append((symbol, made))
        value = self._machine.solver.made(module.substitute(term.expression, *pairs))
        return text_of(int(value)) if term.is_text and isinstance(value, int) else value


def _symbols(expression: object) -> list[object]:
    """Return the symbols of an expression of z3's."""
    module = z3()
    found: dict[str, object] = {}
    todo = [expression]
    while todo:
        each = todo.pop()
        if module.is_const(each) and each.decl().kind() == module.Z3_OP_UNINTERPRETED:  # type: ignore[attr-defined]
            found[str(each)] = each
        todo += each.children()  # type: ignore[attr-defined]
    return list(found.values())


def constraints_of(state: State, labels: Mapping[str, str]) -> tuple[str, ...]:
    """Return the condition of a path as one reads it."""
    found = []
    for name, value in state.resolved.items():
        shown = labels.get(value.name, value.name) if isinstance(value, Reference) else value
        match shown:
            case Box(box, kind):
                found.append(f"{name} is a {kind} of {len(state.born[box])}")
            case tuple():
                found.append(f"{name} is a tuple of {len(shown)}")
            case Future() | Term():
                found.append(f"{name} is not None")
            case _:
                found.append(f"{name} is {shown}")
    unresolved = state.nonnull - state.resolved.keys()
    found += [f"{name} is not None" for name in sorted(unresolved)]
    return (*found, *(str(term.expression) for term in state.path))
