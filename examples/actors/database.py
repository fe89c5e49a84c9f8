"""A database with connections: the twin of `database.abs`."""

from typing import Any

from treadle.actors import Actor, program


class Store(Actor):
    """Keeps data, and counts connections."""

    def __init__(self, start: int) -> None:
        self.start, self.data, self.connected = start, 7, 1
        self.client: Any = None

    async def connect(self) -> int:
        """Open connections."""
        self.connected = 3
        return self.connected

    async def register(self, w: Any) -> None:
        """Make somebody the client, if there is a connection and it answers."""
        self.connected = self.start
        await self.get_data.send(w)  # type: ignore[attr-defined]
        if self.connected > 0:
            self.connected -= 1
            if w.ping.send(5).get() == 5:
                self.client = w

    async def get_data(self, w: Any) -> int | None:
        """Return the data, to the client only."""
        return self.data if self.client is w else None


class Worker(Actor):
    """Wants data."""

    def __init__(self) -> None:
        self.data = None

    async def work(self, db: Any) -> None:
        """Fetch the data."""
        self.data = db.get_data.send(self).get()

    async def ping(self, n: int) -> int:
        """Answer."""
        return n


@program
def main() -> None:
    db: Any = Store(5)
    w: Any = Worker()
    db.register.send(w)
    w.work.send(db)
