"""Writes that do not matter: the same value twice, or a value that nobody looks at.

Every order of these writes leads to the same, so an exploration that compares states, or that asks
who looks at what was written, needs far fewer executions than there are orders.
"""

import threading
from collections.abc import Callable


class Cache:
    """Keeps what is expensive to compute; computing it twice does no harm."""

    def __init__(self) -> None:
        self.value: int | None = None

    def get(self) -> int:
        """Return the value; compute it if nobody has done so before."""
        if self.value is None:
            self.value = 6 * 7
        return self.value


def cache() -> None:
    """Three threads fill a cache, and all see the same value."""
    shared = Cache()

    def use() -> None:
        assert shared.get() == 42

    _run(use, use, use)


class Progress:
    """What workers say about themselves; only the last word counts."""

    def __init__(self) -> None:
        self.finished = False
        self.latest = ""


def counter() -> None:
    """Four workers raise a flag that is raised already: to set it again changes nothing."""
    progress = Progress()

    def work() -> None:
        progress.finished = True

    _run(work, work, work, work)
    assert progress.finished


def producer_consumer() -> None:
    """Producers overwrite the latest item while a consumer looks at it once."""
    progress = Progress()

    def produce(name: str) -> Callable[[], None]:
        def run() -> None:
            progress.latest = name

        return run

    def consume() -> None:
        assert progress.latest in ("", "a", "b", "c")

    _run(produce("a"), produce("b"), produce("c"), consume)


def _run(*targets: Callable[[], None]) -> None:
    threads = [threading.Thread(target=target) for target in targets]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
