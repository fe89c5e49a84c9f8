"""Which actors tasks can reach: through their receivers, arguments and local names, and fields.

References travel in messages. So what one task can reach, another one may be told; who asks what
some tasks may do to an actor asks about all of them together.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Any

from treadle.actors.actor import Actor, body_of
from treadle.actors.future import Future
from treadle.actors.messages import is_immutable
from treadle.actors.standing import frames_of
from treadle.actors.task import Task


def reachable_actors(tasks: Iterable[Task]) -> set[Actor] | None:
    """Return the actors that some tasks can reach; None: they may reach all."""
    todo: list[Any] = [value for task in tasks for value in _held_by(task)]
    seen: dict[int, Any] = {}
    found: set[Actor] = set()
    while todo:
        value = todo.pop()
        if id(value) in seen:
            continue
        seen[id(value)] = value
        parts = _parts(value)
        if parts is None:
            return None
        if isinstance(value, Actor):
            found.add(value)
        todo += parts
    return found


def _held_by(task: Task) -> Iterator[Any]:
    """Yield what a task holds, and what it is waiting for."""
    yield task.actor
    yield from task.args
    yield from task.kwargs.values()
    if task.target is not None:
        yield task.target.result
    for frame in frames_of(task):
        yield from frame.f_locals.values()


def _parts(value: Any) -> Iterable[Any] | None:
    """Return what a value consists of; None if that cannot be told."""
    if isinstance(value, Actor):
        return list(body_of(value).fields.values())
    if isinstance(value, Future):
        return [value._task.result]
    if isinstance(value, Mapping):
        return [*value.keys(), *value.values()]
    if isinstance(value, tuple | list | Set):
        return list(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [getattr(value, field.name) for field in dataclasses.fields(value)]
    return [] if is_immutable(value) and not hasattr(value, "__closure__") else None
