"""Independence constraints of models: which blocks commute, and where.

    @program.independent("put", "get")
    def _(s, first, second):
        return 0 < s.count < s.size

A block is the code from one `yield` to the next, called like its function if that has only one.
What is declared is checked whenever it is used with values that it was not used with before: both
orders are run and compared.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Hashable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from treadle.analyses.decisive_reads import Kind, Origin
from treadle.analyses.write_sets import Block, Blocks, Place, blocks_of
from treadle.core.constraints import Declarations
from treadle.core.errors import TreadleError
from treadle.core.events import Mode, code
from treadle.model.operations import closed_over

if TYPE_CHECKING:
    from treadle.model.program import Program

Function = Callable[..., Any]

_EVERYTHING = None
"""Stands for all locations."""


class Standing(NamedTuple):
    """Where a process stands: before which block."""

    function: Function
    args: tuple[Any, ...]
    origin: Origin


class Constraints(Declarations):
    """What was declared of a program, and what its source says."""

    def __init__(self, program: Program, kinds: dict[str, Kind]) -> None:
        super().__init__()
        self._program = program
        self._kinds = kinds
        self._blocks: dict[Function, Blocks | None] = {}
        self._numbers: dict[tuple[Function, Origin], int] = {}
        self._writes: dict[Hashable, frozenset[int] | None] = {}

    # Blocks

    def blocks(self, function: Function) -> Blocks | None:
        """Return the blocks of a function, None if its source is not understood."""
        if function not in self._blocks:
            self._blocks[function] = blocks_of(function, self._kinds)
        return self._blocks[function]

    def _functions(self) -> list[Function]:
        """Return the functions of processes, also of those that others may create."""
        found: dict[Function, None] = {}
        todo = [function for _, function, _ in self._program.declared]
        while todo:
            function = todo.pop(0)
            if function in found:
                continue
            found[function] = None
            blocks = self.blocks(function)
            names = (
                {name for block in blocks.by_origin.values() for name in block.spawns}
                if (blocks)
                else set()
            )
            todo += [child for child in (named(function, name) for name in sorted(names)) if child]
        return list(found)

    def names(self) -> dict[str, list[tuple[Function, Origin]]]:
        """Return all names of blocks, with the blocks that have them."""
        found: dict[str, list[tuple[Function, Origin]]] = {}
        for function in self._functions():
            blocks = self.blocks(function)
            if blocks is None:
                continue
            origins = blocks.names()
            for position, origin in enumerate(origins, 1):
                own = [function.__name__] if len(origins) == 1 else []
                if blocks.by_origin[origin].label:
                    own.append(f"{function.__name__}:{blocks.by_origin[origin].label}")
                if len(origins) > 1:
                    own.append(f"{function.__name__}:{position}")
                for name in own:
                    found.setdefault(name, []).append((function, origin))
        return found

    def numbers_of(self, name: str) -> list[int]:
        """Return the numbers of the blocks that have a name."""
        names = self.names()
        if name not in names:
            several = [other for other in names if other.startswith(f"{name}:")]
            functions = {function.__name__ for function in self._functions()}
            if several:
                raise TreadleError(
                    f"{name!r} has several blocks: say which one, {', '.join(several)}"
                )
            if name in functions:
                raise TreadleError(
                    f"{name!r} cannot be independent by a constraint: its source does something "
                    f"beyond scalars, arrays, s.until, s.join and s.spawn"
                )
            raise TreadleError(
                f"no block is called {name!r}: there are {', '.join(sorted(names)) or 'none'}"
            )
        return [self._number(*block) for block in names[name]]

    def _number(self, function: Function, origin: Origin) -> int:
        return self._numbers.setdefault((function, origin), len(self._numbers))

    def number_of(self, standing: Standing) -> int:
        """Return the number of the block that a process stands before; -1: no constraint has it."""
        self.pairs()
        return self._numbers.get((standing.function, standing.origin), -1)

    def name_of(self, standing: Standing) -> str:
        """Return the name of a block for people."""
        block = (standing.function, standing.origin)
        return next(name for name, found in self.names().items() if block in found)

    # What blocks access

    def static_codes(self, standing: Standing, number: int) -> list[int]:
        """Return what a block may access in any state."""
        read, written = self.accessed(standing)
        return [
            code(number, Mode.BLOCK),
            *(code(location, Mode.READ) for location in sorted(read - written)),
            *(code(location, Mode.WRITE) for location in sorted(written)),
        ]

    def accessed(self, standing: Standing) -> tuple[set[int], set[int]]:
        """Return the locations that a block may read, and those that it may write."""
        blocks = self.blocks(standing.function)
        assert blocks is not None
        block = blocks.by_origin[standing.origin]
        read = self._locations(block.reads, blocks, standing.args)
        return read, self._locations(block.writes, blocks, standing.args)

    def _locations(
        self, places: set[Place], blocks: Blocks, args: tuple[Any, ...] | None
    ) -> set[int]:
        """Return the locations of places, the process having been given arguments, if known."""
        given = dict(zip(blocks.parameters, args or (), strict=False))
        found: set[int] = set()
        for name, index in places:
            if isinstance(index, str):
                index = None if index in blocks.assigned else given.get(index)
            if type(index) is not int or index < 0:
                index = None
            found |= {
                location
                for location, (cell, element) in self._program.cells.items()
                if cell == name and (index is None or element == index or element is None)
            }
        return found

    def may_write(self, standing: Standing) -> frozenset[int] | None:
        """Return what a process may still write from where it stands; None: everything."""
        key = (standing.function, standing.origin, _hashable(standing.args))
        if key not in self._writes:
            self._writes[key] = self._may_write(standing, set())
        return self._writes[key]

    def _may_write(self, standing: Standing, seen: set[Function]) -> frozenset[int] | None:
        blocks = self.blocks(standing.function)
        if blocks is None:
            return _EVERYTHING
        found: set[int] = set()
        for block in blocks.onwards(standing.origin):
            found |= self._locations(block.writes, blocks, standing.args)
            for child in self._children(standing.function, block):
                if child is None:
                    return _EVERYTHING
                if child not in seen:
                    seen.add(child)
                    written = self._may_write(Standing(child, (), None), seen)
                    if written is None:
                        return _EVERYTHING
                    found |= written
        return frozenset(found)

    def _children(self, function: Function, block: Block) -> Iterator[Function | None]:
        for name in block.spawns:
            yield named(function, name)


def named(function: Function, name: str) -> Function | None:
    """Return the function that a name means in a function; None if it means none."""
    inner = getattr(function, "__code__", None)
    if inner is None:
        return None
    if name in inner.co_freevars:
        contents = closed_over(function) if isinstance(function, types.FunctionType) else None
        if contents is None:
            return None
        found = contents[inner.co_freevars.index(name)]
    else:
        found = function.__globals__.get(name)
    return found if isinstance(found, types.FunctionType) else None


def _hashable(args: tuple[Any, ...]) -> Hashable:
    try:
        hash(args)
    except TypeError:
        return repr(args)
    return args
