"""A counter that threads increment without a lock: updates get lost."""

from __future__ import annotations

from threads.together import Test, run_together


class Counter:
    """A number that can be incremented."""

    def __init__(self) -> None:
        self.value = 0

    def increment(self) -> None:
        """Add one; a read and a write."""
        self.value += 1


def racy_counter(threads: int, increments: int = 1) -> Test:
    def test() -> None:
        counter = Counter()

        def work() -> None:
            for _ in range(increments):
                counter.increment()

        run_together([work] * threads)

    return test
