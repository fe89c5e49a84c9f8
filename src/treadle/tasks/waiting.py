"""Who awaits what, in words: the chain of awaits of a task that is pending, and its end."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from types import FrameType
from typing import TYPE_CHECKING, Any

from treadle.core.frames import (
    Place,
    awaiting_frames,
    is_machinery,
    is_of_the_standard_library,
    is_of_the_user,
)
from treadle.core.records import Wait, WaitKind
from treadle.core.words import place_in_words
from treadle.tasks.labels import label_of

if TYPE_CHECKING:
    from treadle.tasks.loop import Loop

_PRIMITIVES = {
    "Lock.acquire": (WaitKind.LOCK, "a lock"),
    "Semaphore.acquire": (WaitKind.UNIT, "a unit of a semaphore"),
    "Event.wait": (WaitKind.EVENT, "an event to be set"),
    "Condition.wait": (WaitKind.NOTIFICATION, "a notification of a condition"),
    "Barrier._block": (WaitKind.ROUND, "the last round of a barrier to end"),
    "Barrier._wait": (WaitKind.ARRIVAL, "others at a barrier"),
    "Queue.get": (WaitKind.ITEM, "an item in a queue"),
    "Queue.put": (WaitKind.SLOT, "room in a queue"),
    "Queue.join": (WaitKind.DONE, "all items of a queue to be done"),
    "StreamReader._wait_for_data": (WaitKind.MESSAGE, "data in a stream"),
    "FlowControlMixin._drain_helper": (WaitKind.SLOT, "room in a stream"),
}


def frames_of(task: Any) -> list[FrameType]:
    """Return the frames in which a task's coroutines stand, outermost first."""
    return awaiting_frames(task._coro)


def innermost(task: Any) -> str:
    """Return the line of the user's where a task awaits."""
    return place_in_words(place_of(task))


def place_of(task: Any) -> Place | None:
    """Return the innermost line of the user's where a task awaits, or else of a library's."""
    places = [
        (frame.f_code.co_filename, frame.f_lineno)
        for frame in frames_of(task)
        if not is_asyncio(frame.f_code.co_filename)
    ]
    of_the_user = [place for place in places if is_of_the_user(place[0])]
    return next(reversed(of_the_user or places), None)


@functools.cache
def is_asyncio(file: str) -> bool:
    """Tell whether a file is of asyncio, or of Treadle."""
    if is_machinery(file):
        return True
    # A user's folder may have that name, too.
    return is_of_the_standard_library(file) and "/asyncio/" in file.replace("\\", "/")


def waits_of(loop: Loop, tasks: list[Any]) -> list[Wait]:
    """Say of each task that is pending what it waits for, beginning with those in a circle."""
    waits = [_wait_of(loop, task, tasks) for task in tasks]
    stuck = _in_circles({wait.process: wait.holders for wait in waits})
    return sorted(waits, key=lambda wait: wait.process not in stuck)


def _in_circles(holders: dict[str, tuple[str, ...]]) -> set[str]:
    """Return the tasks that wait, directly or not, for themselves."""
    reached = {name: set(others) for name, others in holders.items()}
    for _ in holders:
        for others in reached.values():
            others.update(*(reached.get(other, ()) for other in list(others)))
    return {name for name, others in reached.items() if name in others}


def _wait_of(loop: Loop, task: Any, pending: list[Any]) -> Wait:
    name, where, label = task.as_owner.name, innermost(task), label_of(task, loop.tasks)
    if task.spins_at is not None:
        return Wait(name, task.spins_at, (), where, True, label, WaitKind.CHANGE)
    others = _awaited_tasks(task, pending)
    if others:
        names = tuple(other.as_owner.name for other in others)
        return Wait(
            name, f"the end of {', '.join(names)}", names, where, False, label, WaitKind.END
        )
    primitive = _primitive(task)
    if primitive is not None:
        kind, words = _PRIMITIVES[primitive.f_code.co_qualname]
        holder = loop.holders.get(id(primitive.f_locals.get("self")))
        held = (holder.as_owner.name,) if holder is not None and kind is WaitKind.LOCK else ()
        return Wait(name, words, held, where, False, label, kind)
    words = "a future that nobody completes"
    return Wait(name, words, (), where, False, label, WaitKind.RESULT)


def _primitive(task: Any) -> FrameType | None:
    """Return the function of a primitive that a task waits in: the one that the user called.

    Whoever was notified by a condition, and has to take its lock again, waits for that.
    """
    found: list[FrameType] = []
    for frame in frames_of(task):
        code = frame.f_code
        if not is_asyncio(code.co_filename):
            found.clear()
        elif code.co_qualname in _PRIMITIVES:
            found.append(frame)
    if not found:
        return None
    return found[-1] if found[-1].f_code.co_qualname == "Lock.acquire" else found[0]


def _awaited_tasks(task: Any, pending: list[Any]) -> list[Any]:
    """Return the pending tasks whose end a task waits for: itself, or through a future."""
    awaited = task._fut_waiter
    if awaited is None:
        return []
    if awaited in pending:
        return [awaited]
    return [
        other
        for other in pending
        if other is not task and any(_completes(told, awaited) for told, _ in other._callbacks)
    ]


def _completes(callback: Any, future: Any) -> bool:
    """Tell whether a done callback has to do with a future: `gather`, `wait`, `shield`, groups."""
    group = getattr(callback, "__self__", None)
    if getattr(group, "_on_completed_fut", None) is future:
        return True
    return any(held is future for held in _held_by(callback))


def _held_by(callback: Any) -> Iterable[Any]:
    """Return what a callback works with."""
    if isinstance(callback, functools.partial):
        return callback.args
    found = []
    for cell in getattr(callback, "__closure__", None) or ():
        try:
            found.append(cell.cell_contents)
        except ValueError:  # nothing is in it so far
            continue
    return found
