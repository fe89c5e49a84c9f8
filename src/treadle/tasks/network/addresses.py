"""Addresses in memory: a table in place of name servers, and who listens where.

Every name has an address, the same in every execution; nobody outside is asked.
"""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
import zlib
from collections.abc import Iterable
from typing import Any

Address = tuple[str, int]
"""A host and a port; a path of the file system is a host with port -1."""

UNIX = -1
_EVERYWHERE = "0.0.0.0"
_HERE = "127.0.0.1"
_SAME = {"": _EVERYWHERE, "::": _EVERYWHERE, "localhost": _HERE, "::1": _HERE}
_FIRST_FREE_PORT = 49152


def host_address(host: Any) -> str:
    """Return the address of a host.

    >>> host_address("localhost"), host_address(None), host_address("10.1.2.3")
    ('127.0.0.1', '0.0.0.0', '10.1.2.3')
    >>> host_address("db.example") == host_address(b"db.example")
    True
    """
    if isinstance(host, bytes):
        host = host.decode()
    host = _SAME.get(host or "", host)
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        number = zlib.crc32(host.encode())
        return f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"


def port_number(port: Any) -> int:
    """Return the number of a port that may be given by the name of its service.

    >>> port_number("8080"), port_number(None)
    (8080, 0)
    """
    if port is None or port == "":
        return 0
    try:
        return int(port)
    except ValueError:
        return socket.getservbyname(port)


def client_port(name: str) -> int:
    """Return the port of a client: the same in every execution, and of no server."""
    return _FIRST_FREE_PORT - 1 - zlib.crc32(name.encode()) % 16384


def looked_up(host: Any, port: Any, kind: int, protocol: int) -> list[tuple[Any, ...]]:
    """Return what `getaddrinfo` does."""
    where = (host_address(host or _HERE), port_number(port))
    return [(socket.AF_INET, kind or socket.SOCK_STREAM, protocol or socket.IPPROTO_TCP, "", where)]


class Listening:
    """Which server listens at which address."""

    def __init__(self) -> None:
        self._servers: dict[Address, Any] = {}
        self._ports = _FIRST_FREE_PORT

    def free_address(self, host: Any, port: Any) -> Address:
        """Return an address to bind a socket to; raise what an operating system would."""
        number = port_number(port)
        if not number:
            number, self._ports = self._ports, self._ports + 1
        address = host_address(host), number
        if address in self._servers:
            raise OSError(
                errno.EADDRINUSE,
                f"error while attempting to bind on address {address!r}: address already in use",
            )
        return address

    def free_path(self, path: Any) -> Address:
        """Return a path to bind a socket to; raise what an operating system would."""
        address = os.fsdecode(path), UNIX
        if address in self._servers:
            raise OSError(errno.EADDRINUSE, f"Address {address[0]!r} is already in use")
        return address

    def open(self, address: Address, server: Any) -> None:
        """Let a server listen."""
        self._servers[address] = server

    def close(self, address: Address) -> None:
        """Let nobody listen at an address."""
        self._servers.pop(address, None)

    def find(self, address: Address) -> Any:
        """Return who listens at an address, there or everywhere; None if nobody does."""
        everywhere = _EVERYWHERE, address[1]
        return self._servers.get(address) or self._servers.get(everywhere)


class _Socket:
    """What stands in for a socket: it has addresses, and options that change nothing."""

    def __init__(self, address: Address) -> None:
        self.address = address
        is_unix = address[1] == UNIX
        self.family = socket.AF_UNIX if is_unix else socket.AF_INET
        self.type = socket.SOCK_STREAM
        self.proto = 0
        self._options: dict[tuple[int, int], Any] = {}

    def getsockname(self) -> Any:
        """Return its address."""
        return self.address[0] if self.address[1] == UNIX else self.address

    def fileno(self) -> int:
        """Return that it is no file."""
        return -1

    def setsockopt(self, level: int, option: int, value: Any, *_: Any) -> None:
        """Set an option."""
        self._options[level, option] = value

    def getsockopt(self, level: int, option: int, *_: Any) -> Any:
        """Return an option; one that was not set is 0."""
        return self._options.get((level, option), 0)


class ListeningSocket(_Socket):
    """What stands in for the socket of a server."""

    def listen(self, backlog: int = 0) -> None:
        """Do nothing: the loop is told by its server."""


class ConnectedSocket(_Socket):
    """What stands in for the socket of a connection, as transports give it."""

    def __init__(self, here: Any, there: Any) -> None:
        is_unix = isinstance(here, str)
        super().__init__((here, UNIX) if is_unix else here)
        self._peer = there

    def getpeername(self) -> Any:
        """Return the address of the other end."""
        return self._peer

    def gettimeout(self) -> float:
        """Return that it never blocks."""
        return 0.0

    def setblocking(self, flag: bool) -> None:
        """Refuse to block, as sockets of transports do."""
        if flag:
            raise ValueError("setblocking(): transport sockets cannot be blocking")


def hosts_of(host: Any) -> Iterable[Any]:
    """Return the hosts that a server was asked to listen on."""
    return [host] if host is None or isinstance(host, str | bytes) else host
