"""What an exploration did not see, for the notes of its result."""

from __future__ import annotations

import sys
from types import FrameType
from typing import NamedTuple

from treadle.core.frames import callers_frame_if_any, is_own, place_of_frame
from treadle.core.words import place_in_words
from treadle.python.runtime import slots
from treadle.python.runtime.escapes import called_by_user


class Unobserved(NamedTuple):
    """A function that touched shared objects unobserved."""

    name: str
    where: str
    """Where it was called first, in words."""


unobserved: list[Unobserved] = []
"""What ran unobserved in this exploration."""
remarks: dict[str, str] = {}
"""What else is not seen in this exploration: a sentence for each subject."""
outliving: dict[str, str] = {}
"""State that executions change and that is not undone: its name, and the line that did it first."""


def begin() -> None:
    """Forget what an earlier exploration did."""
    unobserved.clear()
    remarks.clear()
    outliving.clear()


def note(function: str, where: str = "as a thread's function") -> None:
    """Remember that a function in Python ran unobserved, and where it was called, if anywhere."""
    if all(function != known for known, _ in unobserved):
        place = place_of_frame(sys._getframe())
        where = f"at {place_in_words(place)}" if place else where
        unobserved.append(Unobserved(function, where))


def remark(subject: str, name: str, sentence: str, *, has_threads: bool = False) -> None:
    """Remember something that is not seen, once; `{}` in the sentence is what does it, where.

    Nothing is said before the test has threads, unless the caller says that it has.
    """
    has_threads = has_threads or slots.announce is not slots.nothing
    if subject not in remarks and has_threads and not _is_asyncio(callers_frame_if_any()):
        found = called_by_user(name)
        if found is not None:
            called, frame = found
            line = None if frame is None else (frame.f_code.co_filename, frame.f_lineno)
            where = f"{called} at {place_in_words(line)}" if line else called
            remarks[subject] = sentence.format(where)


def _is_asyncio(frame: FrameType | None) -> bool:
    """Tell whether code is of asyncio itself, which users need not be told about."""
    return frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == "asyncio"


def outlives(what: str) -> None:
    """Remember that an execution changes something that the next one will find so."""
    if what not in outliving:
        outliving[what] = place_in_words(place_of_frame(sys._getframe(), is_own))
