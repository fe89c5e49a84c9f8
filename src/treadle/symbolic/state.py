"""A state of symbolic execution: actors, tasks, what is decided, and the condition of the path.

States are copied where executions part. A step changes only the task that runs, actors of its group
and boxes; all these are replaced, never changed, once a step has ended, so a copy of a state is a
copy of its tables.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import NamedTuple

from treadle.analyses.ir import Method
from treadle.symbolic.values import Term, Value


class Waiting(Enum):
    """What a task waits for before its next step."""

    NEW = "new"
    GET = "get"
    AWAIT = "await"
    UNTIL = "until"
    PAUSED = "pause"
    ENDED = "return"


@dataclass(frozen=True, slots=True)
class Actor:
    """An actor; `initial`: there from the beginning, so that its fields may be anything."""

    cls: type
    group: str
    fields: dict[str, Value]
    initial: bool

    def having(self, name: str, value: Value) -> Actor:
        """Return the actor with another value of a field."""
        return replace(self, fields={**self.fields, name: value})


@dataclass(slots=True)
class Frame:
    """A method or function that is being executed."""

    method: Method
    this: str | None
    """The actor."""
    names: dict[str, Value]
    position: int = 0
    target: str | None = None
    """What the caller calls the result."""
    makes: str | None = None
    """The actor that is made, if this is an initialiser."""
    decided: dict[int, int] = field(default_factory=dict)
    """How often each branch was decided either way."""

    def copy(self) -> Frame:
        """Return a frame that can go on independently."""
        return replace(self, names=dict(self.names), decided=dict(self.decided))


@dataclass(slots=True)
class Task:
    """An asynchronous call."""

    name: str
    cls: type | None
    method: str
    actor: str
    group: str
    frames: list[Frame]
    born: int
    """The number of the step that sent it."""
    waiting: Waiting = Waiting.NEW
    target: str = ""
    """The task whose end it waits for."""
    joined: frozenset[str] = frozenset()
    result: Value = None
    error: str = ""
    is_retrieved: bool = False
    """Whether somebody was told of the error."""
    sent: int = 0
    made: dict[str, int] = field(default_factory=dict)
    """How many actors of each class it made."""
    boxes: int = 0

    def copy(self) -> Task:
        """Return a task that can go on independently."""
        return replace(self, frames=[each.copy() for each in self.frames], made=dict(self.made))

    @property
    def has_ended(self) -> bool:
        """Whether it has returned or failed."""
        return self.waiting is Waiting.ENDED

    @property
    def in_words(self) -> str:
        """The method and the actor, for people."""
        return f"{self.method} of {self.actor}"

    @property
    def line(self) -> int:
        """The line where it stands."""
        frame = self.frames[-1]
        return frame.method.instructions[frame.position].span.line


class Taken(NamedTuple):
    """An entry of the interleavings table: a step that was taken."""

    task: str
    method: str
    actor: str
    first_line: int
    status: str
    """`return`, `get`, `await`, `until`, `pause`, or `error`."""
    last_line: int
    target: str


class State:
    """Everything that the next steps depend on, and how it came to be."""

    __slots__ = (
        "actors", "born", "boxes", "fresh", "holders", "limits", "nonnull", "path", "resolved",
        "seen", "table", "tasks",
    )  # fmt: skip

    def __init__(self) -> None:
        self.actors: dict[str, Actor] = {}
        self.tasks: dict[str, Task] = {}
        self.holders: dict[str, str] = {}
        """Of groups: the task that waits in a `get`."""
        self.boxes: dict[str, tuple[Value, ...]] = {}
        """Items of lists and sets; pairs of dictionaries."""
        self.born: dict[str, tuple[Value, ...]] = {}
        """What was in the lists at first that symbols are decided to be."""
        self.path: tuple[Term, ...] = ()
        self.resolved: dict[str, Value] = {}
        """What symbols are decided to be."""
        self.nonnull: frozenset[str] = frozenset()
        """Symbols that are not decided, only that they are not None."""
        self.fresh: tuple[str, ...] = ()
        """Actors that were added because a symbol is one that nobody knew."""
        self.limits: frozenset[str] = frozenset()
        """Limits that were met on the way."""
        self.seen: frozenset[str] = frozenset()
        """Fields, as symbols, that some step has read before it was written, and numbers that some
        step has computed with."""
        self.table: tuple[Taken, ...] = ()

    def copy(self) -> State:
        """Return a state that can go on independently."""
        made = State.__new__(State)
        made.actors = dict(self.actors)
        made.tasks = dict(self.tasks)
        made.holders = dict(self.holders)
        made.boxes = dict(self.boxes)
        made.born = self.born
        made.path = self.path
        made.resolved = dict(self.resolved)
        made.nonnull = self.nonnull
        made.fresh = self.fresh
        made.limits = self.limits
        made.seen = self.seen
        made.table = self.table
        return made

    def alive(self) -> Iterator[Task]:
        """Yield the tasks that have not ended, oldest first."""
        return (task for task in self.tasks.values() if not task.has_ended)

    def key(self) -> Hashable:
        """Return something that is equal for states with the same future."""
        return (
            frozenset(self.path),
            frozenset(self.resolved.items()),
            self.nonnull,
            frozenset(
                (name, frozenset(actor.fields.items())) for name, actor in self.actors.items()
            ),
            frozenset(map(_task_key, self.tasks.values())),
            frozenset(self.boxes.items()),
        )


def _task_key(task: Task) -> Hashable:
    return (
        task.name,
        task.waiting,
        task.target,
        task.joined,
        task.result,
        task.error,
        task.is_retrieved,
        task.sent,
        frozenset(task.made.items()),
        tuple(
            (id(frame.method), frame.position, frozenset(frame.names.items()))
            for frame in task.frames
        ),
    )
