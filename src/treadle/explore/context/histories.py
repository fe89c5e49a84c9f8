"""Histories: what decides about a step, as one number.

What a step does follows from where its process stands and from what is at the locations that it
looks at. So its *history* is that of its process, those of these locations, and its footprint; and
what it changes has its history from then on. Steps with the same history do the same, whatever
else was done meanwhile, and in whatever order: a question about steps has to be answered only once
for all states in which the processes and locations that it touches have the same histories.

This is finer than happens-before in one way and coarser in another: who only overwrites a location
does not depend on what was there.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import NamedTuple

from treadle.core.events import Footprint, adds_key, changes_key, location_of_key
from treadle.core.steps import Step

_Numbers = tuple[int, ...]
_History = int | None
"""None where nothing happened yet."""
Differences = dict[int, tuple[_History, _History]]
"""Two histories of each of some locations."""


class _Touched(NamedTuple):
    """The locations that a step touches."""

    looked: _Numbers
    """Those that decide what it does, linked ones too."""
    changed: frozenset[int]
    adds: bool
    """Whether it adds to one: it looks at that by its history, and still commutes with others."""


class _TouchedBy(dict[Footprint, _Touched]):
    def __missing__(self, footprint: Footprint) -> _Touched:
        looked = set(map(location_of_key, footprint.conflict_set))
        looked -= set(map(location_of_key, footprint.overwrites))
        changed = {location_of_key(key) for key in footprint.accessed if changes_key(key)}
        adds = any(map(adds_key, footprint.accessed))
        found = self[footprint] = _Touched(tuple(sorted(looked)), frozenset(changed), adds)
        return found


class Histories:
    """Numbers of histories."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        self.touched = _TouchedBy()

    def __len__(self) -> int:
        return len(self._numbers)

    def of_step(
        self,
        process: int,
        footprint: Footprint,
        of_process: Callable[[int], _History],
        of_location: Callable[[int], _History],
    ) -> int:
        """Return the history of a step, given those of processes and locations before it."""
        looked = self.touched[footprint].looked
        key: tuple[object, ...] = (
            process,
            footprint,
            of_process(process),
            *map(of_location, looked),
        )
        if footprint.joins:
            key += tuple(map(of_process, footprint.joins))
        return self._numbers.setdefault(key, len(self._numbers))

    def of_child(self, child: int, history: int) -> int:
        """Return the history of a process that a step created."""
        return self._numbers.setdefault((child, history), len(self._numbers))


class _Changes:
    """The histories of processes, or of locations, along an execution."""

    def __init__(self) -> None:
        self.latest: dict[int, int] = {}
        """The histories at the end."""
        self._events: dict[int, list[int]] = {}
        self._histories: dict[int, list[int]] = {}

    def add(self, place: int, event: int, history: int) -> None:
        """Let a place have a history from an event on."""
        self.latest[place] = history
        if place not in self._events:
            self._events[place], self._histories[place] = [], []
        self._events[place].append(event)
        self._histories[place].append(history)

    def pop(self, place: int) -> None:
        """Take the latest change of a place back."""
        self._events[place].pop()
        histories = self._histories[place]
        histories.pop()
        if histories:
            self.latest[place] = histories[-1]
        else:
            del self.latest[place]

    def before(self, place: int, event: int) -> _History:
        """Return the history of a place before an event."""
        events = self._events.get(place)
        earlier = bisect_left(events, event) if events else 0
        return self._histories[place][earlier - 1] if earlier else None

    def places(self) -> Iterable[int]:
        """Return all places that ever had a history."""
        return self._events


class Path:
    """The histories along an execution, which the next one shares in part."""

    def __init__(self, histories: Histories) -> None:
        self.histories = histories
        self.steps: list[Step] = []
        self.of_event: list[int] = []
        self._adding: set[int] = set()
        self.processes = _Changes()
        self.locations = _Changes()

    def follow(self, processes: list[int], footprints: list[Footprint]) -> None:
        """Go the way of an execution."""
        steps = list(zip(processes, footprints, strict=True))
        kept = 0
        for old, new in zip(self.steps, steps, strict=False):
            if old != new:
                break
            kept += 1
        self._leave(kept)
        self.steps = steps
        of_process, of_location = self.processes.latest.get, self.locations.latest.get
        for event in range(kept, len(steps)):
            process, footprint = steps[event]
            history = self.histories.of_step(process, footprint, of_process, of_location)
            touched = self.histories.touched[footprint]
            self.of_event.append(history)
            self.processes.add(process, event, history)
            for location in touched.changed:
                self.locations.add(location, event, history)
            if touched.adds:
                self._adding.add(event)
            for child in footprint.spawns:
                self.processes.add(child, event, self.histories.of_child(child, history))

    def _leave(self, kept: int) -> None:
        """Forget what came after so many steps."""
        for process, footprint in self.steps[kept:]:
            for changed in (process, *footprint.spawns):
                self.processes.pop(changed)
            for location in self.histories.touched[footprint].changed:
                self.locations.pop(location)
        del self.of_event[kept:]
        self._adding = {event for event in self._adding if event < kept}

    def either_way(self, ance: Sequence[int], usual: Sequence[int]) -> Differences | None:
        """Return where it matters which of two events comes first when others follow.

        That is, the locations whose histories differ then: both of them, the usual one first. The
        events create no processes; `usual` begins with the two. What happens before one of them is
        either among them, or before the first, or one of `ance`. So in their usual order, all have
        the histories that they had in the execution: whatever changed a location before somebody
        looked at it happens before that. Not so with events that are none of the execution, and
        those that add to something: then None is returned.
        """
        e, last, *rest = usual
        if max(usual) >= len(self.steps) or not self._adding.isdisjoint([*ance, *usual]):
            return None
        swapped = _Swapped(self, e, last)
        for event in rest:
            swapped.follow(event)
        return swapped.locations


