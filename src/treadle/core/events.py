"""What a step did: access codes, footprints, and the vocabulary that names them.

A front end reports each step as a tuple of *access codes*, small integers that pack a location
and a `Mode`. The core never sees a value or a Python object: two steps are dependent if and only
if their codes conflict. Codes, like process numbers, mean the same in every execution of one
exploration, because the `Vocabulary` hands them out by name.

A `Footprint` is what the core needs to know of one such tuple, computed once per distinct tuple:
which bit masks of the trace it adds itself to (`own`), which it has to look at (`conflicts`).
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable
from enum import IntEnum
from typing import NamedTuple

_MODE_BITS = 5
_MODES = (1 << _MODE_BITS) - 1


class Mode(IntEnum):
    """How a step touches a location."""

    READ = 0
    WRITE = 1
    ADD = 2
    """An update that commutes with other `ADD`s of the location, not with reads or writes."""
    TAKE = 3
    """Blocking removal of the last unit of a resource: lock, semaphore at 1, head of a queue."""
    SPARE = 4
    """Blocking removal of a unit when more are there, so one `GIVE` just before was not needed."""
    GIVE = 5
    """Return of a unit; two `GIVE`s commute."""
    NEED = 6
    """A read that blocked until that location was written: the write cannot come second."""
    AWAIT = 7
    """A read by a blocking condition; whether it can come first, only a run can tell."""
    SPAWN = 8
    """Creates a process; the location is the new process's number."""
    JOIN = 9
    """Blocked until a process ended; the location is that process's number."""
    WATCH = 10
    """What a blocking condition may read, read or not this time; a watch set of the vocabulary."""
    OPEN = 11
    """No access: says that what the step accesses depends on the values that it reads in it."""
    SWAP = 12
    """No access: names the value that a compare-and-swap of the step compared with."""
    STORE = 13
    """A write that replaces what is there without looking at it."""
    PASS = 14
    """Needs a unit of a resource to be there, as `TAKE` does, and leaves it there."""
    STORED = 15
    """No access: names the value that the `STORE` just before it put there."""
    BLOCK = 16
    """No access: names the code that the step ran, if it may be independent by a constraint."""


_BY_NUMBER = tuple(Mode)
"""Modes by number: they are numbered from 0 on, and asking the enumeration takes long."""

# Three classes of accesses decide dependence: readers commute with readers, adders with adders,
# writers with nothing. A mask key is a location and a class; only this module knows how.
_READER, _WRITER, _ADDER = 0, 1, 2
_CLASSES = 4
_CLASS_OF_MODE = {
    Mode.READ: _READER,
    Mode.NEED: _READER,
    Mode.AWAIT: _READER,
    Mode.WRITE: _WRITER,
    Mode.STORE: _WRITER,
    Mode.TAKE: _WRITER,
    Mode.SPARE: _WRITER,
    Mode.PASS: _READER,
    Mode.ADD: _ADDER,
    Mode.GIVE: _ADDER,
}
_CONFLICTING = {
    _READER: (_WRITER, _ADDER),
    _WRITER: (_READER, _WRITER, _ADDER),
    _ADDER: (_READER, _WRITER),
}

_CHANGES_OF_UNITS = (Mode.TAKE, Mode.SPARE, Mode.GIVE, Mode.WRITE)

Codes = tuple[int, ...]
"""The accesses of one step, in the order in which it made them."""


def code(location: int, mode: Mode) -> int:
    """Pack a location number and a mode into an access code."""
    return location << _MODE_BITS | mode


def location_of(access: int) -> int:
    """Return the location number of an access code."""
    return access >> _MODE_BITS


def mode_of(access: int) -> Mode:
    """Return the mode of an access code."""
    return _BY_NUMBER[access & _MODES]


def location_of_key(key: int) -> int:
    """Return the location of a mask key."""
    return key // _CLASSES


def reader_key(location: int) -> int:
    """Return the mask key of who reads a location."""
    return location * _CLASSES + _READER


def writer_key(location: int) -> int:
    """Return the mask key of who writes a location."""
    return location * _CLASSES + _WRITER


def adder_key(location: int) -> int:
    """Return the mask key of who adds to a location."""
    return location * _CLASSES + _ADDER


def changes_key(key: int) -> bool:
    """Tell whether a mask key is that of accesses that change the location."""
    return key % _CLASSES != _READER


