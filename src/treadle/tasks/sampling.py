"""Sampling where the ready queue is FIFO: `random` and `pct` choose among what may arrive.

The queue decides everything else. At each poll one of the arrivals that are due comes, or none; if
one comes, another one may come behind it. At an idle loop something has to come.
"""

from __future__ import annotations

from treadle.core.program import Run
from treadle.explore.sampling.random_walk import Pct, Sampling
from treadle.explore.strategy import ENDED
from treadle.tasks.run import TaskRun
from treadle.tasks.steps import Step

NONE = -1
"""Stands for no arrival in what is chosen from."""


class _AmongArrivals(Sampling):
    """Independent executions of a loop whose queue is FIFO."""

    def begin(self) -> None:
        """Prepare for one execution."""
        super().begin()
        self._batch: list[Step] = []

    def decide(self, run: Run, last: int) -> int:
        """Run what is next in the queue; poll at its end."""
        del last
        assert isinstance(run, TaskRun)
        if not self._batch:
            self._batch = self._polled(run)
        return self._batch.pop(0).process if self._batch else ENDED

    def _polled(self, run: TaskRun) -> list[Step]:
        """Return what is ready, and behind it what arrives."""
        batch = list(run.loop.ready.values())
        due = {step.process: step for step in run.loop.armed.values() if run.is_due(step)}
        while due:
            chosen = self.chosen([*due, NONE] if batch else list(due))
            if chosen == NONE:
                break
            batch.append(due.pop(chosen))
        return batch

    def chosen(self, processes: list[int]) -> int:
        """Choose what arrives."""
        raise NotImplementedError


class RandomArrivals(_AmongArrivals):
    """Each arrival chosen uniformly at random."""

    def chosen(self, processes: list[int]) -> int:
        """Choose any."""
        return self.random.choice(processes)


class PctArrivals(_AmongArrivals, Pct):
    """Random priorities of arrivals, which change at `depth - 1` random choices."""

    def chosen(self, processes: list[int]) -> int:
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
