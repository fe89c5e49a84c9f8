"""Sockets of streams: ports of the test, who listens at them, and who connects.

Ports are places in memory, one location each, which is changed by binding, listening, connecting,
accepting, and closing the socket that listens. Connections wait in a line until they are accepted,
as in a kernel; when that is full, who connects waits, too.
"""

from __future__ import annotations

import errno
import socket
from collections import deque
from collections.abc import Iterator

from treadle.python.runtime import control
from treadle.threads.primitives.channels import refusals
from treadle.threads.primitives.channels.channel import Step, deed
from treadle.threads.primitives.channels.ends import CLOSE, SHUT_DOWN, End, connect, failed

BIND, LISTEN, ACCEPT, CONNECT = map(deed, ("bind", "listen at", "accept at", "connect"))
_FIRST_PORT, _PORTS = 32_768, 28_000
"""Where ports begin that nobody asked for by number, and how many of them there are."""
_PER_TASK = 100
LOOPBACK = {"127.0.0.1": "127.0.0.1", "localhost": "127.0.0.1", "": "0.0.0.0", "0.0.0.0": "0.0.0.0",
            "::1": "::1", "::": "::"}  # fmt: skip
"""Hosts that are this one, and their addresses."""


class StreamSocket(End):
    """What a socket of a stream is."""

    def __init__(self, family: int, protocol: int) -> None:
        super().__init__("socket", is_network=family != getattr(socket, "AF_UNIX", None))
        self.family = family
        self.protocol = protocol
        self.options: dict[tuple[int, int], int | bytes] = {}
        self.port = 0
        self.host = "::" if family == socket.AF_INET6 else "0.0.0.0"
        self.line: deque[StreamSocket] | None = None
        """Connections that nobody has accepted yet, if it listens."""
        self._is_deaf = False
        self._most = 0
        self._is_connecting = False

    # Addresses

    def address(self) -> object:
        """Return the address that it is bound to."""
        if not self.is_network:
            return ""
        more = (0, 0) if self.family == socket.AF_INET6 else ()
        return (self.host, self.port, *more)

    def bind(self, address: object) -> None:
        """Take a port."""
        host, port = self._host_and_port(address, "bind")
        if self.port or self.line is not None:
            raise failed(errno.EINVAL)
        port = port or self._free_port()
        Step(BIND, self).now((_place(port), self.location))
        if port in _ports():
            raise failed(errno.EADDRINUSE)
        _ports()[port] = self
        self.host, self.port = host, port

    def listen(self, most: int) -> None:
        """Let others connect, and wait in line until they are accepted."""
        if self.incoming is not None or not self.is_network:
            raise failed(errno.EINVAL)
        port = self.port or self._free_port()
        Step(LISTEN, self).now((_place(port), self.location))
        if _ports().get(port, self) is not self:
            raise failed(errno.EADDRINUSE)
        self.port = port
        _ports()[port] = self
        self.line = deque() if self.line is None else self.line
        self._most = max(most, 0) + 1
        self._is_deaf = False

    def _free_port(self) -> int:
        """Return a port that is the same in every execution: tasks have ports of their own.

        One that has used them all up takes those again whose sockets are closed.
        """
        port = next((port for port in _own_ports() if not _is_taken(port)), 0)
        if not port:
            refusals.refuse("socket.socket", f"more than {_PER_TASK} open ports of one thread")
        _taken()[port] = self
        return port

    def _host_and_port(self, address: object, verb: str) -> tuple[str, int]:
        if not self.is_network:
            refusals.refuse(f"socket.{verb}", "sockets with a name in the file system")
        if not isinstance(address, tuple) or len(address) < 2 or not isinstance(address[1], int):
            raise TypeError(f"{verb}(): AF_INET address must be a pair (host, port)")
        host = LOOPBACK.get(address[0])
        if host is None:
            refusals.refuse(f"socket.{verb}", f"the network ({address[0]!r})")
        if not 0 <= address[1] <= 0xFFFF:
            raise OverflowError(f"{verb}(): port must be 0-65535.")
        return host, int(address[1])

    # Connections

    def connect(self, address: object, seconds: float | None) -> None:
        """Connect to a socket of the test that listens."""
        host, port = self._host_and_port(address, "connect")
        if self._is_connecting:
            self._is_connecting = False
            return
        if self.incoming is not None or self.line is not None:
            raise failed(errno.EISCONN)
        place = _place(port)
        can_connect = Step(CONNECT, self, port).when(
            lambda: seconds == 0 or not _listens(port) or not _is_full(port),
            f"port {port} to accept",
            (place,),
            (place, self.location),
            seconds or None,
        )
        if not can_connect:
            raise TimeoutError("timed out")
        if not _listens(port):
            refusals.refuse_if_real(port)
            raise failed(errno.ECONNREFUSED)
        if _is_full(port):
            refusals.refuse("socket.connect", "connecting without waiting to a full line")
        self._join_line(_ports()[port], host)
        if seconds == 0:
            self._is_connecting = True
            raise failed(errno.EINPROGRESS)

    def _join_line(self, listener: StreamSocket, host: str) -> None:
        accepted = StreamSocket(self.family, self.protocol)
        self.host = accepted.host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
        self.port = self.port or self._free_port()
        accepted.port = listener.port
        connect(self, accepted, "connection")
        assert listener.line is not None
        listener.line.append(accepted)

    def accept(self) -> StreamSocket:
        """Return the other end of the connection that has waited longest."""
        if self.line is None:
            raise failed(errno.EINVAL)
        place, line = _place(self.port), self.line
        has_come = Step(ACCEPT, self).when(
            lambda: bool(line) or self._is_deaf,
            f"a connection to port {self.port}",
            (place,),
            (place,),
            self.seconds,
        )
        if not has_come:
            raise TimeoutError("timed out") if self.seconds else failed(errno.EAGAIN)
        if not line:
            raise failed(errno.EINVAL)
        accepted = line.popleft()
        accepted.seconds = socket.getdefaulttimeout()
        return accepted

    def shut_down(self, *, reads: bool, writes: bool) -> None:
        """Say that nothing is read or written any more, or that nobody is let in."""
        if self.line is None:
            super().shut_down(reads=reads, writes=writes)
        elif reads:
            Step(SHUT_DOWN, self).now((_place(self.port), self.location))
            self._is_deaf = True

    def close(self) -> None:
        """Close it; connections that nobody accepted are reset."""
        if _ports().get(self.port) is not self:
            super().close()
            return
        Step(CLOSE, self).now((_place(self.port), self.location), more=self._places_in_line)
        self._refuse_closed()
        del _ports()[self.port]
        for one in self.line or ():
            if one.peer is not None:
                one.peer.error = errno.ECONNRESET
            one.break_off()
        if self.line is not None:
            self.line.clear()
        self.break_off()

    def _places_in_line(self) -> list[int]:
        """Return what the connections consist of that wait in its line."""
        ends = [end for one in self.line or () for end in (one, one.peer) if end is not None]
        return list(dict.fromkeys(place for end in ends for place in end._own_places()))

    def places(self) -> list[int]:
        """Return the locations that say whether it can be read or written."""
        return super().places() if self.line is None else [_place(self.port)]

    @property
    def listens(self) -> bool:
        """Whether connections can be made to it."""
        return self.line is not None and not self._is_deaf

    @property
    def is_full(self) -> bool:
        """Whether who connects has to wait."""
        return self.line is not None and len(self.line) >= self._most

    @property
    def can_be_read(self) -> bool:
        """Whether reading or accepting would not wait."""
        if self.line is not None:
            return bool(self.line) or self._is_deaf
        return self.incoming is None or super().can_be_read

    @property
    def can_be_written(self) -> bool:
        """Whether writing would not wait."""
        return self.line is None and (self.outgoing is None or super().can_be_written)


def _ports() -> dict[int, StreamSocket]:
    found: dict[int, StreamSocket] = control.the_program().scheduler.scratch.setdefault("ports", {})
    return found


def _taken() -> dict[int, StreamSocket]:
    """Return who has which port that nobody asked for by number."""
    found: dict[int, StreamSocket] = control.the_program().scheduler.scratch.setdefault("taken", {})
    return found


def _own_ports() -> Iterator[int]:
    """Yield the ports of the current task, from where it left off."""
    me = control.task()
    for _ in range(_PER_TASK):
        number = me.scratch["ports"] = me.scratch.get("ports", 0) % _PER_TASK + 1
        yield _FIRST_PORT + (me.number * _PER_TASK + number) % _PORTS


def _is_taken(port: int) -> bool:
    return port in _ports() or (port in _taken() and _taken()[port].is_open)


def _place(port: int) -> int:
    return control.the_program().shared.location(("port", port), f"port {port}")


def _listens(port: int) -> bool:
    found = _ports().get(port)
    return found is not None and found.listens


def _is_full(port: int) -> bool:
    return _ports()[port].is_full
