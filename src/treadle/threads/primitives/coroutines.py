"""Coroutines that an execution has left: they are closed, so that nobody runs them later."""

from __future__ import annotations

from typing import Any

_ATTEMPTS = 50
"""How often a coroutine may await something while it is closed: a task group does."""


def close_coroutine(coroutine: Any) -> None:
    """Close a coroutine, whatever it does then."""
    for _ in range(_ATTEMPTS):
        try:
            coroutine.close()
        except RuntimeError:  # it awaits something instead
            continue
        except BaseException:
            return
        return
