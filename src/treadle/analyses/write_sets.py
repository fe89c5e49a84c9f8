"""What the blocks of a process may read and write, and what it may still write where it stands.

A block is the code from one `yield` to the next. For each block of a generator function this module
collects the shared names that it may touch in any state, its guard included, which blocks may
follow it, and which functions it may start as processes. What is not understood may touch all.

Indices of arrays are kept where they are constants or parameters of the process.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from treadle.analyses.decisive_reads import (
    Kind,
    NotUnderstoodError,
    Origin,
    definition_of,
    offsets_of,
)


class Key(NamedTuple):
    """A key of a dictionary that stands in the code."""

    value: Hashable


class Place(NamedTuple):
    """A shared name, and which element of it: a number or key, a parameter's name, or any."""

    name: str
    element: int | str | Key | None = None


@dataclass(slots=True)
class Block:
    """What the code from one `yield` to the next may do."""

    reads: set[Place] = field(default_factory=set)
    writes: set[Place] = field(default_factory=set)
    adds: set[Place] = field(default_factory=set)
    """Counters that it adds to, and does not look at."""
    follows: set[Origin] = field(default_factory=set)
    """Blocks that may come next."""
    uses: set[str] = field(default_factory=set)
    """Local names that it looks at."""
    spawns: set[str] = field(default_factory=set)
    """Names of functions that it may start as processes."""
    label: str = ""
    is_guarded: bool = False
    """Whether it may have to wait."""

    @property
    def touches(self) -> bool:
        """Whether it does anything that others can notice."""
        return bool(self.reads or self.writes or self.adds or self.spawns)


@dataclass(frozen=True, slots=True)
class Blocks:
    """The blocks of a generator function, by where they begin."""

    by_origin: Mapping[Origin, Block]
    after: Mapping[int, Origin]
    """Where a block begins, by instruction offset (`f_lasti`) of the suspended generator."""
    parameters: tuple[str, ...]
    assigned: frozenset[str]
    """Local names that are assigned: a parameter among them may be anything."""

    def names(self) -> list[Origin]:
        """Return where the blocks begin, in order, but for a beginning that touches nothing."""
        origins = sorted(self.by_origin, key=lambda origin: origin or (0, 0))
        return [o for o in origins if o is not None or self.by_origin[o].touches]

    def onwards(self, origin: Origin) -> Iterator[Block]:
        """Yield the blocks that a process may still run, the next one being given."""
        todo, seen = [origin], {origin}
        while todo:
            block = self.by_origin[todo.pop()]
            yield block
            todo += block.follows - seen
            seen |= block.follows

    def live(self, origin: Origin) -> set[str]:
        """Return the local names that a process may still look at, the next block being given."""
        return set[str]().union(*(block.uses for block in self.onwards(origin)))


class Reason(NamedTuple):
    """Why a process is not understood, and in which line of its file."""

    line: int
    text: str


def blocks_of(function: Callable[..., Any], kinds: Mapping[str, Kind]) -> Blocks | Reason:
    """Return the blocks of a process, `kinds` telling what the shared names are, or why not."""
    shift = (0, 0)
    try:
        definition, shift = definition_of(function)
        walk = _Walk(definition, kinds)
    except _RefusedError as refused:
        return Reason(refused.node.lineno + shift[0], refused.reason)
    except (NotUnderstoodError, OSError, TypeError, SyntaxError):
        line = getattr(getattr(function, "__code__", None), "co_firstlineno", 0)
        return Reason(line, "its source cannot be read")
    after = {}
    for origin in walk.blocks:
        if origin is not None:
            place = (origin[0] + shift[0], origin[1] + shift[1])
            after.update(dict.fromkeys(offsets_of(function.__code__, {place}), origin))
    return Blocks(walk.blocks, after, tuple(walk.parameters), frozenset(walk.assigned))


class _RefusedError(NotUnderstoodError):
    """Something that is not understood."""

    def __init__(self, node: ast.expr | ast.stmt, reason: str) -> None:
        super().__init__(reason)
        self.node = node
        self.reason = reason


