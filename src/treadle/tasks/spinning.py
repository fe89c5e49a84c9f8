"""Loops that only take turns: `while not flag: await asyncio.sleep(0)`.

A task that gave up its turn, changed nothing since it did so before, and stands as it stood then
will do the same again until somebody writes what it read. So it waits for that: where any task may
be next it is not run, and a FIFO loop in which all that is ready waits like this is idle, so that
something arrives. If nothing can, that is a livelock.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any

from treadle.core.events import Codes, Mode, code, location_of, mode_of
from treadle.python.runtime.atoms import ATOMS
from treadle.tasks.moments import latest
from treadle.tasks.steps import Step
from treadle.tasks.waiting import is_asyncio

if TYPE_CHECKING:
    from treadle.tasks.loop import Loop

_READS = (Mode.READ, Mode.AWAIT, Mode.SPAWN, Mode.OPEN)
_WRITES = (Mode.WRITE, Mode.STORE, Mode.ADD)

_DELAYS = ("__await__", "__sleep0", "_pausing", "arriving", "pause", "sleep")
"""Functions whose frames are new in each round."""

Standing = list[tuple[Any, int, dict[str, Any]]]
"""Frames of a task, each with its place and its variables."""


def look(loop: Loop, task: Any, codes: Codes, frames: Sequence[FrameType]) -> None:
    """See whether a task that has taken a step will only repeat itself; let it wait then.

    `frames` are those in which it stands.
    """
    before, task.standing = task.standing, None
    task.spins_at = None
    if task._state != "PENDING" or len(loop.spawned) != 1 or loop.rounds.has_changed_something():
        return
    ahead = loop.spawned[0]
    if ahead.deadline is not None or ahead.is_fault:
        return
    if ahead.owner is not task.as_owner and not ahead.is_arrival:
        return
    own = {task.control.number, loop.end.number}
    shared = [access for access in codes if location_of(access) not in own | task.own_places]
    if any(mode_of(access) not in _READS for access in shared):
        return
    task.standing = _standing_in(frames)
    if before is None or not _same(before, task.standing):
        return
    read = {location_of(access) for access in shared if mode_of(access) is Mode.READ}
    read.add(task.control.number)
    ahead.spin = tuple(code(location, Mode.AWAIT) for location in sorted(read))
    ahead.waits = loop.is_waited_in = True
    names = loop.program.vocabulary.location_names
    data = loop.program.vocabulary.data
    what = ", ".join(names[location] for location in sorted(read) if location in data)
    task.spins_at = f"a change of {what or 'something'}, for which it takes turn after turn"


def written(loop: Loop, step: Step, codes: Codes) -> None:
    """Let those go on that wait for what a step wrote; time has passed for the others."""
    if not loop.is_waited_in:
        return
    changed = {location_of(access) for access in codes if mode_of(access) in _WRITES}
    for other in (*loop.ready.values(), *loop.armed.values()):
        if not other.waits:
            continue
        if any(location_of(access) in changed for access in other.spin):
            other.waits = False
        elif step.is_arrival:
            other.moment = latest([other.moment, step.moment])


def woke(codes: Codes, second: Step) -> bool:
    """Tell whether a step wrote what another one waited for: that cannot be the other way round."""
    awaited = {location_of(access) for access in second.spin}
    return any(location_of(access) in awaited and mode_of(access) in _WRITES for access in codes)


def _standing_in(frames: Sequence[FrameType]) -> Standing:
    return [
        (frame, frame.f_lasti, dict(frame.f_locals))
        for frame in frames
        if not (frame.f_code.co_name in _DELAYS and is_asyncio(frame.f_code.co_filename))
    ]


def _same(before: Standing, after: Standing) -> bool:
    """Tell whether a task stands where it stood, with the same variables."""
    return len(before) == len(after) and all(
        one[0] is other[0]
        and one[1] == other[1]
        and one[2].keys() == other[2].keys()
        and all(_is_same_value(value, other[2][name]) for name, value in one[2].items())
        for one, other in zip(before, after, strict=True)
    )


def _is_same_value(one: Any, other: Any) -> bool:
    return one is other or (type(one) in ATOMS and type(one) is type(other) and one == other)
