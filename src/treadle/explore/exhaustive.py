"""Every interleaving, with no reduction at all: the yardstick for everything else."""

from __future__ import annotations

from treadle.events import Footprint
from treadle.explore.backtracking import Backtracking
from treadle.program import Run


class Exhaustive(Backtracking):
    """Explore every enabled process in every state."""

    def first_choices(self, run: Run, process: int) -> list[int]:
        """Return all enabled processes, the default schedule's choice first."""
        return [process, *(other for other in run.enabled() if other != process)]

    def executed(self, process: int, footprint: Footprint) -> None:
        """Let nothing sleep in the next state."""
        del process, footprint
        self._next_sleep = {}
