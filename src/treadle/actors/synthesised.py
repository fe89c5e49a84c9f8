"""Constraints of actors that a solver finds in the source of their methods.

Two blocks are asked about if one actor may run both and they may access the same field, one of them
to write it. They are read as blocks of a model whose shared state is the actor (`method_source`).
What is found is right for values of certain kinds: fields hold them for certain (`field_kinds`), or
that is looked at before a constraint is relied on; local names are always looked at.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import TYPE_CHECKING, NamedTuple

from treadle.actors.method_source import THIS, as_process, meaning_in
from treadle.analyses.found import Basis
from treadle.analyses.ir import Span
from treadle.analyses.known import function_of, is_named_pure
from treadle.analyses.value_kinds import Kinds
from treadle.core.listed import Untranslated
from treadle.smt.values import Tag, in_order

if TYPE_CHECKING:
    from treadle.actors.constraints import Block, Constraints
    from treadle.actors.programs import Program
    from treadle.smt.code import Code, Position, Shared
    from treadle.smt.synthesis import Synthesised


@dataclass(frozen=True, slots=True)
class Named:
    """A block of a method, and what it is called."""

    name: str
    function: FunctionType
    wait: Span | None

    @property
    def block(self) -> Block:
        """Return it without its name."""
        return self.function, self.wait


class Accessed(NamedTuple):
    """What a method may do, whichever block of it runs."""

    reads: frozenset[str]
    writes: frozenset[str]
    sends: bool


class Synthesis:
    """Looks for the constraints of a program of actors."""

    def __init__(self, program: Program, constraints: Constraints) -> None:
        from treadle.smt import require_solver

        require_solver("what reads the source of blocks")
        self._program = program
        self._methods = constraints.methods
        self._kinds = constraints.field_kinds
        self._definitions: dict[FunctionType, ast.FunctionDef] = {}
        self._unread: dict[str, Untranslated] = {}
        self.blocks = [block for block in constraints.every_block() if self._is_read(block)]

    def _is_read(self, block: Named) -> bool:
        """Read a method; tell whether it is understood so far."""
        function = block.function
        obstacle = self._methods.obstacle_at(function)
        definition = as_process(function, always_waits=self._program.always_release)
        if obstacle is None and definition is not None:
            self._definitions[function] = definition
            return True
        line, why = obstacle or (function.__code__.co_firstlineno, "its source cannot be read")
        self._unread[block.name] = Untranslated(block.name, line, why)
        return False

    # Pairs

    def pairs(self) -> Iterator[tuple[Named, Named]]:
        """Yield the pairs of blocks that one actor may run, and that conflict."""
        for position, first in enumerate(self.blocks):
            for second in self.blocks[position:]:
                if self._owners(first, second) and self._conflict(first, second):
                    yield first, second

    def _owners(self, *blocks: Named) -> list[type]:
        """Return the classes whose actors may run some blocks."""
        return [
            cls
            for cls in self._kinds.classes
            if all(function_of(cls, each.function.__name__) is each.function for each in blocks)
        ]

    def _conflict(self, first: Named, second: Named) -> bool:
        one, other = self._accessed(first), self._accessed(second)
        if self._program.orders_messages and one.sends and other.sends:
            return False  # in which order they send may be seen: they are dependent
        if self._program.level.orders_groups:
            return True
        touched = other.reads | other.writes
        return bool(one.writes & touched or one.reads & other.writes)

    def _accessed(self, block: Named) -> Accessed:
        definition = self._definitions[block.function]
        nodes = list(ast.walk(definition))
        this = definition.args.posonlyargs + definition.args.args
        own = [
            node
            for node in nodes
            if isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == this[0].arg
        ]
        names = {node.attr for node in own}
        changed = {node.attr for node in own if isinstance(node.ctx, ast.Store)}
        inside = {
            part.attr
            for node in nodes
            if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)
            for part in ast.walk(node)
            if part in own and isinstance(part, ast.Attribute)
        }
        inside |= {
            node.value.attr
            for node in nodes
            if isinstance(node, ast.Attribute) and node.value in own
            if isinstance(node.value, ast.Attribute)
        }
        return Accessed(frozenset(names - {"spawn"}), frozenset(changed | inside), "spawn" in names)

    # Code

    def code(self, block: Named) -> Code:
        """Return a block as it is executed symbolically."""
        from treadle.smt.code import Code

        function = block.function
        definition = self._definitions[function]
        parameters = definition.args.posonlyargs + definition.args.args
        local = self._kinds.sources[function].local
        return Code(
            block.name,
            definition,
            None if block.wait is None else (block.wait.line, block.wait.column),
            parameters[0].arg,
            local,
            {name: self._local(function, name) for name in local},
            meaning_in(function),
            lambda position: self._live(function, position),
            is_named_pure,
        )

    def _local(self, function: FunctionType, name: str) -> tuple[Tag, ...]:
        known = self._kinds.of_local(function, name)
        if known == {"opaque"} and name in _computed_with(self._definitions[function]):
            return ("int",)  # as a rule; that is looked at when it is relied on
        return _relied_on(known)

    def _live(self, function: FunctionType, position: Position) -> set[str]:
        """Return the local names that a task may look at again behind a wait."""
        found: set[str] = set()
        for wait in self._methods.waits(function):
            if (wait.line, wait.column) == position:
                found |= self._methods.live(function, wait)
        return found

    def shared(self, *blocks: Named) -> dict[str, Shared]:
        """Return what the fields of an actor may hold that runs some blocks."""
        from treadle.smt.code import Shared

        found = {THIS: Shared(("opaque",))}
        owners = self._owners(*blocks)
        for name in self._kinds.fields():
            if all(self._kinds.is_stored(cls, name) for cls in owners):
                found[name] = self._field(name, owners)
        return found

    def _field(self, name: str, owners: Sequence[type]) -> Shared:
        from treadle.smt.code import Shared

        known, container = self._kinds.of_field(name), self._kinds.container(name)
        is_always = all(self._kinds.has_always(cls, name) for cls in owners)
        if container is not None and is_always:
            what, values = container
            kinds = ("opaque",) if "opaque" in values else in_order(values or {"int"})
            return Shared(kinds, None, container=what)
        kinds = _relied_on(known)
        return Shared(kinds, None, known <= {*kinds} and is_always)

    # What is found

    def of(self, first: Named, second: Named) -> tuple[Synthesised, Basis]:
        """Find where two blocks commute, and what that relies on."""
        from treadle.smt.cache import synthesised

        codes, shared = (self.code(first), self.code(second)), self.shared(first, second)
        result = synthesised(*codes, shared, crossing=True)

        def kinds(side: str, code: Code) -> dict[str, frozenset[Tag]]:
            names = (result.locals or {}).get(side, ())
            return {name: frozenset(code.kinds.get(name, ("int",))) for name in sorted(names)}

        return result, Basis(
            kinds("first", codes[0]),
            kinds("second", codes[1]),
            {name: frozenset(shared[name].kinds) for name in sorted(result.relied_on)},
        )

    def untranslated(self) -> list[Untranslated]:
        """Return the blocks that are not understood."""
        from treadle.smt.synthesis import untranslated

        found = [untranslated(self.code(block), self.shared(block)) for block in self.blocks]
        return [*self._unread.values(), *(why for why in found if why is not None)]


def _computed_with(definition: ast.FunctionDef) -> set[str]:
    """Return the names that code computes with, orders, or takes for keys: numbers, as a rule."""
    operands: list[ast.expr | None] = []
    for node in ast.walk(definition):
        match node:
            case ast.BinOp(left, _, right):
                operands += [left, right]
            case ast.AugAssign(_, _, operand) | ast.UnaryOp(ast.USub(), operand):
                operands.append(operand)
            case ast.Compare(left, [ast.Lt() | ast.LtE() | ast.Gt() | ast.GtE()], [right]):
                operands += [left, right]
            case ast.Compare(operand, [ast.In() | ast.NotIn()]) | ast.Subscript(_, operand):
                operands.append(operand)
            case ast.Call(ast.Attribute(_, "add" | "discard" | "remove"), [operand]):
                operands.append(operand)
    return {operand.id for operand in operands if isinstance(operand, ast.Name)}


def _relied_on(known: Kinds) -> tuple[Tag, ...]:
    """Return which kinds code is read for; what is only moved, as a reference, may be of any.

    >>> _relied_on(frozenset({"int", "opaque"})), _relied_on(frozenset({"none", "opaque"}))
    (('int',), ('none', 'opaque'))
    """
    if known <= {"none"}:  # nobody says what else it is for; a number, as a rule
        return in_order(known | {"int"})
    rest = known - {"opaque"}
    return in_order(known if rest <= {"none"} else rest)
