"""The programs of "Generation of Initial Contexts for Effective Deadlock Detection" (LOPSTR 2017).

They have no main: that is what the paper is about. The barber and the pairing problem are those of
`thesis_actors`; DBProt is figure 1 with the change that section 4.2 makes to it, and a fourth
method of the database. The sources of Fact and Loop are lost: these are written from their
descriptions, so that they have as many classes, methods and cycles.
"""

from __future__ import annotations

from typing import Any

from treadle.actors import Actor, method
from treadle.papers.thesis_actors import Worker


class Database(Actor):
    """Registers workers while it is connected."""

    def __init__(self) -> None:
        self.data = 7
        self.client: Worker | None = None
        self.connected = 1

    @method
    async def connect(self) -> int:
        """Allow three connections."""
        self.connected = 3
        return self.connected

    @method
    async def register(self, w: Worker) -> None:
        """Keep a worker that answers, if there is a connection left."""
        self.connected = 0
        await self.get_data.send(w)
        if self.connected > 0:
            self.connected -= 1
            if w.ping.send(5).get() == 5:
                self.client = w

    @method
    async def get_data(self, w: Worker) -> int | None:
        """Return the data to who is registered."""
        return self.data if self.client is w else None

    @method
    async def leave(self) -> None:
        """Forget who is registered."""
        self.client = None


def factorial(n: int) -> int:
    """Multiply."""
    return 1 if n <= 1 else n * factorial(n - 1)


class Fact(Actor):
    """Computes factorials, and waits for itself."""

    @method
    async def fact(self, n: int) -> int:
        """Leave the rest of the product to another task of the same actor."""
        if n <= 1:
            return 1
        rest: int = self.below.send(n - 1).get()
        return n * rest

    @method
    async def below(self, n: int) -> int:
        """Return the rest of the product."""
        return factorial(n)

    @method
    async def total(self, n: int) -> int:
        """Leave a sum of factorials to another task of the same actor."""
        answer: int = self.summed.send(n).get()
        return answer

    @method
    async def summed(self, n: int) -> int:
        """Add factorials up."""
        total = 0
        for i in range(n):
            total += factorial(i)
        return total


class North(Actor):
    """Asks its neighbour in the east."""

    def __init__(self) -> None:
        self.last = 0

    @method
    async def asks_east(self, east: East) -> None:
        """Wait for the east."""
        east.east_answers.send().get()

    @method
    async def north_answers(self) -> None:
        """Answer."""

    @method
    async def north_spreads(self, n: int) -> None:
        """Make tasks and locations in a loop."""
        for i in range(n):
            North().north_notes.send(i)

    @method
    async def north_notes(self, i: int) -> None:
        """Take note."""
        self.last = i


class East(Actor):
    """Asks its neighbour in the south."""

    def __init__(self) -> None:
        self.last = 0

    @method
    async def asks_south(self, south: South) -> None:
        """Wait for the south."""
        south.south_answers.send().get()

    @method
    async def east_answers(self) -> None:
        """Answer."""

    @method
    async def east_spreads(self, n: int) -> None:
        """Make tasks and locations in a loop."""
        for i in range(n):
            East().east_notes.send(i)

    @method
    async def east_notes(self, i: int) -> None:
        """Take note."""
        self.last = i


class South(Actor):
    """Asks its neighbour in the north."""

    def __init__(self) -> None:
        self.last = 0

    @method
    async def asks_north(self, north: Any) -> None:
        """Wait for the north."""
        north.north_answers.send().get()

    @method
    async def south_answers(self) -> None:
        """Answer."""

    @method
    async def south_spreads(self, n: int) -> None:
        """Make tasks and locations in a loop."""
        for i in range(n):
            South().south_notes.send(i)

    @method
    async def south_notes(self, i: int) -> None:
        """Take note."""
        self.last = i
