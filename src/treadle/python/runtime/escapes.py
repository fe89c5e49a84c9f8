"""What leaves Treadle's sight: neither modelled nor seen, so the verdict has to name it.

Whoever meets such a thing (a call, a primitive) says so by `escapes.add`, with what
is not seen. It is told once for each line of the user's that does it. A test may want it to be a
failure instead (`escapes="fail"`): then it is one of the execution that does it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType

from treadle.core.frames import is_of_the_user, room_of, runs_tests
from treadle.core.program import Crash
from treadle.core.words import place_in_words
from treadle.python.runtime import control
from treadle.python.runtime.task import Task


class OutOfSight(Exception):
    """A thread did something that is neither modelled nor seen."""


class Escapes:
    """What escaped in one exploration."""

    def __init__(self) -> None:
        self._found: dict[str, str] = {}
        """Sentences, by what is not seen and where."""
        self._kind = ""
        self._controlled: frozenset[str] = frozenset()
        self._is_told = False

    @contextmanager
    def told(self) -> Iterator[None]:
        """Add nothing meanwhile: it was said when the step was announced, and has a line there."""
        self._is_told = True
        try:
            yield
        finally:
            self._is_told = False

    def begin(self, kind: str, controlled: frozenset[str] = frozenset()) -> None:
        """Forget those of an earlier exploration; `kind` is that of failures, if they are some.

        What packages do that are `controlled` is seen.
        """
        self._found.clear()
        self._kind = kind
        self._controlled = controlled

    @property
    def sentences(self) -> list[str]:
        """What escaped, each with its line."""
        return list(dict.fromkeys(self._found.values()))

    def add(self, why: str, name: str = "") -> None:
        """Say that the current thread does something, and what of it is not seen.

        `name` is what does it, unless a function of a library does that was called to do it.
        """
        if name.lstrip("_").partition(".")[0] in self._controlled:
            return
        me = control.current()
        if self._is_told or me is None or control.the_program().scheduler.aborting:
            return
        found = called_by_user(name)
        if found is None:
            return
        called, frame = found
        where = "as a thread's function"
        if frame is not None:
            where = f"at {place_in_words((frame.f_code.co_filename, frame.f_lineno))}"
        sentence = f"{called} {where}: {why}"
        known = self._found.get(f"{where}: {why}") or self._found.get(f"{called} {where}")
        sentence = known or sentence
        self._found[f"{where}: {why}"] = self._found[f"{called} {where}"] = sentence
        if self._kind:
            self._fail(me, OutOfSight(sentence), frame)

    def _fail(self, me: Task, error: OutOfSight, frame: FrameType | None) -> None:
        if frame is not None:
            error.__traceback__ = TracebackType(None, frame, frame.f_lasti, frame.f_lineno)
        scheduler = control.the_program().scheduler
        told = [(crash.process, str(crash.exception)) for crash in scheduler.crashes]
        if (me.number, str(error)) not in told:
            scheduler.crashes.append(Crash(me.number, scheduler.steps, error, self._kind))


escapes = Escapes()
"""What escaped in the present exploration, or in the last one."""


def called_by_user(name: str = "") -> tuple[str, FrameType | None] | None:
    """Return what of a library the user called to come here, and the frame that did.

    The outermost function of a library has the name. What Treadle itself does in between has none.
    None if an import, or what runs tests, did it.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if code.co_filename.startswith("<frozen importlib") or runs_tests(frame):
            return None
        if room_of(code.co_filename) is None:
            if is_of_the_user(code.co_filename):
                return _shortened(name), frame
            if frame.f_globals.get("__name__") == "threading":
                break  # the function is a thread's target
            name = f"{frame.f_globals.get('__name__')}.{code.co_qualname}"
        frame = frame.f_back
    return _shortened(name), None


def _shortened(name: str) -> str:
    """Return a name as users write it: `asyncio.run()`, wherever in the package it is defined."""
    package, _, rest = name.partition(".")
    held = vars(sys.modules.get(package, sys))  # a module may run code if it is asked
    first = rest.removesuffix(".__init__").removesuffix(".__new__").split(".")
    for length in range(1, len(first)):
        if first[-length] in held:
            return f"{package}.{'.'.join(first[-length:])}()"
    return f"{package}.{'.'.join(first)}()"
