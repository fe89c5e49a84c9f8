"""How long trials have taken, whatever else the machine has to do."""

from __future__ import annotations

from time import perf_counter, process_time

_BLOCKED = 0.01
"""A process that uses less than this share of a processor waits."""


class Effort:
    """Adds up time: the processor's while the process computes, the clock's while it waits.

    What is found must not depend on how busy a machine is; but a trial that blocks somewhere uses
    no processor, and somebody waits for it all the same.
    """

    def __init__(self) -> None:
        self._spent = 0.0
        self._wall, self._cpu = perf_counter(), process_time()

    def seconds(self) -> float:
        """Return the time that was spent; call it after each trial."""
        wall, cpu = perf_counter(), process_time()
        passed, used = wall - self._wall, cpu - self._cpu
        self._wall, self._cpu = wall, cpu
        self._spent += passed if used < _BLOCKED * passed else used
        return self._spent
