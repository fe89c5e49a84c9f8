"""What an execution did, as data for reports: steps with their accesses, frames, waits."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Access:
    """One operation inside a step, in words for a report."""

    operation: str
    """The verb."""
    location: str
    """What it is about."""
    value: str = ""
    """What was read, written, handed over or returned; or how it failed."""
    held: str = ""
    """What the process has got hold of by it: the name of a lock, or of a semaphore."""

    def __str__(self) -> str:
        return f"{self.operation} {self.location}{' = ' if self.value else ''}{self.value}"


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One step of a recorded execution, in words for a report."""

    process: str
    """The process or thread that took the step."""
    accesses: tuple[Access, ...]
    """What it read, wrote or did, in order."""
    where: str = ""
    """`file:line` of the step's first access, or of its end if it made none."""
    source: str = ""
    """The text of that source line."""
    error: str = ""
    """The exception that ended the process in this step."""
    label: str = ""
    """What the program calls the process, if it has a name of its own: that of a thread."""
    then: str = ""
    """What comes next for the process: empty if it can go on, or `waits` or `ends`.

    Nothing is said of it if it is `over`: a message that was handled."""
    lane: str = ""
    """What its column is headed by, if several processes share one: an actor, a node, a task."""
    gives: tuple[str, ...] = ()
    """What was given back in it: names as in `Access.held`."""
    changes: tuple[str, ...] = ()
    """Data that it changed, by name; an access says to what, if that can be told."""
    arrival: str = ""
    """What came from outside in it, in words: time passed, an answer arrived.

    Such a step is nobody's: it stands across all columns."""
    is_inner: bool = False
    """Whether it is of the library that runs the program: shown only if it fails, or on demand."""


class LinkKind(StrEnum):
    """How one step made another one possible."""

    SPAWN = "spawn"
    """It created the process."""
    JOIN = "join"
    """It was the last one of a process whose end was waited for."""
    MESSAGE = "message"
    """It sent, put or signalled what the other one got."""
    RESULT = "result"
    """It returned what the other one waited for."""
    LOCK = "lock"
    """It gave back what the other one took."""
    WAKE = "wake"
    """It changed what the other one had a condition on."""


@dataclass(frozen=True, slots=True)
class Link:
    """One step made another one possible, in another process: an arrow in a picture."""

    source: int
    target: int
    kind: LinkKind
    about: str = ""
    """What is handed over, by name."""


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes that are connected, as a front end knows them: a network."""

    nodes: tuple[tuple[str, str], ...]
    """Names, each with what sort of node it is: `switch` or `host`."""
    edges: tuple[tuple[str, str, str, str], ...]
    """Two nodes each, with the names of the ends: ports."""
    tables: tuple[tuple[str, str], ...] = ()
    """What is written at nodes in the beginning; an access `table:` in their lanes changes it."""


TABLE = "table:"
"""The operation of an access that says what is written at a node from then on."""


@dataclass(frozen=True, slots=True)
class FrameRecord:
    """A function of the user that a process is in, in words for a report."""

    process: str
    function: str
    where: str
    variables: tuple[tuple[str, str], ...]
    """Names and values of its local variables."""


class WaitKind(StrEnum):
    """What sort of thing a process waits for."""

    LOCK = "lock"
    UNIT = "unit"
    """Of a semaphore."""
    NOTIFICATION = "notification"
    """Of a condition variable."""
    EVENT = "event"
    """That it is set."""
    ARRIVAL = "arrival"
    """Of others at a barrier."""
    ROUND = "round"
    """The end of a barrier's last round, or of its action."""
    ITEM = "item"
    """In a queue."""
    SLOT = "slot"
    """Room for an item in a queue."""
    DONE = "done"
    """That all items of a queue are done."""
    RESULT = "result"
    """Of futures."""
    JOB = "job"
    """Of a pool."""
    MESSAGE = "message"
    """In a mailbox."""
    END = "end"
    """Of a process."""
    CONDITION = "condition"
    """On shared variables."""
    CHANGE = "change"
    """Of what a loop reads again and again."""
    SLEEP = "sleep"
    NOTHING = "nothing"
    """What would come is left out."""
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Wait:
    """A process that cannot go on: what it waits for, and which processes hold that."""

    process: str
    """The process or thread that waits."""
    resource: str
    """What it waits for, in words."""
    holders: tuple[str, ...] = ()
    """Who has that."""
    where: str = ""
    """`file:line` where it waits."""
    spins: bool = False
    """Whether it loops instead of blocking."""
    label: str = ""
    """What the program calls the process, if it has a name of its own."""
    kind: WaitKind = WaitKind.OTHER
    """What sort of thing it waits for."""
    held: str = ""
    """The name of what others hold of that, as in `Access.held`."""

    @property
    def is_for_an_end(self) -> bool:
        """Whether it waits for the end of a process: nobody holds that, as one holds a lock."""
        return self.kind is WaitKind.END

    def __str__(self) -> str:
        is_held = self.holders and not self.is_for_an_end
        held = f", held by {', '.join(self.holders)}" if is_held else ""
        return f"{self.process} waits for {self.resource}{held}"
