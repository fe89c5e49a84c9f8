"""Where this process is: in a hand, beside others, with how many processors."""

from __future__ import annotations

import os

_XDIST_COUNT = "PYTEST_XDIST_WORKER_COUNT"
_XDIST = "PYTEST_XDIST_WORKER"

_is_hand = False


def is_hand() -> bool:
    """Tell whether this process explores on behalf of another one."""
    return _is_hand


def become_hand(test: object) -> None:
    """Take note that this process is a hand; a test may have something of its own to change."""
    global _is_hand
    _is_hand = True
    prepare = getattr(test, "become_hand", None)
    if prepare is not None:
        prepare()


def processors() -> int:
    """Return how many processors this process may use, with others beside it that want some."""
    if hasattr(os, "sched_getaffinity"):
        count = len(os.sched_getaffinity(0))
    else:
        count = os.cpu_count() or 1
    if _XDIST in os.environ:
        count //= max(1, int(os.environ.get(_XDIST_COUNT, "1")))
    return max(1, count)
