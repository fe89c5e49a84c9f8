"""An `async def` test as a program of threads: its loop is one thread among others."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from treadle.tasks.program import RUN_BY_ASYNCIO
from treadle.threads.program import ThreadProgram


class LoopAmongThreads(ThreadProgram):
    """A test that is a coroutine function, and has threads that touch what its tasks touch."""

    front_end = "tasks"

    def __init__(
        self,
        test: Callable[[], Any],
        name: str,
        *,
        instrument: tuple[str, ...],
        watchdog: float | None,
        restore: bool,
    ) -> None:
        instrumented = (*instrument, *RUN_BY_ASYNCIO)
        super().__init__(test, name, instrument=instrumented, watchdog=watchdog, restore=restore)
        self._packages = instrument

    def _main(self) -> None:
        self.returned = asyncio.run(self.test())

    @property
    def granularity(self) -> str:
        """There is nothing to choose: others may come between any two accesses."""
        return ""

    @property
    def options(self) -> dict[str, object]:
        """Options that it takes to run the test in the same way again."""
        found: dict[str, object] = {"threads": True}
        if self._packages:
            found["instrument"] = self._packages
        if self._restorer is None:
            found["restore"] = False
        return found
