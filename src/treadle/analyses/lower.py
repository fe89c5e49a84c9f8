"""Lowering: from the `ast` of actors' classes, in Python or translated from ABS, to the IR.

`Lowering.method` takes a function and returns its instructions. It follows what the document calls
the known forms (`lower_calls` lists them); code that it does not know becomes a `Havoc` with its
line, never a guess. Two things are taken on trust: reading an attribute of a value has no effects,
and neither have the operators.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import FunctionType

from treadle.analyses.ir import (
    Anything,
    Assert,
    Assign,
    Branch,
    Constant,
    Evaluate,
    Expression,
    Havoc,
    Jump,
    Local,
    Make,
    Method,
    Operation,
    Raise,
    Return,
    SetField,
    Span,
    This,
    Update,
)
from treadle.analyses.known import Known, names_of
from treadle.analyses.lower_calls import Calls
from treadle.analyses.lower_expressions import OPERATORS, span_of
from treadle.analyses.sources import Definition, definition_of

_IGNORED = (ast.Pass, ast.Import, ast.ImportFrom)  # what is imported is unknown where it is used


class Lowering:
    """Lowers functions, each once."""

    def __init__(self, known: Known, methods: frozenset[str]) -> None:
        self.known = known
        self.methods = methods
        """The names of all methods of actors."""
        self._lowered: dict[tuple[FunctionType, bool], Method] = {}

    def method(self, function: FunctionType, *, is_method: bool = True) -> Method:
        """Return the instructions of a function; `is_method`: its first parameter is the actor."""
        method = self._lowered.get((function, is_method))
        if method is None:
            definition = definition_of(function)
            if definition is None:
                method = _without_source(function)
            else:
                method = _Statements(function, definition, self, is_method=is_method).lowered()
            self._lowered[function, is_method] = method
        return method


def _without_source(function: FunctionType) -> Method:
    code = function.__code__
    line = code.co_firstlineno
    havoc = Havoc("there is no source of it", span=Span(line, 0, line, 0))
    end = Return(Constant(None), span=havoc.span)
    return Method(function.__name__, code.co_filename, (), (havoc, end))


class _Statements(Calls):
    """Lowers the body of one function."""

    def __init__(
        self, function: FunctionType, definition: Definition, lowering: Lowering, *, is_method: bool
    ) -> None:
        parameters = [each.arg for each in (*definition.args.posonlyargs, *definition.args.args)]
        code = function.__code__
        own = frozenset((*code.co_varnames, *code.co_cellvars))
        this = parameters[0] if is_method and parameters else None
        super().__init__(lowering.known, names_of(function), own, this)
        self.methods = lowering.methods
        self._function = function
        self._definition = definition
        self._parameters = parameters[1:] if this else parameters
        self._loops: list[tuple[int, int, int]] = []
        """Of each loop around: labels to go on, and of the end; how many `finally` are outside."""
        self._finally: list[list[ast.stmt]] = []

    def lowered(self) -> Method:
        """Return the instructions of the function."""
        given = self._definition.args
        for star in (given.vararg, given.kwarg):
            if star is not None:
                self.out.write(Assign(star.arg, Anything(), span=span_of(star)))
                self.out.write(Havoc(f"*{star.arg} takes any arguments", span=span_of(star)))
        self.block(self._definition.body)
        self.out.write(Return(Constant(None), span=_end_of(self._definition)))
        instructions, handlers = self.out.finished()
        parameters = (*self._parameters, *(each.arg for each in given.kwonlyargs))
        return Method(
            self._function.__name__,
            self._function.__code__.co_filename,
            parameters,
            instructions,
            handlers,
            self._defaults(),
            is_method=self.this is not None,
        )

    def _defaults(self) -> tuple[tuple[str, Expression], ...]:
        values = self._function.__defaults__ or ()
        named = dict(
            zip(self._parameters[len(self._parameters) - len(values) :], values, strict=True)
        )
        named |= self._function.__kwdefaults__ or {}
        return tuple((name, Constant(value)) for name, value in named.items())

    # Statements

    def block(self, statements: list[ast.stmt]) -> None:
        """Lower statements one after the other."""
        for statement in statements:
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        """Lower a statement."""
        span = span_of(node)
        match node:
            case ast.Expr(value=value):
                self._evaluate(value, span)
            case ast.Assign(targets=targets, value=value):
                self._assign_all(targets, self.expression(value), span)
            case ast.AnnAssign(target=target, value=value):
                if value is not None:
                    self.assign(target, self.expression(value), span)
            case ast.AugAssign():
                self._augmented(node)
            case ast.Return(value=value):
                self._return(value, span)
            case ast.Assert(test=test):
                self.out.write(Assert(self.expression(test), span=span))
            case ast.Raise(exc=raised):
                what = Constant(None) if raised is None else self.expression(raised)
                self.out.write(Raise(what, span=span))
            case ast.Delete(targets=targets):
                self._delete(targets, span)
            case _ if not isinstance(node, _IGNORED):
                self._control(node, span)

    def _control(self, node: ast.stmt, span: Span) -> None:
        match node:
            case ast.If():
                self._if(node, span)
            case ast.While():
                self._while(node, span)
            case ast.For():
                self._for(node, span)
            case ast.Break() | ast.Continue():
                again, end, outside = self._loops[-1]
                self._run_finally(outside)
                self.out.write(Jump(end if isinstance(node, ast.Break) else again, span=span))
            case ast.Try():
                self._try(node, span)
            case ast.Match():
                self._match(node, span)
            case _:
                self.out.write(Havoc(f"{_words(node)} is not known", span=span))
                for name in _bound(node):
                    self.out.write(Assign(name, Anything(), span=span))

    def _evaluate(self, node: ast.expr, span: Span) -> None:
        value = self.expression(node)
        if not isinstance(value, Constant | Local | This):
            self.out.write(Evaluate(value, span=span))

    def _assign_all(self, targets: list[ast.expr], value: Expression, span: Span) -> None:
        if len(targets) > 1:
            value = self.out.saved(value, span)
        for target in targets:
            self.assign(target, value, span)

    def assign(self, target: ast.expr, value: Expression, span: Span) -> None:
        """Give a value to a name, a field, an item, or each part of it to each of several."""
        match target:
            case ast.Name(id=name):
                self.out.write(Assign(self.renamed(name), value, span=span))
            case ast.Attribute(attr="__class__" | "__dict__" as name):
                self.out.write(Havoc(f"{name} is assigned to", span=span))
            case ast.Attribute(value=owner, attr=name) if self.is_this(owner):
                self.out.write(SetField(name, value, span=span))
            case ast.Attribute(value=owner, attr=name):
                self._update(self.expression(owner), f".{name}=", (value,), span)
            case ast.Subscript(value=owner, slice=index):
                container, key = self.operands([owner, index])
                self._update(container, "[]=", (key, value), span)
            case ast.Starred(value=inner):
                self.assign(inner, value, span)
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                self._unpack(targets, value, span)
            case _:
                self.out.write(Havoc(f"{_words(target)} as a target is not known", span=span))

    def _unpack(self, targets: list[ast.expr], value: Expression, span: Span) -> None:
        """`a, b = e`: all of the right side is evaluated before anything is assigned."""
        if isinstance(value, Make) and len(value.operands) == len(targets):
            parts = [self.out.saved(part, span) for part in value.operands]
        else:
            whole = self.out.saved(value, span)
            starred = any(isinstance(each, ast.Starred) for each in targets)
            parts = [
                self.out.saved(
                    Operation("part" if starred else "index", (whole, Constant(at))), span
                )
                for at in range(len(targets))
            ]
        for each, part in zip(targets, parts, strict=True):
            self.assign(each, part, span)

    def _update(
        self, container: Expression, operation: str, operands: tuple[Expression, ...], span: Span
    ) -> None:
        self.out.write(Update(self.out.temporary(), container, operation, operands, span=span))

    def _augmented(self, node: ast.AugAssign) -> None:
        operator = f"{OPERATORS[type(node.op)]}="
        if isinstance(node.target, ast.Subscript):
            container, key = self.operands([node.target.value, node.target.slice])
            value = Operation("index", (container, key))
            new = Operation(operator, (value, self.expression(node.value)))
            self._update(container, "[]=", (key, new), span_of(node))
            return
        old = self.expression(node.target)
        if self.has_effects(node.value):
            old = self.out.saved(old, span_of(node))
        value = Operation(operator, (old, self.expression(node.value)))
        self.assign(node.target, value, span_of(node))

    def _delete(self, targets: list[ast.expr], span: Span) -> None:
        for target in targets:
            match target:
                case ast.Subscript(value=owner, slice=index):
                    container, key = self.operands([owner, index])
                    self._update(container, "del", (key,), span)
                case ast.Name(id=name):
                    self.out.write(Assign(name, Anything(), span=span))
                case _:
                    self.out.write(Havoc("an attribute is deleted", span=span))

    def _return(self, node: ast.expr | None, span: Span) -> None:
        value: Expression = Constant(None) if node is None else self.expression(node)
        if self._finally:
            value = self.out.saved(value, span)
            self._run_finally(0)
        self.out.write(Return(value, span=span))

    # Control

    def _if(self, node: ast.If, span: Span) -> None:
        then, other, end = (self.out.label() for _ in range(3))
        self.out.write(Branch(self.expression(node.test), then, other, span=span_of(node.test)))
        self.out.place(then)
        self.block(node.body)
        self.out.write(Jump(end, span=span))
        self.out.place(other)
        self.block(node.orelse)
        self.out.place(end)

    def _while(self, node: ast.While, span: Span) -> None:
        again, body, over, end = (self.out.label() for _ in range(4))
        self.out.place(again)
        self.out.write(Branch(self.expression(node.test), body, over, span=span_of(node.test)))
        self.out.place(body)
        self._loop_body(node, again, end)
        self.out.write(Jump(again, span=span))
        self.out.place(over)
        self.block(node.orelse)
        self.out.place(end)

    def _for(self, node: ast.For, span: Span) -> None:
        end = self.out.label()
        again, over = self.open_loop(node.target, self.expression(node.iter), span_of(node.iter))
        self._loop_body(node, again, end)
        self.out.write(Jump(again, span=span))
        self.out.place(over)
        self.block(node.orelse)
        self.out.place(end)

    def _loop_body(self, node: ast.While | ast.For, again: int, end: int) -> None:
        self._loops.append((again, end, len(self._finally)))
        self.block(node.body)
        self._loops.pop()

    def _try(self, node: ast.Try, span: Span) -> None:
        """Whatever is in the body may raise, and lead to any of the handlers, or past them."""
        catch, leave, end = (self.out.label() for _ in range(3))
        with self._protected(node, leave):
            with self.out.handled_by(catch):
                self.block(node.body)
            self.block(node.orelse)
            self.out.write(Jump(end, span=span))
            self.out.place(catch)
            for handler in node.handlers:
                self._handler(handler, end)
            self.out.write(Raise(Anything(), span=span))
        if node.finalbody:
            self.out.place(leave)
            self.block(node.finalbody)
            self.out.write(Raise(Anything(), span=span))
        self.out.place(end)
        self.block(node.finalbody)

    def _protected(self, node: ast.Try, leave: int) -> AbstractContextManager[None]:
        return self._with_finally(node.finalbody, leave) if node.finalbody else nullcontext()

    @contextmanager
    def _with_finally(self, body: list[ast.stmt], leave: int) -> Iterator[None]:
        self._finally.append(body)
        with self.out.handled_by(leave):
            yield
        self._finally.pop()

    def _run_finally(self, outside: int) -> None:
        """Write the `finally` blocks that are left, the innermost first."""
        left, self._finally = self._finally[outside:], self._finally[:outside]
        for body in reversed(left):
            self.block(body)
        self._finally += left

    def _handler(self, node: ast.ExceptHandler, end: int) -> None:
        body, onward, span = self.out.label(), self.out.label(), span_of(node)
        self.out.write(Branch(Anything(), body, onward, span=span))
        self.out.place(body)
        if node.name is not None:
            self.out.write(Assign(node.name, Anything(), span=span))
        self.block(node.body)
        self.out.write(Jump(end, span=span))
        self.out.place(onward)

    def _match(self, node: ast.Match, span: Span) -> None:
        """Any case may fit; names in patterns hold parts of the subject."""
        subject, end = self.out.saved(self.expression(node.subject), span), self.out.label()
        for case in node.cases:
            body, onward = self.out.label(), self.out.label()
            self.out.write(Branch(Anything(), body, onward, span=span_of(case.body[0])))
            self.out.place(body)
            for name in _captured(case.pattern):
                part = Operation("part", (subject, Anything()))
                self.out.write(Assign(name, part, span=span))
            if case.guard is not None:
                fits = self.out.label()
                test = self.expression(case.guard)
                self.out.write(Branch(test, fits, onward, span=span_of(case.guard)))
                self.out.place(fits)
            self.block(case.body)
            self.out.write(Jump(end, span=span))
            self.out.place(onward)
        self.out.place(end)


def _end_of(definition: Definition) -> Span:
    last = span_of(definition)
    return Span(last.end_line, last.end_column, last.end_line, last.end_column)


def _captured(pattern: ast.pattern) -> list[str]:
    names = [
        getattr(each, "name", None) or getattr(each, "rest", None) for each in ast.walk(pattern)
    ]
    return [name for name in names if name]


def _bound(node: ast.AST) -> frozenset[str]:
    """Return the names that code binds, those of comprehensions left out."""
    found = set()
    for each in ast.walk(node):
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
            found.add(each.id)
        elif (
            isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            and each is not node
        ):
            found.add(each.name)
    return frozenset(found)


def _words(node: ast.AST) -> str:
    return {
        ast.With: "a with statement",
        ast.AsyncWith: "async with",
        ast.AsyncFor: "async for",
        ast.FunctionDef: "a function in a function",
        ast.AsyncFunctionDef: "a function in a function",
        ast.ClassDef: "a class in a function",
        ast.Global: "a global statement",
        ast.Nonlocal: "a nonlocal statement",
    }.get(type(node), type(node).__name__)
