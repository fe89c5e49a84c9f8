"""Who awaits what, in words: the chain of awaits of a task that is pending, and its end."""

from __future__ import annotations

from typing import Any

from treadle.core.frames import is_machinery
from treadle.core.records import Wait, WaitKind
from treadle.core.words import place_in_words


def chain_of(task: Any) -> list[tuple[str, int]]:
    """Return where a task's coroutines stand, outermost first."""
    found = []
    awaited = task._coro
    while awaited is not None:
        frame = getattr(awaited, "cr_frame", None) or getattr(awaited, "ag_frame", None)
        if frame is not None:
            found.append((frame.f_code.co_filename, frame.f_lineno))
        awaited = getattr(awaited, "cr_await", None) or getattr(awaited, "ag_await", None)
    return found


def innermost(task: Any) -> str:
    """Return the line of the user's where a task awaits."""
    places = [place for place in chain_of(task) if not _is_asyncio(place[0])]
    return place_in_words(places[-1]) if places else ""


def _is_asyncio(file: str) -> bool:
    return is_machinery(file) or "/asyncio/" in file.replace("\\", "/")


def waits_of(tasks: list[Any]) -> list[Wait]:
    """Say of each task that is pending what it waits for."""
    return [_wait_of(task, tasks) for task in tasks]


def _wait_of(task: Any, pending: list[Any]) -> Wait:
    awaited = task._fut_waiter
    others = _awaited_tasks(awaited, pending)
    name = task.as_owner.name
    if others:
        words = ", ".join(other.as_owner.name for other in others)
        return Wait(name, words, tuple(o.as_owner.name for o in others), innermost(task))
    words = f"a future that nobody completes ({_owner_in_words(task)})"
    return Wait(name, words, (), innermost(task), False, name, WaitKind.OTHER)


def _owner_in_words(task: Any) -> str:
    """Name the innermost function of asyncio's that the task waits in: `Lock.acquire`."""
    awaited, name = task._coro, ""
    while awaited is not None:
        code = getattr(awaited, "cr_code", None)
        if code is not None:
            name = code.co_qualname
        awaited = getattr(awaited, "cr_await", None)
    return name


def _awaited_tasks(awaited: Any, pending: list[Any]) -> list[Any]:
    """Return the pending tasks that a future stands for: itself, or those that it gathers."""
    if awaited in pending:
        return [awaited]
    children = getattr(awaited, "_children", [])
    return [child for child in children if child in pending]
