"""A task: one asynchronous call, from the send to its end. It is a process of the exploration."""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Coroutine
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from treadle.actors.future import Future
from treadle.core.frames import Place

if TYPE_CHECKING:
    from greenlet import greenlet

    from treadle.actors.actor import Actor
    from treadle.actors.names import GroupNames, TaskNames
    from treadle.actors.world import World


class Waiting(IntEnum):
    """What a task waits for before its next step."""

    NEW = 0
    """Nothing yet: it has not begun."""
    GET = 1
    """The end of another task; its actor is not released."""
    AWAIT = 2
    """The end of another task."""
    UNTIL = 3
    """A condition."""
    PAUSED = 4
    """Its turn."""
    RUNNING = 5
    """Nothing: its step is under way."""
    ENDED = 6


class Group:
    """Actors that share one lock: mostly a single one."""

    __slots__ = ("holder", "names")

    def __init__(self, names: GroupNames) -> None:
        self.names = names
        self.holder: Task | None = None
        """The task that waits in a `get`, and lets nobody else run in the group."""


class Task:
    """One asynchronous call."""

    __slots__ = (
        "actor", "args", "born", "condition", "context", "coroutine", "created", "error", "fiber",
        "function", "future", "group", "is_retrieved", "joined", "kwargs", "loose", "names",
        "number", "predecessor", "result", "run", "seen", "sender", "sent", "target", "waiting",
    )  # fmt: skip

    def __init__(
        self,
        run: World,
        names: TaskNames,
        actor: Actor | None,
        group: Group,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        born: int,
    ) -> None:
        self.run = run
        self.names = names
        self.number = names.number
        self.actor = actor
        self.group = group
        self.function = function
        self.args = args
        self.kwargs = kwargs
        self.born = born
        """The step in which it was sent."""
        self.future: Future[Any] = Future(self)
        self.waiting = Waiting.NEW
        self.target: Task | None = None
        """The task whose end it waits for."""
        self.condition: Callable[[], object] | None = None
        self.joined: set[Task] = set()
        """Tasks whose end it has waited for."""
        self.loose: dict[object, Place] = {}
        """Conditions and pauses that were made and not awaited, and where."""
        self.coroutine: Coroutine[Any, Any, Any] | None = None
        self.fiber: greenlet | None = None
        """The greenlet that it stands in, in the middle of a `get`."""
        self.context: contextvars.Context | None = None
        self.sent = 0
        self.created: dict[str, int] = {}
        """How many actors of each class it made."""
        self.seen: list[object] | None = None
        """What it saw at the beginning of each of its steps, if somebody compares states."""
        self.sender: Group | None = None
        """The group whose code sent it."""
        self.predecessor: Task | None = None
        """The task that has to begin before, by the order of messages."""
        self.result: Any = None
        self.error: BaseException | None = None
        self.is_retrieved = False

    @property
    def name(self) -> str:
        """The name of the process."""
        return self.names.name

    @property
    def key(self) -> str:
        """The method, whoever's it is: `Worker.ping`."""
        return self.function.__qualname__

    @property
    def in_words(self) -> str:
        """What the task is, for people: `ping of Worker1`."""
        return self.names.method if self.actor is None else f"{self.names.method} of {self.actor!r}"

    @property
    def has_ended(self) -> bool:
        """Whether it has returned or failed."""
        return self.waiting == Waiting.ENDED
