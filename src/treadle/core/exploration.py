"""The shape of an exploration, as data: which prefixes were run, and what was left out, and why.

A search that is observed (`treadle.explore.observing`) leaves a tree behind in which executions
that begin alike share a way, and counts how often two steps were to be reversed. Reports draw both.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(slots=True)
class Step:
    """A step of the tree: the same one in all executions that come this way."""

    process: str
    words: str = ""
    """What it accesses."""
    where: str = ""
    """`file:line`, if that is known."""


@dataclass(slots=True)
class LeftOut:
    """A step that was not explored after a prefix."""

    process: str
    why: str
    """`asleep`, `forbidden` or `constraint`."""
    times: int = 1


@dataclass(slots=True)
class Counts:
    """What became of the executions below a branch."""

    executions: int = 0
    """Complete ones."""
    blocked: int = 0
    cut: int = 0
    failing: int = 0
    """Those of them, complete or not, that show a failure."""
    left_out: int = 0

    def add(self, other: Counts) -> None:
        """Count others as well."""
        self.executions += other.executions
        self.blocked += other.blocked
        self.cut += other.cut
        self.failing += other.failing
        self.left_out += other.left_out


@dataclass(slots=True)
class Branch:
    """Steps without a choice among them, and what comes after: other branches, or an end."""

    steps: list[Step] = field(default_factory=list)
    children: list[Branch] = field(default_factory=list)
    ending: str = ""
    """How the execution ends here, if it does: `ended`, `failed`, `blocked`, `cut`, `budget`, or
    `guidance` if it was cut because it leads nowhere that is looked for."""
    left_out: list[LeftOut] = field(default_factory=list)
    """What was not explored after the last step."""
    counts: Counts = field(default_factory=Counts)
    """Of the whole subtree, what is not drawn included."""
    undrawn: int = 0
    """Executions below that are counted, but not drawn: there are too many."""

    def walk(self) -> Iterator[Branch]:
        """Yield this branch and all below it, in the order in which they were explored."""
        ahead = [self]
        while ahead:
            branch = ahead.pop()
            yield branch
            ahead += reversed(branch.children)


@dataclass(slots=True)
class ReversedPair:
    """Two steps of two processes, and how often they were to be reversed."""

    first: Step
    second: Step
    times: int


@dataclass(slots=True)
class Exploration:
    """What an observed search has to show beyond its counters."""

    tree: Branch
    reversals: list[ReversedPair]
    """Which pairs of steps were to be reversed how often, the most frequent ones first."""
    processes: list[str]
    """All that took steps."""
    locations: list[str]
    """All shared data and synchronisation that steps accessed."""
    longest: int
    """Steps of the longest execution."""
    uncounted: int = 0
    """Reversals of pairs beyond those that are told apart."""
