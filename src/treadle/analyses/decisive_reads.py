"""What values decide about the accesses of a process: those read in the same step, or earlier.

When a race is reversed, its second step runs in another order, reads other values, and may then
access other locations. For a step that cannot do that ("rigid") the core trusts the record; any
other ("open") has to be probed by a run, which costs time. So it pays to know: this module reads
the source of a process and follows, along every path from one `yield` to the next, which local
names hold values read in that step. A step is open if an access comes after a decision on such a
value (a branch, or an operation on it that may raise), or if its location is computed from one.

In the same way it follows values from one step to the next: which earlier steps read something that
may decide what a step accesses, or whether the process gets there (`foresee`). An addition,
subtraction or multiplication of a value that an earlier step read is trusted not to raise, and so
are `==`, `not` and conversion to text, until one does (`Foresight.doubtful`).

Whatever the analysis does not understand makes the step, or the whole process, open, and nothing is
foreseen of it.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import CodeType, FunctionType
from typing import Any, Literal

from treadle.core.program import Foreseen

Kind = Literal["scalar", "array", "dict", "counter", "object", "objects"]
"""What a shared name is; an object is any other of the kit, `objects` are a list of them."""

Origin = tuple[int, int] | None
"""Where a step begins: line and column of a `yield`, None for the start of the process."""

Taint = frozenset[tuple[Origin, bool]]
"""Which steps' reads a value depends on, and whether each step is over; else it is under way."""

_NOTHING: Taint = frozenset()

_ANNOUNCING = {"acquire", "receive", "wait", "until", "join"}
"""Methods that only make an operation to be yielded."""


class NotUnderstoodError(Exception):
    """The source does something that the analysis does not follow."""


@dataclass(frozen=True, slots=True)
class OpenSteps:
    """The steps of a process that are open: at its start, and behind which suspended positions."""

    at_start: bool
    after: frozenset[int]
    """Instruction offsets (`f_lasti`) of a suspended generator; empty also if `everywhere`."""
    everywhere: bool = False
    computes: bool = True
    """Whether something that it read may be in what it stores."""

    @property
    def any(self) -> bool:
        """Whether there is an open step at all."""
        return self.at_start or bool(self.after)


EVERYWHERE = OpenSteps(at_start=True, after=frozenset(), everywhere=True)


def open_steps(function: Callable[..., Any], kinds: Mapping[str, Kind]) -> OpenSteps:
    """Find the open steps of a process, `kinds` telling what the shared names are."""
    analysis, shift = _analysed(function, kinds)
    if analysis is None:
        return EVERYWHERE
    places = {origin for origin in analysis.open if origin is not None}
    shifted = {(line + shift[0], column + shift[1]) for line, column in places}
    offsets = offsets_of(function.__code__, shifted)
    return OpenSteps(None in analysis.open, offsets, computes=analysis.computes)


def _analysed(
    function: Callable[..., Any], kinds: Mapping[str, Kind]
) -> tuple[_Analysis | None, tuple[int, int]]:
    """Return the analysis of a process if there can be one, and how far its source is shifted."""
    if not isinstance(function, FunctionType) or hasattr(function, "__wrapped__"):
        return None, (0, 0)  # the source would not be that of what runs, or have other parameters
    try:
        definition, shift = definition_of(function)
        positional = definition.args.posonlyargs + definition.args.args
        parameters = [argument.arg for argument in positional]
        if not parameters:
            return None, shift
        analysis = _Analysis(parameters[0], kinds)
        analysis.block(definition.body, {None: _Path()})
    except (NotUnderstoodError, OSError, TypeError, SyntaxError):
        return None, (0, 0)
    return analysis, shift


@dataclass(frozen=True, slots=True)
class Foresight:
    """What can be foreseen of the steps of a process: at its start, and by suspended position."""

    at_start: Foreseen
    after: Mapping[int, Foreseen]
    """By instruction offset (`f_lasti`) of a suspended generator."""
    doubtful: Mapping[int, frozenset[int]]
    """By place of a step: more places that are decisive for it if what is trusted raises."""


