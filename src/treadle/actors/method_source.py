"""Methods of actors as a solver reads them: processes of a model whose shared state is the actor.

    x.m.send(v)               self.spawn(`m.send`, x, v)
    await pause()             yield
    await until(lambda: c)    if not c: yield self.until(lambda: c)
    await f                   yield, if the task was sent in the same step and so cannot have ended
    self, as a value          a field that nobody writes

An `await` of which nobody can tell whether it waits stays: code that gets there is not translated,
but what comes behind it is.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable
from types import FunctionType

from treadle.actors.waiting import pause, until
from treadle.analyses.known import names_of
from treadle.analyses.sources import definition_of

THIS = " self"
"""The field that stands for the actor itself."""
_NO_STATE = " state"
"""What a function that is no method calls the actor that it does not have."""

Bodies = list[ast.stmt]


def sending(method: str) -> str:
    """Return what stands for sending a method of a name."""
    return f"{method}.send"


def is_sending(name: str) -> bool:
    """Tell whether a name stands for sending something, or for making an actor."""
    return "." in name


def meaning_in(function: FunctionType) -> Callable[[str], object]:
    """Return what names that are not local mean in a function; what is sent means itself."""
    known = names_of(function)
    return lambda name: name if is_sending(name) else known[name]


def as_process(
    function: FunctionType, *, always_waits: bool, is_method: bool = True
) -> ast.FunctionDef | None:
    """Return a method as a process of a model; None if there is no source of it."""
    definition = definition_of(function)
    if definition is None:
        return None
    copied = copy.deepcopy(definition)
    arguments = copied.args
    if not is_method:
        arguments.posonlyargs.insert(0, ast.arg(_NO_STATE))
    this = [*arguments.posonlyargs, *arguments.args][0].arg
    translation = _Translation(this, meaning_in(function), always_waits)
    body = translation.statements(copied.body)
    made = ast.FunctionDef(copied.name, arguments, body, [], None, None)
    for argument in ast.walk(arguments):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    return ast.fix_missing_locations(ast.copy_location(made, definition))


class _Translation(ast.NodeTransformer):
    """Rewrites the statements of a method."""

    def __init__(self, this: str, meaning: Callable[[str], object], always_waits: bool) -> None:
        self._this = this
        self._meaning = meaning
        self._always_waits = always_waits
        self._sent: set[str] = set()
        """Local names of tasks that were sent since the last wait: they have not begun."""

    def statements(self, body: Bodies) -> Bodies:
        """Return statements, rewritten."""
        found: Bodies = []
        for statement in body:
            found += self._statement(statement)
        return found

    def _statement(self, statement: ast.stmt) -> Bodies:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Await):
            waited = self._wait(statement.value)
            self._sent = set()
            return waited
        if isinstance(statement, ast.If | ast.For | ast.While):
            return [self._nested(statement)]
        if isinstance(statement, ast.AnnAssign) and statement.value is not None:
            plain = ast.Assign([statement.target], statement.value)
            return self._statement(ast.copy_location(plain, statement))
        stored = {n.id for n in ast.walk(statement) if _is_stored(n)}  # type: ignore[attr-defined]
        self._sent -= stored
        match statement:
            case ast.Assign([ast.Name(name)], ast.Call(ast.Attribute(ast.Attribute(), "send"))):
                self._sent.add(name)
        return [self.visit(statement)]

    def _nested(self, statement: ast.If | ast.For | ast.While) -> ast.stmt:
        """Return a branch or a loop; what was sent outside is forgotten, to be sure."""
        for field, value in ast.iter_fields(statement):
            self._sent = set()
            if field in ("body", "orelse"):
                setattr(statement, field, self.statements(value))
            elif isinstance(value, ast.expr):
                setattr(statement, field, self.visit(value))
        self._sent = set()
        return statement

    def _wait(self, node: ast.Await) -> Bodies:
        awaited = node.value
        plain = self._yield(node, None)
        match awaited:
            case ast.Call(ast.Name(name), [], []) if self._means(name, pause):
                return [plain]
            case ast.Call(ast.Name(name), [ast.Lambda() as test], []) if self._means(name, until):
                return self._until(node, test)
            case ast.Name(name) if name in self._sent or self._always_waits:
                return [plain]
        return [ast.copy_location(ast.Expr(node), node), plain]

    def _until(self, node: ast.Await, test: ast.Lambda) -> Bodies:
        condition = self.visit(test.body)
        owner = ast.Attribute(ast.Name(self._this, ast.Load()), "until", ast.Load())
        waits = self._yield(node, ast.Call(owner, [ast.Lambda(test.args, condition)], []))
        if self._always_waits:
            return [waits]
        fails = ast.UnaryOp(ast.Not(), condition)
        return [ast.copy_location(ast.If(fails, [waits], []), node)]

    def _yield(self, node: ast.Await, value: ast.expr | None) -> ast.stmt:
        return ast.copy_location(ast.Expr(ast.copy_location(ast.Yield(value), node)), node)

    def _means(self, name: str, what: object) -> bool:
        try:
            return self._meaning(name) is what
        except KeyError:
            return False

    # Expressions

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Sending a method is creating a process."""
        match node.func:
            case ast.Attribute(ast.Attribute(receiver, method), "send"):
                given: list[ast.expr] = [receiver, *node.args]
                if node.keywords:  # what is given by name is not followed
                    given = [ast.Starred(receiver, ast.Load())]
                spawn = ast.Attribute(ast.Name(self._this, ast.Load()), "spawn", ast.Load())
                name = ast.Name(sending(method), ast.Load())
                made = ast.Call(spawn, [name, *map(self.visit, given)], [])
                return ast.copy_location(made, node)
        self.generic_visit(node)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """A field stays what it is."""
        if not (isinstance(node.value, ast.Name) and node.value.id == self._this):
            self.generic_visit(node)
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """The actor itself is a value that nobody changes."""
        if node.id != self._this:
            return node
        return ast.copy_location(ast.Attribute(node, THIS, ast.Load()), node)


def _is_stored(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
