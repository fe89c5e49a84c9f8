"""A model's execution in words: every access with its value and source line.

An exploration runs models without this, as fast as it can; a failing schedule is then run once
more, in detail, for the report.
"""

from __future__ import annotations

import linecache
import sys
import types
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

from treadle.core.events import Codes, Mode, location_of, mode_of
from treadle.core.frames import (
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
from treadle.model.run import ModelRun
from treadle.model.state import Array

if TYPE_CHECKING:
    from treadle.model.program import Program

_SILENT = (Mode.WATCH, Mode.OPEN, Mode.SWAP)
_VERBS = {
    "Lock.try_acquire": "try to acquire",
    "RLock.try_acquire": "try to acquire",
    "Semaphore.try_acquire": "try to acquire",
    "Condition.notify": "notify",
    "Condition.notify_all": "notify all on",
    "_Wait.perform": "wait on",
    "_Wake.perform": "wake up on",
    "Mailbox.send": "send to",
    "_Receive.perform": "receive from",
    "_Timed.perform": "receive from",
}
"""What is more than the accesses that it makes, in words; the object follows."""


class _DetailedLog(list[int]):
    """A log that also notes, for each access, the value and the source line of the model."""

    def __init__(self, run: DetailedRun) -> None:
        super().__init__()
        self.run = run
        self.words: list[Access] = []
        self.where: tuple[str, int] | None = None
        self.call: types.FrameType | None = None
        """The kit's function that made the last access, if it is in words of its own."""

    def append(self, access: int) -> None:
        """Record an access; the caller has already performed it."""
        super().append(access)
        if mode_of(access) in _SILENT:
            return
        frame = sys._getframe(1)
        call = _kit_call(frame)
        if call is None:
            self.words.append(self.run.access_in_words(mode_of(access), location_of(access)))
        elif call is not self.call:
            self.words.append(_call_in_words(call))
        self.call = call
        if self.where is None:
            self.where = place_of_frame(frame, _is_kit)


class DetailedRun(ModelRun):
    """An execution that records each step in words."""

    _log: _DetailedLog

    def __init__(self, program: Program) -> None:
        self._records: list[StepRecord] = []
        self._values: dict[int, Callable[[], object]] = {}
        super().__init__(program)
        for name, location in program.scalars.items():
            self._values[location] = self._reader_of(name)

    def make_log(self) -> list[int]:
        """Return a log that takes notes."""
        return _DetailedLog(self)

    def _reader_of(self, name: str) -> Callable[[], object]:
        return lambda: getattr(self._state, f"_v_{name}")

    def step(self, process: int) -> Codes:
        """Let a process take one step, record it, and return what it accessed."""
        log = self._log
        log.words, log.where, log.call = [], None, None
        standing = self.place_of(process)
        if process in self._announced:
            log.where = standing  # what it announced, where it yielded
        crashes = len(self.crashes)
        codes = super().step(process)
        place = log.where or self.place_of(process) or standing
        error = ""
        if len(self.crashes) > crashes:
            exception = self.crashes[-1].exception
            error = exception_in_words(exception)
            place = place_of_exception(exception, _is_kit) or place
        self._records.append(
            StepRecord(
                self.name_of(process),
                tuple(log.words),
                place_in_words(place),
                linecache.getline(*place).strip() if place else "",
                error,
                then=self._then(process),
            )
        )
        return codes

    def _then(self, process: int) -> str:
        if self.has_ended(process):
            return "ends"
        return "" if self.is_enabled(process) else "waits"

    def records(self) -> list[StepRecord]:
        """Return the steps so far, in words."""
        return self._records

    def frames(self) -> list[FrameRecord]:
        """Return the functions of the model that the processes are in."""
        found = []
        for crash in self.crashes:
            stack = frames_of_traceback(crash.exception)
            found += self._frames_of(crash.process, stack)
        for process in self._alive:
            stack = [(frame, frame.f_lineno) for frame in self.stack_of(process)]
            found += self._frames_of(process, stack)
        return found

    def _frames_of(
        self, process: int, stack: list[tuple[types.FrameType, int]]
    ) -> list[FrameRecord]:
        return frames_in_words(self.name_of(process), stack, leaves_out=_is_kit, hidden=self._state)

    def access_in_words(self, mode: Mode, location: int) -> Access:
        """Return one access for a report, with the location's present value."""
        if mode in (Mode.SPAWN, Mode.JOIN):
            return Access(OPERATIONS[mode], self.name_of(location))
        look_up = self._values.get(location)
        value = "" if look_up is None or mode in (Mode.TAKE, Mode.GIVE) else brief(look_up())
        return Access(OPERATIONS[mode], self.location_name(location), value)

    def locate(self, key: Hashable, name: str, value: Callable[[], object]) -> int:
        """Return the number of a location, and remember how to look its value up."""
        location = super().locate(key, name, value)
        self._values[location] = value
        return location

    def bind_array(self, name: str, first: int, values: list[Any]) -> Array:
        """Return a shared array, and remember how to look its elements up."""
        for index in range(len(values)):
            self._values[first + index] = lambda index=index: values[index]  # type: ignore[misc]
        return super().bind_array(name, first, values)

    def observe(self, process: int, condition: Callable[[], object]) -> tuple[object, Codes]:
        """Evaluate a condition and return what it read, leaving no trace in the log."""
        log = self._log
        words, where = len(log.words), log.where
        observed = super().observe(process, condition)
        del log.words[words:]
        log.where = where
        return observed


def _kit_call(frame: types.FrameType) -> types.FrameType | None:
    """Return the outermost function of the kit with words of its own that an access is made by."""
    found = None
    inner: types.FrameType | None = frame
    while inner is not None and _is_kit(inner.f_code.co_filename):
        if inner.f_code.co_qualname in _VERBS:
            found = inner
        inner = inner.f_back
    return found


def _call_in_words(frame: types.FrameType) -> Access:
    """Return a call of the kit in words: on which object, and the message if there is one."""
    name, found = frame.f_code.co_qualname, frame.f_locals
    owner = found["self"]
    obj = getattr(owner, "_condition", None) or getattr(owner, "_box", owner)
    value = ""
    if "message" in found:
        value = brief(found["message"])
    elif name in ("_Receive.perform", "_Timed.perform"):
        index = obj._first(owner._match, found["process"])
        value = brief(obj._messages[index][1]) if index >= 0 else "timed out"
    return Access(_VERBS[name], obj._name, value)


def _is_kit(filename: str) -> bool:
    """Tell whether a file is Treadle's own, or has no source."""
    return filename.startswith("<string>") or is_machinery(filename)
