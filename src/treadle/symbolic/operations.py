"""Operators and functions of Python on values that may be symbolic.

What is not known here is `WHATEVER`: nothing is guessed, and a decision about it ends the path.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from treadle.symbolic.decisions import Decisions, Raised
from treadle.symbolic.values import (
    WHATEVER,
    Box,
    Data,
    Future,
    Reference,
    Rest,
    Term,
    Unknown,
    Value,
    Whatever,
    is_plain,
)

_PLAIN: dict[str, Callable[..., Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
    "//": operator.floordiv, "%": operator.mod, "**": operator.pow, "<<": operator.lshift,
    ">>": operator.rshift, "|": operator.or_, "&": operator.and_, "^": operator.xor,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "neg": operator.neg, "pos": operator.pos, "~": operator.invert,
}  # fmt: skip
_TERMS = frozenset({"+", "-", "*", "<", "<=", ">", ">=", "neg", "pos"})
_LARGEST_POWER = 8


class Operations(Decisions):
    """Computes with values."""

    def operation(self, name: str, values: Sequence[Value]) -> Value:
        """Return what an operator makes of its operands."""
        match name:
            case "==" | "is":
                return self.same(*values, identity=name == "is")
            case "!=" | "is not":
                return self.not_(self.same(*values, identity=name == "is not"))
            case "not":
                return self.not_(values[0])
            case "in":
                return self._contains(*values)
            case "not in":
                return self.not_(self._contains(*values))
            case "index":
                return self.item(*values)
            case "nonempty":
                return bool(self.items(values[0]))
            case "head" | "tail":
                return self._first_or_rest(name, values[0])
            case _ if name.startswith("."):
                return self.attribute(values[0], name[1:])
        return self._arithmetic(name, [self.resolve(value) for value in values])

    # Numbers

    def _arithmetic(self, name: str, values: list[Value]) -> Value:
        plain = name.removesuffix("=") if name not in ("<=", ">=") else name
        if any(isinstance(value, Whatever) for value in values) or plain not in _PLAIN:
            return WHATEVER
        if any(isinstance(value, Term) for value in values):
            return self._of_terms(plain, values)
        if any(isinstance(value, Box | tuple | Data) for value in values):
            return self._of_containers(name, plain, values)
        return self.computed(_PLAIN[plain], values)

    def computed(
        self, function: Callable[..., Any], values: Sequence[Value], **named: Any
    ) -> Value:
        """Return what a function of Python makes of plain values; what it raises is raised."""
        if not all(map(is_plain, [*values, *named.values()])):
            return WHATEVER
        try:
            return function(*values, **named)
        except Exception as error:
            raise Raised(type(error).__name__) from error

    def _of_terms(self, name: str, values: list[Value]) -> Value:
        if any(isinstance(value, str) or getattr(value, "is_text", False) for value in values):
            return WHATEVER
        others = [value for value in values if not isinstance(value, Term | int)]
        if others:
            if _is_number_with(name, others[0]):
                return WHATEVER
            raise Raised("TypeError")
        self.state.seen |= {str(value) for value in values if isinstance(value, Term)}
        numbers = list(map(self.solver.expression, values))
        if name in _TERMS:
            return self.solver.made(_PLAIN[name](*numbers))
        if name in ("//", "%"):
            return self._divided(name, values[0], values[1])
        if name == "**" and isinstance(values[1], int) and 0 <= values[1] <= _LARGEST_POWER:
            product: Any = self.solver.expression(1)
            for _ in range(values[1]):
                product = product * numbers[0]
            return self.solver.made(product)
        return WHATEVER

    def _divided(self, name: str, one: Value, other: Value) -> Value:
        """Division of Python rounds down; that of z3 leaves a remainder that is not negative."""
        if self.truth(self.same(other, 0, identity=False)):
            raise Raised("ZeroDivisionError")
        left, right = map(self.solver.expression, (one, other))
        if not self.truth(self.solver.made(right > 0)):
            left, right = -left, -right
        quotient = left / right
        if name == "//":
            return self.solver.made(quotient)
        one, other = map(self.solver.expression, (one, other))
        return self.solver.made(one - other * quotient)

    # Containers

    def items(self, value: Value) -> tuple[Value, ...]:
        """Return what a container has; a dictionary its keys."""
        value = self.resolve(value)
        if isinstance(value, Box):
            items = self.state.boxes[value.name]
            return tuple(key for key, _ in items) if value.kind == "dict" else items
        if isinstance(value, Rest):
            return self.state.boxes[value.box.name][value.first :]
        if isinstance(value, Data) and issubclass(value.constructor, tuple):
            return value.parts
        if isinstance(value, tuple | str | range | frozenset):
            return tuple(value)
        if isinstance(value, Whatever | Term):
            self.ends("a container that the engine does not follow")
        if hasattr(value, "__iter__") and is_plain(value):
            return tuple(value)
        raise Raised("TypeError")

    def _of_containers(self, name: str, plain: str, values: list[Value]) -> Value:
        one, other = values
        if plain == "+" and isinstance(one, tuple) and isinstance(other, tuple):
            return (*one, *other)
        if isinstance(one, Box) and name == f"{plain}=":
            return self._in_place(one, name, other)
        if isinstance(one, Box) and one.kind == "list":
            if plain == "+":
                if not (isinstance(other, Box) and other.kind == "list"):
                    raise Raised("TypeError")
                return self.boxed("list", (*self.items(one), *self.items(other)))
            if plain == "*" and isinstance(other, int):
                return self.boxed("list", self.items(one) * other)
        return self.computed(_PLAIN[plain], values)

    def _in_place(self, box: Box, name: str, other: Value) -> Box:
        """Change a container by an operator: whoever else has it sees that, too."""
        if box.kind != "list" or name != "+=":
            self.ends(f"{name} of a {box.kind} is not followed")
        self.state.boxes[box.name] = (*self.items(box), *self.items(other))
        return box

    def _contains(self, item: Value, whole: Value) -> Value:
        whole = self.resolve(whole)
        if isinstance(whole, str):
            return self.computed(lambda part, text: part in text, (self.resolve(item), whole))
        if not isinstance(whole, Box | tuple):
            return self.computed(lambda part, all_: part in all_, (self.resolve(item), whole))
        return any(self.truth(self.same(item, each, identity=False)) for each in self.items(whole))

    def _first_or_rest(self, name: str, value: Value) -> Value:
        """Iteration: what is left of a container, after the first item."""
        value = self.resolve(value)
        if name == "head":
            return self.items(value)[0]
        if isinstance(value, Rest):
            return Rest(value.box, value.first + 1)
        if isinstance(value, Box) and value.kind == "list":
            return Rest(value, 1)
        return self.items(value)[1:]

    def item(self, whole: Value, index: Value) -> Value:
        """Return an item of a container, or a slice."""
        whole, index = self.resolve(whole), self.resolve(index)
        if isinstance(whole, Whatever) or isinstance(index, Whatever):
            return WHATEVER
        if isinstance(whole, Box) and whole.kind == "dict":
            return self.entry(whole, index)
        if isinstance(whole, Data) and issubclass(whole.constructor, tuple):
            whole = whole.parts
        if not isinstance(whole, Box | tuple):
            return self.computed(operator.getitem, (whole, index))
        if isinstance(whole, Box) and whole.kind == "set":
            raise Raised("TypeError")
        items = self.items(whole)
        if isinstance(index, Term):
            index = self._position(index, len(items))
        try:
            found = items[index]
        except (IndexError, TypeError) as error:
            raise Raised(type(error).__name__) from error
        if isinstance(index, slice) and isinstance(whole, Box):
            return self.boxed("list", found)
        return found

    def _position(self, index: Term, length: int) -> int:
        """Decide which item an index means."""
        for at in range(-length, length):
            if self.truth(self.same(index, at, identity=False)):
                return at
        return length

    def entry(self, whole: Box, key: Value) -> Value:
        """Return the value of a dictionary's key."""
        for known, value in self.state.boxes[whole.name]:
            if self.truth(self.same(known, key, identity=False)):
                return value
        raise Raised("KeyError")

    def slice(self, ends: Sequence[Value]) -> Value:
        """Return a slice of an index."""
        known = [self.resolve(end) for end in ends]
        return slice(*known) if all(map(is_plain, known)) else WHATEVER

    # Objects

    def attribute(self, value: Value, name: str) -> Value:
        """Return an attribute of a value, or a field of an actor of the same group."""
        value = self.resolve(value, sent=True)
        if isinstance(value, Data):
            return value.part(name) if name in value.names else WHATEVER
        if isinstance(value, Reference):
            if self.state.actors[value.name].group != self.task.group:
                self.ends("a field of another actor is read")
            return self.field(value.name, name)
        if isinstance(value, Term):
            self.ends(f"{name} of a value of which nothing is known")
        if isinstance(value, Whatever | Box | Unknown):
            return WHATEVER
        return self.computed(getattr, (value, name))

    def field(self, actor: str, name: str) -> Value:
        """Return a field of an actor; a new symbol if it was not looked at yet."""
        found = self.state.actors[actor]
        if name not in found.fields:
            if name not in self.code.assigned(found.cls):
                return self.computed(getattr, (found.cls, name))  # of the class
            self.state.actors[actor] = found = found.having(name, self._first_value(actor, name))
        return found.fields[name]

    def _first_value(self, actor: str, name: str) -> Value:
        found = self.state.actors[actor]
        if not found.initial:
            raise Raised("AttributeError")
        self.state.seen |= {f"{actor}.{name}"}
        return self.symbol(f"{actor}.{name}", self.kinds.of_field(found.cls, name))


def _is_number_with(name: str, other: Value) -> bool:
    """Tell whether an operator may take a number beside a value that is none of the engine's."""
    if isinstance(other, Box | tuple):
        return name == "*"
    return not (other is None or isinstance(other, Reference | Future))
