"""Flanagan and Godefroid's indexer (2005): threads insert into one hash table.

The compare-and-swap is a block that is one event; `by_setdefault` uses the one that Python has.
"""

from __future__ import annotations

from functools import partial

import treadle
from threads.together import Test, run_together

SIZE, MESSAGES = 128, 4


class Table:
    """A hash table of fixed size with linear probing."""

    def __init__(self) -> None:
        self.slots = [0] * SIZE

    def compare_and_swap(self, h: int, old: int, new: int) -> bool:
        """Put `new` where `old` is; tell whether it was there."""
        with treadle.atomic():
            if self.slots[h] != old:
                return False
            self.slots[h] = new
            return True

    def insert(self, w: int) -> None:
        """Insert a word."""
        h = w * 7 % SIZE
        while not self.compare_and_swap(h, 0, w):
            h = (h + 1) % SIZE


def indexer(n: int) -> Test:
    def test() -> None:
        table = Table()

        def thread(tid: int) -> None:
            for m in range(1, MESSAGES + 1):
                table.insert(m * 11 + tid)

        run_together(partial(thread, tid) for tid in range(n))

    return test


def by_setdefault(n: int) -> Test:
    def test() -> None:
        table: dict[int, int] = {}

        def thread(tid: int) -> None:
            for m in range(1, MESSAGES + 1):
                w = m * 11 + tid
                h = w * 7 % SIZE
                while table.setdefault(h, w) != w:
                    h = (h + 1) % SIZE

        run_together(partial(thread, tid) for tid in range(n))

    return test
