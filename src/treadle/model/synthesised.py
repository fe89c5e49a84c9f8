"""Constraints of models that a solver finds in their source.

For each two blocks that conflict, and of which nothing is declared, the source of both is executed
symbolically (`treadle.smt`). What is found is right for values of certain kinds. Which kinds a
shared name can hold is read off all processes (`value_kinds`); where that is not certain, and for
local names, it is looked at before a constraint is relied on.
"""

from __future__ import annotations

import builtins
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from treadle.analyses.decisive_reads import Kind, Origin, definition_of
from treadle.analyses.found import Basis, Meaning
from treadle.analyses.known import is_named_pure
from treadle.analyses.value_kinds import Source, ValueKinds
from treadle.analyses.write_sets import Block, Key, Place
from treadle.core.listed import Untranslated
from treadle.model.operations import closed_over, named
from treadle.smt.values import Tag, in_order, tag_of

if TYPE_CHECKING:
    from treadle.model.constraints import Constraints, Function
    from treadle.model.program import Program
    from treadle.smt.code import Code, Shared
    from treadle.smt.keeping import Condition, Kept
    from treadle.smt.synthesis import Synthesised


class Named(NamedTuple):
    """A block, and what it is called."""

    name: str
    function: Function
    origin: Origin

    @property
    def block(self) -> tuple[Function, Origin]:
        """The block without its name."""
        return self.function, self.origin


class Found(NamedTuple):
    """What was found for two blocks."""

    first: Named
    second: Named
    result: Synthesised
    basis: Basis


class Synthesis:
    """Looks for the constraints of a program; what it is asked it knows from then on."""

    def __init__(self, program: Program, constraints: Constraints) -> None:
        from treadle.smt import require_solver

        require_solver("what reads the source of blocks")
        self._kept: dict[Hashable, Kept] = {}
        self._program = program
        self._constraints = constraints
        self._functions = [f for f in constraints.functions() if constraints.blocks(f) is not None]
        self._sources = {f: source_of(f) for f in self._functions}
        given = [(function, args) for _, function, args in program.declared]
        initial = {
            name: frozenset(map(tag_of, _values(kind, value)))
            for name, (kind, value) in program.plain_values().items()
        }
        kit = {name: kind for name, (kind, _) in program.plain_values().items()}
        self._kinds = ValueKinds(self._sources, initial, given, kit)
        self.shared = {name: self._shared(name) for name in initial if self._is_read(name)}
        self.blocks = [Named(*block) for block in constraints.every_block()]

    def _is_read(self, name: str) -> bool:
        """Tell whether what a shared name holds is followed."""
        kind, _ = self._program.plain_values()[name]
        return kind != "dict" or not self._constraints.order_is_seen(name)

    def _shared(self, name: str) -> Shared:
        from treadle.smt.code import Shared

        found = self._kinds.shared[name]
        if found == {"none"}:  # nobody says what else it is for; a number, as a rule
            found |= {"int"}
        kinds = in_order(found - {"opaque"}) or ("opaque",)
        kind, value = self._program.plain_values()[name]
        if kind == "dict" or kind == "counter":
            certain = ("opaque",) if "opaque" in found else in_order(found or {"int"})
            return Shared(certain, None, container=kind)
        length = len(value) if kind == "array" else None
        return Shared(kinds, length, is_certain="opaque" not in found or kinds == ("opaque",))

    # Blocks

    def code(self, block: Named) -> Code:
        """Return a block as it is executed symbolically."""
        from treadle.smt.code import Code

        blocks, source = self._constraints.blocks(block.function), self._sources[block.function]
        assert blocks is not None
        return Code(
            block.name,
            source.definition,
            block.origin,
            source.parameters[0],
            source.local,
            {name: self._local_kinds(block.function, name) for name in source.local},
            source.meaning,
            blocks.live,
            is_named_pure,
        )

    def code_elsewhere(self, block: Named) -> Code:
        """Return a block of any process: of its local names only what is certain is known."""
        return replace(
            self.code(block),
            kinds={
                name: in_order(kinds)
                for name in self._sources[block.function].local
                if (kinds := self._kinds.locals.get((block.function, name), frozenset()))
                and "opaque" not in kinds
            },
        )

    def keeps(self, condition: Condition, block: Named) -> Kept:
        """Tell whether a block keeps a constraint true."""
        from treadle.smt.keeping import keeps

        key = (condition.text, str(condition.kinds), block)
        if key not in self._kept:
            self._kept[key] = keeps(condition, self.code_elsewhere(block), self.shared)
        return self._kept[key]

    def condition(self, text: str, meaning: Meaning, pair: Sequence[Named]) -> Condition:
        """Return a constraint of two blocks, as other blocks may keep it true."""
        from treadle.smt.keeping import Condition

        kinds = {
            side: self.code(block).kinds
            for side, block in zip(("first", "second"), pair, strict=True)
        }
        return Condition(text, meaning, kinds, is_named_pure)

    def _local_kinds(self, function: Function, name: str) -> tuple[Tag, ...]:
        found = self._kinds.locals.get((function, name), frozenset())
        return in_order(found - {"opaque"}) or ("int",)

    def untranslated(self) -> list[Untranslated]:
        """Return the blocks that conflict with others and are not understood."""
        from treadle.smt.synthesis import untranslated

        found = []
        for block in self.blocks:
            why = untranslated(self.code(block), self.shared)
            if why is not None:
                _, (shift, _) = definition_of(block.function)
                reason = self._unfollowed(block) or why.reason
                found.append(replace(why, line=why.line + shift, reason=reason))
        return found + self._not_understood()

    def _unfollowed(self, block: Named) -> str:
        """Say which dictionary is not followed that a block accesses, if there is one."""
        accessed = self._block(block).reads | self._block(block).writes
        names = sorted({place.name for place in accessed} - self.shared.keys())
        return f"somebody may see in which order keys came into s.{names[0]}" if names else ""

    def _not_understood(self) -> list[Untranslated]:
        """Return the functions whose blocks are not even known."""
        return [
            Untranslated(getattr(function, "__name__", repr(function)), *why)
            for function in self._constraints.functions()
            if (why := self._constraints.why_not(function)) is not None
        ]

    # Pairs

    def pairs(self) -> list[tuple[Named, Named]]:
        """Return the pairs of blocks that may meet, and conflict."""
        found = []
        for position, first in enumerate(self.blocks):
            for second in self.blocks[position:]:
                if first.function is second.function and not self._is_multiple(first.function):
                    continue
                if _conflict(self._block(first), self._block(second)):
                    found.append((first, second))
        return found

    def _block(self, block: Named) -> Block:
        blocks = self._constraints.blocks(block.function)
        assert blocks is not None
        return blocks.by_origin[block.origin]

    def _is_multiple(self, function: Function) -> bool:
        """Tell whether there may be several processes that run a function."""
        declared = sum(1 for _, own, _ in self._program.declared if own is function)
        return declared > 1 or self._constraints.is_spawned(function)

    def of(self, first: Named, second: Named) -> Found:
        """Find where two blocks commute."""
        from treadle.smt.cache import synthesised

        codes = self.code(first), self.code(second)
        result = synthesised(*codes, self.shared, crossing=True)
        return Found(first, second, result, self._basis(codes, result))

    def _basis(self, codes: tuple[Code, Code], result: Synthesised) -> Basis:
        def kinds(side: str, code: Code) -> dict[str, frozenset[Tag]]:
            names = (result.locals or {}).get(side, ())
            return {name: frozenset(code.kinds.get(name, ("int",))) for name in sorted(names)}

        return Basis(
            kinds("first", codes[0]),
            kinds("second", codes[1]),
            {name: frozenset(self.shared[name].kinds) for name in sorted(result.relied_on)},
        )


