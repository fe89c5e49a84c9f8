"""The three sorts of parts: cubes, zones of arrival times, ranges of samples.

Each says what the whole space is, how one part of it is explored, and what is left of a part that
is not finished. A cube that is given up loses what was explored, unless there is nothing to divide
it on: then it is finished after all. Of zones and samples nothing is lost.
"""

from __future__ import annotations

import hashlib
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from treadle.explore.cubes.narrowed import Narrowed
from treadle.explore.cubes.order import EVERYTHING, Cube
from treadle.explore.cubes.splitting import coarse_parts_of, parts_of
from treadle.explore.registry import ALGORITHMS
from treadle.explore.search import Search
from treadle.explore.strategy import EXPLORED, Algorithm
from treadle.session.workers.parts import Job, Part, Ran, begun, counts_of
from treadle.session.workers.policy import (
    Looks,
    Policy,
    idle_after,
    is_for_the_idle,
    needed,
    pairs,
)
from treadle.session.workers.taken import Taken, gaps
from treadle.session.workers.work import Work

_SAMPLES = 32
"""Samples that are taken at once, if only time ends them."""

_DIGITS = 24
"""Hexadecimal digits that tell classes apart."""

_COARSE = 3
"""Pairs on which a part is divided of which hands die."""

cpu_seconds = time.process_time
"""Taken before any program is under control: quanta do not depend on how busy the machine is."""


class Space(ABC):
    """A space that can be explored in parts."""

    def __init__(self, work: Work, policy: Policy) -> None:
        self.work = work
        self.policy = policy
        self.is_idle: Callable[[], bool] = lambda: False
        """Tells whether some hand of this machine has nothing to do."""
        self.is_over: Callable[[], bool] = lambda: False
        """Tells whether nobody wants to know any more."""

    @abstractmethod
    def everything(self) -> list[Part]:
        """Return the space as parts."""

    @abstractmethod
    def search(self, part: Part, job: Job) -> Search:
        """Return the search of a part, which may give it up."""

    @abstractmethod
    def left(self, search: Search, part: Part) -> list[Part]:
        """Return what is left of a part whose search has given up."""

    def left_behind(self, search: Search, part: Part) -> list[Part]:
        """Return what is left of a part that is ended together with the whole search."""
        del search, part
        return []

    @abstractmethod
    def divided(self, part: Part, job: Job) -> list[Part]:
        """Divide a part without exploring it."""

    def ran(self) -> list[Ran]:
        """Return the classes that the latest search has counted, if others may run them, too."""
        return []

    loses = False
    """Whether what was explored of a part that is given up does not count."""
    is_grouped = True
    """Whether one job may be about several parts."""

    def more(self) -> list[Part]:
        """Return more of a space that has no end."""
        return []

    def in_words(self, part: Part) -> str:
        """Name a part."""
        del part
        return "everything"

    def _limits(self, job: Job) -> dict[str, Any]:
        return {"max_executions": job.max_executions, "timeout": job.timeout}


class CubeSpace(Space):
    """A space of executions, in cubes."""

    loses = True

    def __init__(self, work: Work, policy: Policy) -> None:
        super().__init__(work, policy)
        self._children: list[Part] = []

    def everything(self) -> list[Part]:
        """Return the empty cube."""
        return [Part(EVERYTHING)]

    def search(self, part: Part, job: Job) -> Search:
        """Return the search of a cube."""
        self._children = []
        strategy = self.work.strategy
        narrowed = Narrowed(self.work.program, part.what, by_interleaving=strategy.repeats_classes)
        search = self.work.search(narrowed, **self._limits(job))
        gives_up = self._by_executions if self.policy.by_executions else self._by_time
        search.gives_up = gives_up(search, part, job)
        return search

    def _by_executions(self, search: Search, part: Part, job: Job) -> Callable[[], bool]:
        limit, is_whole = self.policy.limit(len(part.what)), part.is_whole or job.is_to_finish

        def gives_up() -> bool:
            nonlocal is_whole
            if self.is_over():
                return True
            if is_whole or begun(counts_of(search.result)) < limit:
                return False
            is_whole = not self._divide(part, max(2, job.wanted))
            return not is_whole

        return gives_up

    def _by_time(self, search: Search, part: Part, job: Job) -> Callable[[], bool]:
        began, looks = cpu_seconds(), Looks(job.quantum, job.patience, job.again)
        is_whole = part.is_whole or job.is_to_finish
        next_idle = idle_after()

        def gives_up() -> bool:
            nonlocal is_whole, next_idle
            if self.is_over():
                return True
            if is_whole:
                return False
            used = cpu_seconds() - began
            is_too_large = looks.is_due(used) and looks.is_too_large(used, search.share_done())
            if not is_too_large and used >= next_idle and self.is_idle():
                next_idle = used + idle_after()
                is_too_large = is_for_the_idle(used, search.share_done())
            if not is_too_large:
                return False
            seconds = needed(used, search.share_done())
            is_whole = not self._divide(part, pairs(seconds, job.quantum, job.wanted))
            return not is_whole

        return gives_up

    def _divide(self, part: Part, wanted: int) -> bool:
        """Look for parts of a part; tell whether there are any."""
        cubes = parts_of(self.work.program, part.what, wanted, self.work.max_steps)
        self._children = [
            replace(part, what=cube, share=part.share * share, is_too_large=False)
            for cube, share in cubes.items()
        ]
        return len(cubes) > 1

    def left(self, search: Search, part: Part) -> list[Part]:
        """Return the parts of a cube; itself, if it was not divided."""
        del search
        return self._children if len(self._children) > 1 else [part]

    def divided(self, part: Part, job: Job) -> list[Part]:
        """Divide a cube; if that cannot be done, it is whole. Hands may die of some executions."""
        if not part.deaths:
            is_divided = self._divide(part, max(2, job.wanted))
            return (
                self._children if is_divided else [replace(part, is_whole=True, is_too_large=False)]
            )
        cubes = coarse_parts_of(self.work.program, part.what, _COARSE, self.work.max_steps)
        share = part.share / len(cubes)
        return [replace(part, what=cube, share=share, is_divided=True) for cube in cubes]

    def in_words(self, part: Part) -> str:
        """Name the orders of a cube."""
        cube: Cube = part.what
        return " and ".join(map(str, cube)) or "everything"


