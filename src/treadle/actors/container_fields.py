"""Fields that always hold one set, list or dictionary of their own, as a solver may follow it.

`__init__` makes it, and nobody ever gets hold of it: methods only add, look for and index. Then no
other name leads to it, and what a method does to it is all that happens to it. Anything else that
any code does with a field of that name, final properties and invariants included, and it is not
followed.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import FunctionType
from typing import Literal, TypeAlias, get_args

from treadle.analyses.sources import definition_of
from treadle.analyses.value_kinds import Source
from treadle.smt.values import tag_of

Container: TypeAlias = Literal["set", "list", "dict"]

_CHANGES: Mapping[Container, frozenset[str]] = {
    "set": frozenset({"add", "discard", "remove"}),
    "list": frozenset({"append"}),
    "dict": frozenset(),
}
_MADE_BY: dict[object, Container] = {builtins.set: "set", builtins.list: "list", dict: "dict"}


@dataclass(slots=True)
class _Field:
    made: set[Container | None] = field(default_factory=set)
    """What it is made as; None: something else."""
    used: set[Container] = field(default_factory=lambda: set(get_args(Container)))
    """What it can be, by how it is used."""


class ContainerFields:
    """The fields of a program's actors that hold containers of their own."""

    def __init__(
        self, sources: Mapping[FunctionType, Source], properties: Iterable[FunctionType | None]
    ) -> None:
        self._fields: dict[str, _Field] = {}
        self._meaning = {function: source.meaning for function, source in sources.items()}
        for function, source in sources.items():
            self._read(source.definition, source.parameters[0], function)
        for check in properties:
            definition = None if check is None else definition_of(check)
            if check is None or definition is None or _gives_away(definition):
                self._fields.clear()  # nobody knows what it looks at
                return
            self._read(definition, "", check)

    def found(self) -> Iterator[tuple[str, Container]]:
        """Yield the fields, and what they hold."""
        for name, known in self._fields.items():
            if len(known.made) == 1:
                [made] = known.made
                if made is not None and made in known.used:
                    yield name, made

    def _of(self, name: str) -> _Field:
        return self._fields.setdefault(name, _Field())

    def _read(self, definition: ast.AST, this: str, function: FunctionType) -> None:
        """Note how fields are used in a function: an expression is followed only in some places."""
        followed: set[int] = set()
        for node in ast.walk(definition):
            followed |= {id(one) for one in self._followed(node, this, function)}
        for node in ast.walk(definition):
            if isinstance(node, ast.Attribute) and id(node) not in followed:
                # A list is the same in every order; of a set or dictionary, order may be seen.
                self._of(node.attr).used &= set() if this else {"list"}

    def _followed(
        self, node: ast.AST, this: str, function: FunctionType
    ) -> Iterator[ast.Attribute]:
        """Yield the fields that a node uses in a way that is understood, and note which."""
        match node:
            case ast.Assign([ast.Attribute(ast.Name(owner)) as place], value) if owner == this:
                if function.__name__ == "__init__":
                    self._of(place.attr).made.add(self._made(value, function))
                    yield place
            case ast.Expr(
                ast.Call(ast.Attribute(ast.Attribute(ast.Name(owner)) as place, method), [_], [])
            ) if owner == this:
                fits = {kind for kind, methods in _CHANGES.items() if method in methods}
                self._of(place.attr).used &= fits
                yield place
            case ast.Attribute(ast.Attribute(ast.Name(owner)), method) if owner == this:
                if any(method in methods for methods in _CHANGES.values()):
                    yield node  # the method itself, of which the call was looked at
            case ast.Compare(_, [ast.In() | ast.NotIn()], [ast.Attribute() as place]):
                self._of(place.attr).used &= {"set", "dict"}
                yield place
            case ast.Subscript(ast.Attribute() as place, _, context):
                is_read = isinstance(context, ast.Load)
                if not isinstance(context, ast.Del):
                    self._of(place.attr).used &= {"dict", "list"} if is_read else {"dict"}
                    yield place
            case ast.For(_, ast.Attribute() as place):
                self._of(place.attr).used &= {"list"}  # in which order, others do not tell
                yield place
            case ast.Call(ast.Name("len"), [ast.Attribute() as place], []):
                yield place
            case ast.Call(ast.Name("sorted"), [ast.Attribute() as place], []) if not this:
                yield place
            case ast.Compare(ast.Attribute() as place, [ast.Eq()], [_]) if not this:
                yield place

    def _made(self, value: ast.expr, function: FunctionType) -> Container | None:
        """Return what an expression makes; None if others may have it, or nobody knows."""
        match value:
            case ast.Call(ast.Name(name), [], []):
                try:
                    return _MADE_BY.get(self._meaning[function](name))
                except (KeyError, TypeError):
                    return None
            case ast.Set(parts):
                return "set" if all(map(_is_plain, parts)) else None
            case ast.List(parts):
                return "list" if all(map(_is_plain, parts)) else None
            case ast.Dict(keys, values):
                parts = [key for key in keys if key is not None]
                is_plain = len(parts) == len(keys) and all(map(_is_plain, [*parts, *values]))
                return "dict" if is_plain else None
        return None


def _gives_away(definition: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Tell whether a property does something else with what it is given than look at fields."""
    given = {node.arg for node in ast.walk(definition.args) if isinstance(node, ast.arg)}
    nodes = list(ast.walk(definition))
    owners = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
    return any(
        (isinstance(node, ast.Name) and node.id in given and id(node) not in owners)
        or (isinstance(node, ast.Attribute) and node.attr.startswith("__"))
        for node in nodes
    )


def _is_plain(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and tag_of(node.value) != "opaque"


class Elements(ast.NodeTransformer):
    """Making a container is writing its elements: so the kinds of its values are found."""

    def __init__(self, fields: Iterable[str]) -> None:
        self._fields = frozenset(fields)

    def visit_Assign(self, node: ast.Assign) -> ast.stmt | list[ast.stmt]:
        """Return what writes the values of a dictionary that is made."""
        match node:
            case ast.Assign([ast.Attribute(ast.Name(), name) as place], value):
                if name in self._fields:
                    values = value.values if isinstance(value, ast.Dict) else []
                    return [ast.Pass(), *(_written(place, each) for each in values)]
        return node


def _written(place: ast.Attribute, value: ast.expr) -> ast.stmt:
    held = ast.Attribute(place.value, place.attr, ast.Load())
    return ast.Assign([ast.Subscript(held, ast.Constant(0), ast.Store())], value)
