"""The default schedule: which enabled process runs where the algorithm leaves it open.

It changes how many runs `source` and `classic` block, never what they cover.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class Choices(Protocol):
    """The part of a `Run` that a schedule looks at."""

    def enabled(self) -> list[int]:
        """Return the processes to choose from, oldest first."""
        ...

    def is_enabled(self, process: int) -> bool:
        """Tell whether a process is one of them."""
        ...


Chooser = Callable[[Choices, int], int]
"""Given what is enabled and the process of the last step (-1 at the start): the next, or -1."""


def stay(choices: Choices, last: int) -> int:
    """Go on with the current process; if it cannot, with the oldest that can."""
    if choices.is_enabled(last):
        return last
    return oldest(choices, last)


def oldest(choices: Choices, last: int) -> int:
    """Run the enabled process that was created first."""
    del last
    enabled = choices.enabled()
    return enabled[0] if enabled else -1


def newest(choices: Choices, last: int) -> int:
    """Run the enabled process that was created last."""
    del last
    enabled = choices.enabled()
    return enabled[-1] if enabled else -1


def round_robin(choices: Choices, last: int) -> int:
    """Run the next enabled process after the last one, in a circle."""
    enabled = choices.enabled()
    if not enabled:
        return -1
    return min((process for process in enabled if process > last), default=min(enabled))


class Only:
    """Choices among some processes."""

    def __init__(self, processes: list[int]) -> None:
        self._processes = processes

    def enabled(self) -> list[int]:
        """Return all of them."""
        return self._processes

    def is_enabled(self, process: int) -> bool:
        """Tell whether a process is one of them."""
        return process in self._processes


SCHEDULES: dict[str, Chooser] = {
    "stay": stay,
    "oldest": oldest,
    "newest": newest,
    "round-robin": round_robin,
}
