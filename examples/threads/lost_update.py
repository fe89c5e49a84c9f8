"""A counter that loses an update.

`self.count += 1` reads and then writes. Two threads can both read 0 and both write 1. Under a lock
the two stay together, and no interleaving gives another sum.
"""

import threading


class Counter:
    """Counts, as long as only one thread does."""

    def __init__(self) -> None:
        self.count = 0

    def increment(self) -> None:
        """Add one."""
        self.count += 1


class LockedCounter(Counter):
    """Counts under a lock."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()

    def increment(self) -> None:
        """Add one; nobody else comes in between."""
        with self._lock:
            self.count += 1


def racy() -> None:
    """Two threads increment without a lock."""
    _count_to_two(Counter())


def locked() -> None:
    """The same with a lock around the increment."""
    _count_to_two(LockedCounter())


def _count_to_two(counter: Counter) -> None:
    threads = [threading.Thread(target=counter.increment) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counter.count == 2, f"the count is {counter.count}"
