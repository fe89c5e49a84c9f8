"""The order of a sequence of steps that is planned, as if it had been executed.

Only the happens-before order is built, and anew for each sequence; nobody asks for its races.
"""

from __future__ import annotations

from treadle.core.events import Footprint
from treadle.core.happens_before import Trace, conflicting


class Imagined(Trace):
    """A sequence of steps and its happens-before order."""

    def imagine(self, processes: list[int], footprints: list[Footprint]) -> None:
        """Hold a sequence of steps in place of the one before."""
        self.processes, self.footprints = processes, footprints
        self.known.clear()
        self.touched = touched = [0] * self.vocabulary.mask_keys
        processes_known = len(self.vocabulary.process_names)
        self.of_process = of_process = [0] * (processes_known + 1)  # the last is for `SOMEBODY`
        before: list[int] = []
        self.before = before
        self.created.clear()
        self._begin()
        for index, footprint in enumerate(footprints):
            process = processes[index]
            mine = of_process[process]
            if mine and footprint.plain:
                known = before[mine.bit_length() - 1]
            elif footprint.plain and process not in self.created:
                known = 0  # without a call: about 2 % of readers(7) under `observers`
            else:
                known = self._past(process, footprint)
            dependent = self._dependent_on(index, footprint) & ~known
            while dependent:
                event = dependent.bit_length() - 1
                known |= before[event]
                dependent &= ~known
            bit = 1 << index
            before.append(known | bit)
            of_process[process] = mine | bit
            for key in footprint.own:
                touched[key] |= bit

    def _past(self, process: int, footprint: Footprint) -> int:
        """Return what happens before the next step of a process whatever it accesses."""
        for child in footprint.spawns:
            self.created[child] = len(self.before)
        past = 0
        for earlier in (process, *footprint.joins):
            if self.of_process[earlier]:
                past |= self.before[self.of_process[earlier].bit_length() - 1]
        if not self.of_process[process] and process in self.created:
            past |= self.before[self.created[process]]
        return past

    def written_before(self, process: int, v: int) -> int:
        """Return events of `v` that come before a process if somebody looks later, else not.

        None here: whether steps are ordered does not depend on what comes later.
        """
        del process, v
        return 0

    def _begin(self) -> None:
        """Prepare for the steps to come."""

    def _dependent_on(self, index: int, footprint: Footprint) -> int:
        """Return the mask of the steps that the next one depends on."""
        del index
        if footprint.unequal:
            return conflicting(footprint, self.touched)
        mask, touched = 0, self.touched  # the same, without a call
        for key in footprint.conflicts:
            mask |= touched[key]
        return mask
