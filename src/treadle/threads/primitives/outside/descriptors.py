"""Descriptors of files: whether one is open, and of which file, is a location if threads share it.

A number may be another one in each execution. So a descriptor is called after the thread that
opened it, and how many that one had opened before. Most are used by one thread alone: who uses
one that another thread has opened shows that it is shared, and that is learned.
"""

from __future__ import annotations

from typing import Any

from treadle.core.events import Codes
from treadle.python.runtime import control
from treadle.python.runtime.task import Task
from treadle.threads.primitives.outside.world import reading, writing

_OPENED = "descriptors"
"""Under which tasks and executions remember what was opened."""
_SHARED = "shared"


def opened(me: Task, descriptor: int) -> None:
    """Take note of a descriptor that a task has opened."""
    me.scratch[_OPENED] = count = me.scratch.get(_OPENED, 0) + 1
    _known()[descriptor] = f"descriptor {count} of {me.name}", me.number


def codes_of(me: Task, descriptor: Any, *, changes: bool = False) -> Codes:
    """Return the codes of using a descriptor, or of closing it or making it another file's."""
    found = _known().get(descriptor) if isinstance(descriptor, int) else None
    if found is None:
        return ()
    name, opener = found
    shared = control.the_program().shared
    if opener != me.number:
        shared.note(name, _SHARED)
    if not shared.happens(name, _SHARED):
        return ()
    return writing(name) if changes else reading(name)


def _known() -> dict[int, tuple[str, int]]:
    found: dict[int, tuple[str, int]] = control.the_program().scheduler.scratch.setdefault(
        _OPENED, {}
    )
    return found


def duplicated(me: Task, given: int, made: int) -> None:
    """Take note of a descriptor that is a copy; one that was there keeps its name."""
    if made != given and made not in _known():
        opened(me, made)
