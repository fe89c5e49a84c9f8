"""Visitors are counted in Redis: `GET` and `SET` lose some of them, `INCR` does not.

The client is redis' own, with its pool of connections; a connection is a stand-in whose answers
take some time.
"""

import asyncio
from typing import Any

from redis.asyncio import Connection, ConnectionPool, Redis

import treadle


class Store:
    """What the server keeps."""

    def __init__(self) -> None:
        self.values: dict[str, int] = {}

    def do(self, command: str, key: str, *args: Any) -> Any:
        """Do what a command says."""
        if command == "GET":
            return self.values.get(key)
        if command == "SET":
            self.values[key] = int(args[0])
            return b"OK"
        assert command == "INCRBY"
        self.values[key] = self.values.get(key, 0) + int(args[0])
        return self.values[key]


class ToStore(Connection):  # type: ignore[misc]
    """A connection to a store, which nobody else sees."""

    def __init__(self, store: Store, **options: Any) -> None:
        super().__init__(**options)
        self.store = store
        self.command: tuple[Any, ...] = ()

    async def connect(self) -> None:
        """Connect: it is there."""

    async def disconnect(self, nowait: bool = False, **options: Any) -> None:
        """Disconnect: nothing is to be done."""

    async def can_read(self, *args: Any, **options: Any) -> bool:
        """Tell whether there is an answer that nobody has asked for."""
        return False

    can_read_destructive = can_read
    """What the same is called in earlier versions."""

    async def send_command(self, *args: Any, **options: Any) -> None:
        """Send a command."""
        self.command = args

    async def read_response(self, *args: Any, **options: Any) -> Any:
        """Return the answer, which takes some time."""
        await treadle.pause()
        return self.store.do(*self.command)


async def visit(redis: Redis) -> None:
    """Count a visitor."""
    count = int(await redis.get("visitors") or 0)
    await redis.set("visitors", count + 1)


async def visit_at_once(redis: Redis) -> None:
    """Count a visitor by one command."""
    await redis.incr("visitors")


async def some_are_lost() -> None:
    """Both read the same number."""
    await _two_visitors(is_careful=False)


async def all_are_counted() -> None:
    """The server adds."""
    await _two_visitors(is_careful=True)


async def _two_visitors(*, is_careful: bool) -> None:
    store = Store()
    pool = ConnectionPool(connection_class=ToStore, store=store)
    redis = Redis(connection_pool=pool)
    come = visit_at_once if is_careful else visit
    await asyncio.gather(come(redis), come(redis))
    assert store.values == {"visitors": 2}