class _Swapped:
    """The second of two events taken before the first, and what comes of it."""

    def __init__(self, path: Path, e: int, last: int) -> None:
        self._path = path
        self._processes: dict[int, int] = {}
        """Processes whose histories differ from the usual ones."""
        self.locations: Differences = {}
        """The same of locations: the usual history and the other one."""
        (p, step), (q, second) = path.steps[e], path.steps[last]
        looked, changed, _ = path.histories.touched[step]
        looked_later, changed_later, _ = path.histories.touched[second]
        usual, usual_later = path.of_event[e], path.of_event[last]
        other, other_later = usual, usual_later
        if not changed.isdisjoint(looked_later):
            self.locations = {place: (None, path.locations.before(place, e)) for place in changed}
            other_later = self._history(last)
        if not changed_later.isdisjoint(looked):
            self.locations = dict.fromkeys(changed_later, (None, other_later))
            other = self._history(e)
        self.locations = {}
        if other_later != usual_later:
            self._processes[q] = other_later
            self.locations = dict.fromkeys(changed_later, (usual_later, other_later))
        if other != usual:
            self._processes[p] = other
        for place in changed:
            if place in changed_later:
                self.locations[place] = usual_later, other
            elif other != usual:
                self.locations[place] = usual, other

    def follow(self, event: int) -> None:
        """Take a step that comes after both."""
        path, processes, locations = self._path, self._processes, self.locations
        process, footprint = path.steps[event]
        looked, changed, _ = path.histories.touched[footprint]
        joined = footprint.joins and not processes.keys().isdisjoint(footprint.joins)
        if process in processes or joined or not locations.keys().isdisjoint(looked):
            processes[process] = history = self._history(event)
            for location in changed:
                locations[location] = path.of_event[event], history
        else:
            for location in changed:
                locations.pop(location, None)

    def _history(self, event: int) -> int:
        """Return the history of an event in the other order."""
        path, processes, locations = self._path, self._processes, self.locations

        def of_process(process: int) -> _History:
            if process in processes:
                return processes[process]
            return path.processes.before(process, event)

        def of_location(location: int) -> _History:
            if location in locations:
                return locations[location][1]
            return path.locations.before(location, event)

        return path.histories.of_step(*path.steps[event], of_process, of_location)


class _Known(dict[int, _History]):
    """Histories after so many steps of a path, and then what was changed."""

    def __init__(self, changes: _Changes, depth: int) -> None:
        super().__init__()
        self._changes = changes
        self._depth = depth

    def __missing__(self, place: int) -> _History:
        found = self[place] = self._changes.before(place, self._depth)
        return found

    def of(self, places: _Numbers | None) -> Hashable:
        """Return the histories of some places, None standing for all."""
        if places is not None:
            return tuple([self[place] for place in places])
        everywhere = {*self._changes.places(), *self}
        return frozenset((place, self[place]) for place in everywhere if self[place] is not None)


class Standing:
    """Where processes stand and what is at locations, by history."""

    def __init__(self, path: Path, depth: int) -> None:
        self._histories = path.histories
        self.processes = _Known(path.processes, depth)
        self.locations = _Known(path.locations, depth)

    def take(self, steps: Iterable[Step]) -> None:
        """Go on to what comes of it when steps are taken."""
        processes, locations, histories = self.processes, self.locations, self._histories
        for process, footprint in steps:
            history = histories.of_step(
                process, footprint, processes.__getitem__, locations.__getitem__
            )
            processes[process] = history
            for location in histories.touched[footprint].changed:
                locations[location] = history
            for child in footprint.spawns:
                processes[child] = histories.of_child(child, history)

    def of(self, processes: _Numbers | None, locations: _Numbers | None) -> Hashable:
        """Return the histories of some processes and locations, None standing for all."""
        return self.processes.of(processes), self.locations.of(locations)
