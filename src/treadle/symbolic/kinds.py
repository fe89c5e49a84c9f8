"""Which kind of value a field, a parameter or a result has: inferred, for nothing declares it.

Symbolic values begin as "something": an actor, a number, a list. Names that get their values from
each other are of one kind (`Assign`, arguments of a send, what a task returns), so they are joined
into one *variable*; how a variable is used says what it is: what is sent to is an actor of a class
that has the method, what is added up is a number. Annotations say it too. Nothing is checked here:
code that uses one name for several kinds gets one of them.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

from treadle.analyses.ir import (
    Anything,
    Apply,
    Assign,
    Await,
    Call,
    Conditional,
    Constant,
    Expression,
    Field,
    Get,
    Instruction,
    Local,
    Make,
    Method,
    New,
    Operation,
    Return,
    Send,
    SetField,
    This,
    Update,
    used,
)
from treadle.analyses.known import function_of
from treadle.symbolic.code import INITIALISER, Code

_ORDER = frozenset({"<", "<=", ">", ">="})
_ARITHMETIC = frozenset({"+", "-", "*", "//", "%", "**", "neg", "pos"}) | _ORDER
_EQUALITY = frozenset({"==", "!=", "is", "is not"})
_OF_DICTIONARIES = frozenset({".get", ".keys", ".values", ".items"})
_OF_CONTAINERS = frozenset({"nonempty", "head", "tail"})
_ROUNDS = 6
"""How often sends are looked at again: what a receiver is may follow from what another one is."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What a value is: `actor`, `int`, `bool`, `str`, `list`, `tuple`, `dict`, `future`, `any`."""

    name: str
    classes: tuple[type, ...] = ()
    """Of an actor."""
    element: Kind | None = None
    """Of a list or tuple."""
    is_nullable: bool = False

    def __str__(self) -> str:
        what = " or ".join(cls.__name__ for cls in self.classes) or self.name
        what = what if self.element is None else f"{what} of {self.element}"
        return f"{what} or None" if self.is_nullable else what


@dataclass(slots=True)
class _Variable:
    """Names of one kind, and how they are used."""

    used_as: set[str] = field(default_factory=set)
    sent: set[str] = field(default_factory=set)
    """Methods that are sent to it."""
    classes: set[type] = field(default_factory=set)
    """Of actors that it holds."""
    element: Hashable = None
    result: Hashable = None
    """Of a future."""


