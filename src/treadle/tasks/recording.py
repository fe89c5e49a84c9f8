"""Steps of tasks in words: columns are tasks, arrivals are nobody's, asyncio's callbacks are inner.

What rewritten code accesses is taken down with its values, as for threads; what `Future` and `Task`
record of themselves is not shown: where a task stands after its step says more.
"""

from __future__ import annotations

import functools
import linecache
import sys
from typing import TYPE_CHECKING, Any

from treadle.core.events import Codes, location_of, mode_of
from treadle.core.frames import Place, is_of_the_user, users_frame
from treadle.core.records import Access, FrameRecord, StepRecord
from treadle.core.words import (
    OPERATIONS,
    access_in_words,
    exception_in_words,
    frames_in_words,
    place_in_words,
)
from treadle.python.recording.recorder import Recorder
from treadle.python.runtime.deeds import PLAIN_ACCESS, Deed
from treadle.tasks.labels import label_of
from treadle.tasks.steps import Step
from treadle.tasks.waiting import frames_of, is_asyncio, place_of

if TYPE_CHECKING:
    from treadle.tasks.loop import Loop


def place_of_caller() -> Place | None:
    """Return the line of the user's that is being run, or else of a library's."""
    frame = users_frame(sys._getframe(1), lambda file: not is_of_the_user(file))
    frame = frame or users_frame(sys._getframe(1), is_asyncio)
    return None if frame is None else (frame.f_code.co_filename, frame.f_lineno)


class TaskRecorder(Recorder):
    """Writes down each step of one execution of tasks."""

    def __init__(self, loop: Loop) -> None:
        program = loop.program
        super().__init__(program.scheduler, program.vocabulary, lambda actor: actor.name)
        self._loop = loop

    def collect(
        self, codes: Codes, deed: Deed = PLAIN_ACCESS, about: Any = None, detail: Any = None
    ) -> None:
        """Take note of one of several accesses that make up a step."""
        note = self._note(codes, deed, about, detail)
        self._loop.collect(codes)
        me = self._scheduler.me
        self._notes.setdefault(me.number, []).append(note)
        with self._silence():
            note.begin(me, None)

    def write(self, step: Step, codes: Codes) -> None:
        """Write down a step that was taken."""
        notes = self._notes.pop(step.owner.actor.number, [])
        task = self._task_of(step.owner.name)
        crash = self._crashes[-1] if self._crashes else None
        is_failing = crash is not None and crash.step == len(self.records)
        shown = [note for note in notes if note.place is None or not is_asyncio(note.place[0])]
        place = next((note.place for note in shown if note.place), None)
        if place is None and step.owner is task.as_owner:
            place = place_of(task)
        arrival = self._arrival_in_words(step)
        if arrival:
            place = step.armed_at
        label = label_of(task, self._loop.tasks) or task.where_name
        self.records.append(
            StepRecord(
                step.name,
                () if arrival else (*self._in_words(codes, shown), *self._unnoted(codes, notes)),
                place_in_words(place),
                linecache.getline(*place).strip() if place and not arrival else "",
                exception_in_words(crash.exception) if crash and is_failing else "",
                label,
                _what_then(step, task),
                label,
                arrival=arrival,
                is_inner=not arrival and _is_inner(step) and not is_failing,
            )
        )

    def _in_words(self, codes: Codes, notes: list[Any]) -> tuple[Access, ...]:
        return super()._in_words((), notes)

    def _unnoted(self, codes: Codes, notes: list[Any]) -> list[Access]:
        """Return accesses of data that nobody said anything about."""
        vocabulary = self._vocabulary
        noted = {location_of(access) for note in notes for access in note.codes or ()}
        return [
            access_in_words(access, vocabulary)
            for access in codes
            if mode_of(access) in OPERATIONS
            and location_of(access) in vocabulary.data
            and location_of(access) not in noted
        ]

    def _task_of(self, owner: str) -> Any:
        """Return the task that an owner is, or that a callback belongs to."""
        tasks = {task.where_name: task for task in self._loop.tasks}
        return tasks.get(owner.partition("/")[0], self._loop.tasks[0])

    def _arrival_in_words(self, step: Step) -> str:
        """Say what came from outside: `0.1 s passes: sleep(0.1) of saver ends`."""
        if not step.is_arrival or step.is_cancelled:
            return ""
        handle: Any = step.handle
        task = self._task_of(step.name)
        who = label_of(task, self._loop.tasks) or task.where_name
        at = f" at {place_in_words(step.armed_at)}" if step.armed_at else ""
        if step.is_fault:
            return f"{handle._args[0].where_name} may be cancelled by whoever waits for it"
        if step.deadline is None:
            if step.is_turn:
                return f"the turn of the loop ends that {who} gave up by sleep(0){at}"
            return f"the answer arrives that {who} waits for{at}"
        armed = step.armed_by.moment.seconds if step.armed_by is not None else 0.0
        seconds = round(step.deadline.seconds - armed, 9)
        if step.is_timeout:
            return f"{seconds:g} s pass: the timeout of {who}{at} strikes"
        if getattr(handle._callback, "__name__", "") == "_set_result_unless_cancelled":
            return f"{seconds:g} s pass: sleep({seconds:g}) of {who}{at} ends"
        return f"{seconds:g} s pass: the timer of {who}{at} is due"

    def frames(self) -> list[FrameRecord]:
        """Return the functions of the code under test that tasks are in, crashed ones first."""
        found = super().frames()
        for task in self._loop.tasks:
            if task._state == "PENDING":
                stack = [(frame, frame.f_lineno) for frame in frames_of(task)]
                found += frames_in_words(task.where_name, stack, say=self._say)
        return found


def _what_then(step: Step, task: Any) -> str:
    if step.is_arrival or step.owner is not task.as_owner:
        return "over"
    return "waits" if task._state == "PENDING" else "ends"


def _is_inner(step: Step) -> bool:
    """Tell whether a step runs a callback of asyncio's own, or one that does nothing."""
    handle: Any = step.handle
    callback: Any = None if handle is None else handle._callback
    if step.is_cancelled or callback is None:
        return True
    if isinstance(callback, functools.partial):
        callback = callback.func
    is_step = getattr(callback, "__name__", "") in ("__step", "__wakeup")
    module = str(getattr(callback, "__module__", ""))
    return not is_step and module.partition(".")[0] in ("asyncio", "_asyncio", "treadle")
