"""Until when a test may run, for those who watch it while no search can look at the clock.

A search looks between steps. A test that takes none, in a loop over private data or in a call that
takes long, is interrupted by whoever watches it, and ends with `OutOfTime`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

_clock = time.monotonic
_until: list[float] = []


class OutOfTime(BaseException):
    """The time is up that was given for a search: no finding, and no error either."""


@contextmanager
def within(seconds: float | None) -> Iterator[None]:
    """Let tests run for so long at most meanwhile; None: as long as they want."""
    before = _until.copy()
    _until[:] = [] if seconds is None else [_clock() + seconds]
    try:
        yield
    finally:
        _until[:] = before


def is_over() -> bool:
    """Tell whether the time is up."""
    return any(_clock() >= until for until in _until)
