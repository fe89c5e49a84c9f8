"""Objects in C that check who calls their methods: for C all tasks are one thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from treadle.python.runtime.looking import mro_of

CHECKED: dict[type, Callable[[Any, str], None]] = {}
"""Classes of such objects, and what checks instead of them."""


def check_caller(owner: Any, name: str) -> None:
    """Raise what a method of an object raises if the current task may not call it."""
    for kind in mro_of(type(owner)) if CHECKED else ():
        if kind in CHECKED:
            CHECKED[kind](owner, name)
