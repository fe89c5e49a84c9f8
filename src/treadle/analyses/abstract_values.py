"""What expressions may stand for, in terms of abstract values, and where values are kept.

Tuples are as good as their parts. Lists, dictionaries and other values that can be changed are
cells: one for each place that makes them, since two names may hold the same one. What is taken out
of a value may be anything that it holds, or the value itself, where tuples hide what it is.
"""

from __future__ import annotations

import inspect
from collections import defaultdict
from collections.abc import Hashable

from treadle.analyses.abstract import (
    ANYTHING,
    DATA,
    NOTHING,
    PLAIN,
    AbstractObject,
    Cell,
    Literal,
    Routine,
    Value,
    carried_by,
    normal,
    objects_in,
)
from treadle.analyses.abstract_tests import (
    BOTH,
    COMPARISONS,
    TESTS,
    compared,
    computed,
    either,
    truths_of,
)
from treadle.analyses.ir import (
    Anything,
    Apply,
    Conditional,
    Constant,
    Expression,
    Field,
    Instruction,
    Local,
    Make,
    Operation,
    This,
    fields_of,
    parts,
    used,
)
from treadle.analyses.known import is_constant, unwrapped

_ATOMS = frozenset((abs, all, any, bool, divmod, float, hash, int, isinstance, len, print, range,
                    repr, round, str))  # fmt: skip
"""Functions whose results hold nothing that they were given."""
_ITEMS = frozenset(("index", "head", "part", "star", "tail"))
_COLLECTIONS = frozenset(("list", "dict", "set"))


class Store:
    """Sets that only grow, and who has read them."""

    def __init__(self) -> None:
        self._values: dict[Hashable, Value] = {}
        self._readers: dict[Hashable, set[Routine]] = defaultdict(set)
        self._changed: dict[Routine, None] = {}
        self.fields: set[str] = set()
        """Names of fields that some method sets: what others hold is not known from here."""

    def read(self, key: Hashable, reader: Routine) -> Value:
        """Return a set, and note who depends on it."""
        self._readers[key].add(reader)
        return self._values.get(key, NOTHING)

    def add(self, key: Hashable, value: Value) -> None:
        """Let a set grow."""
        old = self._values.get(key, NOTHING)
        new = normal(old | value)
        if new != old:
            self._values[key] = new
            self.changed(key)

    def note_reader(self, key: Hashable, reader: Routine) -> None:
        """Note who depends on something that is kept elsewhere."""
        self._readers[key].add(reader)

    def changed(self, key: Hashable) -> None:
        """Note that something has changed."""
        self._changed.update(dict.fromkeys(self._readers[key]))

    def taken_changes(self) -> list[Routine]:
        """Return who has read what has changed since the last time."""
        changed, self._changed = self._changed, {}
        return list(changed)


