"""Figures 1 and 13 of "Source Sets": a writer of x, readers of their own variable, then of x."""

from __future__ import annotations

from functools import partial

from threads.together import Test, run_together


class Shared:
    """What the threads share."""

    def __init__(self, n: int) -> None:
        self.x = 0
        self.own = [0] * n

    def write(self) -> None:
        """Change x."""
        self.x = 1

    def read(self, i: int) -> tuple[int, int]:
        """Return the reader's own variable, then x."""
        return self.own[i], self.x


def readers(n: int) -> Test:
    def test() -> None:
        shared = Shared(n)
        run_together([shared.write, *(partial(shared.read, i) for i in range(n))])

    return test
