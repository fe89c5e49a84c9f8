"""One execution of a test with threads; implements `treadle.core.program.Run`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from treadle.core.errors import TreadleBug
from treadle.core.events import Codes
from treadle.core.failure import error_in_words, without_addresses
from treadle.core.frames import place_of_frame
from treadle.core.program import CannotStepError, Crash, Ending, Incomparable, Run
from treadle.core.records import FrameRecord, StepRecord, Wait
from treadle.core.words import place_in_words
from treadle.python.recording.recorder import Recorder
from treadle.python.runtime.operation import Operation
from treadle.python.runtime.rounds import LeftOut
from treadle.python.runtime.scheduler import is_ready
from treadle.python.runtime.spin import Trail
from treadle.python.runtime.task import Task
from treadle.threads.effect import effect, seen_by, values_at
from treadle.threads.labels import label_of_thread
from treadle.threads.primitives.outside.paths import files

if TYPE_CHECKING:
    from treadle.threads.program import ThreadProgram


@dataclass(slots=True)
class _Standing:
    """How a run stood when its threads were unwound."""

    enabled: list[int]
    blocked: list[tuple[int, Codes]]
    ending: Ending | None
    where: dict[int, str]


_OVER = _Standing([], [], None, {})
"""Nobody is left: to describe that at once, one run of 2 x 3 increments takes 1.01 of its time."""


def _stuck(tasks: list[Task]) -> list[Task]:
    """Return the tasks that wait only for each other: all others may get help from one left out."""
    held = {task: task.doing.holders() for task in tasks if isinstance(task.doing, Operation)}
    while True:
        hopeful = [
            task
            for task, holders in held.items()
            if not holders or any(holder not in held for holder in holders)
        ]
        if not hopeful:
            return list(held)
        for task in hopeful:
            del held[task]


class ThreadRun(Run):
    """An execution of a test; its processes are the controlled threads."""

    def __init__(self, program: ThreadProgram) -> None:
        self.program = program
        self.scheduler = program.scheduler
        self.attach()

    def attach(self) -> None:
        """Be the run that the program has just begun."""
        self.crashes: list[Crash] = self.scheduler.crashes
        self._recorder = self.program.recorder
        self._kept: _Standing | None = None
        self._was_cut = False

    def step(self, process: int) -> Codes:
        """Let a task take one step and return what it accessed."""
        return self.scheduler.step(self._task(process))

    def replay(self, processes: Sequence[int], codes: list[Codes], length: int) -> int:
        """Take `length` recorded steps; return the index of the first that differs, or -1."""
        return self.scheduler.replay(processes, codes, length)

    def execute(self, processes: list[int], codes: list[Codes], limit: int) -> int:
        """Take all recorded steps as `replay` does, and go on as `finish` does."""
        return self.scheduler.execute(processes, codes, limit)

    def finish(self, last: int, limit: int, processes: list[int], codes: list[Codes]) -> bool:
        """Go on by the natural schedule to the end of the run, up to `limit` steps in all."""
        self.scheduler.finish(self.scheduler.alive.get(last), limit, processes, codes)
        return not any(map(is_ready, self.scheduler.alive.values()))

    def enabled(self) -> list[int]:
        """Return the tasks that can take a step, oldest first."""
        if self._kept is not None:
            return [*self._kept.enabled]
        return [task.number for task in self.scheduler.alive.values() if is_ready(task)]

    def is_enabled(self, process: int) -> bool:
        """Tell whether a task can take a step."""
        if self._kept is not None:
            return process in self._kept.enabled
        task = self.scheduler.alive.get(process)
        return task is not None and is_ready(task)

    def blocked(self) -> list[tuple[int, Codes]]:
        """Return the tasks that wait, with the accesses that their next step begins with."""
        if self._kept is not None:
            return [*self._kept.blocked]
        return [
            (task.number, task.doing.pending(task))
            for task in self.scheduler.alive.values()
            if isinstance(task.doing, Operation) and not task.doing.ready(task)
        ]

    def ending(self) -> Ending:
        """Describe the final state of a run that has no enabled task."""
        if self._kept is not None and self._kept.ending is not None:
            return self._kept.ending
        if self._kept is _OVER:
            return Ending(self.crashes, [], self._was_cut)
        if not self.scheduler.alive:
            return Ending(self.crashes, [], self.program.is_cut)
        alive = list(self.scheduler.alive.values())
        is_unfinished = any(isinstance(task.doing, LeftOut) for task in alive)
        waits = []
        for task in _stuck(alive) if is_unfinished else alive:
            operation = task.doing
            if not isinstance(operation, Operation):
                raise TreadleBug(f"{task.name} is enabled at the end of a run")
            if not task.daemon:
                waits.append(self._wait(task, operation))
        is_unfinished = is_unfinished and not all(task.daemon for task in alive)
        return Ending(self.crashes, waits, self.program.is_cut, is_unfinished)

    def _wait(self, task: Task, operation: Operation) -> Wait:
        """Say what a task waits for."""
        return Wait(
            task.name,
            operation.describe(),
            tuple(holder.name for holder in operation.holders()),
            self.where(task.number),
            operation.spins,
            label_of_thread(task),
            operation.kind,
            operation.held(),
        )

    def where(self, process: int) -> str:
        """Return `file:line` of where a task stands."""
        if self._kept is not None:
            return self._kept.where.get(process, "")
        task = self.scheduler.alive.get(process)
        if task is None or task.fiber is None:
            return ""
        return place_in_words(place_of_frame(task.fiber.gr_frame))

    def is_endless(self) -> bool:
        """Tell whether all threads do the same again and again: many steps alone prove nothing."""
        trail: Trail | None = self.scheduler.scratch.get(Trail)
        return trail is not None and trail.is_endless(self.enabled(), self.blocked())

    def records(self) -> list[StepRecord]:
        """Return the steps so far, in words; only of a run that was started with detail."""
        return self._recording().records

    def frames(self) -> list[FrameRecord]:
        """Return the functions of the code under test that the threads are in."""
        return self._recording().frames()

    def _recording(self) -> Recorder:
        if self._recorder is None:
            raise TreadleBug("a run that was started without detail is asked for its steps")
        return self._recorder

    def fingerprint(self) -> object:
        """Return how threads crashed; what is in memory need not be the same in every execution.

        Libraries count and cache things; what that decides shows in the accesses.
        """
        names = self.program.vocabulary.process_names
        return tuple(
            (
                names[crash.process],
                files.in_words(without_addresses(error_in_words(crash.exception))),
            )
            for crash in self.crashes
        )

    def watched_step(self, process: int) -> tuple[Codes, object]:
        """Let a task take one step; return what it accessed, and what it saw."""
        announced = self._task(process).doing
        seen = seen_by(self, announced) if isinstance(announced, tuple) else Incomparable()
        codes = self.step(process)
        return codes, seen if codes == announced else Incomparable()

    def effect(self, processes: Sequence[int], locations: Sequence[int]) -> object:
        """Return which threads have ended, and how, and the values of locations."""
        return effect(self, processes, locations)

    def values(self, locations: Sequence[int]) -> list[object]:
        """Return for each location a comparable value of what is there."""
        return values_at(self, locations)

    def keep_standing(self) -> None:
        """Remember how the run stands: its threads are about to be unwound for another run."""
        if not self.scheduler.alive:
            self._kept, self._was_cut = _OVER, self.program.is_cut
            return
        alive = self.scheduler.alive.values()
        interrupted = [
            task.number for task in alive if not isinstance(task.doing, tuple | Operation)
        ]
        enabled = self.enabled() or interrupted
        self._kept = _Standing(
            enabled,
            self.blocked(),
            None if enabled else self.ending(),
            {number: self.where(number) for number in self.scheduler.alive},
        )

    def close(self) -> None:
        """End the run: unwind the threads that are left."""
        self.program.end_run()

    def drop(self) -> None:
        """End the run, and learn nothing from it."""
        self.program.drop_run()

    def _task(self, process: int) -> Task:
        task = self.scheduler.alive.get(process)
        if task is None:
            raise CannotStepError(process)
        return task
