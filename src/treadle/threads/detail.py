"""An execution in words: every step with its source line, and the values read and written.

An exploration runs tests without this; a failing schedule is run once more, in detail, for the
report. The recording scheduler looks at the hook that announced a step, to know what it is about.
"""

from __future__ import annotations

import linecache
import sys
import threading
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

from treadle.events import Codes, Mode, Vocabulary, location_of, mode_of
from treadle.program import Access, StepRecord
from treadle.threads import hooks
from treadle.threads.fibers import Fibers
from treadle.threads.scheduler import Scheduler
from treadle.threads.task import Operation, Task
from treadle.words import (
    OPERATIONS,
    Place,
    brief,
    exception_in_words,
    place_in_words,
    place_of_exception,
    place_of_frame,
)

_OWN = str(Path(__file__).parent)
_LIBRARY = str(Path(threading.__file__).parent)
_FOREIGN = tuple(
    str(Path(_LIBRARY) / name)
    for name in ("threading.py", "queue.py", "concurrent", "_threading_local.py", "contextlib.py")
)

_UNKNOWN = object()


def is_foreign(filename: str) -> bool:
    """Tell whether a file is Treadle's, or that of a primitive that Treadle stands for."""
    return filename.startswith((_OWN, *_FOREIGN))


class RecordingScheduler(Scheduler):
    """A scheduler that also writes down each step."""

    __slots__ = ("_announced", "_vocabulary", "records")

    def __init__(self, vocabulary: Vocabulary, fibers: Fibers) -> None:
        super().__init__(fibers)
        self._vocabulary = vocabulary
        self.records: list[StepRecord] = []
        self._announced: dict[int, tuple[Place | None, Callable[[], object]]] = {}

    def announce(self, doing: Codes | Operation) -> None:
        """Write the step down that ends here, and remember where the next one stands."""
        me = self.me
        self._write_down(me)
        caller = sys._getframe(1)
        self._announced[me.number] = place_of_frame(caller, is_foreign), _value_at(caller)
        super().announce(doing)

    def _end(self, task: Task) -> None:
        self._write_down(task)
        super()._end(task)

    def _write_down(self, task: Task) -> None:
        codes = task.doing
        if not isinstance(codes, tuple) or self.aborting:
            return
        place, value = self._announced.get(task.number, (None, lambda: _UNKNOWN))
        error = ""
        if self.crashes and self.crashes[-1].process == task.number:
            exception = self.crashes[-1].exception
            error = exception_in_words(exception)
            place = place_of_exception(exception, is_foreign) or place
        self.records.append(
            StepRecord(
                task.name,
                self._in_words(codes, value),
                place_in_words(place),
                linecache.getline(*place).strip() if place else "",
                error,
            )
        )

    def _in_words(self, codes: Codes, value: Callable[[], object]) -> tuple[Access, ...]:
        """Return what a step accessed; summary locations are left out, one access says enough."""
        spoken = [access for access in codes if mode_of(access) in OPERATIONS]
        words = []
        for access in spoken[:1] if len(spoken) > 1 and _is_summary(spoken) else spoken:
            mode = mode_of(access)
            if mode in (Mode.SPAWN, Mode.JOIN):
                name = self._vocabulary.process_names[location_of(access)]
                words.append(Access(OPERATIONS[mode], name))
            else:
                name = self._vocabulary.location_names[location_of(access)]
                known = value() if mode in (Mode.READ, Mode.WRITE, Mode.STORE) else _UNKNOWN
                words.append(
                    Access(OPERATIONS[mode], name, "" if known is _UNKNOWN else brief(known))
                )
        return tuple(words)


def _is_summary(codes: list[int]) -> bool:
    return all(mode_of(access) in (Mode.READ, Mode.WRITE, Mode.STORE, Mode.ADD) for access in codes)


def _value_at(hook: types.FrameType) -> Callable[[], object]:
    """Return how to look up what the access of a hook is about, once it has happened."""
    if hook.f_code.co_filename != hooks.__file__:
        return lambda: _UNKNOWN
    found: dict[str, Any] = dict(hook.f_locals)
    if "value" in found:
        return lambda: found["value"]
    if "name" in found:
        return lambda: _attribute(found["obj"], found["name"])
    if "key" in found:
        return lambda: _item(found["obj"], found["key"])
    if "cell" in found:
        return lambda: _content(found["cell"])
    return lambda: _UNKNOWN


def _attribute(obj: Any, name: str) -> object:
    """Look an attribute up without running code of the user's."""
    values = getattr(obj, "__dict__", {})
    if name in values:
        return values[name]
    found = getattr(type(obj), name, _UNKNOWN)
    if isinstance(found, types.MemberDescriptorType):
        return object.__getattribute__(obj, name)
    return _UNKNOWN if callable(found) or hasattr(found, "__get__") else found


def _item(obj: Any, key: Any) -> object:
    if obj.__class__ in (list, dict, bytearray):
        try:
            return obj[key]
        except (LookupError, TypeError):
            return _UNKNOWN
    return _UNKNOWN


def _content(cell: Any) -> object:
    try:
        return cell.cell_contents
    except ValueError:
        return _UNKNOWN
