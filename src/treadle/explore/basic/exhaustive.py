"""Every interleaving, with no reduction at all: the yardstick for everything else."""

from __future__ import annotations

from typing import ClassVar

from treadle.core.events import Footprint
from treadle.core.program import Run
from treadle.explore.basic.backtracking import Backtracking
from treadle.explore.basic.sleep import everybody


class Exhaustive(Backtracking):
    """Explore every enabled process in every state: nothing is ever asleep but what is done."""

    repeats_classes: ClassVar[bool] = True
    never_blocks: ClassVar[bool] = True
    survives_cuts: ClassVar[bool] = True
    divides: ClassVar[bool] = True

    def first_choices(self, run: Run, process: int) -> list[int]:
        """Return all enabled processes, the default schedule's choice first."""
        return everybody(run, process)

    def executed(self, process: int, footprint: Footprint) -> None:
        """Let nothing sleep in the next state."""
        del process, footprint
        self._next_sleep = {}
