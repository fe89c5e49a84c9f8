"""A block, executed symbolically: from one `yield` to the next, on one path.

The statements are followed as they are nested; a block that begins inside of a loop is entered
there. A `for` around a `yield` has an iterator whose next value is an unknown of that process, the
same in both orders.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from treadle.smt.code import (
    Code,
    NotTranslatedError,
    Position,
    guard_of,
    has_yield,
    way_to,
    yield_in,
)
from treadle.smt.expressions import Expressions
from treadle.smt.loops import as_function, as_parameter
from treadle.smt.on_path import RaisesError, UnsureError, truth
from treadle.smt.paths import Path
from treadle.smt.store import Store
from treadle.smt.terms import Poly, Var
from treadle.smt.values import NONE, Value

MOST_ROUNDS = 32
"""So many times a loop is gone through."""

_CHANGES = {"add": ("set",), "discard": ("set",), "remove": ("set",), "append": ("list",)}
"""Methods of containers that are followed."""

Way: TypeAlias = list[tuple[int, str]]
Signal: TypeAlias = Literal["", "break", "continue", "return"] | tuple[int, int]
"""How a statement ends: as usual, in another way, or before the block at a position."""


@dataclass(slots=True)
class Outcome:
    """What one block did: how it ended, what it keeps, what it created."""

    ends_at: Position = None
    raised: tuple[Value | str, ...] = ()
    returned: Value = NONE
    locals: dict[str, Value] = field(default_factory=dict)
    """Local names that were assigned."""
    rounds: dict[Position, int] = field(default_factory=dict)
    """How often each iterator was asked for its next value."""
    created: list[tuple[Hashable, tuple[Value, ...]]] = field(default_factory=list)
    """Processes: their functions with how they are named, and their arguments."""
    handles: list[Value] = field(default_factory=list)
    """What stands for them in this block."""


class Execution(Expressions):
    """One block on one path."""

    def __init__(self, code: Code, side: str, path: Path, store: Store, used: set[str]) -> None:
        super().__init__(code, side, path, store, used)
        self._outcome = Outcome()

    def is_enabled(self) -> bool:
        """Tell whether the block can begin: the condition that it waits for holds."""
        node = self._beginning()
        guard = None if node is None else guard_of(node, self.code.state)
        try:
            return guard is None or self.holds(guard)
        except RaisesError:
            raise UnsureError from None  # the step begins, and raises it

    def _beginning(self) -> ast.Yield | None:
        for node in ast.walk(self.code.definition):
            if isinstance(node, ast.Yield) and (node.lineno, node.col_offset) == self.code.origin:
                return node
        return None

    def run(self) -> Outcome:
        """Execute the block."""
        outcome = self._outcome
        body = self.code.definition.body
        way = [] if self.code.origin is None else way_to(body, self.code.origin)
        if way is None:
            line = self.code.origin[0] if self.code.origin else self.code.definition.lineno
            raise NotTranslatedError(line, "the value of a yield is used")
        try:
            signal = self._body(body, way)
        except RaisesError as error:
            outcome.raised = error.known_by
        else:
            if isinstance(signal, tuple):
                outcome.ends_at = signal
        outcome.locals = self.locals
        return outcome

    # Statements

    def _body(self, statements: list[ast.stmt], way: Way) -> Signal:
        """Follow statements, from a place inside of them on if a way leads there."""
        start = 0
        if way:
            (index, part), *rest = way
            start = index + 1
            if part:
                signal = self._enter(statements[index], part, rest)
                if signal:
                    return signal
        for statement in statements[start:]:
            signal = self._statement(statement)
            if signal:
                return signal
        return ""

    def _enter(self, statement: ast.stmt, part: str, way: Way) -> Signal:
        """Go on inside of a statement."""
        if isinstance(statement, ast.While | ast.For) and part == "body":
            return self._loop(statement, self._body(statement.body, way), has_begun=True)
        return self._body(getattr(statement, part), way)

    def _statement(self, statement: ast.stmt) -> Signal:
        node = yield_in(statement)
        if node is not None:
            return self._yield(node)
        match statement:
            case ast.If(test, body, orelse):
                return self._body(body if self.holds(test) else orelse, [])
            case ast.For() if self._is_of_unknown_length(statement):
                self._run_unknown(statement)
                return ""
            case ast.While() | ast.For():
                return self._loop(statement, "", has_begun=False)
            case ast.Return(value):
                if value is not None:
                    self._outcome.returned = self.value(value)
                return "return"
            case ast.Break():
                return "break"
            case ast.Continue():
                return "continue"
            case _:
                self._simple(statement)
                return ""

    def _simple(self, statement: ast.stmt) -> None:
        match statement:
            case ast.Assign(targets, value):
                for target in targets[1:]:
                    raise self.refused(target, "an assignment to several names at once")
                self._assign(targets[0], value)
            case ast.AnnAssign(target, _, value):
                if value is not None:
                    self._assign(target, value)
            case ast.AugAssign(target, op, value):
                self._augment(target, op, value)
            case ast.Expr(value):
                self.value(value)
            case ast.Assert(test, message):
                if not self.holds(test):
                    raise RaisesError("AssertionError", *self.described(message))
            case ast.Raise(ast.expr() as error, None):
                self._raise(error)
            case ast.Pass():
                pass
            case _:
                raise self.refused(
                    statement, f"the statement {type(statement).__name__} is not translated"
                )

    def _raise(self, error: ast.expr) -> None:
        name, args = (error.func, error.args) if isinstance(error, ast.Call) else (error, [])
        if not isinstance(name, ast.Name) or (isinstance(error, ast.Call) and error.keywords):
            raise self.refused(error, f"raise {ast.unparse(error)}")
        meaning = self.meaning(name.id, error)
        if not (isinstance(meaning, type) and issubclass(meaning, Exception)):
            raise self.refused(error, f"raise {ast.unparse(error)}")
        details: list[Value | str] = []
        for arg in args:
            details += self.described(arg)
        raise RaisesError(name.id, *details)

    def _yield(self, node: ast.Yield) -> Signal:
        """End the block where the next one begins."""
        value = node.value
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
            argument = value.args[0] if len(value.args) == 1 else None
            if value.func.attr == "join" and not isinstance(argument, ast.Name | ast.Constant):
                raise self.refused(node, "a join of something that is no name")
        return (node.lineno, node.col_offset)

    # Assignments

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Tuple):
            if not isinstance(value, ast.Tuple) or len(value.elts) != len(target.elts):
                raise self.refused(
                    target, "an assignment to several names of something that is no tuple"
                )
            found = [self.value(element) for element in value.elts]
            for name, element in zip(target.elts, found, strict=True):
                self._store(name, element)
        else:
            self._store(target, self.value(value))

    def _store(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Name):
            self.locals[target.id] = value
            return
        if isinstance(target, ast.Subscript):
            table = self.container_name(target.value, "dict")
            if table is not None:
                self.contents.put(table, self.value(target.slice), value)
                return
            array = self.array_name(target)
            self.store.put(array, self.place(array, target, "write"), value)
            return
        name = self.shared_name(target)
        if name is None:
            raise self.refused(target, f"an assignment to {ast.unparse(target)}")
        self.store.scalars[name] = value

    def _augment(self, target: ast.expr, op: ast.operator, node: ast.expr) -> None:
        if isinstance(target, ast.Subscript):
            table = self.container_name(target.value, "dict")
            if table is not None:
                key = self.value(target.slice)
                before = self.contents.item(table, key)
                self.contents.put(table, key, self._changed(op, before, node, target))
                return
            array = self.array_name(target)
            place = self.place(array, target)
            before = self.store.element(array, place)
            self.store.put(array, place, self._changed(op, before, node, target))
        else:
            before = self.value(target)
            self._store(target, self._changed(op, before, node, target))

    def _changed(self, op: ast.operator, before: Value, node: ast.expr, target: ast.expr) -> Value:
        return self.computed(op, before, self.value(node), target, becomes="=")

    # Loops

    def _loop(self, loop: ast.While | ast.For, signal: Signal, *, has_begun: bool) -> Signal:
        """Go round a loop; `signal` is how its body ended if the block begins in there."""
        for number in range(MOST_ROUNDS + 1):
            if signal == "break":
                return ""
            if signal not in ("", "continue"):
                return signal
            if not self._goes_on(loop, number, has_begun=has_begun):
                return self._body(loop.orelse, [])
            signal = self._body(loop.body, [])
        raise self.refused(loop, f"a loop that may be gone through more than {MOST_ROUNDS} times")

    def _is_of_unknown_length(self, loop: ast.For) -> bool:
        """Tell whether a loop goes over a range that depends on the state, and never waits."""
        if has_yield(loop) or not self._is_range(loop.iter):
            return False
        assert isinstance(loop.iter, ast.Call)
        bounds = [self.value(arg) for arg in loop.iter.args]
        return any(bound.tag == "int" and bound.term.value is None for bound in bounds)

    def _run_unknown(self, loop: ast.For) -> None:
        """Take what a loop leaves behind for functions of all that it reads."""
        found = as_function(loop, self.code.state)
        if found is None or not isinstance(loop.target, ast.Name):
            raise self.refused(loop, f"a loop whose length is not known: {ast.unparse(loop.iter)}")
        given = [self.value(_shared_as(name, self.code.state)) for name in found.shared]
        given += [self._name(name, loop) for name in found.local]
        if any(value.tag != "int" for value in given):
            raise self.refused(loop, "a loop that computes with something else than whole numbers")
        terms = [value.term for value in given]
        for name in sorted(found.written):
            called = found.called(name)
            text = f"{called}({', '.join(term.text() for term in terms)})"
            left = Value.number(Poly.var(Var(text, "int", "call", (called, *terms))))
            shared = [one for one in found.shared if as_parameter(one) == name]
            if shared:
                self.store.scalars[shared[0]] = left
            else:
                self.locals[name] = left
        last = f"what {found.name} counted by last"
        self.locals[loop.target.id] = Value(
            "result", Var(last, "result", "call", (last, *terms), is_known=False)
        )

    def _goes_on(self, loop: ast.While | ast.For, number: int, *, has_begun: bool) -> bool:
        """Tell whether there is another round, and begin it."""
        if isinstance(loop, ast.While):
            return self.holds(loop.test)
        if has_begun:
            found = self._unknown(loop, number)
        else:
            found = self._counted(loop, number)
        if found is None:
            return False
        if not isinstance(loop.target, ast.Name):
            raise self.refused(loop, "a loop over something else than one name")
        self.locals[loop.target.id] = found
        return True

    def _counted(self, loop: ast.For, number: int) -> Value | None:
        """Return the next number of a range that begins in this block, None if there is none."""
        numbers = self._range(loop)
        if has_yield(loop):
            place = (loop.lineno, loop.col_offset)
            self._outcome.rounds[place] = number + 1
        return Value.number(numbers[number]) if number < len(numbers) else None

    def _range(self, loop: ast.For) -> range:
        call = loop.iter
        if not self._is_range(call):
            raise self.refused(loop, f"a loop over {ast.unparse(call)}")
        assert isinstance(call, ast.Call)
        bounds = [self._bound(arg, loop) for arg in call.args]
        try:
            return range(*bounds)
        except (TypeError, ValueError):
            raise self.refused(loop, f"a loop over {ast.unparse(call)}") from None

    def _is_range(self, node: ast.expr) -> bool:
        return (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id not in self.code.local
            and self.meaning(node.func.id, node) is builtins.range
        )

    def _bound(self, node: ast.expr, loop: ast.For) -> int:
        found = self.value(node)
        number = found.term.value if found.tag == "int" else None
        if number is None:
            raise self.refused(loop, f"a loop whose length is not known: {ast.unparse(loop.iter)}")
        assert isinstance(number, int)
        return number

    def _unknown(self, loop: ast.For, number: int) -> Value | None:
        """Return the next value of an iterator that the process has begun with before."""
        place = (loop.lineno, loop.col_offset)
        self._outcome.rounds[place] = number + 1
        name = f"round {number} of line {loop.lineno} of {self.side}"
        if not truth(self.path, Var(f"{name} is there", "bool", is_known=False)):
            return None
        if self._is_range(loop.iter):
            return Value.number(Poly.var(Var(name, "int", is_known=False)))
        return Value.opaque(name)

    # Processes

    def call(self, node: ast.Call) -> Value:
        """Create a process, or return what a function makes of its arguments."""
        function = node.func
        if isinstance(function, ast.Attribute) and self._is_state(function.value):
            if function.attr != "spawn" or not isinstance(node.args[0], ast.Name):
                raise self.refused(node, f"s.{function.attr}() is not translated")
            return self._spawn(node, node.args[0].id)
        if isinstance(function, ast.Attribute) and len(node.args) == 1 and not node.keywords:
            name = self.container_name(function.value, *_CHANGES.get(function.attr, ()))
            if name is not None:
                return self._change(name, function.attr, self.value(node.args[0]))
        if isinstance(function, ast.Attribute) and not node.keywords:
            found = self._of_kit(function, node)
            if found is not None:
                return found
        return super().call(node)

    def _of_kit(self, method: ast.Attribute, node: ast.Call) -> Value | None:
        """Add to a counter, or look for a key; None if it is no call of a counter or dictionary."""
        counter = self.container_name(method.value, "counter")
        table = self.container_name(method.value, "dict")
        match method.attr, node.args:
            case "add" | "next", [] | [_] if counter is not None:
                amount = self.value(node.args[0]) if node.args else Value.number(1)
                before = self.store.get(counter)
                added = self.computed(ast.Add(), before, amount, node, becomes="=")
                self.store.scalars[counter] = added
                return NONE if method.attr == "add" else added
            case "get", [_] | [_, _] if table is not None:
                given = [self.value(arg) for arg in node.args]
                if self.contents.has(table, given[0]):
                    return self.contents.item(table, given[0])
                return given[1] if len(given) > 1 else NONE
        return None

    def _change(self, name: str, method: str, given: Value) -> Value:
        """Change a set or a list."""
        if method == "append":
            self.contents.append(name, given)
            return NONE
        if method == "remove" and not self.contents.has(name, given):
            raise RaisesError("KeyError", given)
        self.contents.put(name, given, Value.truth(True) if method == "add" else None)
        return NONE

    def _spawn(self, node: ast.Call, name: str) -> Value:
        if name in self.code.local:
            raise self.refused(node, f"{name} may be any function")
        self.meaning(name, node)
        given = [self.value(arg) for arg in node.args[1:]]
        keywords = {str(word.arg): word.value for word in node.keywords}
        given += [self.value(keywords[word]) for word in sorted(keywords)]
        self._outcome.created.append(((name, tuple(sorted(keywords))), tuple(given)))
        handle = Value.opaque(("process", self.side, len(self._outcome.created)))
        self._outcome.handles.append(handle)
        return handle


def _shared_as(name: str, state: str) -> ast.expr:
    return ast.Attribute(ast.Name(state, ast.Load()), name, ast.Load())
