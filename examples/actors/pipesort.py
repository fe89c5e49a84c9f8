"""Cells that sort numbers: the twin of `pipesort.abs`."""

from typing import Any

from treadle.actors import Actor, program


class Cell(Actor):
    """Keeps the smallest number, and hands the others on."""

    def __init__(self) -> None:
        self.value: int | None = None
        self.next: Any = None

    async def push(self, x: int) -> None:
        """Take a number."""
        if self.value is None:
            self.value = x
            return
        if self.next is None:
            self.next = Cell()
        self.value, x = min(self.value, x), max(self.value, x)
        self.next.push.send(x)


class Feeder(Actor):
    """Gives numbers to the first cell, one after the other."""

    async def feed(self, first: Any, items: tuple[int, ...]) -> None:
        """Give the first, then the rest."""
        if items:
            first.push.send(items[0])
            self.feed.send(first, items[1:])  # type: ignore[attr-defined]


@program
def main() -> None:
    first = Cell()
    feeder: Any = Feeder()
    feeder.feed.send(first, (3, 1, 2))
