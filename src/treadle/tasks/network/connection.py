"""A connection in memory: two transports, and a pipe in each direction.

A guided tour. Each write is something that arrives at the other end some time later. What was
written before arrives with it at the latest, so that two writes may come one by one or together,
as they do on a network, and never in another order. The end of a stream comes behind all data:
it is on its way only when the last of them has arrived. What happens in one pipe says nothing about
another one. Nobody is ever slowed down: a pipe takes all that is written.
"""

from __future__ import annotations

import asyncio
import errno
import itertools
from asyncio.protocols import BufferedProtocol
from collections.abc import Callable, Sequence
from typing import Any

from treadle.python.runtime import slots


def pieces(data: bytes, boundaries: Sequence[bytes]) -> list[bytes]:
    r"""Return the pieces that may arrive apart: data is cut behind each boundary within.

    >>> pieces(b"a\nb\n", [b"\n"]), pieces(b"a\nb\n", [])
    ([b'a\n', b'b\n'], [b'a\nb\n'])
    """
    cuts = {0, len(data)}
    for boundary in boundaries:
        found = data.find(boundary)
        while found >= 0:
            cuts.add(found + len(boundary))
            found = data.find(boundary, found + 1)
    places = sorted(cuts)
    return [data[start:end] for start, end in itertools.pairwise(places)]


class Pipe:
    """One direction of a connection."""

    def __init__(self, loop: Any, name: str, boundaries: Sequence[bytes]) -> None:
        self._loop = loop
        self._place = loop.place("pipe", name, "what arrives at")
        self._boundaries = boundaries
        self._sent: list[bytes] = []
        self._arrived = 0
        self._ending: Callable[[], None] | None = None
        self.to: Transport

    def send(self, data: bytes) -> None:
        """Let data arrive."""
        for piece in pieces(data, self._boundaries):
            self._sent.append(piece)
            self._loop.arrival(self._arrive, len(self._sent))

    def _arrive(self, count: int) -> None:
        """Deliver all up to a piece, unless that has arrived with a later one."""
        self._loop.touch(self._place.write)
        if count <= self._arrived:
            return
        data = b"".join(self._sent[self._arrived : count])
        self._arrived = count
        self.to.receive(data)
        self._end_at_last()

    def end(self, ending: Callable[[], None]) -> None:
        """Let something be the last that arrives: the end of the stream."""
        self._loop.touch(self._place.write)
        self._ending = ending
        self._end_at_last()

    def _end_at_last(self) -> None:
        if self._ending is not None and self._arrived == len(self._sent):
            ending, self._ending = self._ending, None
            self._loop.arrival(ending)


