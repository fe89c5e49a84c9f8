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

from collections.abc import Hashable, Iterable

from treadle.events import Footprint
from treadle.explore.steps import Step

_Numbers = tuple[int, ...]


class Histories:
    """Numbers of histories."""

    def __init__(self) -> None:
        self.numbers: dict[Hashable, int] = {}
        self._touched: dict[Footprint, tuple[_Numbers, _Numbers]] = {}

    def touched(self, footprint: Footprint) -> tuple[_Numbers, _Numbers]:
        """Return the locations that decide what a step does, and those that it changes."""
        found = self._touched.get(footprint)
        if found is None:
            looked = {key >> 2 for key in footprint.conflicts}  # linked locations too
            looked -= {key >> 2 for key in footprint.overwrites}
            changed = {key >> 2 for key in footprint.own if key & 3}
            found = self._touched[footprint] = tuple(sorted(looked)), tuple(sorted(changed))
        return found


class Standing:
    """Where processes stand and what is at locations, by history; none where nothing happened."""

    __slots__ = ("_histories", "locations", "processes")

    def __init__(
        self, histories: Histories, processes: dict[int, int], locations: dict[int, int]
    ) -> None:
        self._histories = histories
        self.processes = processes
        self.locations = locations

    def after(self, steps: Iterable[Step]) -> Standing:
        """Return what comes of it when steps are taken."""
        processes, locations = self.processes.copy(), self.locations.copy()
        touched, numbers = self._histories.touched, self._histories.numbers
        for process, footprint in steps:
            looked, changed = touched(footprint)
            key = (
                process,
                footprint,
                processes.get(process),
                *map(locations.get, looked),
                *map(processes.get, footprint.joins),
            )
            history = numbers.setdefault(key, len(numbers))
            processes[process] = history
            for location in changed:
                locations[location] = history
            for child in footprint.spawns:
                processes[child] = numbers.setdefault((child, history), len(numbers))
        return Standing(self._histories, processes, locations)

    def of(self, processes: _Numbers | None, locations: _Numbers | None) -> Hashable:
        """Return the histories of some processes and locations, None standing for all."""
        return _some(self.processes, processes), _some(self.locations, locations)


def _some(histories: dict[int, int], wanted: _Numbers | None) -> Hashable:
    if wanted is None:
        return frozenset(histories.items())
    return tuple(map(histories.get, wanted))


class Path:
    """The standings along an execution, which the next one shares in part."""

    def __init__(self, histories: Histories) -> None:
        self._processes: list[int] = []
        self._footprints: list[Footprint] = []
        self._standings = [Standing(histories, {}, {})]

    def follow(self, processes: list[int], footprints: list[Footprint]) -> None:
        """Go the way of an execution."""
        kept = 0
        for old, new in zip(
            zip(self._processes, self._footprints, strict=True),
            zip(processes, footprints, strict=True),
            strict=False,
        ):
            if old != new:
                break
            kept += 1
        del self._standings[kept + 1 :]
        for step in zip(processes[kept:], footprints[kept:], strict=True):
            self._standings.append(self._standings[-1].after([step]))
        self._processes, self._footprints = processes.copy(), footprints.copy()

    def at(self, depth: int) -> Standing:
        """Return the standing after so many steps."""
        return self._standings[depth]
