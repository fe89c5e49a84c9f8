"""Waiting for several processes at once, in one step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from treadle.core.events import Codes, Mode, code
from treadle.core.records import WaitKind
from treadle.model.operations import Operation

if TYPE_CHECKING:
    from treadle.model.run import ModelRun


class All(Operation):
    """Wait for the end of processes."""

    __slots__ = ("_run", "_targets")

    kind = WaitKind.END

    def __init__(self, run: ModelRun, targets: Sequence[int]) -> None:
        self._run = run
        self._targets = tuple(targets)

    @classmethod
    def of(cls, run: ModelRun, targets: Sequence[int]) -> All | None:
        """Return what to yield: nothing if there is nothing to wait for."""
        return cls(run, targets) if targets else None

    def ready(self, process: int) -> bool:
        """Tell whether all have ended."""
        return all(map(self._run.has_ended, self._targets))

    def perform(self, process: int) -> None:
        """Log the joins."""
        for access in self.pending(process):
            self._run.append(access)

    def pending(self, process: int) -> Codes:
        """Return the joins."""
        return tuple([code(target, Mode.JOIN) for target in self._targets])

    def describe(self) -> str:
        """Name the processes waited for."""
        return " and ".join(map(self._run.name_of, self._targets))

    def holders(self) -> list[int]:
        """Return the processes waited for."""
        return [target for target in self._targets if not self._run.has_ended(target)]
