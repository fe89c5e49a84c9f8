"""Where in the user's files something is: for errors in one sentence with a line."""

from __future__ import annotations

import types
from typing import Any, NoReturn

from treadle.core.errors import TreadleError
from treadle.core.words import place_in_words


def place_of(code: Any) -> str:
    """Return `file:line` of where a suspended generator stands, or a function begins."""
    if isinstance(code, types.GeneratorType):
        frame = code.gi_frame
        place = (code.gi_code.co_filename, frame.f_lineno if frame else code.gi_code.co_firstlineno)
    else:
        place = (code.__code__.co_filename, code.__code__.co_firstlineno)
    return place_in_words(place)


def refuse(message: str, place: str) -> NoReturn:
    """Raise an error of use, with the line that is meant."""
    raise TreadleError(f"{message} ({place})")
