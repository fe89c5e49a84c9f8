"""Sampling, for spaces too large to finish: random walks and PCT.

`random` chooses uniformly among the enabled processes at every step. `pct` is probabilistic
concurrency testing (Burckhardt, Kothari, Musuvathi and Nagarakatte, ASPLOS 2010): processes get
random priorities, the highest enabled one runs, and at `depth - 1` random steps the running
process's priority drops below all others. A bug of depth d in a program of n processes and k steps
is hit by one execution with probability at least 1/(n·k^(d-1)). Here k is the length of the natural
execution.

Samples are numbered from 0, and each draws from a generator of its own, `Random("seed/number")`: so
sample 17 is the same whoever takes it, and whichever samples were taken before.
"""

from __future__ import annotations

import random
import sys
from typing import ClassVar

from treadle.core.events import Footprint
from treadle.core.program import Run
from treadle.explore.strategy import ENDED, EXPLORED, Algorithm

NEVER = sys.maxsize
"""No sample has this number."""


class Sampling(Algorithm):
    """Independent executions, for as long as somebody wants."""

    covers: ClassVar[bool] = False

    def prepare(self) -> None:
        """Begin with the first sample that is wanted."""
        wanted = self.search.samples
        self.number = wanted.start if wanted is not None else 0
        self._end = wanted.stop if wanted is not None else NEVER
        self.begin()

    def begin(self) -> None:
        """Seed the choices of one execution."""
        self.random = random.Random(f"{self.search.seed}/{self.number}")

    def executed(self, process: int, footprint: Footprint) -> None:
        """Take no note: executions are independent."""
        del process, footprint

    def analyse(self, run: Run, outcome: int) -> None:
        """Plan nothing: executions are independent."""

    def backtrack(self) -> int:
        """Begin anew, if another sample is wanted."""
        self.number += 1
        if self.number >= self._end:
            return EXPLORED
        self.begin()
        return 0

    def todo(self, depth: int) -> int:
        """Know of no branch: the tree is not searched."""
        del depth
        return 0


class RandomWalk(Sampling):
    """Each step chosen uniformly at random."""

    def decide(self, run: Run, last: int) -> int:
        """Choose any enabled process."""
        del last
        enabled = run.enabled()
        return self.random.choice(enabled) if enabled else ENDED


class Pct(Sampling):
    """Random priorities with `depth - 1` random points at which they change."""

    def prepare(self) -> None:
        """See how long executions are."""
        self._length = self._natural_length()
        super().prepare()

    def _natural_length(self) -> int:
        """Return how many steps the natural execution takes; at least one."""
        run = self.search.program.start()
        processes: list[int] = []
        run.finish(-1, self.search.budget.max_steps, processes, [])
        run.close()
        return len(processes) or 1

    def begin(self) -> None:
        """Draw the change points; priorities are drawn as processes appear."""
        super().begin()
        self._priority: dict[int, float] = {}
        self._step = 0
        changes = min(self.search.depth - 1, self._length)
        self._changes = set(self.random.sample(range(self._length), changes))

    def decide(self, run: Run, last: int) -> int:
        """Run the enabled process of the highest priority."""
        enabled = run.enabled()
        if not enabled:
            return ENDED
        for process in enabled:
            if process not in self._priority:
                self._priority[process] = 1 + self.random.random()
        if self._step in self._changes and last in self._priority:
            self._priority[last] = -float(self._step)
        self._step += 1
        return max(enabled, key=lambda process: self._priority[process])
