"""Tracebacks without the frames that stand between the user's functions: Treadle's own above all.

They are written without the marks that newer Pythons put under a part of a line: these differ
from version to version, and rewritten code has none.
"""

from __future__ import annotations

import traceback

from treadle.core.frames import is_machinery
from treadle.core.words import place_in_words


def traceback_in_words(error: BaseException) -> str:
    """Return an exception with its notes, causes and the user's frames, as Python prints it."""
    found = traceback.TracebackException.from_exception(error, compact=True)
    _cut(found)
    return "".join(found.format()).rstrip("\n")


def _cut(found: traceback.TracebackException) -> None:
    """Remove foreign frames, also from what an exception was caused by or is a group of."""
    frames = [frame for frame in found.stack if not is_machinery(frame.filename)]
    found.stack = traceback.StackSummary.from_list(
        [
            traceback.FrameSummary(
                _brief(frame.filename), frame.lineno, frame.name, line=frame.line
            )
            for frame in frames
        ]
    )
    for other in (found.__cause__, found.__context__, *(found.exceptions or ())):
        if other is not None:
            _cut(other)


def _brief(filename: str) -> str:
    """Return a path relative to the working directory, if it is below it."""
    return place_in_words((filename, 0)).removesuffix(":0")
