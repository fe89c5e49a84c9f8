"""Figure 11 of "Source Sets": a thread looks for the last zero while others fill the list."""

from __future__ import annotations

from functools import partial

from threads.together import Test, run_together


def lastzero(n: int) -> Test:
    def test() -> None:
        array = [0] * (n + 1)

        def search() -> int:
            i = n
            while array[i] != 0:
                i -= 1
            return i

        def fill(j: int) -> None:
            array[j] = array[j - 1] + 1

        run_together([search, *(partial(fill, j) for j in range(1, n + 1))])

    return test