def foresee(function: Callable[..., Any], kinds: Mapping[str, Kind]) -> Foresight | None:
    """Find which steps of a process decide about later ones; None if that cannot be told."""
    analysis, shift = _analysed(function, kinds)
    if analysis is None:
        return None
    origins = sorted(analysis.decisive, key=lambda origin: origin or (0, 0))
    places = {origin: place for place, origin in enumerate(origins)}

    def decisive(taint: Taint) -> frozenset[int]:
        return frozenset(places[origin] for origin, _ in taint)

    code = function.__code__
    deciding = frozenset[int]().union(*map(decisive, analysis.decisive.values()))
    foreseen = {
        o: Foreseen(places[o], decisive(analysis.decisive[o]), places[o] in deciding)
        for o in origins
    }
    after = {
        offset: foreseen[origin]
        for origin in origins
        if origin is not None
        for offset in offsets_of(code, {(origin[0] + shift[0], origin[1] + shift[1])})
    }
    doubtful = {places[o]: decisive(taint) for o, taint in analysis.doubtful.items() if taint}
    return Foresight(foreseen[None], after, doubtful)


def definition_of(function: Callable[..., Any]) -> tuple[ast.FunctionDef, tuple[int, int]]:
    """Return a function's syntax tree, and how far it is from the file's lines and columns."""
    lines, first = inspect.getsourcelines(function)
    source = "".join(lines)
    tree = ast.parse(textwrap.dedent(source))
    definition = tree.body[0]
    if len(tree.body) != 1 or not isinstance(definition, ast.FunctionDef):
        raise NotUnderstoodError
    indent = len(lines[0]) - len(lines[0].lstrip())
    return definition, (max(first, 1) - 1, indent)


def offsets_of(code: CodeType, places: set[tuple[int, int]]) -> frozenset[int]:
    """Return the offsets of the instructions that belong to `yield`s at these places."""
    positions = enumerate(code.co_positions())
    return frozenset(2 * i for i, (line, _, column, _) in positions if (line, column) in places)


@dataclass(slots=True)
class _Path:
    """What is known at a point of one step: which reads local names depend on, and what decided."""

    tainted: dict[str, Taint] = field(default_factory=dict)
    decided: Taint = _NOTHING
    doubted: Taint = _NOTHING
    """What decided too if a trusted operation on it can raise."""

    def copy(self) -> _Path:
        return _Path(dict(self.tainted), self.decided, self.doubted)

    def use(self, tainted: Taint, origin: Origin, *, trusted: bool) -> None:
        """Note an operation that may raise; it is trusted only with what earlier steps read."""
        self.decided |= tainted & _read_in(origin) if trusted else tainted
        if trusted:
            self.doubted |= tainted

    def merge(self, other: _Path) -> None:
        for name, taint in other.tainted.items():
            self.tainted[name] = self.tainted.get(name, _NOTHING) | taint
        self.decided |= other.decided
        self.doubted |= other.doubted

    def over(self) -> _Path:
        """Return what is known when the step is over."""
        tainted = {name: _over(taint) for name, taint in self.tainted.items()}
        return _Path(tainted, _over(self.decided), _over(self.doubted))


def _over(taint: Taint) -> Taint:
    """Return the same reads, their steps being over."""
    return frozenset((origin, True) for origin, _ in taint)


_State = dict[Origin, _Path]
"""The steps that may be under way at a point of the program."""


def _join(*states: _State) -> _State:
    joined: _State = {}
    for state in states:
        for origin, path in state.items():
            joined.setdefault(origin, _Path()).merge(path)
    return joined


def _copy(state: _State) -> _State:
    return {origin: path.copy() for origin, path in state.items()}


