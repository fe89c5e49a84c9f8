"""Deadlock chains of a symbolic state, as soon as nobody in them can ever go on.

"Combining Static Analysis and Testing for Deadlock Detection" (iFM 2016), theorem 1: a task waits
for another one that has not ended, or its group is held by one that waits in a `get`; every cycle
of such arrows is a deadlock. A step closes one only through the task that took it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from treadle.symbolic.state import State, Task, Waiting


class Arrow(NamedTuple):
    """One task cannot go on before another one does; `is_held`: since it holds the group."""

    source: str
    target: str
    is_held: bool


def arrows_of(state: State, task: Task) -> list[Arrow]:
    """Return the reasons why a task that has not ended cannot go on."""
    found = []
    if task.waiting in (Waiting.GET, Waiting.AWAIT) and not state.tasks[task.target].has_ended:
        found.append(Arrow(task.name, task.target, is_held=False))
    holder = state.holders.get(task.group)
    if holder is not None and holder != task.name:
        found.append(Arrow(task.name, holder, is_held=True))
    return found


def chain_through(state: State, name: str) -> tuple[Arrow, ...]:
    """Return the shortest cycle of arrows from a task to itself; nothing if there is none."""
    ways: list[tuple[Arrow, ...]] = [(arrow,) for arrow in arrows_of(state, state.tasks[name])]
    seen: set[str] = set()
    for way in ways:  # it grows meanwhile
        end = way[-1].target
        if end == name:
            return way
        if end not in seen:
            seen.add(end)
            ways += [(*way, arrow) for arrow in arrows_of(state, state.tasks[end])]
    return ()


def chain_in_words(
    state: State, chain: tuple[Arrow, ...], labels: Mapping[str, str] | None = None
) -> str:
    """Say who waits for whom, with lines; actors by what they are called."""

    def who(task: Task) -> str:
        actor = (labels or {}).get(task.actor) or task.actor.rpartition("/")[2]
        return f"{task.method} of {actor}"

    parts: list[str] = []
    for arrow in chain:
        source, target = state.tasks[arrow.source], state.tasks[arrow.target]
        if arrow.is_held:
            parts.append(f"its actor is held by {who(target)}")
        else:
            parts.append(f"{who(source)} waits at L{source.line} for {who(target)}")
    return "; ".join(parts)
