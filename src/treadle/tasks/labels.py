"""What people call tasks: the name that the program gave, else that of the coroutine function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def label_of(task: Any, tasks: Sequence[Any]) -> str:
    """Return what to call a task: its name, else its coroutine's name and number."""
    if task is tasks[0]:
        return ""
    if task.has_own_name:
        return str(task._name)  # asking for it would be recorded
    name = _function_of(task)
    alike = [other for other in tasks if not other.has_own_name and _function_of(other) == name]
    return name if len(alike) == 1 else f"{name} #{alike.index(task) + 1}"


def _function_of(task: Any) -> str:
    coroutine = task._coro
    return str(getattr(coroutine, "__name__", type(coroutine).__name__))
