"""The order modulo observability of a sequence of steps that is planned."""

from __future__ import annotations

from treadle.core.events import Footprint
from treadle.explore.context.planned_order import Imagined
from treadle.explore.observers.observation import dependent_events, observed_writes


class ImaginedObserved(Imagined):
    """A sequence of steps and its happens-before order modulo observability."""

    def _dependent_with(self, step: Footprint) -> int:
        return dependent_events(step, self.touched, self._overwriting)

    def written_before(self, process: int, v: int) -> int:
        """Return events of `v` that come before a process if somebody looks later, else not.

        Those are writes of what its first step in `v` overwrites.
        """
        own = self.of_process[process] & v
        if not own:
            return 0
        first = own & -own
        mask = 0
        for key in self.footprints[first.bit_length() - 1].overwrites:
            mask |= self._overwriting[key]
        return mask & v & first - 1

    def _begin(self) -> None:
        self._looked_at = observed_writes(self.footprints)
        self._overwriting = [0] * len(self.touched)

    def _dependent_on(self, index: int, footprint: Footprint) -> int:
        overwriting = self._overwriting
        mask = dependent_events(footprint, self.touched, overwriting)
        for key in self._looked_at[index]:
            mask |= overwriting[key]
        for key in footprint.overwrites:
            overwriting[key] |= 1 << index
        return mask
