"""What can be asked of a loop about networks, in memory.

| call | what it is here |
|---|---|
| `create_connection`, `create_unix_connection`, `sock_connect` before the first | one arrival: both ends are connected, or it is refused |
| `create_server`, `create_unix_server` | asyncio's server, known by its address |
| `start_tls`, `ssl=` | nothing is encrypted; the handshake takes some time |
| `getaddrinfo` | a table, after an arrival |

`asyncio.open_connection`, `start_server` and everything built on them run on this as they are.
"""  # noqa: E501

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from treadle.python.runtime import slots
from treadle.tasks.network.addresses import (
    UNIX,
    Address,
    ConnectedSocket,
    Listening,
    ListeningSocket,
    client_port,
    host_address,
    hosts_of,
    looked_up,
    port_number,
)
from treadle.tasks.network.connection import connection
from treadle.tasks.network.server import Server
from treadle.tasks.pausing import pause
from treadle.tasks.refusals import refuse
from treadle.tasks.steps import Place


class Networked(asyncio.AbstractEventLoop):
    """A loop whose network is in memory."""

    owner: Any
    arrival: Callable[..., Any]
    touch: Callable[..., None]
    is_over: bool
    is_busy: Callable[[], bool]

    def place(self, sort: str, name: str, words: str) -> Place:
        """Return a location of the front end's own."""
        raise NotImplementedError

    def begin_network(self, split: Iterable[str], resets: int) -> None:
        """Begin with a network in which nobody listens."""
        self._listening = Listening()
        self._boundaries = [text.encode() for text in split]
        self._resets = resets
        self._connecting: dict[int, Address] = {}
        """Where sockets are connected to, by their descriptors."""

    # Who listens

    async def create_server(
        self,
        protocol_factory: Callable[[], Any],
        host: Any = None,
        port: Any = None,
        *,
        sock: Any = None,
        ssl: Any = None,
        start_serving: bool = True,
        **options: Any,
    ) -> Server:
        """Listen at a host and port, in memory."""
        del options
        if sock is not None:
            self._refuse_socket("create_server")
        if not port_number(port):
            self.touch(self.place("listener", "free", "ports that are free").write)
        listens_at = [self._listening.free_address(one, port) for one in hosts_of(host)]
        return await self._serve(listens_at, protocol_factory, ssl, start_serving=start_serving)

    async def create_unix_server(
        self,
        protocol_factory: Callable[[], Any],
        path: Any = None,
        *,
        sock: Any = None,
        ssl: Any = None,
        start_serving: bool = True,
        **options: Any,
    ) -> Server:
        """Listen at a path, in memory: no file is made."""
        del options
        if sock is not None:
            self._refuse_socket("create_unix_server")
        if path is None:
            raise ValueError("path was not specified, and no sock specified")
        address = self._listening.free_path(path)
        return await self._serve([address], protocol_factory, ssl, start_serving=start_serving)

    async def _serve(
        self, addresses: list[Address], factory: Any, ssl: Any, *, start_serving: bool
    ) -> Server:
        slots.hand_out(factory, "protocol factory")
        listening = [ListeningSocket(address) for address in addresses]
        server = Server(self, listening, factory, ssl)
        if start_serving:
            server._start_serving()
            await asyncio.tasks.sleep(0)  # as asyncio does: the loop has to learn of it first
        return server

    def _start_serving(self, factory: Any, sock: Any, ssl: Any, server: Any, *_: Any) -> None:
        """Let a server listen: asyncio's server asks for this."""
        del factory, ssl
        self.touch(self._listener(sock.address).write)
        self._listening.open(sock.address, server)

    def _stop_serving(self, sock: Any) -> None:
        """Let a server listen no longer."""
        self.touch(self._listener(sock.address).write)
        self._listening.close(sock.address)

    def _listener(self, address: Address) -> Any:
        """Return the location of who listens: a port, whatever the host, or a path."""
        host, port = address
        return self.place("listener", host if port == UNIX else str(port), "who listens at")

    # Who connects

    async def create_connection(
        self,
        protocol_factory: Callable[[], Any],
        host: Any = None,
        port: Any = None,
        *,
        sock: Any = None,
        ssl: Any = None,
        **options: Any,
    ) -> tuple[Any, Any]:
        """Connect to whoever listens at a host and port, in memory."""
        del options
        if sock is not None:
            return await self._connected_by(sock, protocol_factory, ssl)
        if host is None and port is None:
            raise ValueError("host and port was not specified and no sock specified")
        address = host_address(host or "localhost"), port_number(port)
        return await self._connected(address, protocol_factory, ssl)

    async def create_unix_connection(
        self,
        protocol_factory: Callable[[], Any],
        path: Any = None,
        *,
        sock: Any = None,
        ssl: Any = None,
        **options: Any,
    ) -> tuple[Any, Any]:
        """Connect to whoever listens at a path, in memory."""
        del options
        if sock is not None:
            self._refuse_socket("create_unix_connection")
        if path is None:
            raise ValueError("no path and sock were specified")
        return await self._connected((str(path), UNIX), protocol_factory, ssl)

    async def sock_connect(self, sock: Any, address: Any) -> None:
        """Connect a socket that is for `create_connection`: it only learns where to."""
        if not _is_socket(sock) or not isinstance(address, tuple):
            self._refuse_socket("sock_connect")
        await pause()
        at = host_address(address[0]), port_number(address[1])
        self.touch(self._listener(at).read)
        if self._listening.find(at) is None:
            raise _refused(at)
        self._connecting[sock.fileno()] = at

    async def _connected_by(self, sock: Any, factory: Any, ssl: Any) -> tuple[Any, Any]:
        """Make a connection of a socket that was connected here; the socket is not needed."""
        address = self._connecting.pop(sock.fileno(), None) if _is_socket(sock) else None
        if address is None:
            self._refuse_socket("create_connection")
        sock.close()
        slots.hand_out(factory, "protocol factory")
        done = self.create_future()
        self._connect(address, factory, ssl, done)
        await asyncio.tasks.sleep(0)  # as asyncio does: the protocol has to learn of it first
        found: tuple[Any, Any] = done.result()
        return found

    async def _connected(self, address: Address, factory: Any, ssl: Any) -> tuple[Any, Any]:
        slots.hand_out(factory, "protocol factory")
        done = self.create_future()
        self.arrival(self._connect, address, factory, ssl, done)
        try:
            found: tuple[Any, Any] = await done
        except asyncio.CancelledError:
            if done.done() and not done.cancelled():
                done.result()[0].abort()
            raise
        return found

    def _connect(self, address: Address, factory: Any, ssl: Any, done: Any) -> None:
        """Connect both ends, in one step; or find that nobody is there."""
        if done.cancelled():
            return
        self.touch(self._listener(address).read)
        server = self._listening.find(address)
        if server is None:
            done.set_exception(_refused(address))
            return
        ours, theirs = connection(
            self, self.owner.next_name("~c"), self._boundaries, _extras(address, self.owner, ssl)
        )
        protocol, other = factory(), server.factory()
        for one in (protocol, other):
            slots.hand_out(one, "protocol")
        theirs.on_lost = server.took(theirs)
        theirs.connected(other)
        ours.connected(protocol)
        if self._resets:
            self.arrival(self._reset, ours, theirs, mark="/r").is_fault = True
        done.set_result((ours, protocol))

    def _reset(self, *ends: Any) -> None:
        """Break a connection, if not enough of them have broken yet; at the end it is too late."""
        is_late = self.is_over or not self.is_busy()
        self.touch(self.place("network", "resets", "connections that may still break").write)
        is_open = not all(end.is_closing() for end in ends)
        if self._resets and is_open and not is_late:
            self._resets -= 1
            for end in ends:
                end.break_off()

    # The rest

    async def start_tls(self, transport: Any, protocol: Any, *_: Any, **__: Any) -> Any:
        """Go on as before: nothing is encrypted, but the handshake takes some time."""
        await pause()
        transport.set_protocol(protocol)
        return transport

    async def getaddrinfo(
        self,
        host: Any,
        port: Any,
        *,
        family: int = 0,
        type: int = 0,  # noqa: A002 - as asyncio calls it
        proto: int = 0,
        flags: int = 0,
    ) -> list[tuple[Any, ...]]:
        """Look a name up in a table, which takes some time."""
        del family, flags
        await pause()
        return looked_up(host, port, type, proto)

    def _refuse_socket(self, name: str) -> NoReturn:
        refuse(
            f"loop.{name}(sock=...)",
            "give a host and a port instead of a real socket: the network is in memory",
        )


def _is_socket(sock: Any) -> bool:
    return isinstance(sock, socket.socket)


def _refused(address: Address) -> OSError:
    if address[1] == UNIX:
        return FileNotFoundError(errno.ENOENT, "No such file or directory", address[0])
    return ConnectionRefusedError(errno.ECONNREFUSED, f"Connect call failed {address!r}")


def _extras(address: Address, owner: Any, ssl: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what both ends know about the connection."""
    if address[1] == UNIX:
        here: Any = ""
        there: Any = address[0]
    else:
        here, there = ("127.0.0.1", client_port(owner.name)), address
    shared: dict[str, Any] = {}
    if ssl is not None:
        shared |= {"sslcontext": ssl, "peercert": {}, "cipher": None, "compression": None}
    return (
        {**shared, **_ends(here, there)},
        {**shared, **_ends(there, here)},
    )


def _ends(here: Any, there: Any) -> dict[str, Any]:
    return {"sockname": here, "peername": there, "socket": ConnectedSocket(here, there)}
