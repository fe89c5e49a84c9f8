"""A server in memory: asyncio's own, with what stands in for its sockets, and what it records."""

from __future__ import annotations

import inspect
from asyncio.base_events import Server as AsyncioServer
from collections.abc import Callable
from typing import Any

from treadle.tasks.network.addresses import ListeningSocket

_Base: Any = AsyncioServer
_KEEPS_TRANSPORTS = len(inspect.signature(_Base._attach).parameters) > 1
"""Whether a server knows its connections one by one: it does from 3.13 on."""


class Server(_Base):  # type: ignore[misc]
    """asyncio's server: what it does is its own, who does it is recorded."""

    def __init__(
        self, loop: Any, sockets: list[ListeningSocket], factory: Callable[[], Any], ssl: Any
    ) -> None:
        super().__init__(loop, sockets, factory, ssl, 100, None)
        self.factory = factory
        self.addresses = [socket.address for socket in sockets]
        name = repr(self.addresses)
        self._count = loop.place("connections", name, "connections of the server at")
        self._listens = loop.place("server", name, "whether somebody listens: the server at")

    def took(self, transport: Any) -> Callable[[], None]:
        """Take note of a connection; return what is to be called when it is lost."""
        arguments = (transport,) if _KEEPS_TRANSPORTS else ()
        self._count_connections()
        self._attach(*arguments)

        def lost() -> None:
            self._count_connections()
            self._detach(*arguments)

        return lost

    def _count_connections(self) -> None:
        """Record that a connection comes or goes, or that no more come.

        The order of these makes no difference as long as nobody waits for the last to go.
        """
        self._loop.touch(self._count.write if self._waiters else self._count.add)

    def close(self) -> None:
        """Listen no longer."""
        self._loop.touch(self._listens.write)
        self._count_connections()
        super().close()

    def _start_serving(self) -> None:
        self._loop.touch(self._listens.write)
        super()._start_serving()

    def is_serving(self) -> bool:
        """Tell whether it listens."""
        self._loop.touch(self._listens.read)
        return bool(super().is_serving())

    @property
    def sockets(self) -> tuple[Any, ...]:
        """What it listens at."""
        self._loop.touch(self._listens.read)
        return tuple(super().sockets)

    async def wait_closed(self) -> None:
        """Wait as long as asyncio's server does."""
        self._loop.touch(self._count.write)
        await super().wait_closed()