def adds_key(key: int) -> bool:
    """Tell whether a mask key is that of updates that commute with each other."""
    return key % _CLASSES == _ADDER


NEXT_LOCATION = code(1, Mode.READ) - code(0, Mode.READ)
"""How far apart the codes of the same access of neighbouring locations are."""

OPEN = code(0, Mode.OPEN)
"""The code of a step that is open."""


class Take(NamedTuple):
    """Blocking removal of a unit of a resource."""

    taken: int
    """The writer key of the resource."""
    given: int
    """Its adder key."""
    is_spare: bool
    """Whether units were to spare."""


class Swap(NamedTuple):
    """A compare-and-swap."""

    location: int
    compared: int
    """What it compared with, by number."""


class Footprint:
    """The dependence-relevant content of one tuple of access codes."""

    __slots__ = (
        "accessed",
        "awaits",
        "block",
        "brings",
        "codes",
        "conflict_set",
        "conflicts",
        "exclusive",
        "guarded",
        "joins",
        "looks",
        "meets",
        "needs",
        "open",
        "overwrites",
        "own",
        "plain",
        "spawns",
        "swap",
        "takes",
        "unequal",
        "watches",
    )

    codes: Codes
    accessed: tuple[int, ...]
    """Mask keys of what a step with this footprint accesses."""
    own: tuple[int, ...]
    """Mask keys that an event with this footprint belongs to: these, and those of stored values."""
    unequal: tuple[tuple[int, int], ...]
    """Writer keys of what it stores a value in, whatever it reads, each with the value's key.

    Who stores the same is not dependent with it because of that."""
    conflicts: tuple[int, ...]
    """Mask keys whose events are dependent with this one, besides writers that are `unequal`."""
    meets: tuple[int, ...]
    """Mask keys of all accesses that meet one of this one's, equal stores included."""
    conflict_set: frozenset[int]
    """The same, as a set."""
    takes: tuple[Take, ...]
    brings: frozenset[int]
    """Writer keys of resources of which it may have brought all the units that it left."""
    needs: tuple[int, ...]
    """Writer keys of locations that had to be written before this step was enabled."""
    awaits: tuple[int, ...]
    """Locations that a blocking condition read."""
    watches: tuple[int, ...]
    """Watch sets: the locations that it might have read in another state."""
    spawns: tuple[int, ...]
    joins: tuple[int, ...]
    swap: Swap | None
    """The compare-and-swap that the step is, if it is one and nothing else."""
    open: bool
    """Whether the step may access other locations when it reads other values."""
    block: int
    """The code that it ran, by number, if it may be independent by a constraint; else -1."""
    exclusive: bool
    """Whether the step can be disabled, or is a compare-and-swap."""
    guarded: bool
    """Whether races with the step need a closer look: it can be disabled, or it is open."""
    plain: bool
    """Whether the step is neither guarded nor creates or joins a process."""
    overwrites: frozenset[int]
    """Writer keys of what it replaces without having looked at it; of a guarded step, nothing."""
    looks: tuple[int, ...]
    """Writer keys of the other locations that it touches."""

    def __init__(self, codes: Codes) -> None:
        self.codes = codes
        by_mode: dict[Mode, list[int]] = {mode: [] for mode in Mode}
        for access in codes:
            by_mode[mode_of(access)].append(location_of(access))
        self.accessed = _own_keys(codes)
        self.takes = tuple(
            Take(writer_key(location), adder_key(location), mode is Mode.SPARE)
            for mode in (Mode.TAKE, Mode.SPARE, Mode.PASS)
            for location in by_mode[mode]
        )
        self.brings = frozenset(
            writer_key(location)
            for location in dict.fromkeys(by_mode[Mode.GIVE])
            if self._brings(location)
        )
        self.needs = tuple(writer_key(location) for location in by_mode[Mode.NEED])
        self.awaits = tuple(dict.fromkeys(by_mode[Mode.AWAIT]))
        self.watches = tuple(by_mode[Mode.WATCH])
        self.spawns = tuple(by_mode[Mode.SPAWN])
        self.joins = tuple(by_mode[Mode.JOIN])
        self.block = by_mode[Mode.BLOCK][0] if by_mode[Mode.BLOCK] else -1
        self.swap = self._lone_swap()
        self.open = bool(by_mode[Mode.OPEN] or (by_mode[Mode.SWAP] and self.swap is None))
        self.exclusive = bool(self.takes or self.needs or self.awaits or self.swap is not None)
        self.guarded = self.exclusive or self.open
        self.plain = not (self.guarded or self.spawns or self.joins)
        self.overwrites = frozenset() if self.guarded else _overwritten(codes)
        stored = _stored(codes)
        self.unequal = tuple([(key, stored[key]) for key in stored if key in self.overwrites])
        self.own = (*self.accessed, *[value for _, value in self.unequal])
        self.looks = tuple(
            dict.fromkeys(
                writer_key(location_of_key(key))
                for key in self.accessed
                if key not in self.overwrites
            )
        )
        self.set_conflicts({})

    def set_conflicts(self, links: dict[int, list[int]]) -> None:
        """Compute which mask keys conflict, `links` being the pairs beyond equal locations."""
        keys: dict[int, None] = {}
        for own in self.accessed:
            kind = own % _CLASSES
            keys.update(dict.fromkeys(own - kind + other for other in _CONFLICTING[kind]))
            keys.update(dict.fromkeys(links.get(own, ())))
        self.meets = tuple(keys)
        self.conflict_set = frozenset(keys)
        for writers, _ in self.unequal:
            del keys[writers]
        self.conflicts = tuple(keys)

    def _brings(self, location: int) -> bool:
        """Tell whether a step gives units back and more, and did not begin with taking one."""
        modes = [mode_of(access) for access in self.codes if location_of(access) == location]
        changes = [mode for mode in modes if mode in _CHANGES_OF_UNITS]
        return len(changes) > 1 and changes[0] not in (Mode.TAKE, Mode.SPARE)

    def _lone_swap(self) -> Swap | None:
        if len(self.codes) == 2 and mode_of(self.codes[1]) is Mode.SWAP:
            return Swap(location_of(self.codes[0]), location_of(self.codes[1]))
        return None

    @property
    def swap_succeeded(self) -> bool:
        """Whether the step's lone compare-and-swap wrote."""
        return mode_of(self.codes[0]) is Mode.WRITE

    def conflicts_with(self, other: Footprint) -> bool:
        """Tell whether events with these two footprints are dependent."""
        if self.conflict_set.isdisjoint(other.own):
            return False
        if not (self.unequal and other.unequal):
            return True
        equal = {writers for writers, value in self.unequal if value in other.own}
        return not (self.conflict_set - equal).isdisjoint(other.own)

    def shared_with(self, other: Footprint) -> set[int]:
        """Return the locations because of which events with these footprints are dependent."""
        return {location_of_key(key) for key in self.accessed if key in other.conflict_set}

    def __repr__(self) -> str:
        inner = ", ".join(f"{mode_of(a).name} {location_of(a)}" for a in self.codes)
        return f"Footprint({inner})"


