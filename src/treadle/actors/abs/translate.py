"""From ABS to Python actors: one `ast` for a whole file, with the positions of the ABS text.

Classes become actor classes, methods `async def`, parameters of classes fields, data constructors
frozen dataclasses, functions functions. So a model runs as any Python actors do, tracebacks show
lines of the ABS file, and the analyses read both languages in one way. `python_text` prints the
translation.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from lark import Token, Tree

from treadle.actors.abs.declarations import (
    CALLED,
    Class,
    Constructor,
    Declarations,
    Function,
    Parameter,
    Signature,
    Type,
    member_name,
)
from treadle.actors.abs.errors import Node, Source
from treadle.actors.abs.parse import parse
from treadle.actors.abs.scope import Body, Scope, Variable, attribute, load, located, tree
from treadle.actors.abs.statements import Statements

_VALUE = Parameter("value", Type("A"), Token("LOWER", "value"))
_NEWER: Any = {"type_params": []}
"""What Python 3.12 asks for."""
MAIN = "main"
"""What the main block is called in Python."""


@dataclass(frozen=True, slots=True)
class Translation:
    """A file in Python, and what it declares."""

    source: Source
    tree: ast.Module
    declared: Declarations

    def python_text(self) -> str:
        """Print the translation."""
        return ast.unparse(self.tree) + "\n"


def translate(source: Source) -> Translation:
    """Translate a file."""
    declared = Declarations(source, parse(source))
    return Translation(source, _Translator(declared).module(), declared)


class _Translator(Statements):
    """Translates what a file declares."""

    def module(self) -> ast.Module:
        self.methods.check_classes()
        constructors = list(self.declared.constructors)
        body: list[ast.stmt] = []
        for name, python in self.declared.types.items():
            body.append(_class(python, "Data", []))
            body += [_constructor(each, python) for each in constructors if each.type == name]
        body += [_exception(each) for each in constructors if each.is_exception]
        body += self._selectors(constructors)
        body += [self._function(each) for each in self.declared.functions if each.body is not None]
        classes = [self._class(each) for each in self.declared.classes]
        body += classes
        for module, block in self.declared.mains[-1:]:
            scope = Scope(self._body(module))
            main = _method(MAIN, [], self.block(block, scope))
            main.decorator_list.append(load("program"))
            body.append(located(block, main))
        if self.asks_for_interfaces:
            self._note_interfaces(classes)
        return self._finished(body)

    def _finished(self, body: list[ast.stmt]) -> ast.Module:
        module = ast.Module([*_imports(body), *body], [])
        ast.fix_missing_locations(module)
        _in_bytes(module, self.source.text.splitlines())
        return module

    def _body(
        self,
        module: str,
        this: Class | None = None,
        *,
        can_wait: bool = True,
        has_effects: bool = True,
    ) -> Body:
        return Body(module, this, can_wait, has_effects, frozenset(self.declared.taken))

    # Functions

    def _function(self, function: Function) -> ast.stmt:
        scope = Scope(self._body(function.module, can_wait=False, has_effects=False))
        names = []
        for name in function.functions:
            names.append(ast.arg(scope.declare(name, None).id))
            scope.variables[name] = Variable(load(names[-1].arg), is_function=True)
        names += scope.declare_parameters(function.parameters)
        assert function.body is not None, "the grammar asks for one"
        value = located(function.body, ast.Return(self.expression(function.body, scope)))
        made = _method(function.python, names, [value], is_async=False)
        made.decorator_list.append(located(function.node, load("pure")))
        return located(function.node, made)

    def _selectors(self, constructors: list[Constructor]) -> list[ast.stmt]:
        """Functions that read a part of a value by its name, unless the file has its own."""
        made: dict[str, ast.stmt] = {}
        for constructor in constructors:
            for label in () if constructor.is_exception else constructor.labels:
                if label and self.declared.functions.find(label, "") is None:
                    made[label] = self._selector(constructor, label)
        return list(made.values())

    def _selector(self, constructor: Constructor, name: str) -> ast.stmt:
        python = self.declared.python_name(name)
        part = ast.Constant(member_name(name))
        read = ast.Call(load("selected"), [load("value"), part], [])
        function = _method(python, [ast.arg("value")], [ast.Return(read)], is_async=False)
        function.decorator_list.append(load("pure"))
        self.declared.functions.add(
            Function(name, python, constructor.module, constructor.node, (), (_VALUE,))
        )
        return located(constructor.node, function)

    # Classes

    def _note_interfaces(self, made: list[ast.ClassDef]) -> None:
        """Let each class know what it implements."""
        for one, statement in zip(self.declared.classes, made, strict=True):
            names = [ast.Constant(name) for name in self.methods.interfaces_of(one)]
            value = ast.Tuple(list[ast.expr](names), ast.Load())
            target = ast.Name("_interfaces", ast.Store())
            statement.body.insert(0, located(one.node, ast.Assign([target], value)))

    def _class(self, one: Class) -> ast.ClassDef:
        scope = self._fields(one)
        body = [self._initialiser(one, scope)] if one.parameters or one.members else []
        body += [self._method(each, one, scope) for each in one.methods.values()]
        return located(one.node, _class(one.python, "Actor", body))

    def _fields(self, one: Class) -> dict[str, Variable]:
        """Return how the fields of a class are read."""
        methods = {member_name(name) for name in one.methods}
        found: dict[str, Variable] = {}
        declared: list[tuple[str, Type, Node]] = [
            (each.name, each.type, each.node) for each in one.parameters
        ]
        for member in one.members:
            if member.data == "field":
                written, token, _ = member.children
                type_ = self.declared.type_of(tree(written))
                declared.append((str(token), type_, token))
        for name, type_, node in declared:
            if name in found:
                self.source.refuse(node, f"field {name} of {one.name} is declared twice")
            python = member_name(name)
            python += "_" if python in methods else ""
            variable = Variable(attribute(load("self"), python), type_)
            found[name] = found[f"this.{name}"] = variable
        return found

    def _initialiser(self, one: Class, fields: dict[str, Variable]) -> ast.stmt:
        body = self._body(one.module, one, can_wait=False)
        scope = Scope(body, dict(fields))
        names, made = [], list[ast.stmt]()
        for each in one.parameters:
            local = body.local(each.name)
            names.append(located(each.node, ast.arg(local)))
            target = scope.read(each.name)
            assert isinstance(target, ast.Attribute)
            target.ctx = ast.Store()
            made.append(located(each.node, ast.Assign([target], load(local))))
        for member in one.members:
            if member.data == "field":
                made.append(self._field(member, scope))
            else:
                made += self.block(tree(member.children[0]), scope)
        initialiser = _method("__init__", [ast.arg("self"), *names], made, is_async=False)
        return located(one.node, initialiser)

    def _field(self, member: Tree[Token], scope: Scope) -> ast.stmt:
        _, name, value = member.children
        made = ast.Constant(None) if value is None else self.expression(value, scope)
        target = scope.read(str(name))
        assert isinstance(target, ast.Attribute)
        target.ctx = ast.Store()
        return located(member, ast.Assign([located(member, target)], made))

    def _method(self, method: Signature, one: Class, fields: dict[str, Variable]) -> ast.stmt:
        scope = Scope(self._body(one.module, one), dict(fields))
        names = [ast.arg("self"), *scope.declare_parameters(method.parameters)]
        assert method.block is not None, "a method of a class has a body"
        body = self.block(method.block, scope)
        return located(method.node, _method(member_name(method.name), names, body))


# Pieces of Python


def _method(
    name: str, names: list[ast.arg], body: list[ast.stmt], *, is_async: bool = True
) -> ast.FunctionDef | ast.AsyncFunctionDef:
    kind = ast.AsyncFunctionDef if is_async else ast.FunctionDef
    arguments = ast.arguments([], names, None, [], [], None, [])
    return kind(name, arguments, body, [], **_NEWER)


def _class(name: str, base: str, body: list[ast.stmt]) -> ast.ClassDef:
    return ast.ClassDef(name, [load(base)], [], body or [ast.Pass()], [], **_NEWER)


def _constructor(one: Constructor, base: str) -> ast.stmt:
    """A constructor of a data type: a frozen dataclass."""
    fields: list[ast.stmt] = [
        ast.AnnAssign(ast.Name(name, ast.Store()), load("object"), None, 1) for name in one.fields
    ]
    made = _class(one.python, base, fields)
    frozen = ast.Call(load("dataclass"), [], [ast.keyword("frozen", ast.Constant(True))])
    made.decorator_list.append(frozen)
    return located(one.node, made)


def _exception(one: Constructor) -> ast.stmt:
    return located(one.node, _class(one.python, "AbsException", []))


def _imports(body: list[ast.stmt]) -> list[ast.stmt]:
    """Import what the translation uses."""
    names = [each for one in body for each in ast.walk(one) if isinstance(each, ast.Name)]
    used = {each.id for each in names if isinstance(each.ctx, ast.Load)}
    own = {each.name for each in body if isinstance(each, ast.ClassDef | ast.FunctionDef)}
    found: list[ast.stmt] = []
    for module, offered in (
        ("dataclasses", {"dataclass"}),
        ("treadle.actors", {"Actor", "pause", "program", "until"}),
        *((module.__name__, _defined_in(module)) for module in CALLED),
        ("treadle.analyses.known", {"pure"}),
    ):
        needed = sorted((used - own) & offered)
        if needed:
            found.append(ast.ImportFrom(module, [ast.alias(name) for name in needed], 0))
    return found


def _defined_in(module: ModuleType) -> set[str]:
    items = vars(module).items()
    return {name for name, each in items if getattr(each, "__module__", "") == module.__name__}


def _in_bytes(module: ast.Module, lines: list[str]) -> None:
    """Count columns in bytes, as Python does, where a line has other letters than ASCII."""
    for node in ast.walk(module):
        if isinstance(node, ast.expr | ast.stmt | ast.arg | ast.excepthandler):
            node.col_offset = _bytes(lines, node.lineno, node.col_offset)
            end = node.end_lineno or node.lineno
            node.end_col_offset = _bytes(lines, end, node.end_col_offset or 0)


def _bytes(lines: list[str], line: int, column: int) -> int:
    text = lines[line - 1] if line <= len(lines) else ""
    return column if text.isascii() else len(text[:column].encode())
