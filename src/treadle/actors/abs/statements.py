"""Statements of ABS to statements of Python."""

from __future__ import annotations

import ast

from lark import Token, Tree

from treadle.actors.abs.errors import Node
from treadle.actors.abs.expressions import Expressions
from treadle.actors.abs.patterns import Match
from treadle.actors.abs.scope import Scope, attribute, called, load, located, tree


class Statements(Expressions):
    """Translates blocks."""

    def block(self, node: Node, scope: Scope) -> list[ast.stmt]:
        """Translate a block; what it declares is not seen outside."""
        inner = scope.inner()
        made = [each for one in tree(node).children for each in self.statement(tree(one), inner)]
        return made or [located(node, ast.Pass())]

    def statement(self, node: Tree[Token], scope: Scope) -> list[ast.stmt]:
        """Translate a statement; a declaration adds to the scope."""
        *annotations, inner = node.children
        self.declared.check_annotations(annotations)
        one = tree(inner)
        if one.data == "block":
            return self.block(one, scope)
        return [located(one, each) for each in self._translated(one, scope)]

    def _one(self, node: Node, scope: Scope) -> list[ast.stmt]:
        """Translate a statement that is a scope of its own."""
        return self.statement(tree(node), scope.inner())

    def _translated(self, node: Tree[Token], scope: Scope) -> list[ast.stmt]:
        match node.data:
            case "declare":
                return self._declare(node, scope)
            case "assign":
                return self._assign(node, scope)
            case "effect":
                return [ast.Expr(self.expression(node.children[0], scope))]
            case "wait":
                return self._wait(node, scope)
            case "skip":
                return [ast.Pass()]
            case "suspend":
                self.require_waiting(node, scope)
                return [ast.Expr(located(node, ast.Await(called("pause"))))]
            case "return_":
                value = node.children[0]
                made = None if value is None else self.expression(value, scope)
                return [ast.Return(made)]
            case "assert_":
                return [ast.Assert(self.expression(node.children[0], scope))]
            case "throw":
                return [ast.Raise(self.expression(node.children[0], scope))]
            case _:
                return self._control(node, scope)

    def _control(self, node: Tree[Token], scope: Scope) -> list[ast.stmt]:
        match node.data:
            case "if_":
                test, then, other = node.children
                otherwise = [] if other is None else self._one(other, scope)
                return [ast.If(self.expression(test, scope), self._one(then, scope), otherwise)]
            case "while_":
                test, body = node.children
                return [ast.While(self.expression(test, scope), self._one(body, scope), [])]
            case "foreach":
                return self._foreach(node, scope)
            case "case_statement":
                return self._case_statement(node, scope)
            case _:
                assert node.data == "try_", node.data
                return self._try(node, scope)

    def _declare(self, node: Tree[Token], scope: Scope) -> list[ast.stmt]:
        written, name, value = node.children
        if str(name) in scope.variables and not self._is_field(str(name), scope):
            self.source.refuse(node, f"variable {name} is declared twice")
        type_ = self.declared.type_of(tree(written))
        made = ast.Constant(None) if value is None else self.expression(value, scope)
        target = scope.declare(str(name), type_)
        return [ast.Assign([target], made)]

    def _is_field(self, name: str, scope: Scope) -> bool:
        field = scope.variables.get(f"this.{name}")
        return field is not None and scope.variables[name] is field

    def _assign(self, node: Tree[Token], scope: Scope) -> list[ast.stmt]:
        target, value = node.children
        place = tree(target)
        if place.data not in ("name", "member_of"):
            self.source.refuse(node, "only variables and fields can be assigned to")
        if place.data == "name" and str(place.children[0]) not in scope.variables:
            self.source.refuse(place, f"there is no variable {place.children[0]} here")
        made, to = self.expression(value, scope), self.expression(place, scope)
        if not isinstance(to, ast.Name | ast.Attribute):
            self.source.refuse(place, "a variable of a pattern cannot be assigned to")
        to.ctx = ast.Store()
        return [ast.Assign([to], made)]

    def _wait(self, node: Tree[Token], scope: Scope) -> list[ast.stmt]:
        """`await g & h`: first for the futures, which stay there, then for the conditions."""
        self.require_waiting(node, scope)
        guards = [tree(each) for each in tree(node.children[0]).children]
        match guards:
            case [Tree(data="holds", children=[Tree(data="send")])]:
                return [ast.Expr(located(node, self.awaited(node, scope)))]
        made: list[ast.stmt] = []
        for guard in guards:
            if guard.data == "ended":
                future = self.expression(guard.children[0], scope)
                made.append(_waiting(guard, called(attribute(future, "done"))))
        conditions = [each for each in guards if each.data == "holds"]
        if conditions:
            tests = [self.expression(each.children[0], scope) for each in conditions]
            both = tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)
            nothing = ast.arguments([], [], None, [], [], None, [])
            made.append(_waiting(conditions[0], called("until", ast.Lambda(nothing, both))))
        return made

    def _foreach(self, node: Tree[Token], scope: Scope) -> list[ast.stmt]:
        name, index, items, body = node.children
        inner = scope.inner()
        values = self.expression(items, scope)
        target: ast.expr = inner.declare(str(name), None)
        if index is not None:
            number = inner.declare(str(index), None)
            values = located(items, called("enumerate", values))
            target = ast.Tuple([number, target], ast.Store())
        return [ast.For(target, values, self._one(body, inner), [])]

    # Patterns

    def _case_statement(self, node: Tree[Token], scope: Scope) -> list[ast.stmt]:
        subject, *branches = node.children
        value, before = self.expression(subject, scope), list[ast.stmt]()
        if isinstance(value, ast.Name):
            name = value.id
        else:
            name = scope.body.temporary("case")
            before.append(ast.Assign([ast.Name(name, ast.Store())], value))
        nothing = ast.Expr(located(node, called("no_match", load(name))))
        return [*before, *self._branches(branches, name, scope, nothing)]

    def _branches(
        self, branches: list[Tree[Token] | Token], name: str, scope: Scope, otherwise: ast.stmt
    ) -> list[ast.stmt]:
        """Translate branches to a chain of `if`, with what to do if none fits."""
        result: list[ast.stmt] = [otherwise]
        for branch in reversed(branches):
            pattern, body = tree(branch).children
            found = self.patterns.match(tree(pattern), lambda: load(name), scope)
            inner = scope.inner()
            bound = self._bound(found, pattern, inner)
            made = [*bound, *self._one(body, inner)]
            result = [located(branch, ast.If(found.test(), made, result))] if found.tests else made
        return result

    def _bound(self, found: Match, pattern: Node, scope: Scope) -> list[ast.stmt]:
        """Assign to the variables that a pattern binds."""
        return [
            located(pattern, ast.Assign([scope.declare(name, None)], value()))
            for name, value in found.bound.items()
        ]

    def _try(self, node: Tree[Token], scope: Scope) -> list[ast.stmt]:
        """`try … catch { pattern => … }`: what no pattern fits goes on."""
        body, catches, last = node.children
        error, name = scope.body.temporary("error"), scope.body.temporary("caught")
        first = ast.Assign([ast.Name(name, ast.Store())], called("caught", load(error)))
        again = located(node, ast.Raise())
        branches = self._branches(tree(catches).children, name, scope, again)
        caught = [located(catches, first), *branches]
        handler = located(catches, ast.ExceptHandler(load("Exception"), error, caught))
        finally_ = [] if last is None else self._one(last, scope)
        return [ast.Try(self._one(body, scope), [handler], [], finally_)]


def _waiting(node: Node, waited: ast.expr) -> ast.stmt:
    """Return a statement that awaits something; its place is that of the guard."""
    return located(node, ast.Expr(located(node, ast.Await(waited))))
