"""An execution in words: every step with its source line, and the values read and written.

An exploration runs tests without this; a failing schedule is run once more, recorded, for the
report. A recorder stands between those who announce steps and the scheduler: it takes down what
they say of them (`treadle.python.runtime.deeds`), and the line of the code under test.
"""

from __future__ import annotations

import linecache
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, NamedTuple

from treadle.core.events import Codes, Mode, Vocabulary, mode_of
from treadle.core.frames import (
    Place,
    frames_of_traceback,
    place_of_exception,
    users_frame,
)
from treadle.core.records import Access, FrameRecord, StepRecord
from treadle.core.words import (
    OPERATIONS,
    UNKNOWN,
    Said,
    access_in_words,
    brief,
    exception_in_words,
    frames_in_words,
    place_in_words,
    value_in_words,
)
from treadle.python.runtime import control, slots
from treadle.python.runtime.deeds import PLAIN_ACCESS, Deed
from treadle.python.runtime.operation import Operation
from treadle.python.runtime.scheduler import Scheduler
from treadle.python.runtime.task import Task
from treadle.python.sharing.lives import lives

_VALUED = (Mode.READ, Mode.WRITE, Mode.STORE)
"""Modes of accesses to one value."""
_SUMMARISED = (*_VALUED, Mode.ADD)
"""Modes of accesses, of several of which the first says enough."""


class CannotWaitNow(Exception):
    """Putting a value into words would have to wait for another thread."""


class _Call(NamedTuple):
    """A call by the code under test that goes by one name, whatever steps it takes."""

    caller: FrameType | None
    deed: Deed
    about: Any
    detail: Any


class _Note:
    """What is known of one announcement."""

    __slots__ = ("about", "codes", "deed", "detail", "held", "place", "value", "words")

    def __init__(
        self, codes: Codes | None, place: Place | None, deed: Deed, about: Any, detail: Any
    ) -> None:
        self.codes = codes
        """What is accessed, if that is only a part of the step."""
        self.place = place
        self.deed = deed
        self.about = about
        self.detail = detail
        self.value: object = UNKNOWN
        self.held = ""
        self.words: list[Access] | None = None
        """What is said of it, once its objects are let go."""

    def begin(self, task: Task, operation: Operation | None) -> None:
        """Take note of what can be seen only at the beginning of the step."""
        failure = "" if operation is None else operation.failure(task)
        if failure:
            self.value = Said(failure)
            return
        if operation is not None:
            self.held = operation.held()
        with suppress(Exception):  # of code of the user's: of `__eq__`, say
            self.value = self.deed.value(self.about, self.detail)


