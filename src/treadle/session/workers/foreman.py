"""A foreman: one job for a whole machine, done by a coordinator over hands of its own.

Above some dozens of processors one coordinator is too busy with answers. So an engine places one
foreman on each machine: it explores the parts that it is given for a while, with a copy of its
process for each processor, and answers with sums and what is left, as any other hand does.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace

from treadle.explore.budget import is_used_up
from treadle.session.workers.coordinator import Coordinator, State
from treadle.session.workers.forked import ForkedHands
from treadle.session.workers.parts import Answer, Job
from treadle.session.workers.policy import Policy
from treadle.session.workers.spaces import SampleSpace, cpu_seconds
from treadle.session.workers.task import Tasks

ABOVE = 64
"""Processors that one coordinator can do with alone."""
QUANTUM = 10.0
"""Seconds that a foreman has at least."""


def foremen(processors: Sequence[int]) -> tuple[int, int]:
    """Return how many jobs are under way on machines, and how many hands each of them has.

    >>> foremen([32, 32])
    (64, 1)
    >>> foremen([64, 64, 48])
    (3, 48)
    """
    if sum(processors) <= ABOVE:
        return max(1, sum(processors)), 1
    return len(processors), min(processors)


def seconds_for(job: Job, policy: Policy) -> float:
    """Return how long a foreman goes on with a job; less, if other foremen have too little."""
    return max(job.quantum, policy.shortened(QUANTUM) if job.patience else QUANTUM)


class Foreman:
    """Does jobs with several hands, which it keeps."""

    def __init__(self, tasks: Tasks, count: int) -> None:
        self._tasks = tasks
        self._count = count
        self._hands: ForkedHands | None = None

    def done(self, job: Job) -> Answer:
        """Explore parts for a while; answer with what was finished, and what is left."""
        if job.only_divide or isinstance(self._tasks.space, SampleSpace):
            return self._tasks.done(job)
        began = cpu_seconds()
        space = self._tasks.space
        space.work.max_executions, space.work.timeout = job.max_executions, job.timeout
        space.work.program.know(job.knowledge)
        state = State(deque(job.parts), knowledge=job.knowledge)
        self._hands = hands = self._hands or ForkedHands(self._tasks, self._count)
        policy = replace(space.policy, workers=self._count)
        coordinator = Coordinator(
            space, hands, policy, state, timeout=job.timeout, keeps_unfinished=True
        )
        try:
            coordinator.run(seconds_for(job, policy))
        finally:
            hands.end_busy()
        if state.knowledge != job.knowledge:
            return Answer(job.number, learned=state.knowledge)
        answer = self._answer(job, state)
        answer.unfinished = coordinator.unfinished
        answer.seconds = cpu_seconds() - began
        return answer

    def close(self) -> None:
        """End all hands."""
        if self._hands is not None:
            self._hands.close()

    def _answer(self, job: Job, state: State) -> Answer:
        is_its_own = is_used_up(state.stopped_by, "max_executions", "timeout")
        return Answer(
            job.number,
            counts=state.counts,
            ran=list(dict.fromkeys(state.ran.values())),
            failures=list(state.failures.values()),
            left=list(state.pending),
            is_late=is_used_up(state.stopped_by, "timeout"),
            done=state.parts,
            share=state.share,
            lost=state.lost,
            deepest=state.deepest,
            stopped_by="" if is_its_own else state.stopped_by,
            incomplete=state.incomplete,
            notes=list(state.notes),
            escapes=list(state.escapes),
            rests_on=list(state.rests_on),
            repeated=tuple(sorted(state.repeated)),
        )
