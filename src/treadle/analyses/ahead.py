"""What may still come: positions ahead of where a task stands, and what they send or call."""

from __future__ import annotations

from types import FunctionType

from treadle.analyses.abstract import ENTRY
from treadle.analyses.points_to import PointsTo

Place = tuple[FunctionType, int]
"""An instruction of a function, by its position."""


class Ahead:
    """What leads where in the code: positions ahead of a position, and methods that they begin."""

    def __init__(self, points_to: PointsTo) -> None:
        self.methods = {routine.function: routine.method for routine in points_to.routines}
        self._begins: dict[Place, set[FunctionType]] = {}
        """The functions that the instruction at a place sends or calls."""
        for routine, effects in points_to.routines.items():
            for begun in (effects.sends, effects.calls, effects.crossing):
                for at, callees in begun.items():
                    place = (routine.function, at)
                    self._begins.setdefault(place, set()).update(c.function for c in callees)
        self._ahead: dict[Place, set[int]] = {}
        self._onward: dict[Place, set[FunctionType]] = {}

    def knows(self, function: FunctionType) -> bool:
        """Tell whether a function was analysed."""
        return function in self.methods

    def leads_to(self, function: FunctionType, position: int, place: Place) -> bool:
        """Tell whether a task that stands somewhere may come to a place."""
        target, at = place
        if target is function and at in self._ahead_of(function, position):
            return True
        return target in self._onward_of(function, position)

    def _ahead_of(self, function: FunctionType, position: int) -> set[int]:
        """Return the positions that may come after one, in the same function."""
        ahead = self._ahead.get((function, position))
        if ahead is None:
            method = self.methods[function]
            ahead = method.ahead_of(0) | {0} if position == ENTRY else method.ahead_of(position)
            self._ahead[function, position] = ahead
        return ahead

    def _onward_of(self, function: FunctionType, position: int) -> set[FunctionType]:
        """Return the functions that what comes after a position sends or calls, transitively."""
        onward = self._onward.get((function, position))
        if onward is None:
            onward = self._onward[function, position] = set()
            work = [(function, at) for at in self._ahead_of(function, position)]
            while work:
                for begun in self._begins.get(work.pop(), ()):
                    if begun not in onward:
                        onward.add(begun)
                        work += [(begun, at) for at in self._ahead_of(begun, ENTRY)]
        return onward
