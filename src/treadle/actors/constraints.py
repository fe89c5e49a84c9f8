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
from types import FunctionType
from typing import TYPE_CHECKING

from treadle.actors.actor import Actor
from treadle.actors.classes import classes_in
from treadle.actors.heap import reachable_actors
from treadle.actors.standing import frames_of
from treadle.actors.task import Task, Waiting
from treadle.actors.waiting import pause, until
from treadle.analyses.ir import Span
from treadle.analyses.known import Known
from treadle.analyses.method_writes import ANY_FIELD, MethodWrites, Written
from treadle.core.constraints import Declarations, Declared
from treadle.core.errors import TreadleError

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
        self._numbers: dict[Block, int] = {}

    def find_more(self) -> None:
        """Refuse what is not built: finding constraints in the source of methods."""
        raise TreadleError(
            "constraints='synthesised' is for models: declare those of actors with "
            "program.independent"
        )

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
        return [self._numbers.setdefault(blocks[0], len(self._numbers))]

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
