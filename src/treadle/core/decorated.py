"""Tests that are decorated with `check`: what they ask for, and when they run as they are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

ASKS_FOR = "__treadle__"
"""The attribute of decorated tests that holds the options they ask for."""

_callers = 0
"""How many callers want decorated tests to run as they are."""


@contextmanager
def called_plainly() -> Iterator[None]:
    """Make decorated tests run as they are: somebody else explores them."""
    global _callers
    _callers += 1
    try:
        yield
    finally:
        _callers -= 1


def are_called_plainly() -> bool:
    """Tell whether decorated tests run as they are at present."""
    return _callers > 0
