"""What front ends say alike in their reports: operations, places, values, exceptions."""

from __future__ import annotations

import reprlib
import sys
import threading
import time
import types
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

from treadle.core.events import Mode, Vocabulary, location_of, mode_of
from treadle.core.failure import error_in_words, without_addresses
from treadle.core.frames import Place, is_machinery, runs_tests
from treadle.core.records import Access, FrameRecord

OPERATIONS = {
    Mode.READ: "read",
    Mode.WRITE: "write",
    Mode.STORE: "write",
    Mode.ADD: "add to",
    Mode.TAKE: "acquire",
    Mode.SPARE: "acquire",
    Mode.PASS: "pass",
    Mode.GIVE: "release",
    Mode.NEED: "take",
    Mode.AWAIT: "await",
    Mode.SPAWN: "spawn",
    Mode.JOIN: "join",
}
"""Modes that stand for something that a program does, in words."""
_HELD = (Mode.TAKE, Mode.SPARE)
"""Modes of accesses by which a process gets hold of something."""

_LONGEST = 40


def access_in_words(access: int, vocabulary: Vocabulary, verb: str = "", value: str = "") -> Access:
    """Return an access with the name of what it is about, a process or a location."""
    mode, number = mode_of(access), location_of(access)
    if mode in (Mode.SPAWN, Mode.JOIN):
        return Access(OPERATIONS[mode], vocabulary.process_names[number])
    name = vocabulary.location_names[number]
    return Access(verb or OPERATIONS[mode], name, value, name if mode in _HELD else "")


_NAME: Any = type.__dict__["__name__"]
"""How classes are called, whatever their metaclass says."""


class _Unknown:
    """The class of `UNKNOWN`."""

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN = _Unknown()
"""A value that cannot be told."""


class Said(str):
    """A value that is in words already."""

    __slots__ = ()


def value_in_words(value: object, say: Callable[[object], str]) -> str:
    """Return a value for a report: nothing if it is unknown, as it is if it is in words."""
    if value is UNKNOWN:
        return ""
    return str(value) if type(value) is Said else say(value)


class _TooLongError(BaseException):
    """Somebody's `__repr__` does not end; a handler there is to end, too."""


_slow: list[weakref.ref[type]] = []
"""Classes whose `__repr__` did not end in time."""
_PATIENCE = 0.5
"""Seconds of processor time that putting one object into words may take."""
_LONGEST_WAIT = 10.0
"""Seconds that it may take in all, if it waits for something now and then."""
_now, _used = time.perf_counter, time.thread_time


def _in_time(function: Callable[[Any], str], value: object) -> str:
    """Call a function; end it if its code in Python takes too long, unless a debugger looks on."""
    if sys.gettrace() is not None:
        return function(value)
    began, enough = _now(), _used() + _PATIENCE

    def look(frame: Any, event: str, arg: Any) -> Any:
        del frame, event, arg
        took = _now() - began
        if took > _LONGEST_WAIT or (took > _PATIENCE and _used() > enough):
            raise _TooLongError
        return look

    sys.settrace(look)
    try:
        return function(value)
    finally:
        sys.settrace(None)


class _Brief(reprlib.Repr):
    """Values in few words, whatever their classes make of `__repr__`."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 4
        self.maxstring = self.maxother = self.maxlong = _LONGEST

    def repr1(self, x: object, level: int) -> str:
        """Return the text of an object, also of one whose class is only called like a container."""
        try:
            return super().repr1(x, level)
        except Exception:  # or a number of more digits than Python writes
            return self.repr_instance(x, level)

    def repr_instance(self, x: object, level: int) -> str:
        """Return the text of an object that is no built-in container."""
        name = str(_NAME.__get__(type(x)))
        if issubclass(type(x), threading.Thread):
            return f"<{name} {x._name}>"  # type: ignore[attr-defined]
        if type.__getattribute__(type(x), "__repr__") is object.__repr__:
            return f"<{name}>"
        if any(kind() is type(x) for kind in _slow):
            return f"<{name}, its repr takes too long>"
        try:
            text = without_addresses(_in_time(repr, x))
        except _TooLongError:
            _slow.append(weakref.ref(type(x)))
            return f"<{name}, its repr takes too long>"
        except (Exception, SystemExit) as error:
            return f"<{name}, its repr raises {type(error).__name__}>"
        return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


_brief = _Brief()


def brief(value: object) -> str:
    """Return a value for a report, cut if it is long.

    >>> brief({"k": [1, 2]}), brief("x" * 50)
    ("{'k': [1, 2]}", "'xxxxxxxxxxxxxxxxx...xxxxxxxxxxxxxxxxxx'")
    """
    text = _brief.repr(value)
    return text if len(text) <= 2 * _LONGEST else f"{text[: 2 * _LONGEST - 3]}..."


def exception_in_words(error: BaseException) -> str:
    """Return the type of an exception and the first line of its message."""
    return error_in_words(error).partition("\n")[0]


def place_in_words(place: Place | None) -> str:
    """Return a place as `file:line`, relative to the working directory if it is below it."""
    if place is None:
        return ""
    path = Path(place[0])
    try:
        path = path.relative_to(Path.cwd())
    except (ValueError, OSError):  # or there is no working directory any more
        return f"{place[0]}:{place[1]}"
    return f"{path}:{place[1]}"


_CODE = (type, types.FunctionType, types.ModuleType)
"""Classes of values that are no data: their names say enough."""


def frames_in_words(
    process: str,
    frames: list[tuple[types.FrameType, int]],
    *,
    leaves_out: Callable[[str], bool] = is_machinery,
    say: Callable[[object], str] = brief,
    hidden: object = _CODE,
) -> list[FrameRecord]:
    """Return the user's functions among frames, each given with its line, and their variables."""
    return [
        FrameRecord(
            process,
            frame.f_code.co_name,
            place_in_words((frame.f_code.co_filename, line)),
            tuple(
                (name, say(value))
                for name, value in frame.f_locals.items()
                if value is not hidden and not issubclass(type(value), _CODE)
            ),
        )
        for frame, line in frames
        if not leaves_out(frame.f_code.co_filename) and not runs_tests(frame)
    ]
