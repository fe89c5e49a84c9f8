"""Done sets in place of sleep sets (JSS 2023, algorithm 1, the code in black).

For every prefix `E` of the current execution `done(E)` has the processes whose exploration from `E`
is over, with the step that each took. A sequence `v` is redundant after `E'` if `E' = w.w'` such
that a process of `done(w)` is a weak initial of `w'.v`: what is equivalent to `E'.v` was explored
after `w` then. Sleep sets say the same as long as it is known at once whether two steps are
dependent; with observers it is not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from treadle.core.events import Footprint
from treadle.core.happens_before import Sleep

Depends = Callable[[Footprint, Sequence[Footprint], int, int], bool]
"""Whether a step at a position of a sequence depends on one of those from another one on."""


class Finished(NamedTuple):
    """A process whose exploration from a prefix of the current execution is over."""

    depth: int
    """The length of the prefix."""
    process: int
    step: Footprint


class DoneSets:
    """`done(E)` for each prefix of the current execution, by length; None where it is empty."""

    def __init__(
        self, depends: Depends, is_forbidden: Callable[[int, int], bool] | None = None
    ) -> None:
        self.sets: list[Sleep | None] = []
        self.finished: list[Finished] = []
        """All that is done at the prefixes of the current execution, by their length."""
        self._depends = depends
        self._is_forbidden = is_forbidden
        """Whether a process was forbidden after a prefix, by its length, and never explored.

        What it leads to is explored elsewhere, but not what others do before it. Nobody is asked if
        nothing is ever forbidden: 3 % of wakeup_stress(3) under `observers`."""

    def pass_on(self, steps: int) -> None:
        """Take note of steps before which nothing is done."""
        self.sets += [None] * steps

    def begin(self) -> None:
        """Take note of what is done at the prefixes of an execution that goes on freely now."""
        self.finished = [
            Finished(depth, process, step)
            for depth, done in enumerate(self.sets)
            if done
            for process, step in done.items()
        ]

    def start(self, e: int) -> int:
        """Return the length of the first prefix at which something is done, at most `e`."""
        return min(e, self.finished[0].depth) if self.finished else e

    def is_explored(
        self, start: int, e: int, processes: list[int], footprints: list[Footprint]
    ) -> bool:
        """Tell whether a process of `done(w)` is a weak initial of `w'.v`, for any prefix `w`.

        The processes and footprints are those of `w'.v` for the prefix of length `start`.
        """
        is_forbidden = self._is_forbidden
        for depth, process, step in self.finished:
            if depth > e:
                break
            first = depth - start
            was_forbidden = is_forbidden is not None and is_forbidden(depth, process)
            try:
                position = processes.index(process, first)
            except ValueError:
                if was_forbidden:
                    continue
                position = len(processes)
            else:
                step = footprints[position]
            if step.joins and not set(step.joins).isdisjoint(processes[first:position]):
                continue
            depends = depends_on_any if was_forbidden else self._depends
            if not depends(step, footprints, first, position):
                return True
        return False


def depends_on_any(step: Footprint, steps: Sequence[Footprint], first: int, position: int) -> bool:
    """Tell whether a step at a position depends on one of those from `first` on before it."""
    conflicts = step.conflict_set
    for other in steps[first:position]:
        if not conflicts.isdisjoint(other.own) and step.conflicts_with(other):
            return True
    return False