class Evaluation:
    """Evaluates expressions of a routine before one instruction after the other."""

    def __init__(self, store: Store, routine: Routine) -> None:
        self.store = store
        self.routine = routine
        self.position = 0
        self._locals: dict[str, Value] = {}
        self._made = 0

    def begin(self, position: int, names: dict[str, Value]) -> None:
        """Evaluate before another instruction from now on."""
        self.position = position
        self._locals = names
        self._made = 0

    def read(self, key: Hashable) -> Value:
        """Return a set of the store."""
        return self.store.read(key, self.routine)

    def add(self, key: Hashable, value: Value) -> None:
        """Let a set of the store grow."""
        self.store.add(key, value)

    def fields_read(self, instruction: Instruction) -> list[str]:
        """Return the fields of `this` that an instruction reads."""
        return sorted(frozenset[str]().union(*map(fields_of, used(instruction))))

    def value(self, expression: Expression) -> Value:
        """Return what an expression may stand for."""
        return normal(self._value(expression))

    def _value(self, expression: Expression) -> Value:
        match expression:
            case Local(name):
                return self._locals.get(name, NOTHING)
            case This():
                return frozenset({self.routine.object})
            case Field(name):
                return self._field(self.routine.object, name)
            case Constant(value):
                return constant(value)
            case Conditional(test, then, other):
                truths = self.truths(test)
                return (self.value(then) if True in truths else NOTHING) | (
                    self.value(other) if False in truths else NOTHING
                )
            case Anything():
                return ANYTHING
            case Make(constructor, operands):
                return self._make(constructor, operands)
            case Apply(_, operands, callee):
                held = self._union(operands)
                return PLAIN if callee in _ATOMS else self._held_anew(self.parts_of(held))
            case Operation(operator, operands):
                return self._operation(operator, operands)

    def _union(self, operands: tuple[Expression, ...]) -> Value:
        return NOTHING.union(*map(self.value, operands))

    def _field(self, owner: AbstractObject, name: str) -> Value:
        found = self.read(("field", owner, name)) | _class_attribute(owner.cls, name)
        return found if found or name in self.store.fields else PLAIN

    def _make(self, constructor: str, operands: tuple[Expression, ...]) -> Value:
        held = self._union(operands)
        if constructor in ("str", "lambda"):  # what calls a lambda is a havoc
            return PLAIN
        if constructor == "tuple":
            return carried_by(held) | PLAIN
        return frozenset({self._cell(held, is_data=constructor not in _COLLECTIONS)})

    def _operation(self, operator: str, operands: tuple[Expression, ...]) -> Value:
        if operator in TESTS:
            self._union(operands)
            return frozenset(map(Literal.of, self.truths(Operation(operator, operands))))
        values = [self.value(operand) for operand in operands]
        if operator in ("and", "or"):
            return NOTHING.union(*values)
        if operator in _ITEMS:
            return self.parts_of(values[0]) | PLAIN
        if operator.startswith("."):
            return self._attribute(values[0], operator[1:])
        held = self.parts_of(NOTHING.union(*values))
        if operator.endswith("="):  # in place, if the left side is a list
            for one in values[0]:
                if isinstance(one, Cell):
                    self.add(("cell", one), held)
        if not all(values):
            return NOTHING
        return self._held_anew(held) if carried_by(held) else computed(operator, values)

    def _attribute(self, value: Value, name: str) -> Value:
        """Return an attribute of a value: a field of an actor, or a part of something else."""
        found = NOTHING
        for owner in objects_in(value):
            found |= self._field(owner, name)
        others = frozenset(one for one in value if not isinstance(one, AbstractObject))
        return found | self.parts_of(others) | PLAIN if others else found

    def _held_anew(self, held: Value) -> Value:
        """Return what a function or operator returns: what it was given, or a collection of it."""
        return held | {self._cell(held), DATA}

    def _cell(self, held: Value, *, is_data: bool = False) -> Cell:
        self._made += 1
        cell = Cell((self.routine, self.position, self._made), is_data)
        self.add(("cell", cell), held)
        return cell

    # Which way a test may go

    def truths(self, test: Expression) -> frozenset[bool]:
        """Return how a test may come out; not at all, if no execution gets there."""
        match test:
            case Operation("not", (operand,)):
                return frozenset(not one for one in self.truths(operand))
            case Operation("and" | "or" as operator, operands):
                return either(operator, [self.truths(operand) for operand in operands])
            case Operation(operator, (left, right)) if operator in COMPARISONS:
                return compared(operator, self.value(left), self.value(right))
            case Operation(operator, operands) if operator in TESTS:
                return BOTH if all(map(self.value, operands)) else frozenset()
            case _:
                return truths_of(self.value(test))

    def narrowed(self, test: Expression, outcome: bool) -> dict[str, Value]:
        """Return what names may hold if a test comes out in a certain way."""
        names = {part.name for part in parts(test) if isinstance(part, Local)}
        if len(names) != 1:
            return self._locals
        before, (name,) = self._locals, names
        kept = set()
        for one in before.get(name, NOTHING):
            self._locals = {**before, name: frozenset({one})}
            if outcome in self.truths(test):
                kept.add(one)
        self._locals = before
        return {**before, name: frozenset(kept)}

    def parts_of(self, value: Value) -> Value:
        """Return a value and all that it holds."""
        found = set(value)
        work = [one for one in value if isinstance(one, Cell)]
        while work:
            for one in self.read(("cell", work.pop())):
                if one not in found:
                    found.add(one)
                    work += [one] if isinstance(one, Cell) else []
        return frozenset(found)


def constant(value: object) -> Value:
    """Return what stands for a constant: a default value that can be changed is a collection."""
    if value is None or isinstance(value, bool | int | str):
        return frozenset({Literal.of(value)})
    return PLAIN if is_constant(value) else frozenset({Cell(("constant", id(value)))})


def _class_attribute(cls: type | None, name: str) -> Value:
    """Return what stands for an attribute that all actors of a class have in common."""
    value = _MISSING if cls is None else inspect.getattr_static(cls, name, _MISSING)
    if value is _MISSING:
        return NOTHING
    if unwrapped(value) is not None or isinstance(value, property):
        return PLAIN
    if is_constant(value):
        return constant(value)
    return frozenset({Cell(("attribute", cls, name))})


_MISSING = object()
