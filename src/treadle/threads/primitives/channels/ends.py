"""Ends of connections: what a descriptor of a socket or a pipe stands for, as Linux has them.

An end has a channel that it reads and one that it writes; a pipe's has one of them. When the other
end is closed, who writes to a pair of sockets or a pipe is told at once; over a network, the first
one who writes in vain is not.

An end has a location of its own: whether it is open, connected, blocking. Every call begins by
looking at it, as a system call looks for its descriptor, and what changes the end writes there.
"""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass, field

from treadle.python.runtime import control
from treadle.threads.primitives.channels.channel import Channel, Named, Step, deed

RECEIVE, SEND = deed("receive from"), deed("send to")
SHUT_DOWN, CLOSE, LOOK = deed("shut down"), deed("close"), deed("look at")
_FIRST_DESCRIPTOR = 1_000_000
"""Descriptors of ends are no descriptors of the operating system, nor look like one."""
_PER_TASK = 10_000


def failed(number: int) -> OSError:
    """Return the error that has a number."""
    return OSError(number, os.strerror(number))


class End(Named):
    """One end of a connection or of a pipe, or a socket that is not connected yet."""

    def __init__(self, sort: str, *, is_network: bool = False) -> None:
        super().__init__(sort)
        task, number = self.number
        self.descriptor = _FIRST_DESCRIPTOR + task * _PER_TASK + number
        if sort == "pipe":
            self.descriptor += _PER_TASK // 2
        self.is_network = is_network
        self.incoming: Channel | None = None
        self.outgoing: Channel | None = None
        self.peer: End | None = None
        self.error = 0
        """What the next one is told who looks, once."""
        self.seconds: float | None = None
        """How long its operations wait; None: for ever."""
        self.is_open = True
        self._reads_no_more = False
        self._has_written_in_vain = False
        board().ends[self.descriptor] = self

    def enter(self, *, changes: bool = False) -> None:
        """Begin a call: look at the end, or change what it is."""
        place = (self.location,)
        Step(LOOK, self).now(place if changes else (), () if changes else place)

    def _refuse_closed(self) -> None:
        """Somebody may have closed it while the call was under way."""
        if not self.is_open:
            raise failed(errno.EBADF)

    def read(self, most: int, *, peeks: bool = False, seconds: float | None = None) -> bytes:
        """Return up to some number of bytes, when there are some; none at the end."""
        channel = self.incoming
        if not most:
            return b""
        if not self.is_open or (channel is None and self.outgoing is not None):
            raise failed(errno.EBADF)
        if channel is None:
            raise failed(errno.ENOTCONN if self.is_network else errno.EINVAL)
        is_there = Step(RECEIVE, self).when(
            lambda: self.can_be_read,
            f"data from {self.label}",
            (channel.location,),
            self._changed_by(channel),
            seconds,
        )
        if not is_there:
            raise _gave_up(seconds)
        self._refuse_closed()
        if not channel.data and self.error:
            raise failed(self._said())
        return channel.take(most, peeks=peeks)

    def write(self, data: bytes | memoryview, seconds: float | None = None) -> int:
        """Write what there is room for, when there is some; return how much that is."""
        channel = self.outgoing
        if channel is None:
            raise failed(errno.EPIPE if self.is_network else errno.EBADF)
        has_room = Step(SEND, self, bytes(data)).when(
            lambda: self.can_be_written or not data,
            f"room for data of {self.label}",
            (channel.location,),
            self._changed_by(channel),
            seconds,
        )
        if not has_room:
            raise _gave_up(seconds)
        self._refuse_closed()
        if self.is_network and self.error:
            raise failed(self._said())
        if channel.is_ended or (channel.is_deaf and not self._may_write_in_vain()):
            raise failed(errno.EPIPE)
        return len(data) if channel.is_deaf else channel.add(data)

    def write_all(self, data: bytes | memoryview, seconds: float | None = None) -> None:
        """Write, in several steps if there is not room enough."""
        left = memoryview(data).cast("B")
        while left:
            left = left[self.write(left, seconds) :]

    def _changed_by(self, channel: Channel) -> tuple[int, ...]:
        """Return what reading or writing changes: of an error, only the first one is told."""
        return (channel.location, self.location) if self.is_network else (channel.location,)

    def _may_write_in_vain(self) -> bool:
        """Tell whether who writes has not been told yet that nobody reads."""
        first, self._has_written_in_vain = not self._has_written_in_vain, True
        return self.is_network and first

    def _said(self) -> int:
        number, self.error = self.error, 0
        return number

    def shut_down(self, *, reads: bool, writes: bool) -> None:
        """Say that nothing is read or written any more."""
        if self.incoming is None or self.outgoing is None:
            raise failed(errno.ENOTCONN)
        Step(SHUT_DOWN, self).now(self._own_places())
        if self.is_network and self.incoming.is_ended and self.outgoing.is_ended:
            raise failed(errno.ENOTCONN)
        if writes:
            self.outgoing.is_ended = True
        if reads:
            self._reads_no_more = True
            self.incoming.is_deaf = self.incoming.is_deaf or not self.is_network

    def close(self) -> None:
        """Close it: who reads at the other end finds the end, or that the connection was reset."""
        Step(CLOSE, self).now(self._own_places())
        self._refuse_closed()
        self.break_off()

    def _own_places(self) -> list[int]:
        return [self.location, *self.places()]

    def break_off(self) -> None:
        """Be closed, as part of some step."""
        self.is_open = False
        if self.peer is not None and self.incoming is not None and self.incoming.data:
            self.peer.error = errno.ECONNRESET
            if self.is_network:
                self.incoming.is_ended = True
        if self.incoming is not None:
            self.incoming.is_deaf = True
        if self.outgoing is not None:
            self.outgoing.is_ended = True

    def places(self) -> list[int]:
        """Return the locations that say whether it can be read or written."""
        return [one.location for one in (self.incoming, self.outgoing) if one is not None]

    @property
    def can_be_read(self) -> bool:
        """Whether reading would not wait."""
        channel = self.incoming
        if channel is None:
            return False
        return bool(channel.data or channel.is_ended or self.error or self._reads_no_more)

    @property
    def can_be_written(self) -> bool:
        """Whether writing would not wait."""
        channel = self.outgoing
        if channel is None:
            return False
        return not channel.is_full or channel.is_ended or channel.is_deaf or bool(self.error)


