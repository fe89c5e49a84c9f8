"""What `exhaustive`, `sleep`, `classic`, `source` and `context` share: backtrack and sleep sets.

For every prefix `E` of the current execution there is `backtrack(E)`, the processes to be explored
from `E`, and `sleep(E)`, those whose exploration would be redundant, with the step each would take
("Source Sets", J. ACM 2017, section 2). The algorithms differ in what `backtrack(E)` starts with,
and in what a race adds to it.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import ClassVar

from treadle.core.events import Footprint
from treadle.core.happens_before import Sleep
from treadle.core.program import CannotStepError, Run
from treadle.explore.invariants import wrong_lengths
from treadle.explore.strategy import ENDED, EXPLORED, Algorithm


class Backtracking(Algorithm):
    """Depth-first search over backtrack sets, with sleep sets."""

    begins_with_one: ClassVar[bool] = False
    """Whether `backtrack(E)` starts with one process, and only who sleeps is not to be chosen."""

    def prepare(self) -> None:
        """Begin with nothing explored."""
        self.sleep: list[Sleep] = []
        self.backtrack_sets: list[list[int]] = []
        self._next_sleep: Sleep = {}
        self._next_backtrack: list[int] | None = None
        self._next_process = ENDED

    def first_choices(self, run: Run, process: int) -> list[int]:
        """Return the initial `backtrack(E)`, given the process that goes first."""
        del run
        return [process]

    def decide(self, run: Run, last: int) -> int:
        """Take the branch that `backtrack` chose, or begin a new state."""
        backtrack = self._next_backtrack
        if backtrack is not None:
            process = self._next_process
            self._next_backtrack = None
            if not run.is_enabled(process):
                raise CannotStepError(process)
        else:
            process = self.search.choose_awake(run, last, self.asleep())
            if process < 0:
                return process
            backtrack = self.first_choices(run, process)
        self.sleep.append(self._next_sleep)
        self.backtrack_sets.append(backtrack)
        return process

    def asleep(self) -> Container[int]:
        """Return the processes that the default schedule must not choose here."""
        return self._next_sleep

    def executed(self, process: int, footprint: Footprint) -> None:
        """Pass on to `E.p` what is asleep at `E` and independent of `p`."""
        del process
        sleep = self.sleep[-1]
        if not sleep:
            self._next_sleep = {}
            return
        self.search.result.dependency_checks += len(sleep)
        self._next_sleep = self.search.trace.independent_of(footprint, sleep)

    @property
    def is_free(self) -> bool:
        """Whether the default schedule decides to the end: nobody sleeps, or will.

        Asked for each step, it does the same: readers(8) takes 1.06 times as long under `source`.
        """
        return self.begins_with_one and not self._next_sleep and self._next_backtrack is None

    def left_alone(self, steps: int) -> None:
        """Take note of steps that the default schedule took where `is_free`."""
        trace = self.search.trace
        self.sleep += [{} for _ in range(steps)]
        self.backtrack_sets += [[process] for process in trace.processes[len(trace) - steps :]]

    def analyse(self, run: Run, outcome: int) -> None:
        """Plan nothing: every branch is known from the start."""

    def backtrack(self) -> int:
        """Find the deepest state with a process left to explore."""
        trace = self.search.trace
        for depth in range(len(trace) - 1, -1, -1):
            sleep = self.sleep[depth]
            sleep[trace.processes[depth]] = trace.footprints[depth]
            for process in self.backtrack_sets[depth]:
                if self.is_left(depth, process):
                    self._next_process = process
                    self._next_sleep = sleep
                    self._next_backtrack = self.backtrack_sets[depth]
                    del self.sleep[depth:], self.backtrack_sets[depth:]
                    return depth
        return EXPLORED

    def is_left(self, depth: int, process: int) -> bool:
        """Tell whether a process of a backtrack set is still to be explored."""
        return process not in self.sleep[depth]

    def explore_one_of(self, e: int, initials: list[int]) -> None:
        """Make sure that `backtrack(pre(E, e))` has the process of one of some events."""
        processes, backtrack = self.search.trace.processes, self.backtrack_sets[e]
        for event in initials:
            if processes[event] in backtrack:
                return
        backtrack.append(processes[initials[0]])

    def violations(self) -> Iterator[str]:
        """Yield what is wrong with the sets along the current execution."""
        trace = self.search.trace
        yield from wrong_lengths(trace, sleep=self.sleep, backtrack=self.backtrack_sets)
        for depth, process in enumerate(trace.processes):
            if process not in self.backtrack_sets[depth]:
                yield f"a process outside of the backtrack set was explored after {depth} steps"
            if process in self.sleep[depth]:
                yield f"a sleeping process was explored after {depth} steps"

    def todo(self, depth: int) -> int:
        """Return how many branches still wait at a depth of the current path."""
        sleep, current = self.sleep[depth], self.search.trace.processes[depth]
        return sum(p not in sleep and p != current for p in self.backtrack_sets[depth])