class _Walk:
    """Follows the statements of a process; `_here` are the blocks that may be under way."""

    def __init__(self, definition: ast.FunctionDef, kinds: Mapping[str, Kind]) -> None:
        arguments = definition.args
        names = [argument.arg for argument in arguments.posonlyargs + arguments.args]
        if not names or arguments.vararg or arguments.kwarg or arguments.kwonlyargs:
            raise _RefusedError(definition, "its parameters are not positional ones")
        self._state, *self.parameters = names
        self._kinds = kinds
        self.blocks: dict[Origin, Block] = {None: Block()}
        self.assigned: set[str] = set()
        self._here: set[Origin] = {None}
        self._breaks: list[set[Origin]] = []
        self._continues: list[set[Origin]] = []
        self._statements(definition.body)

    # Statements

    def _statements(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            self._statement(statement)

    def _statement(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.If):
            self._expression(statement.test)
            self._branches(statement.body, statement.orelse)
        elif isinstance(statement, ast.While | ast.For):
            self._loop(statement)
        elif isinstance(statement, ast.Return):
            self._parts(statement)
            self._here = set()
        elif isinstance(statement, ast.Break | ast.Continue):
            ends = self._breaks if isinstance(statement, ast.Break) else self._continues
            ends[-1] |= self._here
            self._here = set()
        elif isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign):
            self._assign(statement)
        elif isinstance(statement, ast.Expr | ast.Assert | ast.Raise):
            self._parts(statement)
        elif not isinstance(statement, ast.Pass):
            what = type(statement).__name__
            raise _RefusedError(statement, f"the statement {what} is not translated")

    def _assign(self, statement: ast.Assign | ast.AnnAssign | ast.AugAssign) -> None:
        if statement.value is not None:
            self._expression(statement.value)
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        if isinstance(statement, ast.AugAssign):
            load = ast.parse(ast.unparse(statement.target), mode="eval").body
            for part in ast.walk(load):
                ast.copy_location(part, statement.target)
            self._expression(load)
        for target in targets:
            self._target(target)

    def _target(self, target: ast.expr) -> None:
        if isinstance(target, ast.Name):
            self.assigned.add(target.id)
        elif isinstance(target, ast.Tuple | ast.List):
            for element in target.elts:
                self._target(element)
        else:
            place = self._place(target)
            if place is None or self._kinds[place.name] == "counter":
                raise _RefusedError(target, f"an assignment to {ast.unparse(target)}")
            self._note("writes", place)
            if isinstance(target, ast.Subscript):
                self._expression(target.slice)

    def _branches(self, *bodies: list[ast.stmt]) -> None:
        before, after = self._here, set[Origin]()
        for body in bodies:
            self._here = set(before)
            self._statements(body)
            after |= self._here
        self._here = after

    def _loop(self, statement: ast.While | ast.For) -> None:
        self._breaks.append(set())
        if isinstance(statement, ast.For):
            self._expression(statement.iter)
            self._target(statement.target)
        while True:
            before = set(self._here)
            self._continues.append(set())
            if isinstance(statement, ast.While):
                self._expression(statement.test)
            self._statements(statement.body)
            self._here |= before | self._continues.pop()
            if self._here == before:
                break
        self._statements(statement.orelse)
        self._here |= self._breaks.pop()

    # Expressions

    def _parts(self, node: ast.AST) -> None:
        for part in ast.iter_child_nodes(node):
            if isinstance(part, ast.expr):
                self._expression(part)
            elif isinstance(part, ast.keyword | ast.comprehension):
                assert isinstance(node, ast.expr)
                raise _RefusedError(node, f"{type(node).__name__} is not translated")

    def _expression(self, node: ast.expr) -> None:
        if isinstance(node, ast.Yield):
            self._yield(node)
            return
        place = self._place(node)
        if place is not None:
            self._note("reads", place)
            if isinstance(node, ast.Subscript):
                self._expression(node.slice)
        elif isinstance(node, ast.Compare) and self._looks_for_key(node):
            self._expression(node.left)
        elif isinstance(node, ast.Call):
            self._call(node)
        elif isinstance(node, ast.Name):
            if node.id == self._state:
                raise _RefusedError(node, "the shared state is given away")
            for origin in self._here:
                self.blocks[origin].uses.add(node.id)
        elif isinstance(node, ast.Lambda | ast.NamedExpr | ast.Await | ast.YieldFrom):
            raise _RefusedError(node, f"{type(node).__name__} is not translated")
        else:
            self._parts(node)

    def _looks_for_key(self, node: ast.Compare) -> bool:
        """Tell whether it is `key in s.d`, and note that."""
        match node:
            case ast.Compare(key, [ast.In() | ast.NotIn()], [ast.Attribute(owner, name)]):
                if self._is_state(owner) and self._kinds.get(name) == "dict":
                    self._note("reads", Place(name, _key(key)))
                    return True
        return False

    def _method(self, owner: ast.expr, method: str, given: list[ast.expr]) -> bool:
        """Tell whether a call is one of a counter or dictionary, and note what it does."""
        if not (isinstance(owner, ast.Attribute) and self._is_state(owner.value)):
            return False
        match self._kinds.get(owner.attr), method, given:
            case "counter", "add", [_]:
                self._note("adds", Place(owner.attr))
            case "counter", "next", [] | [_]:
                self._note("reads", Place(owner.attr))
                self._note("writes", Place(owner.attr))
            case "dict", "get", [key] | [key, _]:
                self._note("reads", Place(owner.attr, _key(key)))
            case _:
                return False
        return True

    def _call(self, node: ast.Call) -> None:
        function = node.func
        if isinstance(function, ast.Attribute) and self._is_state(function.value):
            if function.attr != "spawn" or not node.args or not isinstance(node.args[0], ast.Name):
                raise _RefusedError(node, f"the call of s.{function.attr} is not translated")
            for origin in self._here:
                self.blocks[origin].spawns.add(node.args[0].id)
            operands = [*node.args[1:], *(keyword.value for keyword in node.keywords)]
        elif isinstance(function, ast.Name):
            operands = [*node.args, *(keyword.value for keyword in node.keywords)]
        elif (
            isinstance(function, ast.Attribute)
            and not node.keywords
            and self._method(function.value, function.attr, node.args)
        ):
            operands = node.args
        else:
            raise _RefusedError(node, f"the call of {ast.unparse(function)} is not translated")
        for operand in operands:
            self._expression(operand)

    def _yield(self, node: ast.Yield) -> None:
        origin = (node.lineno, node.col_offset)
        for before in self._here:
            self.blocks[before].follows.add(origin)
        block = self.blocks.setdefault(origin, Block())
        self._here = {origin}
        value = node.value
        if value is None or (isinstance(value, ast.Constant) and value.value is None):
            return
        if not (
            isinstance(value, ast.Call)
            and isinstance(value.func, ast.Attribute)
            and self._is_state(value.func.value)
            and len(value.args) == 1
        ):
            raise _RefusedError(node, f"yield {ast.unparse(value)} is not translated")
        argument = value.args[0]
        if value.func.attr == "label" and isinstance(argument, ast.Constant):
            block.label = str(argument.value)
        elif value.func.attr == "until" and _takes_nothing(argument):
            assert isinstance(argument, ast.Lambda)
            block.is_guarded = True
            self._expression(argument.body)
        elif value.func.attr == "join":
            block.is_guarded = True
            self._expression(argument)
        else:
            raise _RefusedError(node, f"yield {ast.unparse(value)} is not translated")

    # Shared state

    def _is_state(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id == self._state

    def _place(self, node: ast.expr) -> Place | None:
        """Return the shared place that an expression is; None if it is none."""
        if isinstance(node, ast.Attribute) and self._is_state(node.value):
            if self._kinds.get(node.attr) != "scalar":
                raise _RefusedError(node, f"s.{node.attr} is no scalar")
            return Place(node.attr)
        if not isinstance(node, ast.Subscript | ast.Attribute):
            return None
        owner = node.value
        if not (isinstance(owner, ast.Attribute) and self._is_state(owner.value)):
            return None
        kind = self._kinds.get(owner.attr)
        if isinstance(node, ast.Attribute):
            return Place(owner.attr) if (kind, node.attr) == ("counter", "value") else None
        if kind == "dict":
            return Place(owner.attr, _key(node.slice))
        if kind != "array":
            raise _RefusedError(node, f"s.{owner.attr} is no array")
        return Place(owner.attr, _index(node.slice))

    def _note(self, how: str, place: Place) -> None:
        for origin in self._here:
            getattr(self.blocks[origin], how).add(place)


def _takes_nothing(node: ast.expr) -> bool:
    """Tell whether it is a lambda whose names mean what they mean around it."""
    if not isinstance(node, ast.Lambda):
        return False
    given = node.args
    return not (given.posonlyargs or given.args or given.kwonlyargs or given.vararg or given.kwarg)


def _key(node: ast.expr) -> Key | str | None:
    if isinstance(node, ast.Constant):
        return Key(node.value)
    return node.id if isinstance(node, ast.Name) else None


def _index(node: ast.expr) -> int | str | None:
    if isinstance(node, ast.Constant) and type(node.value) is int and node.value >= 0:
        return node.value
    return node.id if isinstance(node, ast.Name) else None
