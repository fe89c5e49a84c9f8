"""What is sent to hands and back: parts of a space, jobs, answers. All of it is plain data."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from treadle.core.failure import Failure, without_addresses
from treadle.core.result import Result

SUMMED = (
    "executions", "blocked", "cut", "elsewhere", "failing", "events", "replayed", "probes",
    "race_checks", "dependency_checks", "pairs_asked", "constraints_used",
)  # fmt: skip
"""Figures of a result that are those of its parts, added up."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a space: a cube, a list of zones, or some samples by number."""

    what: Any
    """A `Cube`; a tuple of zones, by names of processes; or a range."""
    share: float = 1.0
    """Which share of the space it is likely to be."""
    deaths: int = 0
    """How many hands have died of it."""
    is_too_large: bool = False
    """Whether it is to be divided before it is explored: a budget was used up in it."""
    is_whole: bool = False
    """Whether nothing was found on which it could be divided."""
    is_divided: bool = False
    """Whether it was divided already because hands died of what it was a part of."""


@dataclass(frozen=True, slots=True)
class Job:
    """What one hand is asked to do."""

    number: int
    parts: tuple[Part, ...]
    knowledge: tuple[str, ...]
    """What decides what is a step; parts mean something under this knowledge only."""
    quantum: float
    """Seconds of the processor after which no other part is begun."""
    patience: float = 0.0
    """Work is scarce: after so many quanta a part is given up in any case. 0: it is not."""
    again: float = 0.0
    """Work is not scarce: after so many quanta a part is looked at again. 0: it is not."""
    wanted: int = 0
    """On how many pairs a part is divided at least: there are too few."""
    max_executions: int | None = None
    timeout: float | None = None
    """Seconds of wall time."""
    is_to_finish: bool = False
    """Whether parts are explored until the budget ends them, and never given up."""
    only_divide: bool = False
    """Whether the part is not to be explored: hands die of it."""


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A part whose exploration was ended by a budget, or by what ends the whole search."""

    part: Part
    counts: Counter[str]
    """What was explored of it; that counts only if nobody ever explores the part."""


class Ran(NamedTuple):
    """A class that was run, and that others may have run, too."""

    digests: tuple[str, ...]
    """Any of them tells the class."""
    failing: int
    """Failures that this execution has reported."""


@dataclass(slots=True)
class Answer:
    """What a hand has done."""

    number: int
    counts: Counter[str] = field(default_factory=Counter)
    """Figures of finished parts."""
    unfinished: list[Unfinished] = field(default_factory=list)
    """Parts that were not explored to their end."""
    is_late: bool = False
    """Whether that budget was time, which is up for all."""
    ran: list[Ran] = field(default_factory=list)
    """The classes of the executions, if parts may have some in common."""
    failures: list[Failure] = field(default_factory=list)
    left: list[Part] = field(default_factory=list)
    done: int = 0
    """Parts that were finished."""
    share: float = 0.0
    """Which share of the space they are likely to be."""
    lost: int = 0
    """Executions of parts that were given up."""
    deepest: int = 0
    """Nodes of the largest wakeup trees."""
    learned: tuple[str, ...] | None = None
    """What is known now, if an execution taught something: all parts are void then."""
    stopped_by: str = ""
    """Why everything is over: the first failure, or a program that is not deterministic."""
    incomplete: str = ""
    """Why something was not covered although the search goes on: `max_steps = 10000`."""
    at: int = 0
    """The number of the sample that failed, if samples are taken."""
    notes: list[str] = field(default_factory=list)
    escapes: list[str] = field(default_factory=list)
    rests_on: list[str] = field(default_factory=list)
    repeated: tuple[str, ...] = ()
    """What executions did that the first one of all had done."""
    seconds: float = 0.0
    """Time of the processor."""
    error: Exception | None = None
    """What the user, or whoever maintains Treadle, is to be told instead."""


def counts_of(result: Result) -> Counter[str]:
    """Return the figures of a result that can be added up."""
    return Counter({name: getattr(result, name) for name in SUMMED})


def begun(counts: Counter[str]) -> int:
    """Return how many executions were begun."""
    return sum(counts[name] for name in ("executions", "blocked", "cut", "elsewhere"))


def key_of(failure: Failure) -> tuple[str, str, str]:
    """Return what makes two failures the same one."""
    return failure.kind, failure.process, without_addresses(failure.message)


def is_simpler(one: Failure, other: Failure) -> bool:
    """Tell whether a failure has a shorter schedule than another, or one first by its names."""
    return (len(one.schedule), one.schedule) < (len(other.schedule), other.schedule)
