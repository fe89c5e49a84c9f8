"""An execution in words: every step with its source line, and the values read and written.

An exploration runs tests without this; a failing schedule is run once more, in detail, for the
report. The recording scheduler looks at the frames that announced a step, to know what it is about
(`wording`).
"""

from __future__ import annotations

import linecache
import re
import sys
import threading
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from treadle.core.events import Codes, Mode, Vocabulary, location_of, mode_of
from treadle.core.frames import (
    Place,
    frames_of_traceback,
    is_machinery,
    place_of_exception,
    place_of_frame,
)
from treadle.core.records import Access, FrameRecord, StepRecord
from treadle.core.words import (
    OPERATIONS,
    brief,
    exception_in_words,
    frames_in_words,
    place_in_words,
)
from treadle.python.accesses import instruction_hooks as hooks
from treadle.python.recording.wording import UNKNOWN, Deed
from treadle.python.runtime import control
from treadle.python.runtime.fibers import Fibers
from treadle.python.runtime.operation import Operation
from treadle.python.runtime.scheduler import Scheduler
from treadle.python.runtime.task import Task

_DEFAULT_NAME = re.compile(r"Thread-[\d.]+(?: \((.+)\))?")
_DEFAULT_WORKER = re.compile(r"ThreadPoolExecutor-[\d.]+_(\d+)")


class CannotWaitNow(Exception):
    """Putting a value into words would have to wait for another thread."""


class RecordingScheduler(Scheduler):
    """A scheduler that also writes down each step."""

    __slots__ = ("_deeds", "_places", "_quiet", "_vocabulary", "records")

    def __init__(self, vocabulary: Vocabulary, fibers: Fibers) -> None:
        super().__init__(fibers)
        self._vocabulary = vocabulary
        self.records: list[StepRecord] = []
        self._deeds: dict[int, list[tuple[Codes | None, Place | None, Deed]]] = {}
        """What each task does in its present step; with the codes if they are only a part of it."""
        self._places: dict[int, Place | None] = {}
        """Where each task stood when its present step began."""
        self._quiet = False

    # Called by threads

    def announce(self, doing: Codes | Operation) -> None:
        """Write the step down that ends here, and remember where the next one stands."""
        if self._quiet:
            raise CannotWaitNow
        me = self.me
        waits = isinstance(doing, Operation) and (
            not doing.ready(me) or doing.deadline(me) is not None
        )
        self._write_down(me, "waits" if waits else "")
        chain, place = _calling()
        deed = Deed(chain, doing)
        self._places[me.number] = place
        self._deeds[me.number] = [] if doing == () else [(None, place, deed)]
        super().announce(doing)
        deed.begin(me)

    def collect(self, codes: Codes) -> None:
        """Take note of one of several accesses that make up a step."""
        chain, place = _calling()
        deed = Deed(chain, codes)
        control.collect(codes)
        self._deeds.setdefault(self.me.number, []).append((codes, place, deed))
        deed.begin(self.me)

    def _end(self, task: Task) -> None:
        self._write_down(task, "ends")
        super()._end(task)

    # Steps

    def _write_down(self, task: Task, then: str) -> None:
        codes = task.doing
        if not isinstance(codes, tuple) or self.aborting:
            return
        deeds = self._deeds.pop(task.number, [])
        place = deeds[0][1] if deeds else self._places.get(task.number)
        error = ""
        if self.crashes and self.crashes[-1].process == task.number:
            exception = self.crashes[-1].exception
            with self._silence():
                error = exception_in_words(exception)
            place = place or place_of_exception(exception)
        self.records.append(
            StepRecord(
                task.name,
                self._in_words(codes, deeds),
                place_in_words(place),
                linecache.getline(*place).strip() if place else "",
                error,
                label_of(task),
                then,
            )
        )

    def _in_words(
        self, codes: Codes, deeds: list[tuple[Codes | None, Place | None, Deed]]
    ) -> tuple[Access, ...]:
        """Return what a step did: what it called, or what it accessed."""
        words: list[Access] = []
        for part, _, deed in deeds:
            called = deed.in_words(self._say)
            words += [called] if called else self._accesses(codes if part is None else part, deed)
        return tuple(words or self._accesses(codes, None))

    def _accesses(self, codes: Codes, deed: Deed | None) -> Iterator[Access]:
        """Yield plain accesses; of one that touches several locations, the first says enough."""
        spoken = [access for access in codes if mode_of(access) in OPERATIONS]
        if deed is not None and _is_summary(spoken):
            spoken = spoken[:1]
        for access in spoken:
            mode = mode_of(access)
            if mode in (Mode.SPAWN, Mode.JOIN):
                yield Access(OPERATIONS[mode], self._vocabulary.process_names[location_of(access)])
                continue
            name = self._vocabulary.location_names[location_of(access)]
            if deed is None or mode not in (Mode.READ, Mode.WRITE, Mode.STORE):
                yield Access(OPERATIONS[mode], name)
            elif deed.deletes:
                yield Access("delete", name)
            else:
                known = deed.value
                yield Access(OPERATIONS[mode], name, "" if known is UNKNOWN else self._say(known))

    # Words

    def _say(self, value: object) -> str:
        with self._silence():
            return brief(value)

    @contextmanager
    def _silence(self) -> Iterator[None]:
        """Let code of the user's put values into words without taking steps."""
        announce, hand_out = hooks.announce, hooks.hand_out
        hooks.announce, hooks.hand_out = hooks.nothing, _keep
        self._quiet = True
        try:
            yield
        finally:
            self._quiet = False
            hooks.announce, hooks.hand_out = announce, hand_out

    def frames(self) -> list[FrameRecord]:
        """Return the functions of the code under test that the tasks are in."""
        names = self._vocabulary.process_names
        found = []
        for crash in self.crashes:
            stack = frames_of_traceback(crash.exception)
            found += frames_in_words(names[crash.process], stack, say=self._say)
        for task in self.alive.values():
            frame = task.fiber.gr_frame if task.fiber is not None else None
            found += frames_in_words(task.name, _stack(frame), say=self._say)
        return found


def _keep(value: Any, label: str) -> None:
    """Publish nothing."""


def _is_summary(codes: list[int]) -> bool:
    return all(mode_of(access) in (Mode.READ, Mode.WRITE, Mode.STORE, Mode.ADD) for access in codes)


def _calling() -> tuple[list[types.FrameType], Place | None]:
    """Return the frames between a step and the code under test, innermost first; and its line.

    Functions of this file have none if they are compiled.
    """
    chain = []
    frame: types.FrameType | None = sys._getframe()
    while frame is not None and is_machinery(frame.f_code.co_filename):
        if frame.f_code.co_filename != __file__:
            chain.append(frame)
        frame = frame.f_back
    return chain, place_of_frame(frame)


def _stack(frame: types.FrameType | None) -> list[tuple[types.FrameType, int]]:
    """Return the frames of a suspended thread, outermost first, each with its line."""
    stack = []
    while frame is not None:
        stack.append((frame, frame.f_lineno))
        frame = frame.f_back
    return stack[::-1]


def label_of(task: Task) -> str:
    """Return what the code under test calls a thread: the name it gave it, or its function."""
    thread = task.thread
    if thread is None or task.name == "main":
        return ""
    name = str(thread._name)
    if worker := _DEFAULT_WORKER.fullmatch(name):
        return f"pool worker {worker[1]}"
    default = _DEFAULT_NAME.fullmatch(name)
    if default is None:
        return name
    kind = type(thread)
    return default[1] or ("" if kind is threading.Thread else kind.__name__)
