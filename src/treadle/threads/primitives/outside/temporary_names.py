"""Temporary files: they have the same names in every execution, and it is seen when they go.

Messages of exceptions contain them, and executions are compared by those. The number of the process
is part of a name, since tests may be explored in several processes at once. `tempfile` removes
files by a function that it keeps as a default of a method, where no stand-in would reach it.
"""

from __future__ import annotations

import contextlib
import os
import random
import tempfile
from collections.abc import Iterator
from types import FunctionType
from typing import Any

from treadle.python.runtime import control
from treadle.threads.primitives.patches import Patches

_Names: Any = tempfile._RandomNameSequence  # type: ignore[attr-defined]
_original: Any = _Names.__next__
_Closer: Any = tempfile._TemporaryFileCloser  # type: ignore[attr-defined]
_original_unlink = os.unlink
_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789_"


def _next(self: Any) -> str:
    """Stand for what makes up the next name."""
    me = control.current()
    if me is None:
        name: str = _original(self)
        return name
    me.scratch[tempfile] = number = me.scratch.get(tempfile, 0) + 1
    return "".join(random.Random(f"{os.getpid()} {me.name} {number}").choices(_LETTERS, k=8))


def patches() -> Patches:
    """Return what is replaced, after it was tried out where files can be made.

    `tempfile` does that once for the whole process: the first execution would do it only.
    """
    with contextlib.suppress(FileNotFoundError):
        tempfile.gettempdir()
    return Patches(attributes=[(_Names, "__next__", _next), *_removing()])


def _unlink(path: Any) -> None:
    """Remove a file by what stands for `os.unlink` now."""
    os.unlink(path)


def _removing() -> Iterator[tuple[Any, str, Any]]:
    """Yield the methods that remove a temporary file, with that function as their default."""
    for name, method in vars(_Closer).items():
        if isinstance(method, FunctionType) and _original_unlink in (method.__defaults__ or ()):
            kept = [
                _unlink if one is _original_unlink else one for one in method.__defaults__ or ()
            ]
            seen = FunctionType(method.__code__, method.__globals__, name, tuple(kept))
            yield _Closer, name, seen
