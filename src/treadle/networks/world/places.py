"""Where in the user's files something is: for errors in one sentence with a line."""

from __future__ import annotations

import re
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from treadle.core.errors import TreadleError
from treadle.core.frames import is_of_the_user, place_of_exception
from treadle.core.words import place_in_words

_HAS_PLACE = re.compile(r":\d+\)$")


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
    raise TreadleError(f"{message} ({place})" if place else message)


@contextmanager
def with_line() -> Iterator[None]:
    """Add the user's line to an error that a handler's code runs into."""
    try:
        yield
    except TreadleError as error:
        place = place_of_exception(error, lambda file: not is_of_the_user(file))
        text = str(error)
        if place is None or _HAS_PLACE.search(text):
            raise
        raise TreadleError(f"{text} ({place_in_words(place)})") from None
