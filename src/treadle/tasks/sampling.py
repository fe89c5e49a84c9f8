"""Sampling where the ready queue is FIFO: `random` and `pct` choose among what may arrive.

The queue decides everything else. At each poll one of the arrivals that are due comes, or none; if
one comes, another one may come behind it. At an idle loop something has to come.
"""

from __future__ import annotations

from collections.abc import Callable

from treadle.core.program import Run
from treadle.explore.sampling.random_walk import Pct, Sampling
from treadle.explore.strategy import ENDED
from treadle.tasks.run import TaskRun
from treadle.tasks.steps import Step

NONE = -1
"""Stands for no arrival in what is chosen from."""


class _Queue:
    """What a loop whose queue is FIFO runs next, in one execution."""

    def __init__(self) -> None:
        self._batch: list[Step] = []

    def next(self, run: Run, choose: Callable[[list[int]], int]) -> int:
        """Return what is next in the queue; poll at its end."""
        assert isinstance(run, TaskRun)
        if not self._batch:
            self._batch = self._polled(run, choose)
        return self._batch.pop(0).process if self._batch else ENDED

    def _polled(self, run: TaskRun, choose: Callable[[list[int]], int]) -> list[Step]:
        """Return what is ready, and behind it what arrives."""
        batch = list(run.loop.ready.values())
        due = {step.process: step for step in run.loop.armed.values() if run.is_due(step)}
        while due:
            chosen = choose([*due, NONE] if batch else list(due))
            if chosen == NONE:
                break
            batch.append(due.pop(chosen))
        return batch


class RandomArrivals(Sampling):
    """Each arrival chosen uniformly at random."""

    def begin(self) -> None:
        """Prepare for one execution."""
        super().begin()
        self._queue = _Queue()

    def decide(self, run: Run, last: int) -> int:
        """Run what is next in the queue; any arrival may come."""
        del last
        return self._queue.next(run, self.random.choice)


class PctArrivals(Pct):
    """Random priorities of arrivals, which change at `depth - 1` random choices."""

    def begin(self) -> None:
        """Prepare for one execution."""
        super().begin()
        self._queue = _Queue()

    def decide(self, run: Run, last: int) -> int:
        """Run what is next in the queue; arrivals come by their priorities."""
        del last
        return self._queue.next(run, self._highest)

    def _highest(self, processes: list[int]) -> int:
        """Choose the one of the highest priority; at a change point it is lowered first."""
        for process in processes:
            if process not in self._priority:
                self._priority[process] = 1 + self.random.random()
        best = max(processes, key=self._priority.__getitem__)
        if self._step in self._changes:
            self._priority[best] = -float(self._step)
            best = max(processes, key=self._priority.__getitem__)
        self._step += 1
        return best
