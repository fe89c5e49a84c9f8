"""The default schedule: which enabled process runs where the algorithm leaves it open.

It changes how many runs `source` and `classic` block, never what they cover.
"""

from __future__ import annotations

from collections.abc import Callable

from treadle.program import Run

Chooser = Callable[[Run, int], int]
"""Given a run and the process of its last step (-1 at the start): the next one, -1 if none."""


def stay(run: Run, last: int) -> int:
    """Go on with the current process; if it cannot, with the oldest that can."""
    if run.is_enabled(last):
        return last
    return oldest(run, last)


def oldest(run: Run, last: int) -> int:
    """Run the enabled process that was created first."""
    del last
    enabled = run.enabled()
    return enabled[0] if enabled else -1


def newest(run: Run, last: int) -> int:
    """Run the enabled process that was created last."""
    del last
    enabled = run.enabled()
    return enabled[-1] if enabled else -1


def round_robin(run: Run, last: int) -> int:
    """Run the next enabled process after the last one, in a circle."""
    enabled = run.enabled()
    if not enabled:
        return -1
    return min((process for process in enabled if process > last), default=min(enabled))


SCHEDULES: dict[str, Chooser] = {
    "stay": stay,
    "oldest": oldest,
    "newest": newest,
    "round-robin": round_robin,
}