def source_of(function: Any) -> Source:
    """Return a function as it is read."""
    definition, _ = definition_of(function)
    inner, meaning = function.__code__, source_meaning(function)
    local = frozenset(inner.co_varnames) | frozenset(inner.co_cellvars)
    return Source(definition, local, meaning, partial(named, function))


def source_meaning(function: Any) -> Meaning:
    """Return what names that are not local mean in a function."""
    inner = function.__code__
    closed = dict(zip(inner.co_freevars, closed_over(function) or (), strict=False))

    def meaning(name: str) -> object:
        if name in inner.co_freevars:
            return closed[name]
        found = function.__globals__
        return found[name] if name in found else vars(builtins)[name]

    return meaning


def _conflict(one: Block, other: Block) -> bool:
    """Tell whether two blocks may access the same, and one of them write it."""
    touched = other.reads | other.writes | other.adds
    return (
        _meet(one.writes, touched)
        or _meet(one.reads, other.writes | other.adds)
        or _meet(one.adds, other.reads | other.writes)
    )


def _values(kind: Kind, value: Any) -> Iterable[object]:
    """Return the values that a shared name holds initially."""
    match kind:
        case "array":
            return tuple(value)
        case "dict":
            return tuple(value.values())
        case "counter":
            return (value.content,)
    return (value,)


def _is_known(element: object) -> bool:
    return isinstance(element, int | Key)


def _meet(some: set[Place], others: set[Place]) -> bool:
    return any(
        a.name == b.name
        and not (_is_known(a.element) and _is_known(b.element) and a.element != b.element)
        for a in some
        for b in others
    )
