"""Tracebacks without the frames of Treadle and pytest: what users can look at and change."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

import _pytest
import pluggy

import treadle
from treadle.threads.detail import is_foreign

_MACHINERY = tuple(str(Path(str(module.__file__)).parent) for module in (treadle, _pytest, pluggy))


def cut_to_user(error: BaseException) -> None:
    """Take the frames of Treadle, pytest and primitives out of a traceback, causes included."""
    for one in _chain(error):
        one.__traceback__ = users_part(one.__traceback__) or one.__traceback__


def users_part(traceback: TracebackType | None) -> TracebackType | None:
    """Return a traceback without the frames of Treadle, pytest and primitives.

    An interrupt may come at an instruction that belongs to no line, where pytest expects one.
    """
    if traceback is None:
        return None
    rest = users_part(traceback.tb_next)
    code = traceback.tb_frame.f_code
    if code.co_filename.startswith(_MACHINERY) or is_foreign(code.co_filename):
        return rest
    line = traceback.tb_lineno or code.co_firstlineno
    return TracebackType(rest, traceback.tb_frame, traceback.tb_lasti, line)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an exception and all that it was caused by."""
    seen: set[int] = set()
    todo = [error]
    while todo:
        one = todo.pop()
        if one is not None and id(one) not in seen:
            seen.add(id(one))
            yield one
            todo += [one.__cause__, one.__context__]