def _own_keys(codes: Iterable[int]) -> tuple[int, ...]:
    """Return the mask keys of codes, without readers that a writer of the location subsumes."""
    keys = dict.fromkeys(_key_of(access) for access in codes if mode_of(access) in _CLASS_OF_MODE)
    written = {location_of_key(key) for key in keys if key % _CLASSES == _WRITER}
    return tuple(
        key for key in keys if key % _CLASSES == _WRITER or location_of_key(key) not in written
    )


def _key_of(access: int) -> int:
    """Return the mask key of an access that decides dependence."""
    return location_of(access) * _CLASSES + _CLASS_OF_MODE[mode_of(access)]


def _overwritten(codes: Iterable[int]) -> frozenset[int]:
    """Return the writer keys of what codes replace and have not looked at before."""
    read: set[int] = set()
    overwritten: set[int] = set()
    for access in codes:
        location, mode = location_of(access), mode_of(access)
        if mode in (Mode.READ, Mode.WRITE) and location not in overwritten:
            read.add(location)
        elif mode is Mode.STORE and location not in read:
            overwritten.add(location)
    return frozenset(map(writer_key, overwritten))


_LOOKING = (Mode.READ, Mode.WRITE, Mode.NEED, Mode.AWAIT, Mode.TAKE, Mode.SPARE, Mode.PASS)


