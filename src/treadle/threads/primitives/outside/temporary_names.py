"""Names of temporary files: the same in every execution, for who makes them.

Messages of exceptions contain them, and executions are compared by those. The number of the process
is part of a name, since tests may be explored in several processes at once.
"""

from __future__ import annotations

import contextlib
import os
import random
import tempfile
from typing import Any

from treadle.python.runtime import control
from treadle.threads.primitives.patches import Patches

_Names: Any = tempfile._RandomNameSequence  # type: ignore[attr-defined]
_original: Any = _Names.__next__
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
    return Patches(attributes=[(_Names, "__next__", _next)])