class Transport(asyncio.Transport):
    """One end of a connection."""

    def __init__(self, loop: Any, name: str, outgoing: Pipe, extra: dict[str, Any]) -> None:
        super().__init__(extra)
        self._loop = loop
        self._out = outgoing
        self._place = loop.place("transport", name, "state of the connection")
        self._protocol: Any = None
        self._is_closing = False
        self._has_ended_writing = False
        self._is_reading = True
        self._held: list[bytes | None] = []
        """What arrived while nobody wanted to read; None is the end of the stream."""
        self.on_lost: Callable[[], None] = _do_nothing
        self.peer: Transport

    def connected(self, protocol: Any) -> None:
        """Begin: tell the protocol."""
        self._protocol = protocol
        _called(protocol.connection_made, self)

    # Writing

    def write(self, data: Any) -> None:
        """Send data."""
        if not isinstance(data, bytes | bytearray | memoryview):
            raise TypeError(
                f"data argument must be a bytes-like object, not {type(data).__name__!r}"
            )
        self._loop.touch(self._place.read)
        if self._has_ended_writing:
            raise RuntimeError("Cannot call write() after write_eof()")
        if data and not self._is_closing:
            self._out.send(bytes(data))

    def writelines(self, list_of_data: Any) -> None:
        """Send data, all at once."""
        self.write(b"".join(list_of_data))

    def write_eof(self) -> None:
        """Send the end of the stream; reading goes on."""
        self._loop.touch(self._place.write)
        if not self._is_closing and not self._has_ended_writing:
            self._has_ended_writing = True
            self._out.end(self.peer.receive_end)

    def can_write_eof(self) -> bool:
        """Tell that it can."""
        return True

    def get_write_buffer_size(self) -> int:
        """Return that nothing waits to be written."""
        return 0

    def get_write_buffer_limits(self) -> tuple[int, int]:
        """Return limits that are never reached."""
        return 16384, 65536

    def set_write_buffer_limits(self, high: Any = None, low: Any = None) -> None:
        """Do nothing: limits are never reached."""

    # Reading

    def receive(self, data: bytes) -> None:
        """Give data to the protocol, unless nobody wants to read now."""
        self._loop.touch(self._place.read)
        if self._is_closing:  # the other end hears that nobody is there
            self._loop.arrival(self.peer.break_off)
        elif self._held or not self._is_reading:
            self._loop.touch(self._place.write)
            self._held.append(data)
        else:
            self._deliver(data)

    def receive_end(self) -> None:
        """Tell the protocol that nothing more comes."""
        self._loop.touch(self._place.read)
        if self._is_closing:
            return
        if self._held or not self._is_reading:
            self._loop.touch(self._place.write)
            self._held.append(None)
        elif not _called(self._protocol.eof_received):
            self.close()

    def _deliver(self, data: bytes) -> None:
        if isinstance(self._protocol, BufferedProtocol):
            _fill(self._protocol, data)
        else:
            _called(self._protocol.data_received, data)

    def is_reading(self) -> bool:
        """Tell whether what arrives is given to the protocol."""
        self._loop.touch(self._place.read)
        return self._is_reading and not self._is_closing

    def pause_reading(self) -> None:
        """Hold what arrives back."""
        self._loop.touch(self._place.write)
        self._is_reading = False

    def resume_reading(self) -> None:
        """Give what arrives to the protocol again; what was held back arrives first."""
        self._loop.touch(self._place.write)
        if not self._is_reading:
            self._is_reading = True
            if self._held:
                self._loop.arrival(self._deliver_held)

    def _deliver_held(self) -> None:
        self._loop.touch(self._place.write)
        if not self._is_reading:
            return
        held, self._held = self._held, []
        data = b"".join(piece for piece in held if piece is not None)
        if data and not self._is_closing:
            self._deliver(data)
        if None in held:
            self._loop.arrival(self.receive_end)

    # The end

    def is_closing(self) -> bool:
        """Tell whether it is closed, or about to be; finalizers between executions find it so."""
        self._loop.touch(self._place.read)
        return self._is_closing or self._loop.step is None

    def close(self) -> None:
        """End the connection; what was written still arrives."""
        self._loop.touch(self._place.write)
        if self._is_closing:
            return
        if not self._has_ended_writing:
            self._out.end(self.peer.receive_end)
        self._lose(None)

    def abort(self) -> None:
        """End the connection at once."""
        self._loop.touch(self._place.write)
        if not self._is_closing:
            self._loop.arrival(self.peer.break_off)
            self._lose(None)

    def break_off(self) -> None:
        """Take note that the connection is broken."""
        self._loop.touch(self._place.write)
        if not self._is_closing:
            self._lose(ConnectionResetError(errno.ECONNRESET, "Connection reset by peer"))

    def _lose(self, error: Exception | None) -> None:
        self._is_closing = True
        self._loop.call_soon(self._lost, error)

    def _lost(self, error: Exception | None) -> None:
        try:
            _called(self._protocol.connection_lost, error)
        finally:
            self.on_lost()

    # Who is there

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        """Tell another protocol from now on."""
        self._loop.touch(self._place.write)
        self._protocol = protocol

    def get_protocol(self) -> Any:
        """Return who is told."""
        self._loop.touch(self._place.read)
        return self._protocol


def connection(
    loop: Any, name: str, boundaries: Sequence[bytes], extras: tuple[dict[str, Any], ...]
) -> tuple[Transport, Transport]:
    """Return both ends of a new connection."""
    there, back = (Pipe(loop, f"{name}{way}", boundaries) for way in (">", "<"))
    ours = Transport(loop, f"{name}>", there, extras[0])
    theirs = Transport(loop, f"{name}<", back, extras[1])
    there.to, back.to = theirs, ours
    ours.peer, theirs.peer = theirs, ours
    return ours, theirs


def _fill(protocol: BufferedProtocol, data: bytes) -> None:
    """Give data to a protocol that has a buffer of its own."""
    while data:
        buffer = _called(protocol.get_buffer, len(data))
        room = len(buffer)
        if not room:
            raise RuntimeError("get_buffer() returned an empty buffer")
        part, data = data[:room], data[room:]
        buffer[: len(part)] = part
        _called(protocol.buffer_updated, len(part))


def _called(method: Callable[..., Any], *args: Any) -> Any:
    """Call a method of a protocol as code under test would: it may be a library's."""
    return slots.resolve(method)(*args)


def _do_nothing() -> None:
    """Tell nobody that a connection is lost."""
