"""Countdowns of `gather` and `wait`: callbacks that only count, and the last completes a future.

Who is last makes no difference to anybody but to when things go on: the callbacks commute. So each
is recorded as an addition to the future that the last completes, and what that wakes comes after
all of them. A callback that completes the future for another reason is an ordinary one.
"""

from __future__ import annotations

from typing import Any

from treadle.core.events import Codes, Mode, code
from treadle.tasks.steps import Step


class Countdown:
    """One call of `gather` or `wait`: the future that is completed, and who has counted so far."""

    def __init__(self, callback: Any, outer: Any, variables: dict[str, Any]) -> None:
        self.callback = callback
        """What is called; kept, since it is known by its `id`."""
        self.outer = outer
        self._variables = variables
        self.counted: list[Step] = []
        self.last: Step | None = None

    def has_ended(self) -> bool:
        """Tell whether it ended by counting, and with nothing else to tell."""
        value = {name: cell.cell_contents for name, cell in self._variables.items()}
        if "nfinished" in value:
            return bool(
                value["nfinished"] == value["nfuts"]
                and self.outer._exception is None
                and not self.outer._cancel_requested
            )
        return bool(value["counter"] <= 0 and value["return_when"] == "ALL_COMPLETED")

    def joins(self) -> Codes:
        """Return the accesses of what comes after all of the callbacks."""
        return tuple(sorted(code(step.process, Mode.JOIN) for step in self.counted))


_NAMES = {
    "gather.<locals>._done_callback": "outer",
    "_wait.<locals>._on_completion": "waiter",
}


def countdown_of(callback: Any, known: dict[int, Countdown]) -> Countdown | None:
    """Return the countdown that a done callback is part of, if it is one that commutes."""
    name = _NAMES.get(getattr(callback, "__qualname__", ""))
    if name is None or getattr(callback, "__module__", "") != "asyncio.tasks":
        return None
    code_of: Any = callback.__code__
    cells = callback.__closure__ or ()
    variables = dict(zip(code_of.co_freevars, cells, strict=True))
    try:
        outer = variables[name].cell_contents
        if name == "waiter" and variables["timeout_handle"].cell_contents is not None:
            return None
    except (KeyError, ValueError):  # `gather` makes its future after it has begun to listen
        if "outer" not in variables:
            return None
        outer = None
    found = known.get(id(callback))
    if found is None:
        found = known[id(callback)] = Countdown(callback, outer, variables)
    return found


def future_of(countdown: Countdown) -> Any:
    """Return the future that a countdown completes, which may be made after it began."""
    if countdown.outer is None:
        countdown.outer = countdown._variables["outer"].cell_contents
    return countdown.outer
