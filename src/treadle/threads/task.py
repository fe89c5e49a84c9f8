"""A controlled thread, and what it is about to do.

A task always stands before a visible operation: it *announced* it and acts when it is scheduled.
What it announced is either the tuple of its access codes, and then it can always go on, or an
`Operation`, which may have to wait.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from treadle.events import Codes

if TYPE_CHECKING:
    from greenlet import greenlet


class Operation(ABC):
    """Something that a task announced and that may have to wait."""

    __slots__ = ()

    spins = False
    """Whether the task is in a loop that waits for others without blocking."""

    def deadline(self, task: Task) -> float | None:
        """Return when a timed wait that has to wait now gives up, on the task's clock.

        The natural schedule lets everybody else run first, then the one with the earliest deadline.
        """
        del task
        return None

    @abstractmethod
    def ready(self, task: Task) -> bool:
        """Tell whether the task can take its next step."""

    @abstractmethod
    def pending(self, task: Task) -> Codes:
        """Return the accesses that the step would begin with; asked only while it has to wait."""

    @abstractmethod
    def describe(self) -> str:
        """Name what the task waits for, for reports."""

    def holders(self) -> list[Task]:
        """Return the tasks that hold what is waited for."""
        return []


class Task:
    """One controlled thread of one execution."""

    __slots__ = (
        "children", "daemon", "doing", "fiber", "label", "name", "now", "number", "parent",
        "published", "scratch", "target", "thread",
    )  # fmt: skip

    def __init__(self, number: int, name: str, target: Any) -> None:
        self.number = number
        self.name = name
        """Spawn path: the same in every execution."""
        self.label = name
        self.target = target
        self.doing: Codes | Operation | None = None
        """What it announced; once it acts, the accesses of its step; None until it begins."""
        self.fiber: greenlet | None = None
        self.parent: Task | None = None
        """Who waits for it to come to its first announcement."""
        self.daemon = False
        self.thread: Any = None
        """Its `threading.Thread`."""
        self.children = 0
        self.published = 0
        """How often it published objects: names them alike in every execution."""
        self.now = 0.0
        """Its virtual clock, in seconds since the execution began."""
        self.scratch: dict[Any, Any] = {}
        """What primitives keep for it (loop bookkeeping, thread-local values)."""

    def __repr__(self) -> str:
        return f"<task {self.name}>"
