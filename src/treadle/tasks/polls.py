"""A run at one point: which step a loop with a FIFO queue runs next, given when things arrive.

What the point does not name arrives when the loop is idle, one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from treadle.tasks.steps import Step

if TYPE_CHECKING:
    from treadle.tasks.run import TaskRun

_PATIENCE = 10
"""Answers in a row that may come before time passes."""


class Polls:
    """The polls of one run; `point` says at which, and in which place, something arrives."""

    def __init__(self, point: dict[int, tuple[int, int]]) -> None:
        self._point = point
        self._iteration = -1
        self._batch: list[Step] = []
        self._answers = 0
        self.violated: list[tuple[Sequence[Step], Step]] = []
        """Of what something had to come before an arrival, and did not: the point is impossible."""

    def next_step(self, run: TaskRun) -> Step | None:
        """Return what runs next; None at the end, or if the point is impossible."""
        if not self._batch and not self.violated:
            self._poll(run)
        if self.violated or not self._batch:
            return None
        return self._batch.pop(0)

    def _poll(self, run: TaskRun) -> None:
        """Begin an iteration: what is ready now, and behind it what arrives."""
        self._iteration += 1
        loop = run.loop
        named = [step for step in loop.armed.values() if step.process + 1 in self._point]
        is_idle = all(step.waits for step in loop.ready.values())
        if not loop.ready and named:
            earliest = min(self._point[step.process + 1][0] for step in named)
            self._iteration = max(self._iteration, earliest)
        due = [s for s in named if self._point[s.process + 1][0] <= self._iteration]
        due.sort(key=lambda step: self._point[step.process + 1])
        self._batch = [*loop.ready.values(), *due]
        for step in due:
            self._judge(run, step)
        if is_idle and not due:
            arrived = self._at_idle_loop(run)
            self._batch = [*self._batch, *arrived] if arrived else []

    def _judge(self, run: TaskRun, step: Step) -> None:
        """See whether an arrival may come now."""
        if self._point[step.process + 1][0] < self._iteration and step.armed_by is not None:
            self.violated.append(((step.armed_by,), step))
        self.violated += [(run.ends_with(other), step) for other in run.earlier(step)]

    def _at_idle_loop(self, run: TaskRun) -> list[Step]:
        """Return what arrives since nothing else is to do: answers, oldest first, then timers.

        Whoever asks again and again for something that only time brings would wait for ever.
        """
        armed = run.loop.armed.values()
        due = [step for step in armed if not step.waits and run.is_due(step)]
        faults = [step for step in due if step.is_fault]
        due = [step for step in due if not step.is_fault]
        answers = [step for step in due if step.deadline is None or step.is_cancelled]
        timers = [step for step in due if step not in answers]
        if answers and (self._answers < _PATIENCE or not timers):
            self._answers += 1
            return answers[:1]
        self._answers = 0
        return (timers or faults)[:1]