class _Analysis:
    """Follows the statements of a process; `open` collects where open steps begin.

    `decisive` collects for each step the earlier reads that decide about its accesses.
    """

    def __init__(self, state_name: str, kinds: Mapping[str, Kind]) -> None:
        self.open: set[Origin] = set()
        self.decisive: dict[Origin, Taint] = {None: _NOTHING}
        self.doubtful: dict[Origin, Taint] = {None: _NOTHING}
        self.computes = False
        """Whether a value that is stored depends on a read."""
        self._state_name = state_name
        self._kinds = kinds
        self._breaks: list[_State] = []
        self._continues: list[_State] = []

    # Statements: each takes the state before it and returns the one after it

    def block(self, statements: list[ast.stmt], state: _State) -> _State:
        """Follow statements one after the other."""
        for statement in statements:
            handler = getattr(self, f"_do_{type(statement).__name__.lower()}", None)
            if handler is None:
                raise NotUnderstoodError
            state = handler(statement, state)
        return state

    def _do_pass(self, statement: ast.Pass, state: _State) -> _State:
        del statement
        return state

    def _do_delete(self, statement: ast.Delete, state: _State) -> _State:
        for target in statement.targets:
            if not isinstance(target, ast.Name):
                raise NotUnderstoodError
        return state

    def _do_expr(self, statement: ast.Expr, state: _State) -> _State:
        if isinstance(statement.value, ast.Yield):
            return self._yield(statement.value, state)
        self._evaluate(statement.value, state)
        return state

    def _do_assign(self, statement: ast.Assign, state: _State) -> _State:
        if isinstance(statement.value, ast.Yield):
            state = self._yield(statement.value, state)
            received = {origin: _read_in(origin) for origin in state}
        else:
            self._refuse_alias(statement.value)
            received = self._evaluate(statement.value, state)
        for target in statement.targets:
            self._store(target, state, received)
        return state

    def _do_annassign(self, statement: ast.AnnAssign, state: _State) -> _State:
        if statement.value is None:
            return state
        plain = ast.Assign(targets=[statement.target], value=statement.value)
        return self._do_assign(plain, state)

    def _do_augassign(self, statement: ast.AugAssign, state: _State) -> _State:
        load = ast.BinOp(left=statement.target, op=statement.op, right=statement.value)
        self._store(statement.target, state, self._evaluate(load, state))
        if isinstance(statement.target, ast.Name):
            # It may change an object in place that has other names: they are not tainted.
            self._decide(self._evaluate(statement.value, _copy(state)), state)
        return state

    def _do_assert(self, statement: ast.Assert, state: _State) -> _State:
        self._decide(self._evaluate(statement.test, state), state)
        if statement.msg is not None:
            self._evaluate(statement.msg, _copy(state))
        return state

    def _do_return(self, statement: ast.Return, state: _State) -> _State:
        if statement.value is not None:
            self._evaluate(statement.value, state)
        return {}

    def _do_raise(self, statement: ast.Raise, state: _State) -> _State:
        if statement.exc is not None:
            self._evaluate(statement.exc, state)
        return {}

    def _do_if(self, statement: ast.If, state: _State) -> _State:
        self._decide(self._evaluate(statement.test, state), state)
        return _join(
            self.block(statement.body, _copy(state)), self.block(statement.orelse, _copy(state))
        )

    def _do_while(self, statement: ast.While, state: _State) -> _State:
        def head(before: _State) -> None:
            self._decide(self._evaluate(statement.test, before), before)

        endless = isinstance(statement.test, ast.Constant) and bool(statement.test.value)
        return self._loop(statement, state, head, leaves=not endless)

    def _do_for(self, statement: ast.For, state: _State) -> _State:
        def head(before: _State) -> None:
            items = self._evaluate(statement.iter, before)
            self._decide(items, before)
            self._store(statement.target, before, items)

        return self._loop(statement, state, head, leaves=True)

    def _loop(
        self,
        statement: ast.While | ast.For,
        state: _State,
        head: Callable[[_State], None],
        *,
        leaves: bool,
    ) -> _State:
        """Follow a loop until nothing new turns up."""
        entry = _copy(state)
        while True:
            outer = self._breaks, self._continues
            self._breaks, self._continues = [], []
            before = _copy(entry)
            head(before)
            after = self.block(statement.body, _copy(before))
            again = _join(entry, after, *self._continues)
            exits = _join(*self._breaks, *([before] if leaves else []))
            self._breaks, self._continues = outer
            if again == entry:
                return self.block(statement.orelse, exits)
            entry = again

    def _do_break(self, statement: ast.Break, state: _State) -> _State:
        del statement
        self._breaks.append(state)
        return {}

    def _do_continue(self, statement: ast.Continue, state: _State) -> _State:
        del statement
        self._continues.append(state)
        return {}

    def _yield(self, node: ast.Yield, state: _State) -> _State:
        """End the steps under way and begin one."""
        announced = {} if node.value is None else self._evaluate(node.value, state)
        if not state:
            return {}
        path = _Path()
        for ended in state.values():
            path.merge(ended.over())
        origin = node.lineno, node.col_offset
        decisive = path.decided.union(*map(_over, announced.values()))
        self._note_decisive(origin, decisive, path.doubted)
        return {origin: path}

    # Values

    def _evaluate(self, node: ast.expr, state: _State) -> dict[Origin, Taint]:
        """Evaluate in every step that may be under way: which reads does the value depend on?"""
        return {origin: self._value(node, origin, path) for origin, path in state.items()}

    def _decide(self, tainted: dict[Origin, Taint], state: _State) -> None:
        for origin, path in state.items():
            path.decided |= tainted[origin]

    def _store(self, target: ast.expr, state: _State, tainted: dict[Origin, Taint]) -> None:
        for origin, path in state.items():
            self._store_one(target, origin, path, tainted[origin])

    def _store_one(self, target: ast.expr, origin: Origin, path: _Path, tainted: Taint) -> None:
        if isinstance(target, ast.Name):
            path.tainted[target.id] = tainted
        elif isinstance(target, ast.Tuple | ast.List):
            path.decided |= tainted  # unpacking may raise
            for element in target.elts:
                self._store_one(element, origin, path, tainted)
        elif self._access_shared(target, origin, path) is None:
            raise NotUnderstoodError
        else:
            self.computes |= bool(tainted)

    def _value(self, node: ast.expr, origin: Origin, path: _Path) -> Taint:
        """Return which reads a value depends on."""
        if isinstance(node, ast.Constant):
            return _NOTHING
        if isinstance(node, ast.Name):
            if node.id == self._state_name:
                raise NotUnderstoodError  # the state escapes
            return path.tainted.get(node.id, _NOTHING)
        if isinstance(node, ast.Attribute | ast.Subscript):
            if self._is_object(node):
                raise NotUnderstoodError  # a shared object as a value: who knows where it goes
            value = self._access_shared(node, origin, path)
            return self._risky(node, origin, path) if value is None else value
        if isinstance(node, ast.Call):
            return self._call(node, origin, path)
        if isinstance(node, ast.BoolOp | ast.IfExp):
            return self._choice(node, origin, path)
        if isinstance(node, ast.Compare):
            return self._compare(node, origin, path)
        if isinstance(node, ast.Tuple | ast.List | ast.JoinedStr):
            return self._parts(node, origin, path)
        if isinstance(node, ast.BinOp | ast.UnaryOp | ast.FormattedValue):
            return self._risky(node, origin, path)
        raise NotUnderstoodError

    def _parts(self, node: ast.AST, origin: Origin, path: _Path) -> Taint:
        """Evaluate the parts of an expression, in order."""
        parts = [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]
        return _NOTHING.union(*[self._value(part, origin, path) for part in parts])

    def _risky(self, node: ast.AST, origin: Origin, path: _Path) -> Taint:
        """Evaluate an operation that may raise for some values."""
        tainted = self._parts(node, origin, path)
        path.use(tainted, origin, trusted=_seldom_raises(node))
        return tainted

    def _choice(self, node: ast.BoolOp | ast.IfExp, origin: Origin, path: _Path) -> Taint:
        """Evaluate operands that are skipped for some values of the first."""
        first, *rest = (
            node.values if isinstance(node, ast.BoolOp) else (node.test, node.body, node.orelse)
        )
        tainted = self._value(first, origin, path)
        for operand in rest:
            path.decided |= tainted
            tainted |= self._value(operand, origin, path)
        return tainted

    def _compare(self, node: ast.Compare, origin: Origin, path: _Path) -> Taint:
        tainted = self._value(node.left, origin, path)
        for position, (operator, operand) in enumerate(
            zip(node.ops, node.comparators, strict=True)
        ):
            if position:
                path.decided |= tainted  # a chain stops at its first comparison that is false
            if isinstance(operator, ast.In | ast.NotIn) and self._is_object(operand):
                tainted |= self._base(operand, origin, path)
                self._note_access(origin, path, tainted)
                tainted |= _read_in(origin)
            else:
                tainted |= self._value(operand, origin, path)
            if not isinstance(operator, ast.Is | ast.IsNot):
                path.use(tainted, origin, trusted=isinstance(operator, ast.Eq | ast.NotEq))
        return tainted

    def _call(self, node: ast.Call, origin: Origin, path: _Path) -> Taint:
        function = node.func
        shared = isinstance(function, ast.Attribute) and (
            self._is_object(function.value) or self._is_state(function.value)
        )
        operands = [*node.args, *(keyword.value for keyword in node.keywords)]
        if shared:
            operands = [part for operand in operands for part in _evaluated_parts(operand)]
        tainted = _NOTHING.union(*[self._value(operand, origin, path) for operand in operands])
        if not shared:
            tainted |= self._value(function, origin, path)
            path.decided |= tainted  # it may raise
            return tainted
        assert isinstance(function, ast.Attribute)
        tainted |= self._base(function.value, origin, path)
        if function.attr in _ANNOUNCING:
            names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
            return tainted.union(*[path.tainted.get(name, _NOTHING) for name in names])
        self._note_access(origin, path, tainted)
        return tainted | _read_in(origin)

    # Shared state

    def _access_shared(self, node: ast.expr, origin: Origin, path: _Path) -> Taint | None:
        """Note the access if an expression is a shared location; return what its value depends on.

        None if it is none.
        """
        if isinstance(node, ast.Attribute):
            if self._kind(node) == "scalar" or self._is_object(node.value):
                tainted = self._base(node.value, origin, path)
                self._note_access(origin, path, tainted)
                return tainted | _read_in(origin)
        elif isinstance(node, ast.Subscript) and self._is_object(node.value):
            tainted = self._base(node.value, origin, path)
            tainted |= self._value(node.slice, origin, path)
            self._note_access(origin, path, tainted)
            if self._kind(node.value) == "dict":  # the key may be missing
                path.decided |= _read_in(origin)
            return tainted | _read_in(origin)
        return None

    def _base(self, node: ast.expr, origin: Origin, path: _Path) -> Taint:
        """Return on which reads it depends which object `s.objects[index]` is."""
        return (
            self._value(node.slice, origin, path) if isinstance(node, ast.Subscript) else _NOTHING
        )

    def _note_access(self, origin: Origin, path: _Path, computed: Taint) -> None:
        decisive = computed | path.decided
        if (origin, False) in decisive:
            self.open.add(origin)
        self._note_decisive(origin, decisive, path.doubted)

    def _note_decisive(self, origin: Origin, decisive: Taint, doubtful: Taint) -> None:
        """Note which reads of steps that are over decide about a step."""
        for known, taint in ((self.decisive, decisive), (self.doubtful, doubtful)):
            earlier = frozenset(read for read in taint if read[1])
            known[origin] = known.get(origin, _NOTHING) | earlier

    def _is_state(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id == self._state_name

    def _kind(self, node: ast.expr) -> Kind | None:
        """Return what `s.name` is; None for any other expression."""
        if isinstance(node, ast.Attribute) and self._is_state(node.value):
            return self._kinds.get(node.attr)
        return None

    def _is_object(self, node: ast.expr) -> bool:
        """Tell whether an expression is a shared object, which is no access by itself."""
        if isinstance(node, ast.Subscript):
            return self._kind(node.value) == "objects"
        return self._kind(node) in ("array", "dict", "counter", "object")

    def _refuse_alias(self, node: ast.expr) -> None:
        """Give up on a local name for a shared object."""
        if self._is_object(node) or self._kind(node) == "objects":
            raise NotUnderstoodError


def _read_in(origin: Origin) -> Taint:
    """Return the taint of what is read in the step that is under way."""
    return frozenset([(origin, False)])


def _seldom_raises(node: ast.AST) -> bool:
    """Tell whether an operation raises for no value that programs usually apply it to."""
    if isinstance(node, ast.FormattedValue):
        return node.format_spec is None
    return isinstance(node, ast.BinOp | ast.UnaryOp) and isinstance(
        node.op, ast.Add | ast.Sub | ast.Mult | ast.Not
    )


def _evaluated_parts(operand: ast.expr) -> list[ast.expr]:
    """Return what is evaluated of an argument at the call: of a function, only its defaults."""
    if not isinstance(operand, ast.Lambda):
        return [operand]
    defaults = operand.args.defaults + operand.args.kw_defaults
    return [default for default in defaults if default is not None]
