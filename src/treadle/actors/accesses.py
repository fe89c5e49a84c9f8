"""The levels `access` and `entry`: what a step really touched, and not only what it might have.

Fields are not at hand then, so that every read and write of one comes by here and is logged. A step
that may access one thing or another is *open*: in another order it may access the other. At
the level `entry`, a dictionary in a field is many locations: one for each key, whether it is there
or not, and one for the set of keys.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from treadle.actors import control
from treadle.actors.actor import Actor, body_of
from treadle.actors.fields import FieldLevel, field_codes
from treadle.actors.messages import is_immutable
from treadle.actors.names import GroupNames
from treadle.actors.task import Task
from treadle.analyses.segments import Segment
from treadle.core.errors import TreadleBug
from treadle.core.events import OPEN, Mode, code, location_of, mode_of
from treadle.core.fingerprint import freeze
from treadle.core.words import brief

if TYPE_CHECKING:
    from treadle.actors.programs import Program
    from treadle.actors.world import World


class AccessLevel(FieldLevel):
    """Steps are dependent if the fields are that they accessed."""

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self.fields = self
        self._segment: Segment | None = None
        """What the step under way may do; None if that is not known, or it is of no interest."""

    def begins(self, task: Task) -> list[int]:
        """Return the accesses that a step of a task begins with."""
        segment = self.segment_of(task)
        self._segment = None if self._is_coarse(segment) else segment
        if self._segment is None:
            return super().begins(task)
        group = task.group.names
        return [*self._lock(task, segment), *self._waited_for(task, segment), group.read]

    def ends(self, task: Task, log: list[int]) -> None:
        """Add the accesses that a step ends with; say if it might have accessed something else."""
        segment, self._segment = self._segment, None
        if segment is not None:
            allowed = self._accessed(task, segment)
            waited_for = field_codes(task.group.names, segment.awaits, Mode.READ)
            self._check(task, {*allowed, *waited_for}, log)
            if OPEN not in log and self._is_open(task, segment):
                log.append(OPEN)
        super().ends(task, log)

    def _is_open(self, task: Task, segment: Segment) -> bool:
        """Tell whether what a step accesses may depend on what it reads first."""
        del task
        return bool(segment.reads) and (bool(segment.writes) or len(segment.reads) > 1)

    def _check(self, task: Task, allowed: set[int], log: list[int]) -> None:
        """Make sure that the analysis of the code, which other levels rely on, was right."""
        vocabulary = task.run.program.vocabulary
        written = {location_of(one) for one in allowed if mode_of(one) is Mode.WRITE}
        for one in log:
            if mode_of(one) not in (Mode.READ, Mode.WRITE) or one in allowed:
                continue
            key: Any = vocabulary.key_of(location_of(one))
            if key[0] == "field" and location_of(one) not in written:
                raise TreadleBug(f"{task.in_words} accessed {key[2]}.{key[3]}: not foreseen")

    # What a task's code does

    def is_native(self, actor: Actor) -> bool:
        """Tell whether an actor has its fields at hand: its class is of no interest here."""
        return type(actor).__qualname__ in self._program.mutable

    def read(self, world: World, actor: Actor, name: str) -> None:
        """Log that a field is read."""
        self._log_field(world, actor, name, Mode.READ)

    def written(self, world: World, actor: Actor, name: str, value: Any, references: int) -> Any:
        """Log that a field is written; return what it is to hold."""
        del references
        self._log_field(world, actor, name, Mode.WRITE)
        return value

    def _log_field(self, world: World, actor: Actor, name: str, mode: Mode) -> None:
        """Log an access to a field, unless it is of an actor that the step is making."""
        group = body_of(actor).group
        if control.current is not None and group is control.current.group:
            self.log(world, group.names.field(type(actor).__qualname__, name), mode)

    def log(self, world: World, location: int, mode: Mode) -> None:
        """Log an access, once."""
        access = code(location, mode)
        if self._segment is not None and access not in world.log:
            world.log.append(access)


class EntryLevel(AccessLevel):
    """The same, with a location for each key of a dictionary."""

    def written(self, world: World, actor: Actor, name: str, value: Any, references: int) -> Any:
        """Log that a field is written; a dictionary that nobody else holds is looked into."""
        value = super().written(world, actor, name, value, references)
        if type(value) is dict and references <= _ALONE:
            return Entries(value, body_of(actor).group.names, type(actor).__qualname__, name)
        return value

    def is_fixed(self, value: object) -> bool:
        """Tell whether nobody can change a value unseen."""
        if type(value) is not Entries:
            return is_immutable(value)
        return all(is_immutable(one) for item in dict.items(value) for one in item)

    def _is_open(self, task: Task, segment: Segment) -> bool:
        """Tell whether a step may access a dictionary: under which keys, only values tell."""
        if super()._is_open(task, segment) or task.actor is None:
            return super()._is_open(task, segment)
        fields = body_of(task.actor).fields
        return any(type(fields.get(name)) is Entries for _, name in segment.reads)


class _Counter:
    """Finds out how many references a value has that is written to a field right away."""

    references = 0

    def __setattr__(self, name: str, value: object) -> None:
        type(self).references = sys.getrefcount(value)


_counter = _Counter()
_counter.anything = {}
_ALONE = _Counter.references
"""References to a value in a `__setattr__` that nobody holds besides."""


class Entries(dict[Any, Any]):
    """A dictionary in a field, whose every access is logged."""

    def __init__(self, content: Mapping[Any, Any], group: GroupNames, kind: str, name: str) -> None:
        super().__init__(content)
        self._of = (group, kind, name)

    def _log(self, mode: Mode, *keys: Any, all_keys: bool = False) -> None:
        """Log accesses to entries, and to the set of keys."""
        me = control.current
        if me is None or not isinstance(me.run.program.level, EntryLevel):
            return
        group, kind, name = self._of
        locations = [group.entry(kind, name, freeze(key), brief(key)) for key in keys]
        locations += [group.entry(kind, name, None, "keys")] if all_keys else []
        for location in locations:
            me.run.program.level.log(me.run, location, mode)

    def __getitem__(self, key: Any) -> Any:
        self._log(Mode.READ, key)
        return super().__getitem__(key)

    def get(self, key: Any, default: Any = None) -> Any:
        """Return the value of a key, or another one."""
        self._log(Mode.READ, key)
        return super().get(key, default)

    def __contains__(self, key: Any) -> bool:
        self._log(Mode.READ, key)
        return super().__contains__(key)

    def __setitem__(self, key: Any, value: Any) -> None:
        self._log(Mode.WRITE, key, all_keys=not super().__contains__(key))
        super().__setitem__(key, value)

    def __delitem__(self, key: Any) -> None:
        self._log(Mode.WRITE, key, all_keys=super().__contains__(key))
        super().__delitem__(key)

    def pop(self, key: Any, *default: Any) -> Any:
        """Remove a key and return its value."""
        self._log(Mode.WRITE, key, all_keys=super().__contains__(key))
        return super().pop(key, *default)

    def setdefault(self, key: Any, default: Any = None) -> Any:
        """Return the value of a key, which is there from now on."""
        self._log(Mode.WRITE, key, all_keys=not super().__contains__(key))
        return super().setdefault(key, default)

    def popitem(self) -> tuple[Any, Any]:
        """Remove the newest key, and return it with its value."""
        self._log(Mode.WRITE, *super().keys(), all_keys=True)
        return super().popitem()

    def clear(self) -> None:
        """Remove all keys."""
        self._log(Mode.WRITE, *super().keys(), all_keys=True)
        super().clear()

    def update(self, *others: Any, **more: Any) -> None:
        """Take over the entries of others."""
        for key, value in dict(*others, **more).items():
            self[key] = value

    def __ior__(self, other: Any) -> Entries:
        self.update(other)
        return self

    def __iter__(self) -> Iterator[Any]:
        self._log(Mode.READ, all_keys=True)
        return super().__iter__()

    def __reversed__(self) -> Iterator[Any]:
        self._log(Mode.READ, all_keys=True)
        return super().__reversed__()

    def __len__(self) -> int:
        self._log(Mode.READ, all_keys=True)
        return super().__len__()

    def keys(self) -> Any:
        """Return the keys."""
        self._log(Mode.READ, all_keys=True)
        return super().keys()

    def values(self) -> Any:
        """Return the values."""
        self._read_all()
        return super().values()

    def items(self) -> Any:
        """Return the entries."""
        self._read_all()
        return super().items()

    def copy(self) -> dict[Any, Any]:
        """Return a plain dictionary with the same entries."""
        self._read_all()
        return dict(super().items())

    def _read_all(self) -> None:
        self._log(Mode.READ, *super().keys(), all_keys=True)

    def __eq__(self, other: object) -> bool:
        self._read_all()
        return super().__eq__(other)

    __hash__ = None

    def __or__(self, other: Any) -> Any:
        return self.copy() | other

    def __ror__(self, other: Any) -> Any:
        return {**other, **self.copy()}

    def __repr__(self) -> str:
        self._read_all()
        return super().__repr__()

    def __copy__(self) -> dict[Any, Any]:
        return self.copy()

    def __deepcopy__(self, memo: object) -> dict[Any, Any]:
        return copy.deepcopy(self.copy())

    def fingerprint_of(self) -> object:
        """Return the content, to compare states."""
        return dict(super().items())
