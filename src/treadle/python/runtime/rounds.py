"""How often a thread waits in vain: what wakes up now and then may do so any number of times."""

from __future__ import annotations

import sys

from treadle.core.events import Codes
from treadle.core.frames import Place, place_of_frame
from treadle.core.records import WaitKind
from treadle.core.words import place_in_words
from treadle.python.runtime import control
from treadle.python.runtime.operation import Operation
from treadle.python.runtime.task import Task

_MANY = 20
"""Times in a row that are worth telling if the search does not end."""


class LeftOut(Operation):
    """Never go on: what comes of it is not explored."""

    __slots__ = ()

    kind = WaitKind.NOTHING

    def ready(self, task: Task) -> bool:
        """Tell that it cannot go on."""
        del task
        return False

    def pending(self, task: Task) -> Codes:
        """Return nothing: there is no next step."""
        del task
        return ()

    def describe(self) -> str:
        """Say what it is."""
        return "nothing any more: max_rounds leaves out what would come"


class Rounds:
    """Counts how often in a row a thread slept or waited in vain in one place of the code."""

    def __init__(self, most: int | None) -> None:
        self.most = most
        """Times in a row after which an execution is left out."""
        self._seen = 0
        """The most that there were."""
        self._place: Place | None = None

    def spend(self, me: Task) -> None:
        """Take note that a task slept or waited in vain; too often, and it does not go on."""
        here = place_of_frame(sys._getframe(1))
        there, rounds = me.scratch.get(Rounds, (None, 0))
        rounds = rounds + 1 if here == there else 1
        me.scratch[Rounds] = here, rounds
        if rounds > self._seen:
            self._seen = rounds
            self._place = here
        if self.most is not None and rounds > self.most:
            control.announce(LeftOut())

    def notes(self, *, has_ended: bool) -> list[str]:
        """Say what was left out, or why a search may not come to an end, if this is why."""
        place = place_in_words(self._place)
        if self.most is not None and self._seen > self.most:
            times = f"{self.most:,} time{'s' if self.most > 1 else ''} in a row"
            return [
                f"a thread may sleep or wait in vain at {place} more than {times}: what comes of "
                f"that was left out (max_rounds)"
            ]
        if has_ended or self._seen < _MANY:
            return []
        return [
            f"a thread slept or waited in vain at {place} {self._seen:,} times in a row, and "
            f"every number of times is explored: bound it with max_rounds"
        ]
