"""Dependency levels: which access codes a macro-step has.

A footprint must not depend on how the step ends, since that may depend on values: "the first node
waits, the second does not". So a step that needs its group free *takes* the group's lock, and never
gives it back. Between a step that stopped in a `get` and its continuation nobody else can take the
lock, so that continuation is the only *give*. Two takes race, as they should; a take that came
after a give could not have come before it, but before the take in front of that.

Here is the level `actor`, at which all steps in one group are dependent; `fields` has the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.actors.task import Task, Waiting
from treadle.core.events import OPEN, Codes, Mode

if TYPE_CHECKING:
    from treadle.actors.accesses import AccessLevel
    from treadle.actors.actor import Actor
    from treadle.actors.world import World

_GET, _AWAIT, _UNTIL = Waiting.GET, Waiting.AWAIT, Waiting.UNTIL


class ActorLevel:
    """Two steps in one group are dependent, whatever they access."""

    orders_groups = True
    """Whether all steps in one group are dependent."""
    fields: AccessLevel | None = None
    """Who is told of accesses to fields, if somebody has to know them."""

    def begins(self, task: Task) -> list[int]:
        """Return the accesses that a step of a task begins with."""
        group, waiting = task.group.names, task.waiting
        if waiting is _GET:
            return [group.give, group.write, task.target.names.join]  # type: ignore[union-attr]
        if waiting is _AWAIT:
            return [group.take, group.write, task.target.names.join]  # type: ignore[union-attr]
        if waiting is _UNTIL:
            return [group.take, group.write, group.awaited]
        return [group.take, group.write]

    def ends(self, task: Task, log: list[int]) -> None:
        """Add the accesses that a step of a task ends with."""
        program = task.run.program
        if task.key in program.tested:
            log.append(task.names.status(Mode.WRITE))
        if task.key in program.varying and OPEN not in log:
            log.append(OPEN)
        if program.properties.invariants:
            log += program.properties.codes(task, self._may_change)

    def _may_change(self, task: Task, group: str, kind: str, field: str) -> bool:
        """Tell whether the step of a task that is ending may change a field."""
        del kind, field
        return task.group.names.name == group

    def pending(self, task: Task) -> Codes:
        """Return the accesses that the next step of a task begins with that cannot take it yet."""
        group, waiting = task.group.names, task.waiting
        codes = () if waiting is _GET else (group.take,)
        if waiting is _GET or waiting is _AWAIT:
            return (*codes, task.target.names.join)  # type: ignore[union-attr]
        return (*codes, group.awaited) if waiting is _UNTIL else codes

    def made(self, world: World, actor: Actor) -> None:
        """Take note of a new actor."""

    def notes(self) -> list[str]:
        """Return what users should know about how steps were told apart."""
        return []
