"""A model's execution in words: every access with its value and source line.

An exploration runs models without this, as fast as it can; a failing schedule is then run once
more, in detail, for the report.
"""

from __future__ import annotations

import functools
import linecache
import sys
import types
from collections.abc import Callable, Hashable, Iterable
from typing import TYPE_CHECKING, Any, ClassVar

from treadle.core.events import Codes, Mode, location_of, mode_of
from treadle.core.frames import (
    frames_of_traceback,
    is_machinery,
    place_of_exception,
    place_of_frame,
)
from treadle.core.records import Access, FrameRecord, StepRecord
from treadle.core.words import (
    UNKNOWN,
    access_in_words,
    brief,
    exception_in_words,
    frames_in_words,
    place_in_words,
    value_in_words,
)
from treadle.model.run import ModelRun
from treadle.model.state import Array, Elements

if TYPE_CHECKING:
    from treadle.model.program import Program

_SILENT = (Mode.WATCH, Mode.OPEN, Mode.SWAP, Mode.STORED, Mode.BLOCK)
_WITHOUT_VALUE = (Mode.TAKE, Mode.GIVE, Mode.SPAWN, Mode.JOIN)
"""Modes of accesses of which reports show no value."""


class _DetailedLog(list[int]):
    """A log that also notes, for each access, the value and the source line of the model."""

    def __init__(self, run: DetailedRun) -> None:
        super().__init__()
        self.run = run
        self.words: list[Access] = []
        self.where: tuple[str, int] | None = None

    def append(self, access: int) -> None:
        """Record an access; the caller has already performed it."""
        super().append(access)
        if mode_of(access) in _SILENT:
            return
        self.note(access_in_words(access, self.run.vocabulary, value=self.run.value_at(access)))

    def extend(self, accesses: Iterable[int]) -> None:
        """Record accesses, one by one."""
        for access in accesses:
            self.append(access)

    def note(self, words: Access) -> None:
        """Take note of something that the model does now."""
        self.words.append(words)
        if self.where is None:
            self.where = place_of_frame(sys._getframe(1), _is_kit)


class DetailedRun(ModelRun):
    """An execution that records each step in words."""

    steps_plainly: ClassVar[bool] = False
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
        log.words, log.where = [], None
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

    def value_at(self, access: int) -> str:
        """Return the present value of the location of an access in words, if it has one."""
        look_up = None
        if mode_of(access) not in _WITHOUT_VALUE:
            look_up = self._values.get(location_of(access))
        return "" if look_up is None else brief(look_up())

    def log_call(
        self,
        codes: Iterable[int],
        verb: str,
        name: str,
        value: object = UNKNOWN,
        held: str = "",
    ) -> None:
        """Log the accesses of an operation, and take note of what it is in words."""
        super().log_call(codes, verb, name)
        self._log.note(Access(verb, name, value_in_words(value, brief), held))

    def locate(self, key: Hashable, name: str, value: Callable[[], object]) -> int:
        """Return the number of a location, and remember how to look its value up."""
        location = super().locate(key, name, value)
        self._values[location] = value
        return location

    def bind_array(self, name: str, elements: Elements, values: list[Any]) -> Array:
        """Return a shared array, and remember how to look its elements up."""
        for location in range(elements.first, elements.first + len(values)):
            self._values[location] = functools.partial(
                values.__getitem__, location - elements.first
            )
        return super().bind_array(name, elements, values)

    def observe(self, process: int, condition: Callable[[], object]) -> tuple[object, Codes]:
        """Evaluate a condition and return what it read, leaving no trace in the log."""
        log = self._log
        words, where = len(log.words), log.where
        observed = super().observe(process, condition)
        del log.words[words:]
        log.where = where
        return observed


def _is_kit(filename: str) -> bool:
    """Tell whether a file is Treadle's own, or has no source."""
    return filename.startswith("<string>") or is_machinery(filename)
