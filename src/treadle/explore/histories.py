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
        self._numbers: dict[Hashable, int] = {}
        self._touched: dict[Footprint, tuple[_Numbers, _Numbers]] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    def number(self, history: Hashable) -> int:
        """Return the number of a history."""
        return self._numbers.setdefault(history, len(self._numbers))

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

    def __init__(self, histories: Histories) -> None:
        self._histories = histories
        self.processes: dict[int, int] = {}
        self.locations: dict[int, int] = {}

    def take(self, process: int, footprint: Footprint) -> None:
        """Take note of a step."""
        processes, locations = self.processes, self.locations
        looked, changed = self._histories.touched(footprint)
        history = self._histories.number(
            (
                process,
                footprint,
                processes.get(process),
                tuple([locations.get(location) for location in looked]),
                tuple([processes.get(ended) for ended in footprint.joins]),
            )
        )
        processes[process] = history
        for location in changed:
            locations[location] = history
        for child in footprint.spawns:
            processes[child] = self._histories.number((child, history))

    def after(self, steps: Iterable[Step]) -> Standing:
        """Return what comes of it when steps are taken."""
        standing = Standing(self._histories)
        standing.processes.update(self.processes)
        standing.locations.update(self.locations)
        for process, footprint in steps:
            standing.take(process, footprint)
        return standing

    def of(self, processes: _Numbers | None, locations: _Numbers | None) -> Hashable:
        """Return the histories of some processes and locations, None standing for all."""
        return _some(self.processes, processes), _some(self.locations, locations)


def _some(histories: dict[int, int], wanted: _Numbers | None) -> Hashable:
    if wanted is None:
        return frozenset(histories.items())
    return tuple([histories.get(number) for number in wanted])
