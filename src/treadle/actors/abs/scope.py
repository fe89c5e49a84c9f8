"""Names in a body of ABS: what each stands for in Python, and where nodes come from."""

from __future__ import annotations

import ast
import copy
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from lark import Token, Tree

from treadle.actors.abs.declarations import RESERVED, Class, Parameter, Type, plain_name
from treadle.actors.abs.errors import Node

_Located = TypeVar("_Located", bound=ast.AST)


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable: how it is read in Python, and its type as far as it is known."""

    read: ast.expr
    type: Type | None = None
    is_function: bool = False


@dataclass(slots=True)
class Body:
    """What a body of code is: of a method, an initialiser, the main block or a function."""

    module: str
    this: Class | None = None
    can_wait: bool = True
    """False in an initialiser, which Python does not let await."""
    has_effects: bool = True
    """False in a function."""
    reserved: frozenset[str] = RESERVED
    """Names of Python that mean something else."""
    taken: set[str] = field(default_factory=set)
    """Names of Python that the body uses."""
    fresh: int = 0

    def local(self, name: str, *, avoid: bool = False) -> str:
        """Return a name for a local variable; `avoid`: one that the body has not used yet."""
        made = plain_name(name)
        while made in self.reserved or (avoid and made in self.taken):
            made += "_"
        self.taken.add(made)
        return made

    def temporary(self, hint: str) -> str:
        """Return a name that the body has not used yet."""
        self.fresh += 1
        return self.local(f"{hint}{self.fresh}", avoid=True)


@dataclass(frozen=True, slots=True)
class Scope:
    """The variables that can be seen at a place."""

    body: Body
    variables: dict[str, Variable] = field(default_factory=dict)

    def inner(self) -> Scope:
        """Return a scope for a block."""
        return replace(self, variables=dict(self.variables))

    def with_variables(self, **variables: Variable) -> Scope:
        """Return a scope with more variables."""
        return replace(self, variables={**self.variables, **variables})

    def declare(self, name: str, type_: Type | None) -> ast.Name:
        """Add a local variable; return what to assign to."""
        made = self.body.local(name)
        self.variables[name] = Variable(ast.Name(made, ast.Load()), type_)
        return ast.Name(made, ast.Store())

    def declare_parameters(self, parameters: tuple[Parameter, ...]) -> list[ast.arg]:
        """Add parameters; return them for Python."""
        names = [(each, self.declare(each.name, each.type).id) for each in parameters]
        return [located(each.node, ast.arg(name)) for each, name in names]

    def read(self, name: str) -> ast.expr | None:
        """Return how to read a variable; None if there is none of this name."""
        found = self.variables.get(name)
        return None if found is None else copy.deepcopy(found.read)


def located(node: Node, made: _Located) -> _Located:
    """Give a node of Python the place of the part of ABS that it comes from."""
    at: Any = node if isinstance(node, Token) else node.meta
    if getattr(at, "line", None) is not None:
        to: Any = made
        to.lineno, to.col_offset = at.line, at.column - 1
        to.end_lineno, to.end_col_offset = at.end_line, at.end_column - 1
    return made


def tree(node: Node | None) -> Tree[Token]:
    """Return a part of the text that is a rule."""
    assert isinstance(node, Tree), f"not a rule: {node!r}"
    return node


def load(name: str) -> ast.Name:
    """Return a name that is read."""
    return ast.Name(name, ast.Load())


def called(function: str | ast.expr, *arguments: ast.expr) -> ast.Call:
    """Return a call."""
    callee = load(function) if isinstance(function, str) else function
    return ast.Call(callee, list(arguments), [])


def attribute(value: ast.expr, name: str) -> ast.Attribute:
    """Return an attribute that is read."""
    return ast.Attribute(value, name, ast.Load())
