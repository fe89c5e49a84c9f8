"""Waiting for what other processes do, and limits that hold on any machine.

No test may depend on how fast something happens: it waits until it is so, for as long as a machine
may need that is slow, or has much else to do.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

PATIENCE = 300
"""Seconds after which something is taken to never happen."""
_MEASURED = 0.065
"""Processor time of `_work` on the machine for which limits were set."""


def wait_until(holds: Callable[[], object]) -> None:
    """Wait until something is so."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, "it never came to that"
        time.sleep(0.02)


def processes(*, group: int | None = None, parent: int | None = None) -> list[int]:
    """Return the processes of a group that run, or a parent's, with those that it has to reap."""
    found = []
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = file.read_text(errors="replace").rpartition(")")[2].split()
        except OSError:  # it ended meanwhile
            continue
        state, its_parent, its_group = words[0], int(words[1]), int(words[2])
        if its_parent == parent or (its_group == group and state != "Z"):
            found.append(int(file.parent.name))
    return found


def children() -> list[int]:
    """Return the processes that this one has started and that are still there."""
    return processes(parent=os.getpid())


def seconds_here(limit: float) -> float:
    """Return how much processor time a limit is on this machine: never less than it says.

    >>> seconds_here(2) >= 2
    True
    """
    return limit * max(1.0, _slowness())


@cache
def _slowness() -> float:
    return min(_work() for _ in range(3)) / _MEASURED


def _work() -> float:
    started = time.process_time()
    table: dict[int, list[int]] = {}
    for number in range(1_000_000):
        table.setdefault(number % 1000, []).append(number)
    return time.process_time() - started
