"""A counter that a task and a function in a thread change.

Between two accesses of a task another thread may come, at any place: here no `await` is needed for
a lost update. The remedy is a lock of threads, held for a moment.
"""

import asyncio
import threading
from collections.abc import Callable


class Counter:
    """Counts, without or with a lock."""

    def __init__(self) -> None:
        self.value = 0
        self.lock = threading.Lock()

    def increment(self) -> None:
        """Count."""
        value = self.value
        self.value = value + 1

    def increment_locked(self) -> None:
        """Count, one at a time."""
        with self.lock:
            self.increment()


async def lost_update() -> None:
    """One of two increments is lost."""
    counter = Counter()
    await _count(counter, counter.increment)


async def locked() -> None:
    """None is lost."""
    counter = Counter()
    await _count(counter, counter.increment_locked)


async def _count(counter: Counter, increment: Callable[[], None]) -> None:
    beside = asyncio.create_task(asyncio.to_thread(increment))
    await asyncio.sleep(0)
    increment()
    await beside
    assert counter.value == 2
