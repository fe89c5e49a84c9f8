"""The seam between front ends and the core: a `Program` starts `Run`s, a `Run` takes steps.

A front end implements these two protocols and nothing else; an algorithm sees nothing else of it.
Processes are numbers of the program's `Vocabulary`, steps are tuples of access codes.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

from treadle.core.events import Codes, Vocabulary
from treadle.core.records import FrameRecord, StepRecord, Wait


@dataclass(slots=True)
class Crash:
    """A process that ended with an exception: what a run saw of a bug."""

    process: int
    step: int
    """Index of the failing step in the execution."""
    exception: BaseException


@dataclass(slots=True)
class Ending:
    """How a run stands when no process is enabled any more."""

    crashes: list[Crash] = field(default_factory=list)
    waits: list[Wait] = field(default_factory=list)
    """Processes that wait for ever; daemons are left out."""
    is_cut: bool = False
    """Whether the program said that this execution is of no interest."""
    is_unfinished: bool = False
    """Whether somebody was not let go on, for whom others may wait."""


@dataclass(frozen=True, slots=True)
class Foreseen:
    """What can be said of the next step of a process before it is taken."""

    place: int
    """Where in the process it begins; steps of the process at the same place have the same one."""
    decisive: frozenset[int]
    """Places of earlier steps of the process whose reads may decide what it accesses.

    That includes whether the process gets there at all. What it reads itself is not meant: a step
    that accesses something else when it reads something else is open."""
    branches: bool
    """Whether what it reads may decide about a later step."""


class CannotStepError(Exception):
    """A process cannot take a step that it took, or would have taken, before: not deterministic."""

    def __init__(self, process: int) -> None:
        super().__init__(process)
        self.process = process


class Restart(Exception):
    """A run showed that what its program regards as a step was too coarse: begin anew.

    Raised by `Run.close` or `Program.start`; the program knows better from then on.
    """


class Run(Protocol):
    """One execution of a program, from its initial state, one step at a time."""

    crashes: list[Crash]

    def step(self, process: int) -> Codes:
        """Let an enabled process take one step and return what it accessed."""
        ...

    def replay(self, processes: Sequence[int], codes: list[Codes], length: int) -> int:
        """Take `length` recorded steps; return the index of the first that differs, or -1.

        Go no further then. What the step did, if it could be taken, replaces what was recorded.
        """
        ...

    def execute(self, processes: list[int], codes: list[Codes], limit: int) -> int:
        """Take all recorded steps as `replay` does and, unless one differs, `finish`."""
        ...

    def finish(self, last: int, limit: int, processes: list[int], codes: list[Codes]) -> bool:
        """Go on by the default schedule `stay`, after a step of `last`, to the end of the run.

        Append each step's process and accesses to the lists; stop, and return False, when they
        have `limit` entries.
        """
        ...

    def enabled(self) -> list[int]:
        """Return the processes that can take a step, oldest first."""
        ...

    def is_enabled(self, process: int) -> bool:
        """Tell whether a process can take a step."""
        ...

    def blocked(self) -> list[tuple[int, Codes]]:
        """Return the processes that wait, with the accesses that their next step begins with."""
        ...

    def ending(self) -> Ending:
        """Describe the final state of a run that has no enabled process."""
        ...

    def records(self) -> list[StepRecord]:
        """Return the steps in words; only of a run started with `detail`."""
        ...

    def frames(self) -> list[FrameRecord]:
        """Return the user's functions that the processes are in; only of a run with `detail`.

        Processes that crashed come first; functions come outermost first.
        """
        ...

    def where(self, process: int) -> str:
        """Return `file:line` of where a process stands."""
        ...

    def foresee(self, process: int) -> Foreseen | None:
        """Say what is known of an enabled process's next step; None: every step may decide it."""
        ...

    def fingerprint(self) -> object:
        """Return a comparable value of the whole state: shared state and every continuation."""
        ...

    def watched_step(self, process: int) -> tuple[Codes, object]:
        """Take a step; return what it accessed, and what it saw that `effect` does not show."""
        ...

    def effect(self, processes: Sequence[int], locations: Sequence[int]) -> object:
        """Return a comparable value of part of the state: continuations, and values of locations.

        What cannot be compared is equal to nothing, not even to itself.
        """
        ...

    def values(self, locations: Sequence[int]) -> list[object]:
        """Return for each location a comparable value of what is there.

        What cannot be compared, or not on its own, is equal to nothing, not even to itself.
        """
        ...

    def close(self) -> None:
        """End the run; frees what its processes hold."""
        ...

    def drop(self) -> None:
        """End a run that is no part of an exploration: nothing is learned from it."""
        ...


class Program(Protocol):
    """Something that can be run again and again from the same initial state."""

    name: str
    vocabulary: Vocabulary

    @property
    def granularity(self) -> str:
        """What a step is, if the program can be run with different ones."""
        ...

    @property
    def options(self) -> dict[str, object]:
        """Options that it takes to run the program in the same way again."""
        ...

    def knowledge(self) -> tuple[str, ...]:
        """Return what was learned beyond the natural execution and decides what is a step."""
        ...

    def know(self, knowledge: Sequence[str]) -> None:
        """Know what an earlier exploration had learned, and nothing else."""
        ...

    def notes(self, *, has_ended: bool) -> list[str]:
        """Return what users should know about the executions so far.

        The search has ended if it has seen everything or found something.
        """
        ...

    def not_repeated(self) -> str:
        """Return what the first execution of all did and none has done since: `changed x`."""
        ...

    def foresee_less(self) -> bool:
        """Trust no guess any more, since one was wrong; return whether any was trusted till now."""
        ...

    def controlled(self) -> AbstractContextManager[object]:
        """Return the context in which executions can be started; entering it twice is harmless."""
        ...

    def start(self, *, detail: bool = False) -> Run:
        """Begin an execution; with `detail`, each step is also recorded in words."""
        ...
