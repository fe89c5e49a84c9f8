"""One execution of an `async def` test; implements `treadle.core.program.Run`."""

from __future__ import annotations

import asyncio
import asyncio.events
import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from treadle.core.events import Codes, Mode, code
from treadle.core.frames import place_of_exception
from treadle.core.program import CannotStepError, Crash, Ending, Run
from treadle.core.records import Wait
from treadle.core.words import place_in_words
from treadle.tasks.loop import Loop
from treadle.tasks.steps import Step
from treadle.tasks.waiting import innermost, waits_of

if TYPE_CHECKING:
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
        asyncio.events._set_running_loop(self.loop)
        try:
            self.main = self.loop.create_task(test())
        finally:
            asyncio.events._set_running_loop(None)

    # Steps

    def step(self, process: int) -> Codes:
        """Run a handle."""
        if not self.is_enabled(process):
            raise CannotStepError(process)
        loop = self.loop
        step = loop.ready.get(process) or loop.armed[process]
        waited = self._joined_by(step) if step.is_arrival and not loop.is_fifo else ()
        codes = loop.run(step)
        if len(loop.ready) + len(loop.armed) > 1:
            self.program.branches = True
        self._look_at(step)
        return (*waited, *codes)

    def _look_at(self, step: Step) -> None:
        """Take note of what the step showed: the test's end, exceptions that nobody sees."""
        loop = self.loop
        number = len(loop.taken) - 1
        while loop.errors:
            at, error = loop.errors.pop(0)
            self.crashes.append(Crash.of(at.process, number, error))
        if loop.is_over and not self._has_ended:
            self._has_ended = True
            ended = _exception_of(self.main)
            if ended is not None:
                self.crashes.append(Crash.of(step.process, number, ended))
            else:
                self.program.returned = self.main._result

    def enabled(self) -> list[int]:
        """Return the handles that are ready, and what may arrive, oldest first."""
        if self._standing is not None:
            return self._standing
        due = (step.process for step in self.loop.armed.values() if self.is_due(step))
        return [*self.loop.ready, *due]

    def is_enabled(self, process: int) -> bool:
        """Tell whether a handle can be run."""
        if self._standing is not None:
            return process in self._standing
        loop = self.loop
        if process in loop.ready:
            return True
        step = loop.armed.get(process)
        return step is not None and self.is_due(step)

    def is_due(self, step: Step) -> bool:
        """Tell whether time allows that something arrives now."""
        return not self.earlier(step)

    def earlier(self, step: Step) -> list[Step]:
        """Return what has to come before an arrival: whatever is of an earlier moment."""
        if step.deadline is None or step.is_cancelled:
            return []
        loop = self.loop
        return [
            other
            for group in (loop.ready, loop.armed)
            for other in group.values()
            if other is not step
            and not (other.is_arrival and other.is_cancelled)
            and other.moment.precedes(step.deadline)
        ]

    def _joined_by(self, step: Step) -> Codes:
        """Return which handles that were run had to precede an arrival."""
        earlier = self._before_in_time(step, len(self.loop.taken))
        return tuple(sorted(code(other.process, Mode.JOIN) for other in earlier))

    def _before_in_time(self, step: Step, index: int) -> list[Step]:
        """Return what was run, before some step, because it is of an earlier moment."""
        deadline = step.deadline
        if deadline is None or step.is_cancelled:
            return []
        return [
            other
            for other in self.loop.taken[:index]
            if not (other.is_arrival and other.is_cancelled) and other.moment.precedes(deadline)
        ]

    def ahead_of(self, step: Step, index: int) -> list[Step]:
        """Return what had to be run before an arrival came as the step of this index."""
        armed = [] if step.armed_by is None else [step.armed_by]
        return [*armed, *self._before_in_time(step, index)]

    def blocked(self) -> list[tuple[int, Codes]]:
        """Return the timers that are not due yet, with what has to precede them."""
        if self._standing is not None:
            return []
        found = []
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
            waits = [] if self.main._state != "PENDING" else self._waits()
            if not waits:
                self._look_for_lost_exceptions()
            self._ending = Ending(self.crashes, waits, self.program.is_cut)
        return self._ending

    def _waits(self) -> list[Wait]:
        pending = [task for task in self.loop.tasks if task._state == "PENDING"]
        return waits_of(pending)

    def _look_for_lost_exceptions(self) -> None:
        """Find exceptions of tasks that nobody has looked at."""
        seen = [crash.exception for crash in self.crashes]
        for task in self.loop.tasks:
            error = task._exception
            if task is self.main or error is None or not task._log_traceback or error in seen:
                continue
            last = next(s for s in reversed(self.loop.taken) if s.owner is task.as_owner)
            error.add_note(f"the exception of {task.where_name} was never retrieved")
            self.crashes.append(Crash.of(last.process, self.loop.taken.index(last), error))

    def where(self, process: int) -> str:
        """Return `file:line` of where a task stands, or of what it ended with."""
        for step in reversed(self.loop.taken):
            if step.process == process:
                task = next((t for t in self.loop.tasks if t.as_owner is step.owner), None)
                return "" if task is None else _place_of(task)
        return ""

    def fingerprint(self) -> object:
        """Return how the execution failed; what is in memory need not be the same."""
        return tuple(repr(type(crash.exception)) for crash in self.crashes)

    def close(self) -> None:
        """End the run."""
        self.program.end_run()

    def drop(self) -> None:
        """End the run, and learn nothing from it."""
        self.program.drop_run()

    def unwind(self) -> None:
        """Close the coroutines that are left: nobody is to run them later."""
        self._standing = self.enabled() if self._standing is None else self._standing
        if not self._standing and self._ending is None and self.main is not None:
            self.ending()
        loop = self.loop
        loop.step = None
        asyncio.events._set_running_loop(loop)
        try:
            for task in loop.tasks:
                _close(task._coro)
        finally:
            asyncio.events._set_running_loop(None)


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


def _close(coroutine: Any) -> None:
    """Close a coroutine, whatever it does then."""
    with contextlib.suppress(BaseException):
        coroutine.close()
