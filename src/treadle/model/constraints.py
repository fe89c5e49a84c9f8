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
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from treadle.analyses.decisive_reads import Kind, Origin
from treadle.analyses.declared_text import in_python
from treadle.analyses.found import compiled, has_kinds
from treadle.analyses.key_order import sees_key_order
from treadle.analyses.write_sets import Block, Blocks, Key, Place, Reason, blocks_of
from treadle.core.constraints import Declarations, Declared, Directed, Locals
from treadle.core.errors import TreadleError
from treadle.core.events import Mode, code
from treadle.core.listed import Constrained, Untranslated
from treadle.model.alike import alike
from treadle.model.followed import Accessed, DictPlaces
from treadle.model.operations import named
from treadle.model.synthesised import (
    Named,
    Synthesis,
    source_meaning,
)
from treadle.smt.loops import functions_of

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
        self._counted_before = (0, 0)
        """How many processes and checks were declared when the mode was chosen."""
        self._synthesis: Synthesis | None = None
        self._blocks: dict[Function, Blocks | Reason] = {}
        self._numbers: dict[tuple[Function, Origin], int] = {}
        self._writes: dict[Hashable, frozenset[int] | None] = {}
        self._order_is_seen: dict[Hashable, bool] = {}

    # Blocks

    def blocks(self, function: Function) -> Blocks | None:
        """Return the blocks of a function, None if its source is not understood."""
        found = self._read(function)
        return found if isinstance(found, Blocks) else None

    def why_not(self, function: Function) -> Reason | None:
        """Say why the source of a function is not understood; None if it is."""
        found = self._read(function)
        return found if isinstance(found, Reason) else None

    def _why_not_named(self, name: str) -> Reason | None:
        """Say why the function with a name is not understood; None if it is, or there is none."""
        own = [function for function in self.functions() if function.__name__ == name]
        return next((why for why in map(self.why_not, own) if why is not None), None)

    def _read(self, function: Function) -> Blocks | Reason:
        if function not in self._blocks:
            self._blocks[function] = blocks_of(function, self._kinds)
        return self._blocks[function]

    def functions(self) -> list[Function]:
        """Return the functions of processes, also of those that others may create."""
        found: dict[Function, None] = {}
        todo = [function for _, function, _ in self._program.declared]
        while todo:
            function = todo.pop(0)
            if function in found:
                continue
            found[function] = None
            todo += [child for child in self._created_by(function) if child]
        return list(found)

    def _created_by(self, function: Function) -> list[Function | None]:
        """Return the functions of processes that one may create, None for an unknown one."""
        blocks = self.blocks(function)
        if blocks is None:
            return []
        names = {name for block in blocks.by_origin.values() for name in block.spawns}
        return [named(function, name) for name in sorted(names)]

    def is_spawned(self, function: Function) -> bool:
        """Tell whether some process may create one that runs a function."""
        return any(function in self._created_by(other) for other in self.functions())

    def every_block(self) -> list[tuple[str, Function, Origin]]:
        """Return all blocks with a name of each, the label if it has one."""
        found: dict[tuple[Function, Origin], str] = {}
        for name, blocks in self.names().items():
            for block in blocks:
                found.setdefault(block, name)
        return [(name, function, origin) for (function, origin), name in found.items()]

    def names(self) -> dict[str, list[tuple[Function, Origin]]]:
        """Return all names of blocks, with the blocks that have them."""
        found: dict[str, list[tuple[Function, Origin]]] = {}
        for function in self.functions():
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
            if several:
                raise TreadleError(
                    f"{name!r} has several blocks: say which one, {', '.join(several)}"
                )
            if (why := self._why_not_named(name.partition(":")[0])) is not None:
                raise TreadleError(
                    f"{name!r} cannot be independent by a constraint: line {why.line}: {why.text}; "
                    f"a block may use scalars, arrays, keys of dictionaries, counters, s.until, "
                    f"s.join and s.spawn"
                )
            raise TreadleError(
                f"no block is called {name!r}: there are {', '.join(sorted(names)) or 'none'}"
            )
        return [self._number(*block) for block in names[name]]

    def _number(self, function: Function, origin: Origin) -> int:
        return self._numbers.setdefault((function, origin), len(self._numbers))

    # What a solver finds

    def choose(self, mode: str, uniformity: str = "static") -> None:
        """Choose which constraints are used from now on, and how it is known that they stay."""
        super().choose(mode, uniformity)
        counted = len(self._program.declared), len(self._program.finals)
        if counted != self._counted_before:
            self._counted_before = counted
            self._synthesis = None
            self.checked.clear()
            self.forget_pairs()

    @property
    def synthesis(self) -> Synthesis:
        """What looks for constraints in the source."""
        if self._synthesis is None:
            self._synthesis = Synthesis(self._program, self)
        return self._synthesis

    def undeclared(self) -> list[tuple[Named, Named]]:
        """Return the pairs of blocks that conflict, and of which nothing is declared."""
        return self.without_declared(self.synthesis.pairs())

    def find_more(self) -> None:
        """Add what a solver finds to what is declared."""
        for first, second in self.undeclared():
            found = self.synthesis.of(first, second)
            for text in found.result.constraints:
                meanings = [source_meaning(block.function) for block in (first, second)]
                codes = [self.synthesis.code(block) for block in (first, second)]
                meanings.append(functions_of(*codes).__getitem__)
                holds = None if text == "True" else compiled(text, alike, *meanings)
                one, other = [self._number(*named.block) for named in (first, second)]
                self.add_pair(
                    one, other, Declared(first.name, second.name, holds, found.basis, text)
                )

    def synthesised(self) -> Iterator[Constrained | Untranslated]:
        """Yield what a solver finds for each two blocks, and then blocks not understood."""
        for first, second in self.undeclared():
            yield self.synthesis.of(first, second).result.listed(first.name, second.name)
        yield from self.synthesis.untranslated()

    # Numbers of blocks

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
        read, written, added = self.accessed(standing)
        written |= read & added
        return [
            code(number, Mode.BLOCK),
            *(code(location, Mode.READ) for location in sorted(read - written)),
            *(code(location, Mode.WRITE) for location in sorted(written)),
            *(code(location, Mode.ADD) for location in sorted(added - written)),
        ]

    def accessed(self, standing: Standing) -> Accessed:
        """Return the locations that a block may access."""
        blocks = self.blocks(standing.function)
        assert blocks is not None
        block = blocks.by_origin[standing.origin]
        found = Accessed(
            self._locations(block.reads, blocks, standing.args),
            self._locations(block.writes, blocks, standing.args),
            self._locations(block.adds, blocks, standing.args),
        )
        for place in block.reads:
            if (places := self._dict_places(place.name)) is not None:
                places.note_read(found, _keys(place, blocks, standing.args))
        for place in block.writes:
            if (places := self._dict_places(place.name)) is not None:
                keys, is_seen = _keys(place, blocks, standing.args), self.order_is_seen(place.name)
                places.note_write(found, keys, order_is_seen=is_seen)
        return found

    def _locations(
        self, places: set[Place], blocks: Blocks, args: tuple[Any, ...] | None
    ) -> set[int]:
        """Return the locations of places but keys, given the arguments of the process, if known."""
        given = dict(zip(blocks.parameters, args or (), strict=False))
        found: set[int] = set()
        for name, index in places:
            if isinstance(index, str):
                index = None if index in blocks.assigned else given.get(index)
            if type(index) is not int or index < 0:
                index = None
            if self._kinds[name] == "counter":
                found.add(self._program.vocabulary.location(name, name))
            found |= {
                location
                for location, (cell, element) in self._program.cells.items()
                if cell == name and (index is None or element == index or element is None)
            }
        return found

    def _written(self, block: Block, blocks: Blocks, args: tuple[Any, ...] | None) -> set[int]:
        """Return what a block may change of what somebody looks at."""
        found = self._locations(block.writes | block.adds, blocks, args)
        for place in block.writes:
            if (places := self._dict_places(place.name)) is not None:
                found |= places.may_write(_keys(place, blocks, args))
        return found

    def _dict_places(self, name: str) -> DictPlaces | None:
        """Return the locations of a dictionary, None if a name is none."""
        if self._kinds[name] != "dict":
            return None
        return DictPlaces.of(name, self._program.vocabulary)

    def order_is_seen(self, name: str) -> bool:
        """Tell whether somebody may see in which order keys came into a dictionary.

        A process that is understood only asks for keys.
        """
        key = name, len(self._program.declared), len(self._program.finals)
        if key not in self._order_is_seen:
            functions = self.functions()
            created = [child for function in functions for child in self._created_by(function)]
            self._order_is_seen[key] = (
                None in created
                or any(self.blocks(function) is None for function in functions)
                or any(sees_key_order(check, name) for check in self._program.finals)
            )
        return self._order_is_seen[key]

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
            found |= self._written(block, blocks, standing.args)
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

    def locations(self, names: Iterable[str]) -> list[int]:
        """Return all locations of scalars and arrays, by name."""
        wanted = set(names)
        return [location for location, (name, _) in self._program.cells.items() if name in wanted]

    # What others keep true

    def is_kept(
        self, directed: Directed, pair: Sequence[Standing], steps: Sequence[Locals],
        other: Standing, looked_at: frozenset[int],
    ) -> bool:  # fmt: skip
        """Tell whether a process keeps a constraint true, whatever it still does."""
        named_pair = [self._named(standing) for standing in directed.arguments(*pair)]
        holds, text = directed.declared.holds, directed.declared.text
        if not isinstance(holds, types.FunctionType):
            return False
        condition = self.synthesis.condition(
            text or in_python(holds), source_meaning(holds), named_pair
        )
        for block in self._still_run_by(other, set()):
            if block is None:
                return False
            if not self._may_touch(block, other, looked_at):
                continue
            kept = self.synthesis.keeps(condition, block)
            fits = all(
                has_kinds(
                    given, {name: condition.kinds[side].get(name, ("int",)) for name in names}
                )
                for (side, names), given in zip(kept.locals.items(), steps, strict=True)
            )
            if not (kept.always and fits):
                return False
        return True

    def _named(self, standing: Standing) -> Named:
        return Named(self.name_of(standing), standing.function, standing.origin)

    def _still_run_by(self, standing: Standing, seen: set[Function]) -> Iterator[Named | None]:
        """Yield the blocks that a process may still run, and those of all that it may create."""
        blocks = self.blocks(standing.function)
        if blocks is None:
            yield None
            return
        origins = {id(block): origin for origin, block in blocks.by_origin.items()}
        for block in blocks.onwards(standing.origin):
            yield Named("", standing.function, origins[id(block)])
            for child in self._children(standing.function, block):
                if child is None:
                    yield None
                elif child not in seen:
                    seen.add(child)
                    yield from self._still_run_by(Standing(child, (), None), seen)

    def _may_touch(self, block: Named, standing: Standing, looked_at: frozenset[int]) -> bool:
        blocks = self.blocks(block.function)
        assert blocks is not None
        args = standing.args if block.function is standing.function else None
        written = self._written(blocks.by_origin[block.origin], blocks, args)
        return not written.isdisjoint(looked_at)

    def _children(self, function: Function, block: Block) -> Iterator[Function | None]:
        for name in block.spawns:
            yield named(function, name)


def _keys(place: Place, blocks: Blocks, args: tuple[Any, ...] | None) -> tuple[Hashable, ...]:
    """Return the key that a place of a dictionary is, nothing if it may be any."""
    element = place.element
    if isinstance(element, str):
        given = dict(zip(blocks.parameters, args or (), strict=False))
        if element not in given or element in blocks.assigned:
            return ()
        element = Key(given[element])
    if not isinstance(element, Key):
        return ()
    try:
        hash(element.value)
    except TypeError:
        return ()
    return (element.value,)


def _hashable(args: tuple[Any, ...]) -> Hashable:
    try:
        hash(args)
    except TypeError:
        return repr(args)
    return args
