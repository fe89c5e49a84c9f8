"""A worker registers at a database and asks it for data: the twin of `protocol.abs`."""

from typing import Any

from treadle.actors import Actor, program


class DB(Actor):
    """Keeps data for the client that is registered."""

    def __init__(self, data: int) -> None:
        self.data, self.client = data, None

    async def register(self, w: Any) -> None:
        """Make somebody the client, if it answers."""
        if w.ping.send(5).get() == 5:
            self.client = w

    async def get_data(self, w: Any) -> int:
        """Return the data, to the client only."""
        return self.data if self.client is w else -1


class Worker(Actor):
    """Wants data."""

    def __init__(self) -> None:
        self.data = 0

    async def work(self, db: Any) -> None:
        """Fetch the data."""
        self.data = db.get_data.send(self).get()

    async def ping(self, n: int) -> int:
        """Answer."""
        return n


@program
def main() -> None:
    db: Any = DB(7)
    w: Any = Worker()
    db.register.send(w)
    w.work.send(db)
