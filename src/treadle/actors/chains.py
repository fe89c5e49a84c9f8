"""Deadlock chains: who waits for whom, as soon as nobody of them can ever go on.

"Combining Static Analysis and Testing for Deadlock Detection" (iFM 2016), theorem 1, in terms of
what a run has at hand. From a task x that has not ended there are two kinds of arrows:

- x waits for the end of y, which has not ended (its *waiting interval* is open): x → y;
- the group of x is held by z, which waits in a `get` (a *blocking interval*): x → z.

Both have to go for x to go on, so every cycle is final: that is a deadlock, however many other
tasks can still run. An arrow is only ever added by a task that stops in a `get` or an `await`, and
begins or ends at it, so a new cycle leads through that task. Waiting for a condition is no arrow.
"""

from __future__ import annotations

from dataclasses import dataclass

from treadle.actors.task import Task, Waiting

_FOR_AN_END = (Waiting.GET, Waiting.AWAIT)


@dataclass(frozen=True, slots=True)
class Arrow:
    """One task cannot go on before another one does."""

    source: Task
    target: Task
    is_held: bool
    """Whether it is because the source's group is held, not because it waits for the target."""


def arrows_of(task: Task) -> list[Arrow]:
    """Return the reasons why a task that has not ended cannot go on."""
    found = []
    if task.waiting in _FOR_AN_END:
        assert task.target is not None
        if not task.target.has_ended:
            found.append(Arrow(task, task.target, is_held=False))
    holder = task.group.holder
    if holder is not None and holder is not task:
        found.append(Arrow(task, holder, is_held=True))
    return found


def chain_through(task: Task) -> tuple[Arrow, ...]:
    """Return a cycle of arrows that begins and ends at a task, shortest first; nothing if none."""
    ways: list[tuple[Arrow, ...]] = [(arrow,) for arrow in arrows_of(task)]
    seen: set[Task] = set()
    for way in ways:  # it grows meanwhile
        end = way[-1].target
        if end is task:
            return way
        if end not in seen:
            seen.add(end)
            ways += [(*way, arrow) for arrow in arrows_of(end)]
    return ()
