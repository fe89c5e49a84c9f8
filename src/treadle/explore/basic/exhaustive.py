"""Every interleaving, with no reduction at all: the yardstick for everything else."""

from __future__ import annotations

from treadle.core.events import Footprint
from treadle.explore.basic.sleep import SleepSets


class Exhaustive(SleepSets):
    """Explore every enabled process in every state: nothing is ever asleep but what is done."""

    def executed(self, process: int, footprint: Footprint) -> None:
        """Let nothing sleep in the next state."""
        del process, footprint
        self._next_sleep = {}
