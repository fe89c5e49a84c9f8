"""Expressions of ABS to expressions of Python."""

from __future__ import annotations

import ast
import copy
import re

from lark import Token, Tree

from treadle.actors.abs.declarations import Class, Declarations, Function, Type, member_name
from treadle.actors.abs.errors import Node, did_you_mean, place_of
from treadle.actors.abs.functions import FUNCTIONS
from treadle.actors.abs.methods import Methods
from treadle.actors.abs.parse import parse_part
from treadle.actors.abs.patterns import (
    EXCEPTIONS,
    LIBRARY,
    Patterns,
    literal,
    parts_of,
    unescaped,
)
from treadle.actors.abs.refusals import FUNCTIONS as REFUSED_FUNCTIONS
from treadle.actors.abs.refusals import TYPES as REFUSED_TYPES
from treadle.actors.abs.scope import Scope, Variable, attribute, called, load, located, tree

_OPERATORS: dict[str, ast.operator] = {"+": ast.Add(), "-": ast.Sub(), "*": ast.Mult()}
_COMPARISONS: dict[str, ast.cmpop] = {
    "==": ast.Eq(), "!=": ast.NotEq(), "<": ast.Lt(), ">": ast.Gt(), "<=": ast.LtE(),
    ">=": ast.GtE(),
}  # fmt: skip
_DOLLAR = re.compile(r"(?<!\\)\$")
"""What is around an expression in a template; not if it is escaped."""
_BY_FUNCTION = {"/": "divide", "%": "modulo"}
_CONSTANTS = {"True": True, "False": False, "Unit": None}
_COLLECTIONS = {"list": None, "set": "set_of", "map": "map_of"}
"""What makes collections of items in brackets; a list is a tuple."""


