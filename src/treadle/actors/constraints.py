"""Independence constraints of actors: which methods commute on an actor, and where.

    @program.independent("put", "get")
    def _(s, first, second):
        return 0 < s.count < s.size

A block is the code of a method from one wait to the next: called like the method if that never
waits, else `method:1`, `method:2`, ... If several classes have a method of that name, it is
`Class.method`. `s` is the actor on which both steps are taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from types import FunctionType
from typing import TYPE_CHECKING

from treadle.actors.actor import Actor
from treadle.actors.classes import classes_in
from treadle.actors.field_kinds import FieldKinds
from treadle.actors.heap import reachable_actors
from treadle.actors.method_source import meaning_in
from treadle.actors.standing import frames_of
from treadle.actors.synthesised import Named, Synthesis
from treadle.actors.task import Task, Waiting
from treadle.actors.waiting import pause, until
from treadle.analyses.found import compiled
from treadle.analyses.ir import Span
from treadle.analyses.known import Known
from treadle.analyses.method_writes import ANY_FIELD, MethodWrites, Written
from treadle.core.constraints import Declarations, Declared
from treadle.core.errors import TreadleError
from treadle.core.fingerprint import freeze
from treadle.core.listed import Constrained, Untranslated
from treadle.smt.loops import functions_of

if TYPE_CHECKING:
    from treadle.actors.programs import Program


Block = tuple[FunctionType, Span | None]
"""The code of a method from its start, or from a wait, to the next wait."""


class Constraints(Declarations):
    """What was declared of a program of actors, and what the source of its classes says."""

    def __init__(self, program: Program, declared: list[Declared]) -> None:
        super().__init__()
        self.declared = declared
        known = Known(actor=Actor, until=until, pause=pause)
        self.classes = classes_in(program.main, (*program.args, *program.kwargs.values()))
        self.methods = MethodWrites(known, self.classes)
        self._program = program
        self._synthesis: Synthesis | None = None
        self._numbers: dict[Block, int] = {}

    # What a solver finds

    @cached_property
    def field_kinds(self) -> FieldKinds:
        """What the fields of actors may hold."""
        return FieldKinds(self._program)

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
            found, basis = self.synthesis.of(first, second)
            for text in found.constraints:
                meanings = [meaning_in(block.function) for block in (first, second)]
                codes = [self.synthesis.code(block) for block in (first, second)]
                meanings.append(functions_of(*codes).__getitem__)
                holds = None if text == "True" else compiled(text, freeze, *meanings)
                declared = Declared(first.name, second.name, holds, basis, text)
                self.add_pair(self._number(first.block), self._number(second.block), declared)

    def synthesised(self) -> Iterator[Constrained | Untranslated]:
        """Yield what a solver finds for each two blocks, and then blocks not understood."""
        for first, second in self.undeclared():
            found, _ = self.synthesis.of(first, second)
            yield found.listed(first.name, second.name)
        yield from self.synthesis.untranslated()

    # Blocks and their names

    def names(self) -> dict[str, list[Block]]:
        """Return all names of blocks, with the blocks that have them."""
        found: dict[str, list[Block]] = {}
        for cls, method, function in self.methods.methods():
            waits = self.methods.waits(function)
            blocks: list[Block] = [(function, None), *((function, wait) for wait in waits)]
            for position, block in enumerate(blocks, 1):
                end = "" if len(blocks) == 1 else f":{position}"
                for name in (f"{method}{end}", f"{cls.__name__}.{method}{end}"):
                    known = found.setdefault(name, [])
                    known += [block] if block not in known else []
        return found

    def numbers_of(self, name: str) -> list[int]:
        """Return the number of the block that has a name."""
        names = self.names()
        blocks = names.get(name, [])
        if not blocks:
            self._refuse_unknown(name, list(names))
        if len(blocks) > 1:
            longer = [other for other in names if other.endswith(f".{name}")]
            raise TreadleError(f"several classes have {name!r}: say which one, {', '.join(longer)}")
        obstacle = self.methods.obstacle(blocks[0][0])
        if obstacle:
            raise TreadleError(f"{name!r} cannot be independent by a constraint: {obstacle}")
        return [self._number(blocks[0])]

    def _number(self, block: Block) -> int:
        return self._numbers.setdefault(block, len(self._numbers))

    def every_block(self) -> list[Named]:
        """Return all blocks, each with the shortest name that only it has."""
        names = self.names()
        found: dict[Block, str] = {}
        for name, blocks in names.items():
            for block in blocks:
                if len(blocks) == 1:
                    found.setdefault(block, name)
        return [Named(name, *block) for block, name in found.items()]

    def _refuse_unknown(self, name: str, names: list[str]) -> None:
        several = [other for other in names if other.startswith(f"{name}:")]
        if several:
            raise TreadleError(f"{name!r} has several blocks: say which one, {', '.join(several)}")
        known = sorted({other for other in names if "." not in other})
        raise TreadleError(f"no block is called {name!r}: there are {', '.join(known) or 'none'}")

    def block_before(self, task: Task) -> Block | None:
        """Return the block that a task runs next; None if it stands in what its method called."""
        function = task.function
        if task.actor is None or not isinstance(function, FunctionType):
            return None
        if task.waiting is Waiting.NEW:
            return function, None
        frames = frames_of(task)
        if len(frames) != 1 or frames[0].f_code is not function.__code__:
            return None
        return function, self.methods.span_at(frames[0].f_code, frames[0].f_lasti)

    def number_before(self, task: Task) -> int:
        """Return the number of the block that a task runs next; -1: no constraint has it."""
        self.pairs()
        block = self.block_before(task)
        return -1 if block is None else self._numbers.get(block, -1)

    def name_before(self, task: Task) -> str:
        """Return the name of the block that a task runs next."""
        block = self.block_before(task)
        names = [name for name, blocks in self.names().items() if block in blocks]
        return next((n for n in names if len(self.names()[n]) == 1), names[0])

    # What tasks may still write

    def may_write(self, tasks: list[Task]) -> Iterator[tuple[Actor, Written]] | None:
        """Yield the fields of actors that some tasks may still write; None: all of them."""
        written: set[Written] = set()
        for task in tasks:
            cls = None if task.actor is None else type(task.actor)
            function = task.function
            fields = (
                self.methods.written(cls, function) if isinstance(function, FunctionType) else None
            )
            if fields is None:
                return None
            written |= fields
        actors = reachable_actors(tasks) if written else set()
        if actors is None:
            return None
        return (
            (actor, (kind, name))
            for actor in actors
            for kind, name in written
            if kind == type(actor).__qualname__
        )


def is_field(written: Written, name: str) -> bool:
    """Tell whether what is written may be a field of this name."""
    return written[1] in (name, ANY_FIELD)
