"""Deadlock cycles as data: what a static analysis says, and what came of looking for each of them.

A front end that can analyse its programs returns `Candidates`; a session puts a verdict on each
cycle (`DeadlockCycle.verdict`), and readers show the `Deadlocks`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

from treadle.core import formats
from treadle.core.failure import Failure
from treadle.core.program import Program, Run

CRITERIA = ("first", "cycle", "all")
"""When a search for deadlocks is over: at the first one, with one for each cycle, with all."""

OUTPUTS = ("tests", "constraints", "both")
"""What is shown of a path: a concrete test, the condition of the path, or both."""

SENSITIVITIES = range(1, 5)
"""How many allocation sites may tell objects apart in a static analysis."""
SENSITIVITY = 2
"""How many do, unless told otherwise."""

CONFIRMED, UNFEASIBLE, UNDECIDED = VERDICTS = ("confirmed", "unfeasible", "undecided")


class Aim(ABC):
    """A cycle that executions can be guided to."""

    @abstractmethod
    def guided(self, program: Program) -> Program:
        """Return the program with executions cut that cannot end in the cycle."""

    @abstractmethod
    def is_deadlock(self, run: Run) -> bool:
        """Tell whether tasks wait for ever in a finished execution, in whatever cycle."""

    @abstractmethod
    def is_met_by(self, run: Run) -> bool:
        """Tell whether a finished execution ended in this cycle."""


@dataclass(frozen=True, slots=True)
class Link:
    """A part of a chain: somebody waits for somebody."""

    method: str
    """Whose task waits: `Barber.sleeps`."""
    file: str
    line: int
    """Where it waits."""
    wait: str
    """How: `get`, `await` or `until`."""
    awaited: str
    """Whose task it waits for."""
    held: str = ""
    """What the awaited task needs and somebody else holds, if that is why it does not end."""
    holder: str = ""
    """Whose task holds it."""


@dataclass(slots=True)
class DeadlockCycle:
    """A cycle of waits that may happen, as far as the analysis can tell."""

    kind: str
    """`deadlock`, or `condition`: it leads through a condition that somebody waits for."""
    chain: tuple[Link, ...]
    """Who waits for whom, with lines; the last for the first."""
    verdict: str = UNDECIDED
    """`confirmed` by an execution, `unfeasible` in this program, or `undecided`."""
    tests: list[str] = field(default_factory=list)
    """Test cases that show it, as source."""
    cases: list[Any] = field(default_factory=list, repr=False, compare=False)
    """The same with their traces: `symbolic.test_case.TestCase`."""
    failures: list[Failure] = field(default_factory=list)
    """The deadlocks that were found on the way to it; the first one is this cycle, if confirmed."""
    states: int | None = None
    """States that were visited on the way to it, those at which executions were cut included."""
    pruned: int = 0
    """Executions that were cut, since they could not lead to it."""
    seconds: float = 0.0
    """CPU time of the search for it."""
    reason: str = ""
    """Why it is not decided."""
    aim: Aim | None = field(default=None, repr=False, compare=False)

    def __str__(self) -> str:
        return str(formats.TEXT["deadlock cycle"](self))


@dataclass(slots=True)
class Condition:
    """A condition that somebody waits for, and that may never hold."""

    method: str
    file: str
    line: int
    condition: str


@dataclass(slots=True)
class Candidates:
    """What the static analysis of a program says."""

    cycles: list[DeadlockCycle]
    conditions: list[Condition] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    """What the analysis did not understand, a sentence each with `file:line`."""


@dataclass(slots=True)
class Contexts:
    """The initial contexts that were generated, and what came of them."""

    most: int
    """How many tasks of each method a context has at most."""
    generated: int = 0
    deadlocking: int = 0
    """Contexts in which a deadlock was found."""
    limited: int = 0
    """Contexts in which none was found, and a limit was met."""
    limits: list[str] = field(default_factory=list)
    """The limits that were met."""


@dataclass(slots=True)
class Deadlocks:
    """What is known of a program's deadlocks; prints as a readable report."""

    target: str
    free: bool = False
    """Whether it is proved that there is none: by the analysis, or as all cycles are unfeasible."""
    cycles: list[DeadlockCycle] = field(default_factory=list)
    conditions: list[Condition] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What else users should know: first of all, why nothing is proved."""
    seconds: float = 0.0
    contexts: Contexts | None = None
    """What initial contexts were tried, in the place of the main function."""

    @property
    def is_settled(self) -> bool:
        """Whether no deadlock is left open: proved, or none up to the size of contexts."""
        unfeasible = all(cycle.verdict == UNFEASIBLE for cycle in self.cycles)
        return self.free or (self.contexts is not None and bool(self.cycles) and unfeasible)

    @property
    def confirmed(self) -> list[DeadlockCycle]:
        """The cycles that an execution has shown."""
        return [cycle for cycle in self.cycles if cycle.verdict == CONFIRMED]

    @property
    def is_decided(self) -> bool:
        """Whether nothing is left open."""
        return self.free or (
            bool(self.confirmed) and all(cycle.verdict != UNDECIDED for cycle in self.cycles)
        )

    def __str__(self) -> str:
        return str(formats.TEXT["deadlocks"](self))
