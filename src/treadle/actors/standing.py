"""Where tasks stand and what they wait for, in words: deadlock chains, waits, places."""

from __future__ import annotations

import linecache
import types
from collections.abc import Iterable

from treadle.actors.chains import Arrow
from treadle.actors.task import Task, Waiting
from treadle.core.frames import Place, is_machinery, place_of_frame
from treadle.core.records import Wait, WaitKind
from treadle.core.words import place_in_words

OVERTAKE = "overtake"
"""What a task does that starts before another one of the same sender."""
_DECORATORS = 20
"""Lines that decorators may take."""


def frames_of(task: Task) -> list[types.FrameType]:
    """Return the frames of the user's code that a suspended task is in, innermost last."""
    if task.fiber is not None:
        frames = []
        frame = task.fiber.gr_frame
        while frame is not None:
            frames.append(frame)
            frame = frame.f_back
        return [one for one in reversed(frames) if not is_machinery(one.f_code.co_filename)]
    found = []
    awaited: object = task.coroutine
    while isinstance(awaited, types.CoroutineType):
        if awaited.cr_frame is not None:
            found.append(awaited.cr_frame)
        awaited = awaited.cr_await
    return [one for one in found if not is_machinery(one.f_code.co_filename)]


def place_of(task: Task) -> Place | None:
    """Return file and line where a suspended task stands; of a new one, where its method begins."""
    if task.waiting is Waiting.NEW:
        return beginning(task.function)
    frames = frames_of(task)
    return place_of_frame(frames[-1]) if frames else None


def beginning(function: object) -> Place | None:
    """Return where a function begins, behind its decorators."""
    code = getattr(function, "__code__", None)
    if not isinstance(code, types.CodeType):
        return None
    first = code.co_firstlineno
    for line in range(first, first + _DECORATORS):
        if linecache.getline(code.co_filename, line).lstrip().startswith(("def ", "async def ")):
            return code.co_filename, line
    return code.co_filename, first


def where(task: Task) -> str:
    """Return `file:line` where a task stands."""
    return place_in_words(place_of(task))


def wait_of(task: Task) -> Wait:
    """Say what a task waits for that cannot go on."""
    target, holder, group = task.target, task.group.holder, task.group.names.label
    by: Task | None = None
    resource, kind = f"its turn in {group}", WaitKind.LOCK
    if task.waiting in (Waiting.GET, Waiting.AWAIT) and target is not None and not target.has_ended:
        resource, by, kind = target.in_words, target, WaitKind.RESULT
    elif task.waiting is Waiting.UNTIL:
        resource, kind = _condition(task), WaitKind.CONDITION
    elif holder is not None and holder is not task:
        by = holder
    elif task.predecessor is not None:
        resource, by = f"{task.predecessor.in_words} to start", task.predecessor
    return Wait(
        task.name,
        resource,
        () if by is None else (by.name,),
        where(task),
        label=task.in_words,
        kind=kind,
        held=group if kind is WaitKind.LOCK else "",
    )


def _condition(task: Task) -> str:
    """Return the line of the condition that a task waits for."""
    place = place_of(task)
    source = linecache.getline(*place).strip() if place else ""
    return f"a condition that nobody makes true: `{source}`" if source else "a condition"


def overtaken_by(task: Task, sent: Iterable[Task]) -> list[Task]:
    """Return the new tasks that the same sender had sent before to the same group."""
    found = []
    for other in sent:
        if other is task:
            break
        same = other.group is task.group and other.sender is task.sender
        if same and other.waiting is Waiting.NEW and task.sender is not None:
            found.append(other)
    return found


def chain_in_words(chain: Iterable[Arrow]) -> str:
    """Say who waits for whom, with lines."""
    parts: list[str] = []
    for arrow in chain:
        if arrow.is_held:
            parts.append(f"; {arrow.source.group.names.label} is held by {arrow.target.in_words}")
            continue
        who = ", which" if parts else arrow.source.in_words
        new = "" if arrow.target.waiting is not Waiting.NEW else ", which has not started"
        parts.append(f"{who} waits at {where(arrow.source)} for {arrow.target.in_words}{new}")
    return "".join(parts)


def waits_in_words(waits: Iterable[Wait]) -> str:
    """Say who waits for what, with lines."""
    return "; ".join(f"{wait.label} waits at {wait.where} for {wait.resource}" for wait in waits)
