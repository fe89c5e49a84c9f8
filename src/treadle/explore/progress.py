"""How far a search is: what listeners are told, and an estimate of what is left.

The estimate is Knuth's, made for a search that goes depth first: an execution found below nodes
with b1, b2, ... branches stands for 1/(b1·b2·...) of the tree. The part of the tree that is done is
the sum over the current path of the finished branches' shares, and the size of the whole is the
number of executions so far divided by it. Branches that the search has not discovered yet make the
estimate too small; how much it has moved lately is the uncertainty shown with it.
"""

from __future__ import annotations

import statistics
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Protocol

from treadle.core.happens_before import Trace
from treadle.core.result import Result

_SAMPLES = 20


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimate of the number of executions in all."""

    executions: float
    low: float
    high: float
    done: float
    """The share of the tree that is explored, between 0 and 1."""
    is_rough: bool = False
    """Whether it is only about right, and says nothing of how far it may be off."""


@dataclass(frozen=True, slots=True)
class Progress:
    """A snapshot of a search."""

    executions: int
    blocked: int
    failures: int
    depth: int
    seconds: float
    estimate: Estimate | None
    final: bool = False
    workers: int = 1
    """How many processes explore."""

    @property
    def rate(self) -> float:
        """Executions per second, blocked ones included."""
        return (self.executions + self.blocked) / self.seconds if self.seconds else 0.0


class Listener(Protocol):
    """Something that wants to know how far a search is."""

    interval: float
    """Seconds between two calls."""

    def __call__(self, progress: Progress) -> None:
        """Take note; called after an execution, at most once per interval, and at the end."""
        ...


class Estimator:
    """Follows the current path of a search and estimates the size of its tree."""

    def __init__(self, todo: Callable[[int], int]) -> None:
        self._todo = todo
        self._explored_at: dict[int, int] = {}
        self._samples: deque[float] = deque(maxlen=_SAMPLES)

    def branched(self, depth: int) -> None:
        """Note that one more branch at a depth is explored, and that the path ends there."""
        explored = self._explored_at
        while explored and next(reversed(explored)) > depth:  # they are in order
            explored.popitem()
        explored[depth] = explored.get(depth, 0) + 1

    def share_done(self, length: int) -> float:
        """Return the share of the tree that is explored, the path being `length` long."""
        share, done = 1.0, 0.0
        for depth in range(length):
            explored = self._explored_at.get(depth, 0)
            branches = 1 + explored + self._todo(depth)
            share /= branches
            done += share * explored
        return done + share

    def estimate(self, executions: int, length: int) -> Estimate | None:
        """Estimate the number of executions in all; None before the first one, or if far too many.

        The share that is done of a tree that is a thousand branchings deep is 0 in arithmetic.
        """
        done = self.share_done(length) if executions else 0.0
        if not done:
            return None
        total = executions / done
        self._samples.append(total)
        spread = statistics.pstdev(self._samples)
        return Estimate(total, max(float(executions), total - 2 * spread), total + 2 * spread, done)


class Meter:
    """Measures the time of a search, estimates what is left, and tells a listener."""

    def __init__(self, result: Result, trace: Trace, listener: Listener | None) -> None:
        self._result = result
        self._trace = trace
        self._listener = listener
        self.estimator: Estimator | None = None
        """Estimates the size of the tree; told of each branch that the search goes on with."""
        self._next_tell = 0.0
        self._started = 0.0

    def start(self) -> None:
        """Begin to measure the time."""
        self._started = perf_counter()

    def estimate_by(self, todo: Callable[[int], int]) -> None:
        """Estimate the size of the tree from how many branches wait at each depth.

        A sampling algorithm has no tree to tell it from.
        """
        self.estimator = Estimator(todo)

    @property
    def seconds(self) -> float:
        """Seconds since the search began."""
        return perf_counter() - self._started

    def estimate(self) -> Estimate | None:
        """Estimate the size of the space, if that can be told."""
        if self.estimator is None:
            return None
        return self.estimator.estimate(self._result.executions, len(self._trace))

    def tell_if_due(self) -> None:
        """Tell the listener how far the search is, once per interval."""
        if self._listener is not None and perf_counter() >= self._next_tell:
            self.tell()
            self._next_tell = perf_counter() + self._listener.interval

    def tell(self, *, final: bool = False) -> None:
        """Tell the listener how far the search is."""
        if self._listener is None:
            return
        result = self._result
        self._listener(
            Progress(
                executions=result.executions,
                blocked=result.blocked,
                failures=len(result.failures),
                depth=len(self._trace),
                seconds=self.seconds,
                estimate=None if final else self.estimate(),
                final=final,
            )
        )
