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
    NOTHING,
    AbstractObject,
    Cell,
    Routine,
    Value,
    objects_in,
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
    used,
)
from treadle.analyses.known import is_constant, unwrapped

_ATOMS = frozenset((abs, all, any, bool, divmod, float, hash, int, isinstance, len, print, range,
                    repr, round, str))  # fmt: skip
"""Functions whose results hold nothing that they were given."""
_TESTS = frozenset(
    ("==", "!=", "<", "<=", ">", ">=", "is", "is not", "in", "not in", "not", "neg", "pos", "~",
     "nonempty", "slice")
)  # fmt: skip
"""Operators whose results are truth values or numbers."""
_ITEMS = frozenset(("index", "head", "part", "star"))
_COLLECTIONS = frozenset(("list", "dict", "set"))


class Store:
    """Sets that only grow, and who has read them."""

    def __init__(self) -> None:
        self._values: dict[Hashable, Value] = {}
        self._readers: dict[Hashable, set[Routine]] = defaultdict(set)
        self._changed: dict[Routine, None] = {}

    def read(self, key: Hashable, reader: Routine) -> Value:
        """Return a set, and note who depends on it."""
        self._readers[key].add(reader)
        return self._values.get(key, NOTHING)

    def add(self, key: Hashable, value: Value) -> None:
        """Let a set grow."""
        old = self._values.get(key, NOTHING)
        if not value <= old:
            self._values[key] = old | value
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
        match expression:
            case Local(name):
                return self._locals.get(name, NOTHING)
            case This():
                return frozenset({self.routine.object})
            case Field(name):
                return self._field(self.routine.object, name)
            case Constant(value):
                return _constant(value)
            case Conditional(test, then, other):
                self.value(test)
                return self.value(then) | self.value(other)
            case Anything():
                return ANYTHING
            case Make(constructor, operands):
                return self._make(constructor, operands)
            case Apply(_, operands, callee):
                held = self._union(operands)
                return NOTHING if callee in _ATOMS else self._held_anew(self.parts_of(held))
            case Operation(operator, operands):
                return self._operation(operator, operands)

    def _union(self, operands: tuple[Expression, ...]) -> Value:
        return NOTHING.union(*map(self.value, operands))

    def _field(self, owner: AbstractObject, name: str) -> Value:
        return self.read(("field", owner, name)) | _class_attribute(owner.cls, name)

    def _make(self, constructor: str, operands: tuple[Expression, ...]) -> Value:
        held = self._union(operands)
        if constructor in ("str", "lambda"):  # what calls a lambda is a havoc
            return NOTHING
        if constructor == "tuple":
            return held
        return frozenset({self._cell(held, is_data=constructor not in _COLLECTIONS)})

    def _operation(self, operator: str, operands: tuple[Expression, ...]) -> Value:
        values = [self.value(operand) for operand in operands]
        if operator in _TESTS:
            return NOTHING
        if operator in ("and", "or"):
            return NOTHING.union(*values)
        if operator in _ITEMS or operator == "tail":
            return self.parts_of(values[0])
        if operator.startswith("."):
            found = self.parts_of(values[0])
            for owner in objects_in(values[0]):
                found |= self._field(owner, operator[1:])
            return found
        held = self.parts_of(NOTHING.union(*values))
        if operator.endswith("="):  # in place, if the left side is a list
            for one in values[0]:
                if isinstance(one, Cell):
                    self.add(("cell", one), held)
        return self._held_anew(held)

    def _held_anew(self, held: Value) -> Value:
        """Return what a function or operator returns: what it was given, or a collection of it."""
        return held | {self._cell(held)}

    def _cell(self, held: Value, *, is_data: bool = False) -> Cell:
        self._made += 1
        cell = Cell((self.routine, self.position, self._made), is_data)
        self.add(("cell", cell), held)
        return cell

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


def _constant(value: object) -> Value:
    """Return what stands for a constant: a default value that can be changed is a collection."""
    return NOTHING if is_constant(value) else frozenset({Cell(("constant", id(value)))})


def _class_attribute(cls: type | None, name: str) -> Value:
    """Return what stands for an attribute that all actors of a class have in common."""
    value = None if cls is None else inspect.getattr_static(cls, name, None)
    if unwrapped(value) is not None or isinstance(value, property) or is_constant(value):
        return NOTHING
    return frozenset({Cell(("attribute", cls, name))})
