"""Expressions, constructors and the functions without effects that actors' code may call."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Sequence
from typing import Any

from treadle.analyses.ir import (
    Anything,
    Apply,
    Conditional,
    Constant,
    Expression,
    Field,
    Local,
    Make,
    Operation,
    This,
)
from treadle.symbolic.decisions import Raised
from treadle.symbolic.operations import Operations
from treadle.symbolic.values import (
    WHATEVER,
    Box,
    Data,
    Reference,
    Term,
    Unknown,
    Value,
    Whatever,
    is_plain,
)

_STRUCTURAL = frozenset({len, list, tuple, reversed, enumerate, zip})
_COLLECTIONS = {list: "list", sorted: "list", set: "set", dict: "dict"}


class Functions(Operations):
    """Evaluates expressions in the innermost frame of the task."""

    def evaluate(self, expression: Expression) -> Value:
        """Return the value of an expression."""
        match expression:
            case Constant(value):
                return value
            case Local(name):
                return self._local(name)
            case Field(name):
                assert self.task.frames[-1].this is not None
                return self.field(self.task.frames[-1].this, name)
            case This():
                assert self.task.frames[-1].this is not None
                return Reference(self.task.frames[-1].this)
            case Conditional(test, then, other):
                return self.evaluate(then if self.truth(self.evaluate(test)) else other)
            case Operation("and" | "or" as name, operands):
                return self._either(name, operands)
            case Operation("slice", operands):
                return self.slice(self.evaluated(operands))
            case Operation(name, operands):
                return self.operation(name, self.evaluated(operands))
            case Make():
                return self._make(expression)
            case Apply():
                return self._apply(expression)
            case Anything():
                return WHATEVER

    def _local(self, name: str) -> Value:
        names = self.task.frames[-1].names
        if name not in names:
            raise Raised("UnboundLocalError")
        return names[name]

    def evaluated(self, expressions: Sequence[Expression]) -> list[Value]:
        """Return the values of operands; those behind a star one by one."""
        values: list[Value] = []
        for each in expressions:
            if isinstance(each, Operation) and each.operator == "star":
                values += self.items(self.evaluate(each.operands[0]))
            else:
                values.append(self.evaluate(each))
        return values

    def _either(self, name: str, operands: tuple[Expression, ...]) -> Value:
        for each in operands[:-1]:
            value = self.evaluate(each)
            if self.truth(value) == (name == "or"):
                return self.known(value)
        return self.evaluate(operands[-1])

    # Constructors

    def _make(self, make: Make) -> Value:
        values = self.evaluated(make.operands)
        match make.constructor:
            case "tuple":
                return tuple(values)
            case "list":
                return self.boxed("list", tuple(values))
            case "set" if make.callee is None:
                return self.boxed("set", self.distinct(values))
            case "dict" if make.callee is None:
                half = len(values) // 2
                return self.paired(zip(values[:half], values[half:], strict=True))
            case _ if isinstance(make.callee, type):
                return self._constructed(make.callee, values, make.keywords)
        return WHATEVER

    def distinct(self, values: Sequence[Value]) -> tuple[Value, ...]:
        """Return each of several values once."""
        found: list[Value] = []
        for value in values:
            if not any(self.truth(self.same(value, each, identity=False)) for each in found):
                found.append(value)
        return tuple(found)

    def paired(self, pairs: Any) -> Box:
        """Return a dictionary of pairs; later ones win."""
        box = self.boxed("dict", ())
        for key, value in pairs:
            self.set_entry(box, key, value)
        return box

    def set_entry(self, box: Box, key: Value, value: Value) -> None:
        """Give a key of a dictionary a value."""
        pairs = self.state.boxes[box.name]
        for at, (known, _) in enumerate(pairs):
            if self.truth(self.same(known, key, identity=False)):
                self.state.boxes[box.name] = (*pairs[:at], (known, value), *pairs[at + 1 :])
                return
        self.state.boxes[box.name] = (*pairs, (key, value))

    def _constructed(self, cls: type, values: list[Value], keywords: tuple[str, ...]) -> Value:
        values = [self.known(value) for value in values]
        positional = len(values) - len(keywords)
        named = dict(zip(keywords, values[positional:], strict=True))
        if all(map(is_plain, values)) or issubclass(cls, enum.Enum):
            return self.computed(cls, values[:positional], **named)
        names = _parts_of(cls)
        given = {**dict(zip(names, values, strict=False)), **named}
        if set(given) != set(names):
            return WHATEVER
        return Data(cls, names, tuple(given[name] for name in names))

    # Functions

    def _apply(self, apply: Apply) -> Value:
        values = self.evaluated(apply.operands)
        named = len(apply.keywords)
        if apply.callee is print:
            return None
        if apply.callee is None:
            if named:
                return WHATEVER
            return self.method_of_value(apply.function[1:], values[0], values[1:])
        positional, rest = values[: len(values) - named], values[len(values) - named :]
        return self._called(apply.callee, positional, dict(zip(apply.keywords, rest, strict=True)))

    def _called(self, callee: Any, values: list[Value], named: dict[str, Value]) -> Value:
        if not named:
            known = self._of_python(callee, values)
            if known is not NotImplemented:
                return known
        given = [self._unboxed(value) for value in values]
        with_names = {name: self._unboxed(value) for name, value in named.items()}
        return self._boxed_result(self.computed(callee, given, **with_names))

    def _of_python(self, callee: Any, values: list[Value]) -> Value:
        """Functions of Python that can be given symbols."""
        if callee is isinstance:
            return self._is_instance(*values)
        if callee is bool:
            return self.truth(values[0]) if values else False
        if callee in (min, max) and len(values) > 1:
            return self._extreme(callee, [self.resolve(value) for value in values])
        if callee is sum and len(values) == 1:
            return self._sum(self.items(values[0]))
        if callee in (any, all):
            return callee(self.truth(item) for item in self.items(values[0]))
        if callee in (abs, int) and values and isinstance(self.resolve(values[0]), Term):
            return self._absolute(callee, self.resolve(values[0]))
        if callee is set:
            return self.boxed("set", self.distinct(self.items(values[0]) if values else ()))
        if callee is enumerate and len(values) == 2:
            return self._numbered(self.items(values[0]), self.resolve(values[1]))
        if callee in _STRUCTURAL:
            return self._structure(callee, [self.items(value) for value in values])
        return NotImplemented

    def _structure(self, callee: Callable[..., Any], given: list[tuple[Value, ...]]) -> Value:
        made = self._python(callee, given)
        if callee is len:
            return made
        items = tuple(made)
        return self.boxed("list", items) if callee is list else items

    def _numbered(self, items: tuple[Value, ...], start: Value) -> Value:
        return tuple((self.operation("+", (start, at)), item) for at, item in enumerate(items))

    def _python(self, function: Callable[..., Any], given: Sequence[Any]) -> Any:
        try:
            return function(*given)
        except Exception as error:
            raise Raised(type(error).__name__) from error

    def _is_instance(self, value: Value, kind: Any) -> Value:
        value = self.resolve(value)
        if isinstance(value, Reference):
            return issubclass(self.state.actors[value.name].cls, kind)
        if isinstance(value, Data):
            return issubclass(value.constructor, kind)
        if isinstance(value, Term):
            return issubclass(str if value.is_text else bool if value.is_boolean else int, kind)
        if isinstance(value, Box):
            return issubclass({"list": list, "dict": dict, "set": set}[value.kind], kind)
        return WHATEVER if isinstance(value, Whatever) else isinstance(value, kind)

    def _extreme(self, callee: Any, values: list[Value]) -> Value:
        if not any(isinstance(value, Term) for value in values):
            return self.computed(callee, values)
        best = values[0]
        for value in values[1:]:
            smaller = self.operation("<", (value, best))
            if isinstance(smaller, Term):
                pair = (value, best) if callee is min else (best, value)
                best = self.solver.choice(smaller, *pair)
            elif isinstance(smaller, Whatever):
                return WHATEVER
            elif smaller == (callee is min):
                best = value
        return best

    def _sum(self, items: tuple[Value, ...]) -> Value:
        total: Value = 0
        for item in items:
            total = self.operation("+", (total, item))
        return total

    def _absolute(self, callee: Any, value: Term) -> Value:
        if value.is_text:
            self.ends(f"{callee.__name__} of a text is not followed")
        number = self.solver.expression(value)
        if callee is int:
            return self.solver.made(number)
        positive = self.solver.made(number >= 0)
        made = self.solver.made(-number)
        return (
            self.solver.choice(positive, value, made)
            if isinstance(positive, Term)
            else (value if positive else made)
        )

    # Between boxes and Python's own containers

    def _unboxed(self, value: Value) -> Value:
        value = self.known(value)
        if isinstance(value, Unknown):
            value = self.resolve(value)
        if not isinstance(value, Box):
            return value
        items = self.state.boxes[value.name]
        if not all(map(is_plain, items)):
            return WHATEVER
        return {"list": list, "dict": dict, "set": set}[value.kind](items)

    def _boxed_result(self, value: Value) -> Value:
        kind = _COLLECTIONS.get(type(value))
        if isinstance(value, dict):
            return self.boxed("dict", tuple(value.items()))
        if kind is not None:
            return self.boxed(kind, tuple(value))
        return value

    # Methods of values, which only read

    def method_of_value(self, name: str, value: Value, given: list[Value]) -> Value:
        """Return what a method of a container or text returns."""
        value = self.resolve(value)
        if isinstance(value, Box) and value.kind == "dict":
            return self._of_dictionary(name, value, given)
        if isinstance(value, Box | tuple):
            return self._of_sequence(name, value, given)
        if isinstance(value, Term):
            self.ends(f"{name} of a value of which nothing is known")
        if isinstance(value, Whatever):
            return WHATEVER
        unboxed = [self._unboxed(each) for each in given]
        if not is_plain(value) or not all(map(is_plain, unboxed)):
            return WHATEVER
        return self._boxed_result(self.computed(self.computed(getattr, (value, name)), unboxed))

    def _of_dictionary(self, name: str, box: Box, given: list[Value]) -> Value:
        pairs = self.state.boxes[box.name]
        match name:
            case "get":
                try:
                    return self.entry(box, given[0])
                except Raised:
                    return given[1] if len(given) > 1 else None
            case "keys":
                return tuple(key for key, _ in pairs)
            case "values":
                return tuple(value for _, value in pairs)
            case "items":
                return pairs
            case "copy":
                return self.boxed("dict", pairs)
        return WHATEVER

    def _of_sequence(self, name: str, value: Box | tuple[Value, ...], given: list[Value]) -> Value:
        items = self.items(value)
        match name:
            case "count":
                return sum(self.truth(self.same(each, given[0], identity=False)) for each in items)
            case "index":
                for at, each in enumerate(items):
                    if self.truth(self.same(each, given[0], identity=False)):
                        return at
                raise Raised("ValueError")
            case "copy" if isinstance(value, Box):
                return self.boxed(value.kind, items)
            case "union" if isinstance(value, Box) and len(given) == 1:
                return self.boxed("set", self.distinct([*items, *self.items(given[0])]))
        return WHATEVER


def _parts_of(cls: type) -> tuple[str, ...]:
    if dataclasses.is_dataclass(cls):
        return tuple(field.name for field in dataclasses.fields(cls))
    return tuple(getattr(cls, "_fields", ()))