class Kinds:
    """The kinds of the fields and parameters of some classes."""

    def __init__(self, code: Code) -> None:
        self._code = code
        self._parents: dict[Hashable, Hashable] = {}
        self._variables: dict[Hashable, _Variable] = {}
        bodies = [
            _Body(self, cls, initialiser, INITIALISER)
            for cls in code.classes
            if (initialiser := code.initialiser(cls)) is not None
        ]
        bodies += [
            _Body(self, cls, code.method(cls, name), name)
            for cls in code.classes
            for name in code.methods(cls)
        ]
        for _ in range(_ROUNDS):
            for body in bodies:
                body.infer()

    # Answers

    def of_field(self, cls: type, name: str) -> Kind:
        """Return the kind of a field."""
        return self._kind(("field", cls, name), ())

    def of_parameter(self, cls: type, method: str, name: str) -> Kind:
        """Return the kind of a parameter."""
        return self._kind(("local", cls, method, name), ())

    def _kind(self, key: Hashable, outer: tuple[Hashable, ...]) -> Kind:
        key = self.find(key)
        variable = self.variable(key)
        nullable = "none" in variable.used_as
        if variable.sent or variable.classes:
            return Kind("actor", self.candidates(variable), is_nullable=nullable)
        for name in ("future", "dict", "set", "tuple", "list", "int", "bool", "str"):
            if name in variable.used_as:
                return Kind(name, (), self._element(variable, (*outer, key)), nullable)
        if variable.element is not None:
            return Kind("list", (), self._element(variable, (*outer, key)), nullable)
        return Kind("any", is_nullable=nullable)

    def _element(self, variable: _Variable, outer: tuple[Hashable, ...]) -> Kind | None:
        if not variable.used_as & {"list", "tuple"} and variable.element is None:
            return None
        if variable.element is None or self.find(variable.element) in outer:
            return Kind("any")
        return self._kind(variable.element, outer)

    def candidates(self, variable: _Variable) -> tuple[type, ...]:
        """Return the classes of which an actor may be."""
        able = [cls for cls in self._code.classes if self._has_all(cls, variable.sent)]
        named = [cls for cls in able if any(issubclass(cls, each) for each in variable.classes)]
        return tuple(named or able)

    def _has_all(self, cls: type, methods: set[str]) -> bool:
        return all(function_of(cls, name) is not None for name in methods)

    # Variables

    def find(self, key: Hashable) -> Hashable:
        """Return what stands for all that is of the same kind as a key."""
        while key in self._parents:
            key = self._parents[key]
        return key

    def variable(self, key: Hashable) -> _Variable:
        """Return what is known of a key."""
        return self._variables.setdefault(self.find(key), _Variable())

    def join(self, one: Hashable, other: Hashable) -> None:
        """Say that two keys are of one kind."""
        one, other = self.find(one), self.find(other)
        if one == other:
            return
        kept, left = self.variable(one), self.variable(other)
        self._parents[other] = one
        del self._variables[other]
        kept.used_as |= left.used_as
        kept.sent |= left.sent
        kept.classes |= left.classes
        kept.element = self._either(kept.element, left.element)
        kept.result = self._either(kept.result, left.result)

    def _either(self, one: Hashable, other: Hashable) -> Hashable:
        if one is not None and other is not None:
            self.join(one, other)
        return other if one is None else one

    def part(self, key: Hashable, what: str) -> Hashable:
        """Return the key of the elements of a container, or of the result of a future."""
        variable = self.variable(key)
        found: Hashable = getattr(variable, what)
        if found is None:
            found = (what, self.find(key))
            setattr(variable, what, found)
        return found


