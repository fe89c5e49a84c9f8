"""What a thread is about to do, if it may have to wait; and what it is in the middle of."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import FrameType
from typing import TYPE_CHECKING

from treadle.core.events import Codes
from treadle.core.records import WaitKind

if TYPE_CHECKING:
    from treadle.python.runtime.task import Task


TIMED_OUT = "timed out"
IN_VAIN = "in vain"
"""How operations fail that do not wait for ever."""


class Operation(ABC):
    """Something that a task announced and that may have to wait."""

    __slots__ = ()

    kind = WaitKind.OTHER
    """What sort of thing it waits for."""
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
        """Say what the task waits for, for reports."""

    def holders(self) -> list[Task]:
        """Return the tasks that hold what is waited for."""
        return []

    def held(self) -> str:
        """Name what the task holds if the operation succeeds; empty if that is nothing."""
        return ""

    def failure(self, task: Task) -> str:
        """Say how the operation fails that goes on now, for reports; empty if it succeeds."""
        return TIMED_OUT if self.deadline(task) is not None else ""


class Caller(ABC):
    """Code that is not instrumented, and has called code under test or a primitive."""

    __slots__ = ()

    @abstractmethod
    def is_at(self, frames: list[FrameType]) -> bool:
        """Tell whether this is what runs in some frames, which end at code under test."""

    @abstractmethod
    def is_over(self) -> bool:
        """Tell whether it has ended without saying so."""

    @abstractmethod
    def go_on(self) -> None:
        """Code under test is about to return to it: begin the step that it goes on with."""

    @abstractmethod
    def end_step(self) -> None:
        """The task is about to begin another step: add what this code did in the present one."""
