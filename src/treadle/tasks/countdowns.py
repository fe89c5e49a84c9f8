"""Countdowns: callbacks that only count, and the last completes a future.

`gather`, `wait` and `TaskGroup` have them. Who is last makes no difference to anybody but to when
things go on: the callbacks commute. So each is recorded as an addition to what they count with, and
what the last one wakes comes after all of them. A callback that completes the future for another
reason, or that has an exception to pass on, is an ordinary one.

`Barrier` is none, also where nobody reads which place `wait` returns: the last to come goes on at
once, in the step in which it came, and the others a turn later in the order in which they came. So
what tasks do behind a barrier tells its orders apart; only if all of that commutes, they are one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from asyncio.taskgroups import TaskGroup
from typing import Any

from treadle.core.events import Codes, Mode, code, location_of, mode_of
from treadle.tasks.moments import Moment, latest
from treadle.tasks.positions import Position, latest_positions
from treadle.tasks.steps import Step

_WRITES = (Mode.WRITE, Mode.STORE)


class Countdown(ABC):
    """Something that counts: what it completes, and who has counted so far."""

    def __init__(self, kept: Any) -> None:
        self._kept = kept
        """Keeps alive what this is known by."""
        self.counted: list[Step] = []

    @property
    @abstractmethod
    def outer(self) -> Any:
        """The future that the last one completes; None if nobody waits so far."""

    @abstractmethod
    def has_ended(self) -> bool:
        """Tell whether it ended by counting, and with nothing else to tell."""

    def joins(self) -> Codes:
        """Return the accesses of what comes after all of the callbacks."""
        return tuple(sorted(code(step.process, Mode.JOIN) for step in self.counted))

    def positions(self, place: int) -> tuple[Position, ...]:
        """Return when something runs that the last one schedules, whoever that is."""
        return latest_positions(
            one.next_turn(place) for step in self.counted for one in step.positions
        )

    def moment(self) -> Moment:
        """Return when the last one has counted, whoever that is."""
        return latest(step.moment for step in self.counted)


class CallCountdown(Countdown):
    """One call of `gather` or `wait`, whose callbacks are one closure."""

    def __init__(self, callback: Any, variables: dict[str, Any], name: str) -> None:
        super().__init__(callback)
        self._variables = variables
        self._name = name

    @property
    def outer(self) -> Any:
        """What `gather` returns, or the future that `wait` awaits."""
        return self._variables[self._name].cell_contents

    def has_ended(self) -> bool:
        """Tell whether all are done, and none of them failed."""
        value = {name: cell.cell_contents for name, cell in self._variables.items()}
        if "nfinished" in value:
            outer = self.outer
            return bool(
                value["nfinished"] == value["nfuts"]
                and outer._exception is None
                and not outer._cancel_requested
            )
        return bool(value["counter"] <= 0 and value["return_when"] == "ALL_COMPLETED")


class GroupCountdown(Countdown):
    """A `TaskGroup`, which waits until the set of its tasks is empty."""

    @property
    def outer(self) -> Any:
        """What the group's `__aexit__` awaits."""
        return self._kept._on_completed_fut

    def has_ended(self) -> bool:
        """Tell whether all tasks are done."""
        return not self._kept._tasks


def added(codes: list[int]) -> list[int]:
    """Return accesses with all that is written as something that is only added to."""
    written = {location_of(access) for access in codes if mode_of(access) in _WRITES}
    return [
        *(code(location, Mode.ADD) for location in sorted(written)),
        *(access for access in codes if location_of(access) not in written),
    ]


_NAMES = {
    "gather.<locals>._done_callback": "outer",
    "_wait.<locals>._on_completion": "waiter",
}


def countdown_of(callback: Any, future: Any, known: dict[int, Countdown]) -> Countdown | None:
    """Return the countdown that a future's done callback is part of, if it is one that commutes."""
    group = getattr(callback, "__self__", None)
    if type(group) is TaskGroup and callback.__name__ == "_on_task_done":
        if future._exception is not None:
            return None
        return known.setdefault(id(group), GroupCountdown(group))
    name = _NAMES.get(getattr(callback, "__qualname__", ""))
    if name is None or getattr(callback, "__module__", "") != "asyncio.tasks":
        return None
    if id(callback) not in known:
        cells = callback.__closure__ or ()
        variables = dict(zip(callback.__code__.co_freevars, cells, strict=True))
        if name == "waiter" and variables["timeout_handle"].cell_contents is not None:
            return None
        known[id(callback)] = CallCountdown(callback, variables, name)
    return known[id(callback)]
