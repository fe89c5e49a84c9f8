"""Loops that only take turns: `while not flag: await asyncio.sleep(0)`, or `sleep(0.1)`.

A task that gave up its turn, changed nothing since it did so before, and stands as it stood then
will do the same again until somebody writes what it read. So it waits for that: where any task may
be next it is not run, and a FIFO loop in which all that is ready waits like this is idle, so that
something arrives. If nothing can, that is a livelock.

One that sleeps for a while in each round looks again at most so long after somebody has written it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.core.events import Codes, Mode, code, location_of, mode_of
from treadle.tasks.moments import latest
from treadle.tasks.standing import is_same, standing_of
from treadle.tasks.steps import Step

if TYPE_CHECKING:
    from treadle.tasks.loop import Loop

_READS = (Mode.READ, Mode.AWAIT, Mode.SPAWN, Mode.OPEN)
_WRITES = (Mode.WRITE, Mode.STORE, Mode.ADD)

_END_OF_A_SLEEP = "_set_result_unless_cancelled"


def look(loop: Loop, task: Any, codes: Codes) -> None:
    """See whether a task that has taken a step will only repeat itself; let it wait then."""
    before, task.standing = task.standing, None
    task.spins_at = None
    if task._state != "PENDING" or len(loop.spawned) != 1 or loop.rounds.has_changed_something():
        return
    ahead = loop.spawned[0]
    if ahead.is_fault or not (ahead.deadline is None or _is_only_slept(loop, ahead)):
        return
    if ahead.owner is not task.as_owner and not ahead.is_arrival:
        return
    own = {task.control.number, loop.end.number}
    shared = [access for access in codes if location_of(access) not in own | task.own_places]
    if any(mode_of(access) not in _READS for access in shared):
        return
    task.standing = standing_of(task)
    if before is None or not is_same(before, task.standing):
        return
    awaited = task._fut_waiter  # whoever completes it is the step ahead
    own.update(() if awaited is None else (awaited.where.number, awaited.listeners.number))
    read = {location_of(access) for access in codes if mode_of(access) is Mode.READ} - own
    read.add(task.control.number)
    ahead.spin = tuple(code(location, Mode.AWAIT) for location in sorted(read))
    ahead.waits = True
    place = loop.place("turns", task.where_name, "turns of")
    for location in read:
        loop.spun_on.setdefault(location, {})[task.as_owner] = place
    ahead.waits_for_time = loop.has_shown_the_time or loop.rounds.may_see_another_thing()
    names = loop.program.vocabulary.location_names
    data = loop.program.vocabulary.data
    what = ", ".join(names[location] for location in sorted(read) if location in data)
    task.spins_at = f"a change of {what or 'something'}, for which it takes turn after turn"


def written(loop: Loop, step: Step, codes: Codes) -> Codes:
    """Let those go on that wait for what a step wrote; time has passed for the others.

    Who is the first to write something that they wait for makes a class: that is returned.
    As long as it is being learned what matters, a step may have written anything.
    """
    if not loop.spun_on:
        return ()
    is_unknown = bool(loop.program.shared.learned)
    changed = {location_of(access) for access in codes if mode_of(access) in _WRITES}
    for other in (*loop.ready.values(), *loop.armed.values()):
        if not other.waits:
            continue
        if is_unknown or any(location_of(access) in changed for access in other.spin):
            _wake(other, step)
        elif step.is_arrival:
            other.moment = latest([other.moment, step.moment])
            other.waits = not other.waits_for_time
    told = {
        place.write: None
        for location in changed
        for owner, place in loop.spun_on.get(location, {}).items()
        if owner is not step.owner
    }
    return tuple(told)


def _wake(sleeper: Step, writer: Step) -> None:
    """Let a task look again. If it sleeps, that is one of many rounds that were left out."""
    sleeper.waits = False
    sleeper.woken_by = writer
    if sleeper.deadline is not None and not writer.moment.precedes(sleeper.deadline):
        soon = writer.moment.outside(sleeper.name, sleeper.delay)
        sleeper.deadline = sleeper.moment = latest([sleeper.deadline, soon])


def ends_a_sleep(step: Step) -> bool:
    """Tell whether a timer is one of `asyncio.sleep`, whose handle nobody else knows."""
    return getattr(step.handle._callback, "__name__", "") == _END_OF_A_SLEEP  # type: ignore[union-attr]


def _is_only_slept(loop: Loop, ahead: Step) -> bool:
    """Tell whether a round sleeps, and looks neither at the time nor at what nobody sees."""
    may_differ = loop.has_shown_the_time or loop.rounds.may_see_another_thing()
    return ends_a_sleep(ahead) and not may_differ
