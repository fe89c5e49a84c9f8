"""The levels below actors: two steps are dependent if they may access the same field.

What a step may access is known before it runs, from the code between where its task stands and
where it stops at the latest (`analyses.segments`). So its footprint does not depend on values. A
step that cannot end in a `get` only *passes* the lock of its group: it needs it free and leaves it
free, and two such steps are independent unless they meet in a field.

Fields have to hold what cannot be changed: who holds on to a list can change it without touching
the field. So a class whose fields hold something else is treated at the actor level, and so is code
that the analysis does not know: such a step writes the state of the group, which all steps read.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from treadle.actors.actor import Actor, body_of
from treadle.actors.classes import classes_in
from treadle.actors.levels import ActorLevel
from treadle.actors.messages import HANDED_OVER, is_immutable
from treadle.actors.names import GroupNames
from treadle.actors.standing import frames_of
from treadle.actors.task import Task, Waiting
from treadle.actors.waiting import pause, until
from treadle.actors.world import MUTABLE
from treadle.analyses.segments import Frame, Known, Segment, Segments
from treadle.core.events import Codes, Mode, code
from treadle.core.words import brief, place_in_words

if TYPE_CHECKING:
    from treadle.actors.programs import Program
    from treadle.actors.world import World

_GET, _AWAIT, _UNTIL = Waiting.GET, Waiting.AWAIT, Waiting.UNTIL


class FieldLevel(ActorLevel):
    """Steps are dependent if the fields that they may access are."""

    orders_groups = False

    def __init__(self, program: Program) -> None:
        known = Known(actor=Actor, until=until, pause=pause)
        classes = classes_in(program.main, (*program.args, *program.kwargs.values()))
        self._program = program
        self._segments = Segments(known, classes)
        self._classes = set(classes)
        self._why: dict[str, str] = {}
        """Notes on classes and code that are treated at the actor level."""

    # Codes

    def begins(self, task: Task) -> list[int]:
        """Return the accesses that a step of a task begins with."""
        segment = self.segment_of(task)
        if self._is_coarse(segment):
            return super().begins(task)
        return [
            *self._lock(task, segment),
            *self._waited_for(task, segment),
            *self._accessed(task, segment),
        ]

    def pending(self, task: Task) -> Codes:
        """Return the accesses that the next step of a task begins with that cannot take it yet."""
        segment = self.segment_of(task)
        if self._is_coarse(segment):
            return super().pending(task)
        lock = () if task.waiting is _GET else self._lock(task, segment)
        return (*lock, *self._waited_for(task, segment))

    def _lock(self, task: Task, segment: Segment) -> Codes:
        group = task.group.names
        if task.waiting is _GET:
            return (group.give,)
        return (group.take,) if segment.may_block else (group.passes,)

    def _waited_for(self, task: Task, segment: Segment) -> Codes:
        if task.waiting is _GET or task.waiting is _AWAIT:
            return (task.target.names.join,)  # type: ignore[union-attr]
        if task.waiting is not _UNTIL:
            return ()
        return (
            task.group.names.awaited,
            *field_codes(task.group.names, segment.awaits, Mode.AWAIT),
        )

    def _accessed(self, task: Task, segment: Segment) -> Codes:
        """Return the fields that a step may access; all steps read the group's state."""
        group = task.group.names
        known = group.accessed.get(segment)
        if known is None:
            known = group.accessed[segment] = (
                group.read,
                *field_codes(group, segment.reads - segment.writes, Mode.READ),
                *field_codes(group, segment.writes, Mode.WRITE),
            )
        return known

    # Segments

    def segment_of(self, task: Task) -> Segment:
        """Return what the next step of a task may do."""
        if task.waiting is Waiting.NEW:
            if task.actor is None:
                return self._segments.main(task.function)  # type: ignore[arg-type]
            return self._segments.at_start(type(task.actor), task.names.method)
        return self._segments.after(
            [
                Frame(frame.f_code, frame.f_lasti, _class_of_self(frame.f_locals.get("self")))
                for frame in frames_of(task)
            ]
        )

    def _is_coarse(self, segment: Segment) -> bool:
        """Tell whether a step has to be treated at the actor level."""
        if segment.unknown:
            file, _, rest = segment.unknown.partition(":")
            place = f"{place_in_words((file, 0))[:-1]}{rest}"
            self._why.setdefault(segment.unknown, f"{place}: treated at the actor level")
            return True
        mutable = self._program.mutable
        return bool(mutable) and any(kind in mutable for kind, _ in segment.reads | segment.writes)

    # What can be changed

    def made(self, world: World, actor: Actor) -> None:
        """Take note of a new actor: of its class, and of what its fields hold."""
        if type(actor) not in self._classes:
            self._classes.add(type(actor))
            if self._segments.add(type(actor)):
                world.program.begin_anew()
        self._check_fields(actor)

    def ends(self, task: Task, log: list[int]) -> None:
        """Add the accesses that a step ends with; look at what its fields hold."""
        super().ends(task, log)
        if task.actor is not None:
            self._check_fields(task.actor)
        for actor in task.run.touched:
            self._check_fields(actor)

    def _check_fields(self, actor: Actor) -> None:
        """Treat the class of an actor at the actor level if a field can be changed."""
        for name, value in body_of(actor).fields.items():
            if type(value) not in HANDED_OVER and not self.is_fixed(value):
                kind = type(actor).__qualname__
                self._why.setdefault(
                    kind,
                    f"{kind} is treated at the actor level: its field {name} held {brief(value)}, "
                    f"which can be changed",
                )
                if kind not in self._program.mutable:
                    self._program.learn(f"{MUTABLE}{kind}")

    def is_fixed(self, value: object) -> bool:
        """Tell whether nobody can change a value of a field without touching the field."""
        return is_immutable(value)

    def _may_change(self, task: Task, group: str, kind: str, field: str) -> bool:
        names = task.group.names
        written = (names.write, code(names.field(kind, field), Mode.WRITE))
        return names.name == group and any(one in task.run.log for one in written)

    def notes(self) -> list[str]:
        """Return which classes and code were treated at the actor level, and why."""
        return sorted(self._why.values())


def field_codes(group: GroupNames, fields: Iterable[tuple[str, str]], mode: Mode) -> Codes:
    """Return the codes of accesses to fields."""
    return tuple([code(group.field(kind, name), mode) for kind, name in sorted(fields)])


def _class_of_self(value: object) -> type | None:
    return type(value) if isinstance(value, Actor) else None
