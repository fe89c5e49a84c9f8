"""A buffer for one item: the twin of `buffer.abs`."""

from typing import Any

from treadle.actors import Actor, program, until


class Buffer(Actor):
    """Has room for some items."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.items: tuple[int, ...] = ()

    async def put(self, x: int) -> None:
        """Wait for room, then put an item in."""
        await until(lambda: len(self.items) < self.size)
        self.items += (x,)

    async def take(self) -> int:
        """Wait for an item, then take it out."""
        await until(lambda: self.items)
        x, self.items = self.items[0], self.items[1:]
        return x


@program
def main() -> None:
    buffer: Any = Buffer(1)
    for i in range(2):
        buffer.put.send(i)
    for _ in range(2):
        buffer.take.send()
