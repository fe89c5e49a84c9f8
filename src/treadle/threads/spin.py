"""Loops that wait without blocking: `while not flag: pass`.

An iteration that only read shared locations, changed nothing and left every local variable as it
was will do the same again until somebody writes one of those locations. So after such an iteration
the task waits for that, as if it had blocked. If nobody ever does, that is a livelock.

Rewritten code calls `visit` before each backward jump of a `while` loop; the scheduler writes its
*trail* from the first such visit of an execution on.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from types import FrameType
from typing import Any

from treadle.events import Codes, Mode, code, location_of, mode_of
from treadle.threads import control, hooks
from treadle.threads.scheduler import Scheduler
from treadle.threads.shared import ATOMS
from treadle.threads.task import Operation, Task

_HARMLESS = frozenset({Mode.READ, Mode.AWAIT, Mode.NEED, Mode.WATCH, Mode.OPEN})
_WRITES = frozenset({Mode.WRITE, Mode.ADD, Mode.TAKE, Mode.SPARE, Mode.GIVE})


class Spin(Operation):
    """Wait until somebody else writes one of the locations that the loop read."""

    __slots__ = ("_from", "_locations", "_scheduler")

    spins = True

    def __init__(self, scheduler: Scheduler, locations: list[int], start: int) -> None:
        self._scheduler = scheduler
        self._locations = locations
        self._from = start

    def ready(self, task: Task) -> bool:
        """Tell whether there was such a write since the iteration began."""
        trail = self._scheduler.trail
        assert trail is not None
        locations = self._locations
        return any(
            location_of(access) in locations and mode_of(access) in _WRITES
            for other, codes in trail[self._from :]
            if other is not task
            for access in codes
        )

    def pending(self, task: Task) -> Codes:
        """Return that it waits for the locations."""
        return tuple(code(location, Mode.AWAIT) for location in self._locations)

    def describe(self) -> str:
        """Name the locations."""
        names = control.the_program().vocabulary.location_names
        read = ", ".join(names[location] for location in self._locations)
        return f"a change of {read}, which its loop reads again and again"


@dataclass(slots=True)
class _Visit:
    """How things stood at a loop's last backward jump."""

    frame: FrameType
    values: dict[str, Any]
    at: int
    """Length of the trail."""


def visit(site: object) -> None:
    """Wait if the iteration that ends here would only repeat itself."""
    program = control.program
    if program is None or control.collected is not None or hooks.announce is hooks.nothing:
        return
    scheduler = program.scheduler
    me = scheduler.me
    if me is None or scheduler.aborting:
        return
    if scheduler.trail is None:
        scheduler.trail = []
    frame = sys._getframe(2)  # the loop's: above `hooks.loop`
    values = dict(frame.f_locals)
    last: _Visit | None = me.scratch.get(site)
    changed, hooks.effects[0] = hooks.effects[0], False
    me.scratch[site] = now = _Visit(frame, values, len(scheduler.trail))
    if last is None or last.frame is not frame or changed or not _same(last.values, values):
        return
    locations = _only_read(me, scheduler.trail[last.at + 1 :])
    if not locations:
        return
    operation = Spin(scheduler, locations, last.at + 1)
    control.announce(operation)
    me.doing = operation.pending(me)
    now.at = len(scheduler.trail)


def _same(before: dict[str, Any], after: dict[str, Any]) -> bool:
    """Tell whether no local variable was bound to another value."""
    return before.keys() == after.keys() and all(
        value is before[name]
        or (value.__class__ in ATOMS and value.__class__ is before[name].__class__)
        and value == before[name]
        for name, value in after.items()
    )


def _only_read(me: Task, trail: list[tuple[Task, Codes]]) -> list[int]:
    """Return the locations that the iteration read; none if it did anything else."""
    mine = [codes for task, codes in trail if task is me]
    if isinstance(me.doing, tuple):
        mine.append(me.doing)
    accesses = [access for codes in mine for access in codes]
    if not all(mode_of(access) in _HARMLESS for access in accesses):
        return []
    return sorted(
        {location_of(a) for a in accesses if mode_of(a) not in (Mode.WATCH, Mode.OPEN)}
    )
