"""Until when a test may run, for those who watch it while no search can look at the clock.

A search looks between steps. A test that takes none, in a loop over private data or in a call that
takes long, is interrupted by whoever watches it, and ends with `OutOfTime`.
"""

from __future__ import annotations

import math
import time

_clock = time.monotonic
_until: list[float] = []
_hurried: list[bool] = []


class OutOfTime(BaseException):
    """The time is up that was given for a search: no finding, and no error either."""


class within:  # noqa: N801 - said as a function is
    """Let tests run for so long at most meanwhile; None: as long as they want."""

    __slots__ = ("_before", "_seconds")

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds
        self._before: list[float] = []

    def __enter__(self) -> None:
        self._before = _until.copy()
        _until[:] = [] if self._seconds is None else [_clock() + self._seconds]

    def __exit__(self, *_: object) -> None:
        _until[:] = self._before


def hurry(*, wanted: bool = True) -> None:
    """Let the time be up at once: somebody wants the search to end."""
    _hurried[:] = [True] if wanted else []


def left() -> float:
    """Return how many seconds are left."""
    return 0.0 if _hurried else min(_until, default=math.inf) - _clock()


def is_over() -> bool:
    """Tell whether the time is up."""
    return left() <= 0
