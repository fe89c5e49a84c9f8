"""Which kinds of values the names of a program may hold, whatever happens: numbers, texts, None.

A solver's integers are Python's `int` and nothing else, so what is found for numbers is right only
where nobody stores anything else. This collects, for every shared and every local name, the kinds
of all that is ever assigned to it: in any order, on any path, until nothing is added. What is not
understood may be of any kind (`opaque`).
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from treadle.smt.values import Tag, tag_of

Kinds = frozenset[Tag]

_NOTHING: Kinds = frozenset()
_ANY: Kinds = frozenset({"opaque"})
_NUMBER: Kinds = frozenset({"int"})
_TRUTH: Kinds = frozenset({"bool"})
_NUMBERS: Kinds = frozenset({"int", "bool", "none"})
"""What can be computed with, or raises."""
_WHOLE = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod, ast.LShift, ast.RShift)
_BITS = (ast.BitAnd, ast.BitOr, ast.BitXor)
_CALLS: dict[object, Kinds] = {
    builtins.bool: _TRUTH,
    builtins.int: _NUMBER,
    builtins.len: _NUMBER,
}


@dataclass(frozen=True, slots=True)
class Source:
    """A function of a process, as it is read."""

    definition: ast.FunctionDef
    local: frozenset[str]
    meaning: Callable[[str], object]
    """What a name that is not local means; raises `KeyError` if that is unknown."""
    child: Callable[[str], object]
    """The function that `s.spawn` is given by a name; None if that is unknown."""

    @property
    def parameters(self) -> list[str]:
        """The names of what it is given, the state first."""
        arguments = self.definition.args
        return [argument.arg for argument in arguments.posonlyargs + arguments.args]


class ValueKinds:
    """The kinds of values of all names of a program."""

    def __init__(
        self,
        sources: Mapping[Any, Source],
        shared: Mapping[str, Kinds],
        given: Sequence[tuple[object, Sequence[object]]],
        kit: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Begin with what is there initially, and with what processes are given.

        `kit` says which shared names are counters and dictionaries of the model kit.
        """
        self._sources = sources
        self.kit = kit
        self.shared = dict(shared)
        self.locals: dict[tuple[object, str], Kinds] = {}
        for function, values in given:
            self._give(function, [frozenset({tag_of(value)}) for value in values])
        for function, source in sources.items():
            self._give_defaults(function, source)
        self._has_changed = True
        while self._has_changed:
            self._has_changed = False
            for function, source in sources.items():
                _Reader(self, function, source).read()

    def add_shared(self, name: str, kinds: Kinds) -> None:
        """Note what a shared name may hold."""
        if not kinds <= self.shared.get(name, _NOTHING):
            self.shared[name] = self.shared.get(name, _NOTHING) | kinds
            self._has_changed = True

    def add_local(self, function: object, name: str, kinds: Kinds) -> None:
        """Note what a local name may hold."""
        if not kinds <= self.locals.get((function, name), _NOTHING):
            self.locals[function, name] = self.locals.get((function, name), _NOTHING) | kinds
            self._has_changed = True

    def forget_shared(self) -> None:
        """Note that any shared name may hold anything."""
        for name in self.shared:
            self.add_shared(name, _ANY)

    def create(self, function: object, given: Sequence[Kinds]) -> None:
        """Note that a process is created, and what it is given."""
        if function in self._sources:
            self._give(function, given)
        else:
            self.forget_shared()

    def _give(self, function: object, given: Sequence[Kinds]) -> None:
        source = self._sources.get(function)
        if source is None:
            self.forget_shared()
            return
        for name, kinds in zip(source.parameters[1:], given, strict=False):
            self.add_local(function, name, kinds)

    def _give_defaults(self, function: object, source: Source) -> None:
        defaults: tuple[Any, ...] = getattr(function, "__defaults__", None) or ()
        for name, value in zip(source.parameters[::-1], defaults[::-1], strict=False):
            self.add_local(function, name, frozenset({tag_of(value)}))


