"""What both front ends say alike in their reports: operations, places, values, exceptions."""

from __future__ import annotations

import types
from collections.abc import Callable
from pathlib import Path

from treadle.events import Mode

Place = tuple[str, int]
"""File and line."""

OPERATIONS = {
    Mode.READ: "read",
    Mode.WRITE: "write",
    Mode.STORE: "write",
    Mode.ADD: "add to",
    Mode.TAKE: "acquire",
    Mode.SPARE: "acquire",
    Mode.GIVE: "release",
    Mode.NEED: "take",
    Mode.AWAIT: "await",
    Mode.SPAWN: "spawn",
    Mode.JOIN: "join",
}
"""Modes that stand for something that a program does, in words."""

_LONGEST = 40


def brief(value: object) -> str:
    """Return a value for a report, cut if it is long."""
    text = repr(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def exception_in_words(error: BaseException) -> str:
    """Return the type of an exception and the first line of its message."""
    first_line = str(error).partition("\n")[0]
    return type(error).__name__ + (f": {first_line}" if first_line else "")


def place_in_words(place: Place | None) -> str:
    """Return a place as `file:line`, relative to the working directory if it is below it."""
    if place is None:
        return ""
    path = Path(place[0])
    try:
        path = path.relative_to(Path.cwd())
    except ValueError:
        return f"{place[0]}:{place[1]}"
    return f"{path}:{place[1]}"


def place_of_frame(
    frame: types.FrameType | None, is_foreign: Callable[[str], bool]
) -> Place | None:
    """Return where the innermost frame of the user stands, foreign files left out."""
    while frame is not None:
        if not is_foreign(frame.f_code.co_filename):
            return frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back
    return None


def place_of_exception(error: BaseException, is_foreign: Callable[[str], bool]) -> Place | None:
    """Return where the innermost frame of the user is in a traceback."""
    place = None
    traceback = error.__traceback__
    while traceback is not None:
        filename = traceback.tb_frame.f_code.co_filename
        if not is_foreign(filename):
            place = (filename, traceback.tb_lineno)
        traceback = traceback.tb_next
    return place