class Recorder:
    """Writes down each step of one execution."""

    def __init__(
        self, scheduler: Scheduler, vocabulary: Vocabulary, label_of: Callable[[Task], str]
    ) -> None:
        self._scheduler = scheduler
        self._vocabulary = vocabulary
        self._label_of = label_of
        """Returns what the program calls a task."""
        self._alive = scheduler.alive
        self._crashes = scheduler.crashes
        self.records: list[StepRecord] = []
        self._notes: dict[int, list[_Note]] = {}
        """What each task does in its present step."""
        self._places: dict[int, Place | None] = {}
        """Where each task stood when its present step began."""
        self._calls: dict[int, _Call] = {}
        """Calls under way that go by one name, by task."""
        self._quiet = False

    # Called by tasks

    def announce(
        self,
        doing: Codes | Operation,
        deed: Deed = PLAIN_ACCESS,
        about: Any = None,
        detail: Any = None,
    ) -> None:
        """Write the step down that ends here, and remember where the next one stands."""
        if self._quiet:
            raise CannotWaitNow
        me: Task = self._scheduler.me
        lives.add(me, ())
        operation = doing if isinstance(doing, Operation) else None
        waits = operation is not None and (
            not operation.ready(me) or operation.deadline(me) is not None
        )
        self._write_down(me, "waits" if waits else "")
        note = self._note(None, deed, about, detail)
        self._places[me.number] = note.place
        self._notes[me.number] = [] if doing == () else [note]
        self._scheduler.announce(doing)
        with self._silence():
            note.begin(me, operation)

    def collect(
        self, codes: Codes, deed: Deed = PLAIN_ACCESS, about: Any = None, detail: Any = None
    ) -> None:
        """Take note of one of several accesses that make up a step."""
        note = self._note(codes, deed, about, detail)
        control.collect(codes)
        me: Task = self._scheduler.me
        self._notes.setdefault(me.number, []).append(note)
        with self._silence():
            note.begin(me, None)

    def returned(self, detail: Any, value: object) -> None:
        """Take note of what a call returned, which was announced with some detail."""
        for note in self._notes.get(self._scheduler.me.number, ()):
            if note.detail is detail:
                note.value = value

    @contextmanager
    def call(self, deed: Deed, about: Any, detail: Any) -> Iterator[None]:
        """Call all steps by one name that the code under test takes by one call of a library.

        What code under test does that the library calls back goes by its own names.
        """
        number = self._scheduler.me.number
        before = self._calls.get(number)
        if before is None:
            caller = users_frame(sys._getframe())
            self._calls[number] = _Call(caller, deed, about, detail)
        try:
            yield
        finally:
            if before is None:
                del self._calls[number]

    def end(self, task: Task) -> None:
        """Write down the last step of a task."""
        self._write_down(task, "ends")

    def _note(self, codes: Codes | None, deed: Deed, about: Any, detail: Any) -> _Note:
        frame = users_frame(sys._getframe())
        place = None if frame is None else (frame.f_code.co_filename, frame.f_lineno)
        call = self._calls.get(self._scheduler.me.number)
        if call is not None and call.caller is frame:
            return _Note(codes, place, *call[1:])
        return _Note(codes, place, deed, about, detail)

    def let_go(self, task: Task) -> None:
        """Keep of the present step only words: what it was about may die with it."""
        codes = task.doing
        for note in self._notes.get(task.number, ()):
            if isinstance(codes, tuple) and note.words is None:
                note.words = self._words_of(note, codes)
                note.about = note.detail = None
                note.value = UNKNOWN

    # Steps

    def _write_down(self, task: Task, then: str) -> None:
        codes = task.doing
        if not isinstance(codes, tuple) or self._scheduler.aborting:
            return
        notes = self._notes.pop(task.number, [])
        place = notes[0].place if notes else self._places.get(task.number)
        error = ""
        if self._crashes and self._crashes[-1].process == task.number:
            exception = self._crashes[-1].exception
            with self._silence():
                error = exception_in_words(exception)
            place = place or place_of_exception(exception)
        self.records.append(
            StepRecord(
                task.name,
                self._in_words(codes, notes),
                place_in_words(place),
                linecache.getline(*place).strip() if place else "",
                error,
                self._label_of(task),
                then,
            )
        )

    def _in_words(self, codes: Codes, notes: list[_Note]) -> tuple[Access, ...]:
        """Return what a step did: what it called, or what it accessed."""
        words: list[Access] = []
        for note in notes:
            words += self._words_of(note, codes) if note.words is None else note.words
        return tuple(words or self._accesses(codes, None))

    def _words_of(self, note: _Note, codes: Codes) -> list[Access]:
        """Return what one announcement did."""
        subject = note.deed.subject(note.about, note.detail, self._say)
        if subject is None:
            return [*self._accesses(codes if note.codes is None else note.codes, note)]
        return [Access(note.deed.verb, subject, self._value_of(note), note.held)]

    def _value_of(self, note: _Note) -> str:
        return value_in_words(note.value, self._say)

    def _accesses(self, codes: Codes, note: _Note | None) -> Iterator[Access]:
        """Yield plain accesses; of one that touches several locations, the first says enough."""
        spoken = [access for access in codes if mode_of(access) in OPERATIONS]
        if note is not None and all(mode_of(access) in _SUMMARISED for access in spoken):
            spoken = spoken[:1]
        for access in spoken:
            if note is None or mode_of(access) not in _VALUED:
                yield access_in_words(access, self._vocabulary)
            else:
                verb, value = note.deed.verb, self._value_of(note)
                yield access_in_words(access, self._vocabulary, verb, value)

    # Words

    def _say(self, value: object) -> str:
        with self._silence():
            return brief(value)

    @contextmanager
    def _silence(self) -> Iterator[None]:
        """Let code of the user's put values into words without taking steps."""
        announce, hand_out = slots.announce, slots.hand_out
        slots.announce, slots.hand_out = slots.nothing, slots.nobody
        self._quiet = True
        try:
            yield
        finally:
            self._quiet = False
            slots.announce, slots.hand_out = announce, hand_out

    def frames(self) -> list[FrameRecord]:
        """Return the functions of the code under test that the tasks are in."""
        names = self._vocabulary.process_names
        found = []
        for crash in self._crashes:
            stack = frames_of_traceback(crash.exception)
            found += frames_in_words(names[crash.process], stack, say=self._say)
        for task in self._alive.values():
            frame = task.fiber.gr_frame if task.fiber is not None else None
            found += frames_in_words(task.name, _stack(frame), say=self._say)
        return found


def _stack(frame: FrameType | None) -> list[tuple[FrameType, int]]:
    """Return the frames of a suspended thread, outermost first, each with its line."""
    stack = []
    while frame is not None:
        stack.append((frame, frame.f_lineno))
        frame = frame.f_back
    return stack[::-1]
