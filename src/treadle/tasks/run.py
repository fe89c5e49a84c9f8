"""One execution of an `async def` test; implements `treadle.core.program.Run`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from treadle.core.events import Codes, Mode, code
from treadle.core.frames import place_of_exception
from treadle.core.program import CannotStepError, Crash, Ending, Run
from treadle.core.records import FrameRecord, StepRecord
from treadle.core.words import place_in_words
from treadle.tasks.endings import close_coroutines, ending_of
from treadle.tasks.loop import Loop
from treadle.tasks.possible import is_possible_in_fifo
from treadle.tasks.steps import Step
from treadle.tasks.unawaited import track
from treadle.tasks.waiting import innermost

if TYPE_CHECKING:
    from treadle.core.happens_before import Trace
    from treadle.tasks.program import TaskProgram


class TaskRun(Run):
    """An execution: its processes are the handles of a loop."""

    def __init__(self, program: TaskProgram, loop: Loop) -> None:
        self.program = program
        self.loop = loop
        self.crashes: list[Crash] = program.scheduler.crashes
        self.main: Any = None
        self._has_ended = False
        self._ending: Ending | None = None
        self._standing: list[int] | None = None

    def begin(self, test: Callable[[], Any]) -> None:
        """Make the main task."""
        self._depth = track()
        self.loop.enter()
        self.main = self.loop.create_task(test())

    # Steps

    def step(self, process: int) -> Codes:
        """Run a handle."""
        if not self.is_enabled(process):
            raise CannotStepError(process)
        loop = self.loop
        step = loop.ready.get(process) or loop.armed[process]
        waited = self._joined_by(step) if step.is_arrival and not loop.is_fifo else ()
        self.program.branches = self.program.branches or self._has_a_choice(step)
        codes = loop.run(step)
        loop.workers.saw(process, codes)
        self._look_at(step)
        if loop.recorder is not None:
            loop.recorder.write(step, codes)
        return (*waited, *codes)

    def _has_a_choice(self, step: Step) -> bool:
        """Tell whether something else could have come in place of a step."""
        if self.loop.is_fifo:
            return step.is_arrival and not step.is_cancelled
        return len(self.loop.ready) + len(self.loop.armed) > 1

    def _look_at(self, step: Step) -> None:
        """Take note of what the step showed: the test's end, exceptions that nobody sees."""
        loop = self.loop
        number = len(loop.taken) - 1
        self.look_for_errors(number)
        if loop.is_over and not self._has_ended:
            self._has_ended = True
            ended = _exception_of(self.main)
            if ended is None:
                self.program.returned = self.main._result
            elif all(ended is not crash.exception for crash in self.crashes):
                self.crashes.append(Crash.of(step.process, number, ended))

    def look_for_errors(self, number: int) -> None:
        """Take note of exceptions that a loop only logs; `number` is the step's that shows them."""
        errors = self.loop.errors
        while errors:
            at, error = errors.pop(0)
            self.crashes.append(Crash.of(at.process, number, error))

    def enabled(self) -> list[int]:
        """Return the handles that are ready, and what may arrive, oldest first."""
        if self._standing is not None:
            return self._standing
        loop = self.loop
        able = [step.process for step in loop.ready.values() if not step.waits]
        able += [
            step.process for step in loop.armed.values() if not step.waits and self.is_due(step)
        ]
        return able

    def is_enabled(self, process: int) -> bool:
        """Tell whether a handle can be run."""
        if self._standing is not None:
            return process in self._standing
        loop = self.loop
        step = loop.ready.get(process) or loop.armed.get(process)
        if step is None or (step.waits and not loop.is_fifo):
            return False
        return process in loop.ready or self.is_due(step)

    def is_due(self, step: Step) -> bool:
        """Tell whether time allows that something arrives now."""
        return not self.earlier(step)

    def earlier(self, step: Step) -> list[Step]:
        """Return what has to come before an arrival: whatever is of an earlier moment."""
        if step.deadline is None or step.is_cancelled:
            return []
        others = [*self.loop.ready.values(), *self.loop.armed.values()]
        return self._of_earlier_moments(step, others)

    def ends_with(self, step: Step) -> list[Step]:
        """Return steps, some of which run before one has run, or an arrival has been cancelled.

        A timeout that is to strike last cannot do so as long as something else may cancel it.
        """
        if not self._strikes_last(step) or self.is_due(step):
            return [step]
        assert step.deadline is not None
        return [
            other
            for other in (*self.loop.ready.values(), *self.loop.armed.values())
            if other is not step
            and not (other.is_arrival and other.is_cancelled)
            and not step.deadline.precedes(other.moment)
        ]

    def _strikes_last(self, step: Step) -> bool:
        return step.is_timeout and self.program.timeouts == "last"

    def _joined_by(self, step: Step) -> Codes:
        """Return which handles that were run had to precede an arrival."""
        earlier = self._before_in_time(step, len(self.loop.taken))
        return tuple(sorted(code(other.process, Mode.JOIN) for other in earlier))

    def _before_in_time(self, step: Step, index: int) -> list[Step]:
        """Return what was run, before some step, because it is of an earlier moment."""
        if step.deadline is None or step.is_cancelled:
            return []
        return self._of_earlier_moments(step, self.loop.taken[:index])

    def _of_earlier_moments(self, step: Step, others: Iterable[Step]) -> list[Step]:
        """Return those that surely happen before a timer is due."""
        deadline = step.deadline
        assert deadline is not None
        is_last = self._strikes_last(step)
        return [
            other
            for other in others
            if other is not step
            and not (other.is_arrival and (other.is_cancelled or other.is_fault))
            and not other.waits
            and other.moment.precedes(deadline, is_prompt=is_last)
        ]

    def ahead_of(self, step: Step, index: int) -> list[Step]:
        """Return what had to be run before an arrival came as the step of this index."""
        armed = [] if step.armed_by is None else [step.armed_by]
        return [*armed, *self._before_in_time(step, index)]

    def blocked(self) -> list[tuple[int, Codes]]:
        """Return the timers that are not due yet, with what has to precede them."""
        if self._standing is not None:
            return []
        loop = self.loop
        waiting = (step for group in (loop.ready, loop.armed) for step in group.values())
        found = [(step.process, step.spin) for step in waiting if step.waits]
        for step in self.loop.armed.values():
            missing = self.earlier(step)
            if missing:
                joins = [code(other.process, Mode.JOIN) for other in missing]
                cancelled: int = step.handle.where.await_  # type: ignore[union-attr]
                found.append((step.process, (*joins, cancelled)))
        return found

    # The end

    def ending(self) -> Ending:
        """Describe the final state of a run that has nothing more to run."""
        if self._ending is None:
            self._ending = ending_of(self)
        return self._ending

    def where(self, process: int) -> str:
        """Return `file:line` of where a task stands, or of what it ended with."""
        for step in reversed(self.loop.taken):
            if step.process == process:
                task = next((t for t in self.loop.tasks if t.as_owner is step.owner), None)
                return "" if task is None else _place_of(task)
        return ""

    def records(self) -> list[StepRecord] | None:
        """Return the steps so far, in words; only of a run that was started with detail."""
        return None if self.loop.recorder is None else self.loop.recorder.records

    def led_by(self, trace: Trace, index: int) -> int:
        """Return the arrival from which the queue leads to a step."""
        if not self.loop.is_fifo:
            return index
        arrivals = [one.arrival - 1 for one in self.loop.taken[index].positions]
        found = [trace.processes.index(one) for one in arrivals if one in trace.processes[:index]]
        return max(found, default=index)

    def is_possible(self, trace: Trace) -> bool:
        """Tell whether a loop with a FIFO queue can do what was done, if that is asked for."""
        return not self.loop.is_fifo or is_possible_in_fifo(self, trace)

    def frames(self) -> list[FrameRecord]:
        """Return the functions of the code under test that tasks are in."""
        return [] if self.loop.recorder is None else self.loop.recorder.frames()

    def fingerprint(self) -> object:
        """Return how the execution failed; what is in memory need not be the same."""
        return tuple(repr(type(crash.exception)) for crash in self.crashes)

    def close(self) -> None:
        """End the run."""
        try:
            self.program.end_run()
        finally:
            self.loop.forget()

    def drop(self) -> None:
        """End the run, and learn nothing from it."""
        self.program.drop_run()
        self.loop.forget()

    def unwind(self) -> None:
        """Close what is left, once it is known how the run stands."""
        try:
            self._standing = self.enabled() if self._standing is None else self._standing
            if not self._standing and self._ending is None and self.main is not None:
                self.ending()
            close_coroutines(self)
        finally:
            self.loop.leave()
            sys.set_coroutine_origin_tracking_depth(self._depth)


def _exception_of(task: Any) -> BaseException | None:
    """Return what a task ended with, if that is no result."""
    if task._state == "CANCELLED":
        return task._make_cancelled_error()  # type: ignore[no-any-return]
    task._log_traceback = False
    return task._exception  # type: ignore[no-any-return]


def _place_of(task: Any) -> str:
    if task._exception is not None:
        return place_in_words(place_of_exception(task._exception))
    return innermost(task)
