"""Patterns: tests of a value, and what their variables stand for.

A variable that is bound already is compared with. Any other stands for the part of the value that
it is at the place of, so that no assignment is needed in an expression.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field

from lark import Token, Tree

from treadle.actors.abs import values
from treadle.actors.abs.declarations import Constructor, Declarations
from treadle.actors.abs.scope import Scope, Variable, attribute, called, load, tree

_Value = Callable[[], ast.expr]
"""How to read the value, or a part of it."""

LIBRARY: dict[str, tuple[str, ...]] = {
    "Pair": ("fst", "snd"), "Triple": ("fstT", "sndT", "trdT"), "Just": ("fromJust",),
    "Nothing": (), "Left": ("left",), "Right": ("right",),
}  # fmt: skip
"""Constructors of the standard library, and their parts."""
EXCEPTIONS = {
    name
    for name, value in vars(values).items()
    if isinstance(value, type) and issubclass(value, values.AbsException)
}
_SPECIAL = {
    "True": 0, "False": 0, "Unit": 0, "Nil": 0, "Cons": 2, "EmptySet": 0, "EmptyMap": 0,
    "Insert": 2, "InsertAssoc": 2,
}  # fmt: skip
"""Constructors of what is built into Python, and how many parts they have."""


def parts_of(name: str, declared: Declarations, module: str) -> int | None:
    """Return how many parts a constructor has; None if there is no such constructor."""
    found = declared.constructors.find(name, module)
    if found is not None:
        return len(found.fields)
    last = name.rpartition(".")[2]
    if last in LIBRARY:
        return len(LIBRARY[last])
    return 0 if last in EXCEPTIONS else _SPECIAL.get(last)


@dataclass(slots=True)
class Match:
    """What a pattern comes to."""

    tests: list[ast.expr] = field(default_factory=list)
    bound: dict[str, _Value] = field(default_factory=dict)

    def test(self) -> ast.expr:
        """Return one test for all; `True` if everything fits."""
        if len(self.tests) > 1:
            return ast.BoolOp(ast.And(), self.tests)
        return self.tests[0] if self.tests else ast.Constant(True)

    def variables(self) -> dict[str, Variable]:
        """Return the variables that the pattern binds."""
        return {name: Variable(value()) for name, value in self.bound.items()}


class Patterns:
    """Makes tests of patterns."""

    def __init__(self, declared: Declarations) -> None:
        self._declared = declared

    def match(self, pattern: Tree[Token], value: _Value, scope: Scope) -> Match:
        """Match a pattern with a value."""
        found = Match()
        self._collect(pattern, value, scope, found)
        return found

    def _collect(self, pattern: Tree[Token], value: _Value, scope: Scope, found: Match) -> None:
        match pattern.data:
            case "anything":
                pass
            case "variable":
                name = str(pattern.children[0])
                known = scope.read(name) or (name in found.bound and found.bound[name]())
                if known:
                    found.tests.append(_equal(value(), known))
                else:
                    found.bound[name] = value
            case "literal" | "negative":
                token = pattern.children[0]
                sign = -1 if pattern.data == "negative" else 1
                found.tests.append(_equal(value(), ast.Constant(literal(token, sign))))
            case _:
                self._constructed(pattern, value, scope, found)

    def _constructed(self, pattern: Tree[Token], value: _Value, scope: Scope, found: Match) -> None:
        name, *given = pattern.children
        parts = [tree(each) for each in given if each is not None]
        count = parts_of(str(name), self._declared, scope.body.module)
        refuse = self._declared.source.refuse
        if count is None:
            advice = self._declared.constructors.advice(str(name))
            refuse(pattern, f"there is no constructor {name}{advice}")
        if count != len(parts):
            refuse(pattern, f"{name} has {count} parts, not {len(parts)}")
        constructor = self._declared.constructors.find(str(name), scope.body.module)
        tests, readers = _tested(str(name), constructor, value)
        found.tests += tests
        for part, reader in zip(parts, readers, strict=True):
            self._collect(part, reader, scope, found)


def _tested(
    name: str, constructor: Constructor | None, value: _Value
) -> tuple[list[ast.expr], list[_Value]]:
    """Return the tests for a constructor, and how to read its parts."""
    if constructor is not None:
        test = called("isinstance", value(), load(constructor.python))
        if constructor.is_exception:
            return [test], _arguments(value, len(constructor.fields))
        return [test], _attributes(value, constructor.fields)
    last = name.rpartition(".")[2]
    if last in LIBRARY:
        return [called("isinstance", value(), load(last))], _attributes(value, LIBRARY[last])
    match last:
        case "True":
            return [value()], []
        case "False" | "Nil" | "EmptySet" | "EmptyMap":
            return [ast.UnaryOp(ast.Not(), value())], []
        case "Unit":
            return [ast.Compare(value(), [ast.Is()], [ast.Constant(None)])], []
        case "Cons":
            return [value()], [_item(value, 0), _rest(value)]
        case "Insert":
            return [value()], [_applied("take", value), _applied("other_items", value)]
        case "InsertAssoc":
            return [value()], [_applied("some_pair", value), _applied("other_pairs", value)]
    return [called("isinstance", value(), load(last))], []


def literal(token: object, sign: int = 1) -> int | float | str:
    """Return the value of a literal."""
    assert isinstance(token, Token), "literals are tokens"
    match token.type:
        case "INT":
            return sign * int(token)
        case "FLOAT":
            return sign * float(token)
        case _:
            return unescaped(token[1:-1])


def unescaped(text: str) -> str:
    """Return what is between the quotes of a string."""
    found, escaped = [], False
    for each in text:
        if escaped:
            found.append({"n": "\n", "t": "\t", "r": "\r"}.get(each, each))
            escaped = False
        elif each == "\\":
            escaped = True
        else:
            found.append(each)
    return "".join(found)


def _equal(one: ast.expr, other: ast.expr) -> ast.expr:
    return ast.Compare(one, [ast.Eq()], [other])


def _attributes(value: _Value, names: tuple[str, ...]) -> list[_Value]:
    def reader(name: str) -> _Value:
        return lambda: attribute(value(), name)

    return [reader(name) for name in names]


def _arguments(value: _Value, count: int) -> list[_Value]:
    return [_item(lambda: attribute(value(), "args"), at) for at in range(count)]


def _applied(function: str, value: _Value) -> _Value:
    return lambda: called(function, value())


def _item(value: _Value, at: int) -> _Value:
    return lambda: ast.Subscript(value(), ast.Constant(at), ast.Load())


def _rest(value: _Value) -> _Value:
    return lambda: ast.Subscript(value(), ast.Slice(ast.Constant(1)), ast.Load())
