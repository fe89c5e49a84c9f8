"""Calls and waits to the IR.

| source | instruction |
|---|---|
| `x.m.send(a)`, `x.m.call(a)` | `Send`, `Call` that may cross groups |
| `f.get()`, `await f`, `await f.done()` | `Get`, `Await` |
| `await until(lambda: …)`, `await pause()` | `Until`, `Pause` |
| `C(a)`, `C.local(a)` | `New` |
| `self.m(a)`, `x.m(a)`, a function of the module | `Call` |
| `xs.append(a)`, `xs.keys()`, `len(xs)` | `Update`, expressions |
| anything else | `Havoc` |
"""

from __future__ import annotations

import ast
from types import FunctionType

from treadle.analyses.ir import (
    Anything,
    Apply,
    Await,
    Branch,
    Call,
    Constant,
    Expression,
    Get,
    Jump,
    Local,
    Make,
    New,
    Pause,
    Send,
    This,
    Until,
    Update,
)
from treadle.analyses.known import (
    CHANGING,
    READING,
    UNKNOWN,
    is_constructor,
    is_pure,
    unwrapped,
)
from treadle.analyses.lower_expressions import Expressions, span_of

_Keywords = tuple[tuple[str, Expression], ...]


class Calls(Expressions):
    """Lowers what may have effects."""

    methods: frozenset[str]
    """The names of all methods of actors: a call of one may be a call of an actor's."""

    # Waiting

    def awaited(self, node: ast.Await) -> Expression:
        """Lower an `await`: of a future, a condition, a pause, or an `async` call."""
        match node.value:
            case ast.Call(func=ast.Attribute(value=inner, attr="done"), args=[], keywords=[]):
                self.out.write(Await(None, self.expression(inner), span=span_of(node)))
                return Constant(None)
            case ast.Call(func=ast.Attribute(attr="send")):
                pass
            case ast.Call() as call:
                return self._awaited_call(node, call)
        future = self.expression(node.value)
        target = self.out.temporary()
        self.out.write(Await(target, future, span=span_of(node)))
        return Local(target)

    def _awaited_call(self, node: ast.Await, call: ast.Call) -> Expression:
        function = self.value_of(call.func)
        if function is self.known.until:
            return self._until(node, call)
        if function is self.known.pause:
            self.out.write(Pause(span=span_of(node)))
            return Constant(None)
        if isinstance(function, FunctionType) or isinstance(call.func, ast.Attribute):
            return self.call(call, awaited=node)
        future = self.call(call)
        self.out.write(Await(None, future, span=span_of(node)))
        return future

    def _until(self, node: ast.Await, call: ast.Call) -> Expression:
        match call.args:
            case [ast.Lambda(args=ast.arguments(args=[]), body=body)]:
                condition = self.condition(body)
                if condition is not None:
                    self.out.write(Until(condition, span=span_of(node)))
                    return Constant(None)
        return self.havoc(node, "until takes a lambda, whose fields can be read off")

    # Calls

    def call(self, node: ast.Call, awaited: ast.Await | None = None) -> Expression:
        """Lower a call; the span of one that is awaited is that of the `await`."""
        match node.func:
            case ast.Attribute(value=ast.Attribute(value=receiver, attr=method), attr="send"):
                return self._send(node, receiver, method)
            case ast.Attribute(value=ast.Attribute(value=receiver, attr=method), attr="call"):
                return self._method_call(node, receiver, method, awaited, crosses=True)
            case ast.Attribute(value=future, attr="get") if not (node.args or node.keywords):
                value, target = self.expression(future), self.out.temporary()
                self.out.write(Get(target, value, span=span_of(node)))
                return Local(target)
            case ast.Attribute(value=ast.Call(func=ast.Name(id="super"), args=[]), attr=method):
                return self._inherited(node, method, awaited)
        function = self.value_of(node.func)
        if function is not UNKNOWN:
            return self._known_function(node, function, awaited)
        if isinstance(node.func, ast.Attribute):
            return self._attribute_call(node, node.func, awaited)
        return self.havoc(node, f"{ast.unparse(node.func)} is not known before it runs")

    def _arguments(
        self, node: ast.Call, *before: ast.expr
    ) -> tuple[tuple[Expression, ...], _Keywords]:
        """Lower what is given: first other operands, then arguments, then those by name."""
        names = [keyword.arg or "**" for keyword in node.keywords]
        values = self.operands([*before, *node.args, *(each.value for each in node.keywords)])
        positional = len(values) - len(names)
        return values[:positional], tuple(zip(names, values[positional:], strict=True))

    def _send(self, node: ast.Call, receiver: ast.expr, method: str) -> Expression:
        (to, *arguments), keywords = self._arguments(node, receiver)
        target = self.out.temporary()
        send = Send(target, to, method, tuple(arguments), keywords, span=span_of(node))
        self.out.write(send)
        return Local(target)

    def _method_call(
        self,
        node: ast.Call,
        receiver: ast.expr,
        method: str,
        awaited: ast.Await | None,
        *,
        crosses: bool = False,
    ) -> Expression:
        (to, *arguments), keywords = self._arguments(node, receiver)
        return self._write_call(
            node, to, method, tuple(arguments), keywords, awaited, crosses=crosses
        )

    def _write_call(
        self,
        node: ast.Call,
        receiver: Expression | None,
        method: str,
        arguments: tuple[Expression, ...],
        keywords: _Keywords,
        awaited: ast.Await | None,
        *,
        crosses: bool = False,
        function: object = None,
    ) -> Expression:
        target = self.out.temporary()
        span = span_of(awaited or node)
        call = Call(
            target,
            receiver,
            method,
            arguments,
            keywords,
            crosses,
            function,
            is_awaited=awaited is not None,
            span=span,
        )
        self.out.write(call)
        return Local(target)

    def _inherited(self, node: ast.Call, method: str, awaited: ast.Await | None) -> Expression:
        """`super().m(…)`: the method of the next class up."""
        owner = self.names.get("__class__", UNKNOWN)
        above = owner.__mro__[1:] if isinstance(owner, type) else ()
        found = next((vars(base)[method] for base in above if method in vars(base)), None)
        function = unwrapped(found)
        if function is None:
            arguments, _ = self._arguments(node)
            harmless = found is not None and not arguments
            return (
                Constant(None) if harmless else self.havoc(node, f"super().{method} is not known")
            )
        arguments, keywords = self._arguments(node)
        return self._write_call(
            node, This(), method, arguments, keywords, awaited, function=function
        )

    def _known_function(
        self, node: ast.Call, function: object, awaited: ast.Await | None
    ) -> Expression:
        """A call of something that the function takes from outside."""
        name = ast.unparse(node.func)
        if self.known.is_actor(function):
            return self._new(node, function, local=False)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "local":
            owner = self.value_of(node.func.value)
            if self.known.is_actor(owner):
                return self._new(node, owner, local=True)
        if is_pure(function):
            return Apply(name, *self._given(node, function))
        if is_constructor(function):
            return Make(name, *self._given(node, function))
        if isinstance(function, FunctionType):
            arguments, keywords = self._arguments(node)
            return self._write_call(
                node, None, name, arguments, keywords, awaited, function=function
            )
        return self.havoc(node, f"what {name} does is not known")

    def _given(
        self, node: ast.Call, function: object
    ) -> tuple[tuple[Expression, ...], object, tuple[str, ...]]:
        """Return all operands of a function without effects, itself, and the names of the last."""
        arguments, keywords = self._arguments(node)
        values = (*arguments, *(value for _, value in keywords))
        return values, function, tuple(name for name, _ in keywords)

    def _new(self, node: ast.Call, owner: object, *, local: bool) -> Expression:
        assert isinstance(owner, type)
        arguments, keywords = self._arguments(node)
        target = self.out.temporary()
        self.out.write(New(target, owner, arguments, keywords, local, span=span_of(node)))
        return Local(target)

    def _attribute_call(
        self, node: ast.Call, function: ast.Attribute, awaited: ast.Await | None
    ) -> Expression:
        """`x.m(…)`: of this actor, of another one in its group, or of a collection or string."""
        receiver, method = function.value, function.attr
        of_values = method in CHANGING or method in READING
        if self.is_this(receiver) or awaited or (method in self.methods and not of_values):
            return self._method_call(node, receiver, method, awaited)
        if not of_values:
            return self.havoc(node, f"what {ast.unparse(function)} does is not known")
        (to, *arguments), keywords = self._arguments(node, receiver)
        values = (*arguments, *(value for _, value in keywords))
        if method not in self.methods:
            names = tuple(name for name, _ in keywords)
            return self._of_a_value(node, to, method, values, names)
        return self._of_either(node, to, method, tuple(arguments), keywords)

    def _of_a_value(
        self,
        node: ast.Call,
        receiver: Expression,
        method: str,
        values: tuple[Expression, ...],
        names: tuple[str, ...],
    ) -> Expression:
        if method in READING:
            return Apply(f".{method}", (receiver, *values), keywords=names)
        target = self.out.temporary()
        self.out.write(Update(target, receiver, method, values, span=span_of(node)))
        return Local(target)

    def _of_either(
        self,
        node: ast.Call,
        receiver: Expression,
        method: str,
        arguments: tuple[Expression, ...],
        keywords: _Keywords,
    ) -> Expression:
        """A name that both actors and collections have: it may be either."""
        span, target = span_of(node), self.out.temporary()
        actor, value, end = (self.out.label() for _ in range(3))
        self.out.write(Branch(Anything(), actor, value, span=span))
        self.out.place(actor)
        self.out.write(Call(target, receiver, method, arguments, keywords, span=span))
        self.out.write(Jump(end, span=span))
        self.out.place(value)
        values = (*arguments, *(each for _, each in keywords))
        self.out.write(Update(target, receiver, method, values, span=span))
        self.out.place(end)
        return Local(target)