class _Reader:
    """Reads the assignments of one function."""

    def __init__(self, kinds: ValueKinds, function: object, source: Source) -> None:
        self._kinds = kinds
        self._function = function
        self._source = source
        self._state = source.parameters[0]

    def read(self) -> None:
        """Note what is assigned, and what created processes are given."""
        for node in ast.walk(self._source.definition):
            match node:
                case ast.Assign(targets, value):
                    for target in targets:
                        self._assign(target, value)
                case ast.AnnAssign(target, _, ast.expr() as value):
                    self._assign(target, value)
                case ast.AugAssign(target, op, value):
                    load = ast.parse(ast.unparse(target), mode="eval").body
                    self._note(target, self._computed(op, self._of(load), self._of(value)))
                case ast.For(target, iterated):
                    self._note(target, _NUMBER if self._is_range(iterated) else _ANY)
                case ast.Call(ast.Attribute(counter, "add" | "next"), given):
                    if self._is("counter", counter):
                        self._note(counter, self._added(counter, given))
                case ast.Call(ast.Attribute(owner, "spawn"), [ast.Name(child), *given]):
                    if self._is_state(owner):
                        self._spawn(child, given)

    def _added(self, counter: ast.expr, given: Sequence[ast.expr]) -> Kinds:
        """Return the kinds of what a counter holds when something was added to it."""
        amount = self._of(given[0]) if given else _NUMBER
        return self._computed(ast.Add(), self._of(counter), amount)

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Tuple | ast.List):
            parts: list[ast.expr | None] = [None] * len(target.elts)
            if isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts):
                parts = list(value.elts)
            for element, part in zip(target.elts, parts, strict=True):
                self._note(element, _ANY if part is None else self._of(part))
        else:
            self._note(target, self._of(value))

    def _note(self, target: ast.expr, kinds: Kinds) -> None:
        match target:
            case ast.Name(name):
                self._kinds.add_local(self._function, name, kinds)
            case ast.Attribute(owner, name) | ast.Subscript(ast.Attribute(owner, name)):
                if self._is_state(owner):
                    self._kinds.add_shared(name, kinds)
            case ast.Tuple(elements) | ast.List(elements):
                for element in elements:
                    self._note(element, _ANY)
            case ast.Starred(inner):
                self._note(inner, _ANY)

    def _spawn(self, child: str, given: Sequence[ast.expr]) -> None:
        function = None if child in self._source.local else self._source.child(child)
        if any(isinstance(arg, ast.Starred) for arg in given):
            self._kinds.create(function, [_ANY] * 100)
        else:
            self._kinds.create(function, [self._of(arg) for arg in given])

    def _is(self, kind: str, node: ast.expr) -> bool:
        """Tell whether an expression is a counter, or a dictionary, of the model kit."""
        match node:
            case ast.Attribute(owner, name):
                return self._is_state(owner) and self._kinds.kit.get(name) == kind
        return False

    def _is_state(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id == self._state

    def _is_range(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Call) and self._meant(node.func) is builtins.range

    def _meant(self, node: ast.expr) -> object:
        """Return what a name means that is not local; None if that is unknown."""
        if not isinstance(node, ast.Name) or node.id in self._source.local:
            return None
        try:
            return self._source.meaning(node.id)
        except KeyError:
            return None

    # Expressions

    def _of(self, node: ast.expr) -> Kinds:
        """Return the kinds of values that an expression may have."""
        match node:
            case ast.Constant(value):
                return frozenset({tag_of(value)})
            case ast.Name(name):
                return self._name(name)
            case ast.Attribute(counter, "value") if self._is("counter", counter):
                return self._of(counter)
            case ast.Attribute(owner, name) | ast.Subscript(ast.Attribute(owner, name)):
                return self._kinds.shared.get(name, _ANY) if self._is_state(owner) else _ANY
            case ast.Call(ast.Attribute(counter, "next"), given) if self._is("counter", counter):
                return self._added(counter, given)
            case ast.Call(ast.Attribute(table, "get"), [_, *given]) if self._is("dict", table):
                return self._of(table).union({"none"}, *map(self._of, given))
            case ast.BinOp(left, op, right):
                return self._computed(op, self._of(left), self._of(right))
            case ast.UnaryOp(ast.Not()) | ast.Compare():
                return _TRUTH
            case ast.UnaryOp(_, operand):
                return self._signed(operand)
            case ast.BoolOp(_, values):
                return _NOTHING.union(*map(self._of, values))
            case ast.IfExp(_, body, orelse):
                return self._of(body) | self._of(orelse)
            case ast.JoinedStr():
                return frozenset({"str"})
            case ast.Call(function, given):
                return self._called(self._meant(function), given)
        return _ANY

    def _name(self, name: str) -> Kinds:
        if name in self._source.local:
            return self._kinds.locals.get((self._function, name), _NOTHING)
        try:
            return frozenset({tag_of(self._source.meaning(name))})
        except KeyError:
            return _ANY

    def _called(self, function: object, given: Sequence[ast.expr]) -> Kinds:
        if function in (builtins.min, builtins.max) and len(given) > 1:
            return _NOTHING.union(*map(self._of, given))
        if function is builtins.abs and len(given) == 1:
            return self._signed(given[0])
        try:
            return _CALLS.get(function, _ANY)
        except TypeError:
            return _ANY

    def _signed(self, operand: ast.expr) -> Kinds:
        """Return the kinds of what has another sign, or none."""
        kinds = self._of(operand)
        return _NUMBER if kinds and kinds <= _NUMBERS else kinds and _ANY

    def _computed(self, op: ast.operator, left: Kinds, right: Kinds) -> Kinds:
        if not (left and right):
            return _NOTHING  # nothing is known to get here yet
        if not left | right <= _NUMBERS:
            return _ANY
        if isinstance(op, _BITS):
            return _NUMBER | _TRUTH
        return _NUMBER if isinstance(op, _WHOLE) else _ANY