class _Body:
    """One method, whose instructions say what its names are."""

    def __init__(self, kinds: Kinds, cls: type, method: Method, name: str) -> None:
        self._kinds = kinds
        self._cls = cls
        self._method = method
        self._name = name
        self._code = kinds._code
        self._annotate()

    def _local(self, name: str) -> Hashable:
        return "local", self._cls, self._name, name

    # Annotations

    def _annotate(self) -> None:
        function = function_of(self._cls, self._name)
        try:
            hints = typing.get_type_hints(function)
        except Exception:  # names that are there for type checkers only
            hints = {}
        for name in self._method.parameters:
            self._hint(self._local(name), hints.get(name))
        try:
            fields = typing.get_type_hints(self._cls)
        except Exception:
            fields = {}
        for name, hint in fields.items():
            self._hint(("field", self._cls, name), hint)

    def _hint(self, key: Hashable, hint: Any) -> None:
        variable = self._kinds.variable(key)
        if hint is type(None):
            variable.used_as.add("none")
        elif self._code.known.is_actor(hint) and hint in self._code.classes:
            variable.classes.add(hint)
        elif hint in (int, bool, str):
            variable.used_as.add(hint.__name__)
        elif typing.get_origin(hint) in (types.UnionType, typing.Union):
            for each in typing.get_args(hint):
                self._hint(key, each)
        elif typing.get_origin(hint) in (list, tuple):
            variable.used_as.add(typing.get_origin(hint).__name__)
            for each in typing.get_args(hint)[:1]:
                self._hint(self._kinds.part(key, "element"), each)

    # Instructions

    def infer(self) -> None:
        """Look at all instructions that can be reached."""
        for at in self._method.reachable():
            instruction = self._method.instructions[at]
            for expression in used(instruction):
                self._key(expression)
            self._instruction(instruction)

    def _instruction(self, instruction: Instruction) -> None:
        match instruction:
            case Assign(target, value):
                self._join(self._local(target), value)
            case SetField(name, value):
                self._join(("field", self._cls, name), value)
            case Return(value):
                self._join(("return", self._cls, self._name), value)
            case New(target, cls, arguments, keywords):
                self._variable(self._local(target)).classes.add(cls)
                self._give(cls, INITIALISER, arguments, dict(keywords))
            case Send():
                self._send(instruction)
            case Call(target, This(), method, arguments, keywords):
                self._give(self._cls, method, arguments, dict(keywords))
                self._kinds.join(("return", self._cls, method), self._local(target))
            case Await(target, future) | Get(target, future):
                self._wait(target, future)
            case Update(target, container, operation, operands):
                self._update(target, container, operation, operands)

    def _send(self, send: Send) -> None:
        receiver = self._key(send.receiver)
        if receiver is None:
            owners: tuple[type, ...] = self._code.owners(send.method)
        else:
            self._variable(receiver).sent.add(send.method)
            owners = self._kinds.candidates(self._variable(receiver))
        future = self._local(send.target)
        self._variable(future).used_as.add("future")
        for owner in owners:
            self._give(owner, send.method, send.arguments, dict(send.keywords))
            result = self._kinds.part(future, "result")
            self._kinds.join(("return", owner, send.method), result)

    def _give(
        self,
        owner: type,
        method: str,
        arguments: tuple[Expression, ...],
        keywords: dict[str, Expression],
    ) -> None:
        """Arguments are of the kinds of parameters."""
        if function_of(owner, method) is None or owner not in self._code.classes:
            return
        names = self._code.method(owner, method).parameters
        for name, value in [*zip(names, arguments, strict=False), *keywords.items()]:
            self._join(("local", owner, method, name), value)

    def _wait(self, target: str | None, future: Expression) -> None:
        key = self._key(future)
        if key is not None:
            self._variable(key).used_as.add("future")
            if target is not None:
                self._kinds.join(self._kinds.part(key, "result"), self._local(target))

    def _update(
        self, target: str, container: Expression, operation: str, operands: tuple[Expression, ...]
    ) -> None:
        key = self._key(container)
        if key is None or operation.startswith("."):
            return
        if operation in ("append", "insert", "extend", "remove", "pop"):
            element = self._kinds.part(key, "element")
            if operation == "append":
                self._join(element, operands[0])
            if operation == "pop":
                self._kinds.join(element, self._local(target))

    def _join(self, key: Hashable, value: Expression) -> None:
        other = self._key(value)
        if other is not None:
            self._kinds.join(key, other)
        elif isinstance(value, Constant):
            self._constant(key, value.value)

    def _constant(self, key: Hashable, value: object) -> None:
        variable = self._variable(key)
        if value is None:
            variable.used_as.add("none")
        elif isinstance(value, bool | int | str | tuple):
            variable.used_as.add(type(value).__name__)

    def _variable(self, key: Hashable) -> _Variable:
        return self._kinds.variable(key)

    # Expressions

    def _key(self, expression: Expression) -> Hashable | None:
        """Return the key of an expression's value; None of a constant and what tells nothing."""
        match expression:
            case Local(name):
                return self._local(name)
            case Field(name):
                return "field", self._cls, name
            case This():
                self._variable(("this", self._cls)).classes.add(self._cls)
                return "this", self._cls
            case Conditional(test, then, other):
                return self._joined(expression, [then, other], [test])
            case Make("list" | "tuple" as name, operands):
                return self._made(expression, name, operands)
            case Operation(operator, operands):
                return self._operation(expression, operator, operands)
            case Apply(_, operands, callee):
                return self._applied(expression, operands, callee)
            case Make("dict" | "set" as name, operands, None):
                for each in operands:
                    self._key(each)
                self._variable(self._temporary(expression)).used_as.add(name)
                return self._temporary(expression)
            case Make(_, operands):
                for each in operands:
                    self._key(each)
        return None

    def _temporary(self, expression: Expression) -> Hashable:
        """Return a key by identity: two empty lists of a method look the same, and are not."""
        return "value", self._cls, self._name, id(expression)

    def _joined(
        self, expression: Expression, joined: list[Expression], others: list[Expression]
    ) -> Hashable:
        key = self._temporary(expression)
        for each in others:
            self._key(each)
        for each in joined:
            self._join(key, each)
        return key

    def _made(
        self, expression: Expression, name: str, operands: tuple[Expression, ...]
    ) -> Hashable:
        key = self._temporary(expression)
        self._variable(key).used_as.add(name)
        element = self._kinds.part(key, "element")
        for each in operands:
            if isinstance(each, Operation) and each.operator == "star":
                whole = self._key(each.operands[0])
                if whole is not None:
                    self._kinds.join(element, self._kinds.part(whole, "element"))
            else:
                self._join(element, each)
        return key

    def _operation(
        self, expression: Expression, operator: str, operands: tuple[Expression, ...]
    ) -> Hashable | None:
        keys = [self._key(each) for each in operands]
        plain = operator.removesuffix("=") if operator not in ("<=", ">=", "==", "!=") else operator
        if operator in _EQUALITY:
            self._compared(operands, keys)
        elif plain in _ARITHMETIC:
            return self._arithmetic(expression, plain, operands, keys)
        elif operator in _OF_CONTAINERS or operator in ("index", "part"):
            return self._of_container(operator, operands, keys)
        elif operator in ("and", "or"):
            return self._joined(expression, list(operands), [])
        elif operator in ("in", "not in"):
            self._member(operands, keys)
        return None

    def _compared(self, operands: tuple[Expression, ...], keys: list[Hashable | None]) -> None:
        one, other = keys
        if one is not None and other is not None:
            self._kinds.join(one, other)
        for key, value in ((one, operands[1]), (other, operands[0])):
            if key is not None and isinstance(value, Constant):
                self._constant(key, value.value)

    def _arithmetic(
        self,
        expression: Expression,
        operator: str,
        operands: tuple[Expression, ...],
        keys: list[Hashable | None],
    ) -> Hashable | None:
        """Of numbers; `+` may also be of containers or texts, if an operand is."""
        known = [key for key in keys if key is not None]
        if operator in ("+", "*", *_ORDER):
            kinds = set[str]().union(*(self._variable(key).used_as for key in known))
            kinds |= {type(each.value).__name__ for each in operands if isinstance(each, Constant)}
            if kinds & {"list", "tuple", "str"}:
                if operator in _ORDER:
                    self._compared(operands, keys)
                return self._joined(expression, list(operands), []) if operator == "+" else None
        for key in known:
            if not self._variable(key).used_as & {"list", "tuple", "str"}:
                self._variable(key).used_as.add("int")
        if operator in _ORDER:
            return None
        result = self._temporary(expression)
        self._variable(result).used_as.add("int")
        return result

    def _of_container(
        self, operator: str, operands: tuple[Expression, ...], keys: list[Hashable | None]
    ) -> Hashable | None:
        whole = keys[0]
        if whole is None:
            return None
        if operator == "index" and isinstance(operands[1], Operation | Anything):
            return whole  # a slice
        if "dict" in self._variable(whole).used_as:
            return None
        element = self._kinds.part(whole, "element")
        return whole if operator == "tail" else element if operator != "nonempty" else None

    def _member(self, operands: tuple[Expression, ...], keys: list[Hashable | None]) -> None:
        item, whole = keys
        if whole is not None and "dict" not in self._variable(whole).used_as:
            element = self._kinds.part(whole, "element")
            if item is not None:
                self._kinds.join(element, item)
            elif isinstance(operands[0], Constant):
                self._constant(element, operands[0].value)

    def _applied(
        self, expression: Apply, operands: tuple[Expression, ...], callee: object
    ) -> Hashable | None:
        keys = [self._key(each) for each in operands]
        if callee in (len, sum, range, abs, min, max):
            result = self._temporary(expression)
            self._variable(result).used_as.add("int")
            for key in keys:
                if key is None:
                    continue
                if callee in (range, abs) or (callee in (min, max) and len(keys) > 1):
                    self._variable(key).used_as.add("int")
                else:
                    self._kinds.part(key, "element")
            return result
        if callee is None and keys[0] is not None:
            if expression.function in _OF_DICTIONARIES:
                self._variable(keys[0]).used_as.add("dict")
            return None
        if callee in (dict, set):
            self._variable(self._temporary(expression)).used_as.add(expression.function)
            return self._temporary(expression)
        if callee in (list, tuple, sorted, reversed) and keys and keys[0] is not None:
            result = self._temporary(expression)
            self._variable(result).used_as.add("tuple" if callee in (tuple, reversed) else "list")
            self._kinds.join(
                self._kinds.part(result, "element"), self._kinds.part(keys[0], "element")
            )
            return result
        return None