def _stored(codes: Iterable[int]) -> dict[int, int]:
    """Return the writer keys of what codes store a value in that they cannot have read before.

    Each with the key of the value that they leave there.
    """
    stored: dict[int, int] = {}
    latest, has_looked = 0, False
    for access in codes:
        location, mode = location_of(access), mode_of(access)
        if mode in _LOOKING:
            has_looked = True
        elif mode is Mode.STORE:
            latest = writer_key(location)
            stored.pop(latest, None)
        elif mode is Mode.STORED and not has_looked:
            stored[latest] = writer_key(location)
    return stored


def _shared_name(label: str) -> str:
    """Return the declared name that a location's label begins with."""
    return re.split(r"\W", label, maxsplit=1)[0]


class Vocabulary:
    """Names of processes and locations, numbered alike in every execution of an exploration."""

    def __init__(self) -> None:
        self.process_names: list[str] = []
        self.location_names: list[str] = []
        self.data: set[int] = set()
        """Locations that hold data of the program and synchronise nothing."""
        self.bystanders: set[int] = set()
        """Processes whose steps synchronise nothing: time."""
        self._processes: dict[str, int] = {}
        self._locations: dict[Hashable, int] = {}
        self._keys: list[Hashable] = []
        self._footprints: dict[Codes, Footprint] = {}
        self._reading: dict[Codes, Footprint] = {}
        self._links: dict[int, list[int]] = {}
        self._watch_sets: dict[Hashable, int] = {}
        self._watched_names: list[set[str] | None] = []

    def process(self, name: str) -> int:
        """Return the number of the process with this name (its spawn path)."""
        number = self._processes.get(name)
        if number is None:
            number = self._processes[name] = len(self.process_names)
            self.process_names.append(name)
        return number

    def process_number(self, name: str) -> int | None:
        """Return the number of a process seen before, or None."""
        return self._processes.get(name)

    def location(self, key: Hashable, name: str) -> int:
        """Return the number of the location with this key; `name` is for people."""
        number = self._locations.get(key)
        if number is None:
            number = self._locations[key] = len(self.location_names)
            self.location_names.append(name)
            self._keys.append(key)
        return number

    def key_of(self, location: int) -> Hashable:
        """Return the key by which a location was asked for."""
        return self._keys[location]

    def footprint(self, codes: Codes) -> Footprint:
        """Return the (shared) footprint of a tuple of access codes."""
        footprint = self._footprints.get(codes)
        if footprint is None:
            footprint = self._footprints[codes] = Footprint(codes)
            if self._links:
                footprint.set_conflicts(self._links)
        return footprint

    def reading(self, footprint: Footprint) -> Footprint:
        """Return the part of a step that reads: what conflicts with it changes what it reads."""
        found = self._reading.get(footprint.codes)
        if found is None:
            swaps = any(mode_of(access) is Mode.SWAP for access in footprint.codes)
            codes = tuple(
                access
                for access in footprint.codes
                if mode_of(access) not in (Mode.STORE, Mode.STORED)
            )
            found = self._reading[footprint.codes] = footprint if swaps else self.footprint(codes)
        return found

    def other_outcome(self, footprint: Footprint) -> Footprint:
        """Return the footprint of a lone compare-and-swap, had it turned out the other way."""
        location = location_of(footprint.codes[0])
        mode = Mode.READ if footprint.swap_succeeded else Mode.WRITE
        return self.footprint((code(location, mode), footprint.codes[1]))

    def link(self, first: int, second: int) -> None:
        """Make two access codes of different locations dependent, e.g. a message and a time-out."""
        a, b = _key_of(first), _key_of(second)
        self._links.setdefault(a, []).append(b)
        self._links.setdefault(b, []).append(a)
        for footprint in self._footprints.values():
            if a in footprint.own or b in footprint.own:
                footprint.set_conflicts(self._links)

    def watch_set(self, key: Hashable, names: set[str] | None) -> int:
        """Return the number of the set of locations below these shared names (None: all)."""
        number = self._watch_sets.get(key)
        if number is None:
            number = self._watch_sets[key] = len(self._watched_names)
            self._watched_names.append(names)
        return number

    def awaited_locations(self, footprint: Footprint) -> set[int]:
        """Return every location that the blocking condition of a footprint may read."""
        locations = set(footprint.awaits)
        for watch in footprint.watches:
            names = self._watched_names[watch]
            locations.update(
                number
                for number, label in enumerate(self.location_names)
                if names is None or _shared_name(label) in names
            )
        return locations

    @property
    def mask_keys(self) -> int:
        """One more than the largest mask key in use."""
        return (len(self.location_names) + 1) * _CLASSES