def _gave_up(seconds: float | None) -> OSError:
    """Return what who waits for too long is told."""
    return TimeoutError("timed out") if seconds else failed(errno.EAGAIN)


def connect(one: End, other: End, sort: str) -> None:
    """Make two ends those of one connection."""
    one.incoming = other.outgoing = Channel(sort)
    one.outgoing = other.incoming = Channel(sort)
    one.peer, other.peer = other, one


@dataclass(slots=True)
class Board:
    """The descriptors of one execution."""

    ends: dict[int, End] = field(default_factory=dict)

    def end(self, descriptor: object) -> End | None:
        """Return the end that a descriptor stands for."""
        return self.ends.get(descriptor) if type(descriptor) is int else None


def board() -> Board:
    """Return the descriptors of the present execution."""
    scratch = control.the_program().scheduler.scratch
    found: Board = scratch.setdefault(Board, Board())
    return found


def end_of(descriptor: object) -> End | None:
    """Return what a descriptor stands for in the present execution, if that is an open end."""
    found = end_at(descriptor)
    return found if found is not None and found.is_open else None


def end_at(descriptor: object) -> End | None:
    """Return what a descriptor stands for, or stood for before it was closed."""
    if not is_descriptor(descriptor) or control.current() is None:
        return None
    return board().end(descriptor)


def is_descriptor(descriptor: object) -> bool:
    """Tell whether a descriptor is, or was, one of an end."""
    return type(descriptor) is int and descriptor >= _FIRST_DESCRIPTOR
