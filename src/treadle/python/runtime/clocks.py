"""Virtual clocks of tasks, which go on with what happens before what.

Each task has a clock of its own (`Task.now`), so that reading it is no event. A clock goes on when
its task sleeps or waits in vain; and whatever happens after a step, by a lock, a queue or a plain
variable, happens later: a step lets its task's clock go on to the latest of the steps that it is
dependent with, of the thread that it joins, and of the step that created it. That is the clock of
"Time, Clocks, and the Ordering of Events in a Distributed System" (Lamport, 1978), with seconds
for ticks. It shows the same in all executions with the same happens-before order.

Nobody keeps clocks until the first one is looked at: up to then, all show 0.
"""

from __future__ import annotations

from treadle.core.events import Codes, Vocabulary
from treadle.python.runtime import control
from treadle.python.runtime.task import Task


class Clocks:
    """What the clocks showed when locations were last accessed, in one execution."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._footprint = vocabulary.footprint
        self._at_key: dict[int, float] = {}
        """When each sort of access was last made to each location, by mask key."""
        self._of_process: dict[int, float] = {}
        """When each process took its latest step."""
        self._latest = 0.0

    def add(self, task: Task, codes: Codes) -> None:
        """Take note of a step that a task has just ended."""
        self.meet(task, codes)
        now = task.now
        at_key = self._at_key
        for key in self._footprint(codes).own:
            if at_key.get(key, 0.0) < now:
                at_key[key] = now
        self._of_process[task.number] = now
        self._latest = max(self._latest, now)

    def catch_up(self, task: Task) -> None:
        """Let a task's clock go on to the latest of all."""
        task.now = max(task.now, self._latest)

    def meet(self, task: Task, codes: Codes) -> None:
        """Let a task's clock go on to that of what happens before its present step."""
        footprint = self._footprint(codes)
        latest = task.now
        for key in footprint.conflicts:
            latest = max(latest, self._at_key.get(key, 0.0))
        for process in footprint.joins:
            latest = max(latest, self._of_process.get(process, 0.0))
        task.now = latest


def now(me: Task) -> float:
    """Return what the current task's clock shows."""
    program = control.the_program()
    scheduler = program.scheduler
    clocks = scheduler.scratch.get(Clocks)
    if clocks is None:
        clocks = scheduler.scratch[Clocks] = Clocks(program.vocabulary)
        scheduler.listen(clocks)
    elif isinstance(me.doing, tuple):
        clocks.meet(me, (*(control.collected or ()), *me.doing))
    if program.shared.learned:  # what others wrote was no event yet, so who reads it is not seen
        clocks.catch_up(me)
    return me.now