class Expressions:
    """Translates expressions; `used` collects what they need of the library."""

    def __init__(self, declared: Declarations) -> None:
        self.declared = declared
        self.source = declared.source
        self.methods = Methods(declared)
        self.patterns = Patterns(declared)
        self.asks_for_interfaces = False
        """Whether the program asks what an object implements."""

    def expression(self, node: Node, scope: Scope) -> ast.expr:
        """Translate an expression."""
        found = tree(node)
        made = self._operation(found, scope)
        return located(found, made)

    def _operation(self, node: Tree[Token], scope: Scope) -> ast.expr:
        match node.data:
            case "binary":
                return self._binary(node, scope)
            case "negation":
                return ast.UnaryOp(ast.Not(), self.expression(node.children[0], scope))
            case "minus":
                return ast.UnaryOp(ast.USub(), self.expression(node.children[0], scope))
            case "conditional":
                test, then, other = (self.expression(each, scope) for each in node.children)
                return ast.IfExp(test, then, other)
            case "let":
                return self._let(node, scope)
            case "case":
                return self._case(node, scope)
            case "implements" | "as_":
                return self._viewed(node, scope)
            case _:
                return self._operand(node, scope)

    def _operand(self, node: Tree[Token], scope: Scope) -> ast.expr:
        match node.data:
            case "literal":
                return ast.Constant(literal(node.children[0]))
            case "null":
                return ast.Constant(None)
            case "template":
                return self._template(node, scope)
            case "name":
                return self._name(node, scope)
            case "this":
                self._require_object(node, scope)
                return load("self")
            case "member_of":
                return self._member(node, scope)
            case "construct":
                return self._construct(node, scope)
            case "apply":
                return self._apply(node, scope)
            case "collect":
                return self._collect(node, scope)
            case _:
                return self._effect(node, scope)

    # Operators

    def _binary(self, node: Tree[Token], scope: Scope) -> ast.expr:
        left, operator, right = node.children
        one, other = self.expression(left, scope), self.expression(right, scope)
        text = str(operator)
        if text in _COMPARISONS:
            return _compared(one, text, other)
        if text in _OPERATORS:
            return ast.BinOp(one, _OPERATORS[text], other)
        if text in _BY_FUNCTION:
            return called(_BY_FUNCTION[text], one, other)
        return ast.BoolOp(ast.And() if text == "&&" else ast.Or(), [one, other])

    def _viewed(self, node: Tree[Token], scope: Scope) -> ast.expr:
        value, interface = node.children
        self.asks_for_interfaces = True
        if self.declared.interfaces.find(str(interface), scope.body.module) is None:
            self.source.refuse(node, f"there is no interface {interface}")
        name = ast.Constant(str(interface).rpartition(".")[2])
        function = "implements" if node.data == "implements" else "viewed_as"
        return called(function, self.expression(value, scope), name)

    def _template(self, node: Tree[Token], scope: Scope) -> ast.expr:
        """Text in backquotes, with expressions between dollar signs."""
        token = node.children[0]
        assert isinstance(token, Token), "a template is a token"
        parts: list[ast.expr] = []
        at = 1
        for number, piece in enumerate(_DOLLAR.split(token[1:-1])):
            if number % 2 == 0:
                parts.append(ast.Constant(unescaped(piece)))
            else:
                line, column = _moved(token, at)
                inner = parse_part(self.source, piece, "expression", line, column)
                text = called("toString", self.expression(inner, scope))
                parts.append(ast.FormattedValue(text, -1, None))
            at += len(piece) + 1
        return ast.JoinedStr(parts)

    # Names

    def _name(self, node: Tree[Token], scope: Scope) -> ast.expr:
        name = str(node.children[0])
        found = scope.read(name)
        if found is not None:
            return found
        function = self.declared.functions.find(name, scope.body.module)
        if function is not None:
            return load(function.python)
        if name in FUNCTIONS:
            return load(FUNCTIONS[name])
        advice = did_you_mean(name, scope.variables)
        return self.source.refuse(node, f"there is no variable {name} here{advice}")

    def _member(self, node: Tree[Token], scope: Scope) -> ast.expr:
        """`this.f`: fields of other objects cannot be read."""
        owner, name = node.children
        if tree(owner).data != "this":
            self.source.refuse(
                node, f"field {name} of another object cannot be read: call a method"
            )
        self._require_object(node, scope)
        found = scope.variables.get(f"this.{name}")
        if found is None:
            assert scope.body.this is not None
            self.source.refuse(node, f"class {scope.body.this.name} has no field {name}")
        return copy.deepcopy(found.read)

    def _require_object(self, node: Node, scope: Scope) -> None:
        if scope.body.this is None:
            self.source.refuse(node, "there is no `this` here: only methods have one")

    # Constructors, functions, collections

    def _construct(self, node: Tree[Token], scope: Scope) -> ast.expr:
        name, arguments = node.children
        given = self._arguments(arguments, scope)
        count = parts_of(str(name), self.declared, scope.body.module)
        if count is None:
            self._no_constructor(node, str(name))
        if count != len(given):
            self.source.refuse(node, f"{name} takes {count} arguments, not {len(given)}")
        constructor = self.declared.constructors.find(str(name), scope.body.module)
        last = str(name).rpartition(".")[2]
        if constructor is not None:
            return called(constructor.python, *given)
        if last in _CONSTANTS:
            return ast.Constant(_CONSTANTS[last])
        match last:
            case "Nil":
                return ast.Tuple([], ast.Load())
            case "Cons":
                return ast.Tuple([given[0], ast.Starred(given[1], ast.Load())], ast.Load())
            case "EmptySet":
                return called("set_of")
            case "EmptyMap":
                return called("map_of")
            case "Insert":
                return called("insertElement", given[1], given[0])
            case "InsertAssoc":
                return called("insert", given[1], given[0])
        assert last in LIBRARY or last in EXCEPTIONS, "it was found among the constructors"
        return called(last, *given)

    def _no_constructor(self, node: Node, name: str) -> None:
        if self.declared.classes.find(name, "") is not None:
            self.source.refuse(node, f"{name} is a class: write `new {name}(…)`")
        advice = self.declared.constructors.advice(name)
        self.source.refuse(node, f"there is no constructor {name}{advice}")

    def _apply(self, node: Tree[Token], scope: Scope) -> ast.expr:
        """A call of a function; both lists of arguments of a partial function are one in Python."""
        name, first, second = node.children
        given = self._arguments(first, scope)
        more = [] if second is None else self._arguments(second, scope)
        variable = scope.variables.get(str(name))
        if variable is not None and variable.is_function:
            return called(copy.deepcopy(variable.read), *given, *more)
        function = self.declared.functions.find(str(name), scope.body.module)
        if function is not None:
            self._check_arguments(node, function, len(given), None if second is None else len(more))
            return called(function.python, *given, *more)
        return self._apply_library(node, str(name), [*given, *more], is_partial=second is not None)

    def _check_arguments(
        self, node: Node, function: Function, given: int, more: int | None
    ) -> None:
        takes = len(function.parameters)
        if function.functions:
            fits = (given, more) == (len(function.functions), takes)
        else:
            fits = given == takes and more is None
        if not fits:
            total = given + (more or 0)
            expected = takes + len(function.functions)
            self.source.refuse(node, f"{function.name} takes {expected} arguments, not {total}")

    def _apply_library(
        self, node: Tree[Token], name: str, given: list[ast.expr], *, is_partial: bool
    ) -> ast.expr:
        last = name.rpartition(".")[2]
        if last in REFUSED_FUNCTIONS:
            self.source.refuse(node, f"{last}: {REFUSED_FUNCTIONS[last]}")
        if last == "map" and is_partial:
            return called("map_each", *given)
        if last not in FUNCTIONS:
            advice = self.declared.functions.advice(last) or did_you_mean(last, FUNCTIONS)
            self.source.refuse(node, f"there is no function {last}{advice}")
        return called(FUNCTIONS[last], *given)

    def _collect(self, node: Tree[Token], scope: Scope) -> ast.expr:
        name, *items = node.children
        given = [self._argument(each, scope) for each in items if each is not None]
        last = str(name).rpartition(".")[2]
        if last not in _COLLECTIONS:
            self.source.refuse(node, f"{name}[…] is not known: there are list, set and map")
        function = _COLLECTIONS[last]
        return ast.Tuple(given, ast.Load()) if function is None else called(function, *given)

    def _arguments(self, node: Node | None, scope: Scope) -> list[ast.expr]:
        if node is None:
            return []
        return [self._argument(each, scope) for each in tree(node).children if each is not None]

    def _argument(self, node: Node, scope: Scope) -> ast.expr:
        if tree(node).data != "lambda_":
            return self.expression(node, scope)
        *parameters, body = tree(node).children
        inner = scope.inner()
        wrapped: Tree[Token] = Tree("parameters", [each for each in parameters if each is not None])
        names = inner.declare_parameters(self.declared.parameters(wrapped))
        return located(node, ast.Lambda(_plain_arguments(names), self.expression(body, inner)))

    # Bindings

    def _let(self, node: Tree[Token], scope: Scope) -> ast.expr:
        """`let (T x) = e in b`: x is assigned on the way, and b is what comes out."""
        bindings, body = node.children
        inner, made = scope, []
        for binding in tree(bindings).children:
            written, name, value = tree(binding).children
            local = scope.body.local(str(name), avoid=True)
            bound = ast.NamedExpr(ast.Name(local, ast.Store()), self.expression(value, inner))
            made.append(located(binding, bound))
            variable = Variable(load(local), self.declared.type_of(written))
            inner = inner.with_variables(**{str(name): variable})
        items = [*made, self.expression(body, inner)]
        return ast.Subscript(ast.Tuple(items, ast.Load()), ast.Constant(-1), ast.Load())

    def _case(self, node: Tree[Token], scope: Scope) -> ast.expr:
        """`case e { p => a; q => b; }`: a conditional expression for each pattern."""
        subject, *branches = node.children
        value = self.expression(subject, scope)
        is_simple = isinstance(value, ast.Name | ast.Attribute)
        name = "" if is_simple else scope.body.temporary("case")

        def read() -> ast.expr:
            return copy.deepcopy(value) if is_simple else load(name)

        result: ast.expr = located(node, called("no_match", read()))
        for branch in reversed(branches):
            pattern, body = tree(branch).children
            found = self.patterns.match(tree(pattern), read, scope)
            then = self.expression(body, scope.with_variables(**found.variables()))
            result = located(node, ast.IfExp(found.test(), then, result)) if found.tests else then
        if is_simple:
            return result
        bound = located(subject, ast.NamedExpr(ast.Name(name, ast.Store()), value))
        return ast.Subscript(ast.Tuple([bound, result], ast.Load()), ast.Constant(-1), ast.Load())

    # Effects

    def _effect(self, node: Tree[Token], scope: Scope) -> ast.expr:
        if not scope.body.has_effects:
            self.source.refuse(node, "a function has no effects: do this in a method")
        match node.data:
            case "destiny":
                return called("destiny")
            case "new":
                return self._new(node, scope)
            case "get":
                future = self.expression(node.children[0], scope)
                return called(attribute(future, "get"))
            case "send":
                return self._send(node, scope)
            case "call":
                return self._call(node, scope)
            case _:
                assert node.data == "awaited", node.data
                return self.awaited(node, scope)

    def awaited(self, node: Tree[Token], scope: Scope) -> ast.expr:
        """`await x!m(a)`, as an expression: its result."""
        match tree(node.children[0]).children:
            case [Tree(data="holds", children=[Tree(data="send") as sent])]:
                self.require_waiting(node, scope)
                return ast.Await(self.expression(sent, scope))
            case _:
                return self.source.refuse(node, "await of a condition has no value: write it alone")

    def require_waiting(self, node: Node, scope: Scope) -> None:
        """Refuse to wait where that is not possible."""
        if not scope.body.can_wait:
            self.source.refuse(node, "an initialiser cannot wait: let the method `run` do that")

    def _new(self, node: Tree[Token], scope: Scope) -> ast.expr:
        kind, name, arguments = node.children
        given = self._arguments(arguments, scope)
        made = self.class_of(name, scope.body.module)
        self.methods.check_arguments(node, made, len(given))
        is_local = kind == "local" or (kind is None and self.declared.has_cogs)
        function = attribute(load(made.python), "local") if is_local else load(made.python)
        return called(function, *given)

    def class_of(self, name: Node, module: str) -> Class:
        """Return a class by its name; refuse what is none."""
        found = self.declared.classes.find(str(name), module)
        if found is not None:
            return found
        last = str(name).rpartition(".")[2]
        if last in REFUSED_TYPES:
            self.source.refuse(name, f"{last}: {REFUSED_TYPES[last]}")
        if self.declared.interfaces.find(str(name), module) is not None:
            self.source.refuse(name, f"{name} is an interface: give a class that implements it")
        advice = self.declared.classes.advice(last)
        return self.source.refuse(name, f"there is no class {name}{advice}")

    def _send(self, node: Tree[Token], scope: Scope) -> ast.expr:
        receiver, method, given = self._message(node, scope)
        return called(attribute(attribute(receiver, method), "send"), *given)

    def _call(self, node: Tree[Token], scope: Scope) -> ast.expr:
        """A synchronous call: of this object, or of one whose group only the run knows."""
        receiver, method, given = self._message(node, scope)
        bound = attribute(receiver, method)
        is_own = tree(node.children[0]).data == "this"
        call = called(bound if is_own else attribute(bound, "call"), *given)
        return ast.Await(call) if scope.body.can_wait else called("finished", call)

    def _message(self, node: Tree[Token], scope: Scope) -> tuple[ast.expr, str, list[ast.expr]]:
        receiver, method, arguments = node.children
        assert isinstance(method, Token), "a method is a name"
        to, given = self.expression(receiver, scope), self._arguments(arguments, scope)
        kind = self.type_of(receiver, scope)
        self.methods.called(method, len(given), kind, scope.body.module)
        return to, member_name(str(method)), given

    # Types, as far as they are needed to say which methods there are

    def type_of(self, node: Node, scope: Scope) -> Type | Class | None:
        """Return the type of an expression, if it can be told without checking types."""
        found = tree(node)
        match found.data:
            case "this":
                return scope.body.this
            case "name":
                variable = scope.variables.get(str(found.children[0]))
                return variable.type if variable else None
            case "member_of":
                variable = scope.variables.get(f"this.{found.children[1]}")
                return variable.type if variable else None
            case "as_":
                return Type(str(found.children[1]).rpartition(".")[2])
            case "new":
                return self.class_of(found.children[1], scope.body.module)
            case "get":
                future = self.type_of(found.children[0], scope)
                is_future = isinstance(future, Type) and future.name == "Fut" and future.arguments
                return future.arguments[0] if is_future else None  # type: ignore[union-attr]
            case "call":
                return self._result_of(found, scope)
            case _:
                return None

    def _result_of(self, node: Tree[Token], scope: Scope) -> Type | None:
        receiver, method, arguments = node.children
        assert isinstance(method, Token), "a method is a name"
        given = len([each for each in tree(arguments).children if each is not None])
        kind = self.type_of(receiver, scope)
        signature = self.methods.called(method, given, kind, scope.body.module)
        return None if signature is None else signature.result


def _compared(one: ast.expr, operator: str, other: ast.expr) -> ast.expr:
    is_null = any(isinstance(each, ast.Constant) and each.value is None for each in (one, other))
    test = _COMPARISONS[operator]
    if is_null and operator in ("==", "!="):
        test = ast.Is() if operator == "==" else ast.IsNot()
    return ast.Compare(one, [test], [other])


def _plain_arguments(names: list[ast.arg]) -> ast.arguments:
    return ast.arguments([], names, None, [], [], None, [])


def _moved(token: Token, offset: int) -> tuple[int, int]:
    """Return the line and column of a place inside of a token."""
    line, column = place_of(token)
    before = token[:offset]
    if "\n" not in before:
        return line, column + offset
    return line + before.count("\n"), offset - before.rindex("\n")
