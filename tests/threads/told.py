"""What actions say of themselves: to compare primitives with those of CPython."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def told(actions: list[Callable[[], Any]]) -> list[str]:
    """Return what each action returns or raises."""
    said = []
    for action in actions:
        try:
            said.append(repr(action()))
        except Exception as error:
            said.append(f"{type(error).__name__}: {error}")
    return said