class ZoneSpace(Space):
    """A space of arrival times, in zones (`treadle.tasks.fifo`), which its strategy divides.

    A class may have points in several zones. One search knows which classes it has run; of several
    the coordinator counts each once.
    """

    def __init__(self, work: Work, policy: Policy) -> None:
        super().__init__(work, policy)
        self._ran: list[Ran] = []

    def everything(self) -> list[Part]:
        """Return the zone of all points."""
        return [Part(((),))]

    def search(self, part: Part, job: Job) -> Search:
        """Return the search of zones, which ends when the quantum does."""
        search = self.work.search(self.work.program, **self._limits(job))
        search.algorithm.begin_with(part.what)
        began, limit = cpu_seconds(), self.policy.limit(0)

        def gives_up() -> bool:
            if self.is_over():
                return True
            if self.policy.by_executions:
                return begun(counts_of(search.result)) >= limit
            used = cpu_seconds() - began
            return used >= job.quantum or (used >= idle_after() and self.is_idle())

        search.gives_up = gives_up
        self._note_classes(search)
        return search

    def _note_classes(self, search: Search) -> None:
        """Let a search take note of the classes that it counts."""
        self._ran = ran = []
        result, counted, failing = search.result, 0, 0

        def note(outcome: int) -> None:
            nonlocal counted, failing
            del outcome
            if result.executions > counted:
                digests = map(_digest, search.algorithm.latest_class())
                ran.append(Ran(tuple(digests), result.failing - failing))
            counted, failing = result.executions, result.failing

        search.on_counted = note

    def ran(self) -> list[Ran]:
        """Return the classes that the latest search has counted."""
        return self._ran

    def left(self, search: Search, part: Part) -> list[Part]:
        """Return the zones that nobody has been to, each a part of its own."""
        zones = search.algorithm.left_over()
        return [replace(part, what=(zone,), share=part.share / (len(zones) + 1)) for zone in zones]

    def left_behind(self, search: Search, part: Part) -> list[Part]:
        """Return the zones that are left; if the last run counts, without the one it was in."""
        if search.has_counted_last and search.algorithm.backtrack() == EXPLORED:
            return []
        return self.left(search, part)

    def divided(self, part: Part, job: Job) -> list[Part]:
        """Leave zones as they are: they are divided by running them."""
        del job
        return [replace(part, is_divided=True)]


class SampleSpace(Space):
    """Samples, by number."""

    is_grouped = False

    def __init__(self, work: Work, policy: Policy) -> None:
        super().__init__(work, policy)
        self._next = 0

    def more(self) -> list[Part]:
        """Return the next samples, if only time ends them."""
        if self.work.max_executions is not None:
            return []
        first, self._next = self._next, self._next + _SAMPLES
        return [Part(range(first, self._next), share=0.0)]

    def everything(self) -> list[Part]:
        """Return ranges of samples."""
        return self.untaken([])

    def untaken(self, taken: list[Taken]) -> list[Part]:
        """Return ranges of the samples that nobody has taken."""
        most = self.work.max_executions
        size = _SAMPLES
        if most is not None:
            size = max(1, min(most // (8 * self.policy.workers), 256))
        self._next = taken[-1].numbers.stop if taken else 0
        return [
            Part(range(first, min(first + size, gap.stop)), share=0.0)
            for gap in gaps(taken, self._next if most is None else most)
            for first in range(gap.start, gap.stop, size)
        ]

    def search(self, part: Part, job: Job) -> Search:
        """Return the search that takes some samples."""
        search = self.work.search(
            self.work.program, max_executions=None, timeout=job.timeout, samples=part.what
        )
        search.gives_up = self.is_over
        return search

    def left(self, search: Search, part: Part) -> list[Part]:
        """Return the samples of a range that were not taken."""
        return [replace(part, what=range(search.algorithm.number, part.what.stop))]

    def divided(self, part: Part, job: Job) -> list[Part]:
        """Divide a range into single samples."""
        del job
        return [replace(part, what=range(one, one + 1), is_divided=True) for one in part.what]

    def in_words(self, part: Part) -> str:
        """Name the samples."""
        return f"samples {part.what.start} to {part.what.stop - 1}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def can_divide(strategy: type[Algorithm]) -> bool:
    """Tell whether a space can be explored in parts by an algorithm."""
    return strategy.divides or strategy.divides_itself or not strategy.covers


def space_of(work: Work, policy: Policy) -> Space:
    """Return how a space is explored in parts."""
    if not work.strategy.covers:
        return SampleSpace(work, policy)
    return (ZoneSpace if work.strategy.divides_itself else CubeSpace)(work, policy)


def dividing_algorithms() -> list[str]:
    """Return the names of the algorithms whose spaces can be divided, in the words of errors."""
    names = [name for name, one in ALGORITHMS.items() if can_divide(one)]
    return sorted(names, key=_order)


def _order(name: str) -> tuple[bool, int]:
    """Let the best come first, and those that sample last."""
    strategy = ALGORITHMS[name]
    at = list(ALGORITHMS).index(name)
    return not strategy.covers, at if not strategy.covers else -at
