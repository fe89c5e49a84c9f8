"""Threads beside tasks: when a loop of steps is enough, and when the test is one of threads.

A function given to an executor that touches nothing which tasks touch is one arrival: its result.
If one does touch such a thing, or if the test starts a thread of its own, others may come between
any two accesses of a task, and a step of the loop is no step any more. Then the test is explored as
one of threads, in which the loop is one of them (`threads.primitives.event_loops`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.errors import TreadleError
from treadle.core.events import Codes, Mode, location_of, mode_of

if TYPE_CHECKING:
    from treadle.tasks.program import TaskProgram
    from treadle.tasks.steps import Step

_READS = frozenset({Mode.READ, Mode.AWAIT})
_WRITES = frozenset({Mode.WRITE, Mode.STORE, Mode.ADD})


class NeedsThreads(TreadleError):
    """A test that has to be explored as one of threads."""

    def __init__(self, why: str) -> None:
        super().__init__(f"{why}, which the first executions did not show: give `threads=True`")


class Workers:
    """What functions given to executors touched in an execution, and what everybody else did."""

    def __init__(self, program: TaskProgram) -> None:
        self._program = program
        self._processes: set[int] = set()
        """Steps in which such a function ran."""
        self._theirs: dict[int, bool] = {}
        """Locations by number, and whether they are written: by functions given to executors."""
        self._others: dict[int, bool] = {}
        self.are_given_work = False
        """Whether a function was given to an executor."""

    def began(self, step: Step | None) -> None:
        """Take note that such a function runs now."""
        if step is not None:
            self._processes.add(step.process)
            self._program.has_workers = True

    def are_at_work(self, step: Step | None) -> bool:
        """Tell whether such a function runs in a step."""
        return step is not None and step.process in self._processes

    def saw(self, process: int, codes: Codes) -> None:
        """Take note of a step; raise if a task touches what such a function does."""
        if not self._program.has_workers:
            return
        mine, other = self._others, self._theirs
        if process in self._processes:
            mine, other = other, mine
        own = {place.number for place in self._program.places.values()}
        for access in codes:
            is_write = mode_of(access) in _WRITES
            location = location_of(access)
            if location in own or not (is_write or mode_of(access) in _READS):
                continue
            mine[location] = mine.get(location, False) or is_write
            if other.get(location, False) or (is_write and location in other):
                raise NeedsThreads(
                    "a function given to an executor touches what tasks touch as well"
                )
