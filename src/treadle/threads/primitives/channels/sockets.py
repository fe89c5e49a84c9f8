"""`socket.socket` under control: its methods work on an end in memory, without a descriptor.

The class is patched in place, so that subclasses, `socketserver`, `http.client` and whoever else
makes sockets get these. A socket that was made before the exploration stays a real one, and what
goes through it is named in the verdict.
"""

from __future__ import annotations

import contextlib
import errno
import io
import socket
from collections.abc import Callable
from typing import Any, Final

from treadle.python.accesses.outside_modules import NOT_SEEN
from treadle.python.runtime import control
from treadle.python.runtime.escapes import escapes
from treadle.python.sharing.children import Children
from treadle.python.sharing.walks import register
from treadle.threads.primitives.channels import refusals
from treadle.threads.primitives.channels.buffered import buffered
from treadle.threads.primitives.channels.channel import Step
from treadle.threads.primitives.channels.ends import LOOK, connect, end_of, failed
from treadle.threads.primitives.channels.listening import StreamSocket
from treadle.threads.primitives.facets import FacetTable
from treadle.threads.primitives.outside.world import concerns_program
from treadle.threads.primitives.patches import Patches

_SOCKETS: Final = "sockets"
"""Under which an execution keeps its sockets, and what they stand for."""
_FLAGS_OF_KIND = getattr(socket, "SOCK_NONBLOCK", 0) | getattr(socket, "SOCK_CLOEXEC", 0)
_FAMILIES = (socket.AF_INET, socket.AF_INET6, getattr(socket, "AF_UNIX", socket.AF_INET))
_PEEK, _ALL = socket.MSG_PEEK, getattr(socket, "MSG_WAITALL", 0)
_AT_ONCE = getattr(socket, "MSG_DONTWAIT", 0)
_KNOWN_FLAGS = _PEEK | _ALL | _AT_ONCE | getattr(socket, "MSG_NOSIGNAL", 0)
_SIZE_OF_BUFFER = 212_992
_originals: dict[str, Any] = {}


def _sockets() -> dict[int, StreamSocket]:
    """Return what the sockets of the present execution stand for, by their `id`."""
    scratch = control.the_program().scheduler.scratch
    found: dict[int, StreamSocket] = scratch.setdefault(_SOCKETS, {})
    return found


def end_of_socket(one: Any) -> StreamSocket | None:
    """Return what a socket stands for in the present execution; None for a real one."""
    if control.current() is None:
        return None
    return _sockets().get(id(one))


def _attach(one: Any, end: StreamSocket) -> None:
    _sockets()[id(one)] = end
    one._io_refs = 0
    one._closed = False


def _init(
    self: Any,
    family: int = -1,
    type: int = -1,  # noqa: A002 - so it is called
    proto: int = -1,
    fileno: int | None = None,
) -> None:
    """`socket.socket.__init__`."""
    end = end_of(fileno)
    if isinstance(end, StreamSocket):
        _attach(self, end)
    elif control.current() is None or not concerns_program():
        _originals["__init__"](self, family, type, proto, fileno)
    elif fileno is not None:
        escapes.add(NOT_SEEN.format("sockets"), "socket.socket")
        _originals["__init__"](self, family, type, proto, fileno)
    else:
        family = socket.AF_INET if family == -1 else family
        kind = socket.SOCK_STREAM if type == -1 else type & ~_FLAGS_OF_KIND
        if family not in _FAMILIES or kind != socket.SOCK_STREAM:
            refusals.refuse("socket.socket", "a socket that is none of a stream")
        end = StreamSocket(family, max(proto, 0))
        end.seconds = socket.getdefaulttimeout()
        _attach(self, end)


def _pair(
    family: int | None = None,
    type: int = socket.SOCK_STREAM,  # noqa: A002 - so it is called
    proto: int = 0,
) -> Any:
    """`socket.socketpair`."""
    if control.current() is None or not concerns_program():
        return _originals["socketpair"](family, type, proto)
    if type & ~_FLAGS_OF_KIND != socket.SOCK_STREAM:
        refusals.refuse("socket.socketpair", "a socket that is none of a stream")
    family = _FAMILIES[-1] if family is None else family
    ends = StreamSocket(family, proto), StreamSocket(family, proto)
    connect(*ends, "pair")
    return tuple(socket.socket(family, type, proto, end.descriptor) for end in ends)


# Methods, which are given what the socket stands for


def _receive(end: StreamSocket, bufsize: int, flags: int = 0) -> bytes:
    if bufsize < 0:
        raise ValueError("negative buffersize in recv")
    if flags & ~_KNOWN_FLAGS:
        refusals.refuse("socket.recv", "receiving with these flags")
    seconds = 0.0 if flags & _AT_ONCE else end.seconds
    data = end.read(bufsize, peeks=bool(flags & _PEEK), seconds=seconds)
    while flags & _ALL and not flags & _PEEK and data and len(data) < bufsize:
        more = end.read(bufsize - len(data), seconds=seconds)
        if not more:
            break
        data += more
    return data


def _receive_into(end: StreamSocket, buffer: Any, nbytes: int = 0, flags: int = 0) -> int:
    view = memoryview(buffer).cast("B")
    data = _receive(end, nbytes or len(view), flags)
    view[: len(data)] = data
    return len(data)


def _receive_from(end: StreamSocket, bufsize: int, flags: int = 0) -> tuple[bytes, None]:
    return _receive(end, bufsize, flags), None


def _send(end: StreamSocket, data: Any, flags: int = 0) -> int:
    _refuse_flags(flags)
    view = memoryview(data).cast("B")
    if end.seconds is not None or flags & _AT_ONCE:
        return end.write(view, 0.0 if flags & _AT_ONCE else end.seconds)
    _send_all(end, data)
    return len(view)


def _refuse_flags(flags: int) -> None:
    if flags & ~_KNOWN_FLAGS:
        refusals.refuse("socket.send", "sending with these flags")


def _send_all(end: StreamSocket, data: Any, flags: int = 0) -> None:
    _refuse_flags(flags)
    end.write_all(memoryview(data), end.seconds)


def _connect(end: StreamSocket, address: Any) -> None:
    end.connect(address, end.seconds)


def _connect_ex(end: StreamSocket, address: Any) -> int:
    try:
        end.connect(address, end.seconds)
    except OSError as error:
        return error.errno or errno.EAGAIN
    return 0


def _accept(end: StreamSocket) -> tuple[int, object]:
    accepted = end.accept()
    assert isinstance(accepted.peer, StreamSocket)
    return accepted.descriptor, accepted.peer.address()


def _listen(end: StreamSocket, backlog: int = 128) -> None:
    end.listen(backlog)


def _shut_down(end: StreamSocket, how: int) -> None:
    if how not in (socket.SHUT_RD, socket.SHUT_WR, socket.SHUT_RDWR):
        raise failed(errno.EINVAL)
    end.shut_down(reads=how != socket.SHUT_WR, writes=how != socket.SHUT_RD)


def _peer_name(end: StreamSocket) -> object:
    Step(LOOK, end).now((), end.places())
    if not isinstance(end.peer, StreamSocket) or (end.is_network and end.error):
        raise failed(errno.ENOTCONN)
    return end.peer.address()


def _set_timeout(end: StreamSocket, value: float | None) -> None:
    if value is not None and value < 0:
        raise ValueError("Timeout value out of range")
    end.seconds = None if value is None else float(value)


def _set_blocking(end: StreamSocket, flag: object) -> None:
    end.seconds = None if flag else 0.0


def _option(end: StreamSocket, level: int, name: int, length: int = 0) -> int | bytes:
    known: dict[int, int] = {
        socket.SO_TYPE: socket.SOCK_STREAM,
        socket.SO_RCVBUF: _SIZE_OF_BUFFER,
        socket.SO_SNDBUF: _SIZE_OF_BUFFER,
        getattr(socket, "SO_ACCEPTCONN", -1): int(end.line is not None),
    }
    if (level, name) == (socket.SOL_SOCKET, socket.SO_ERROR):
        Step(LOOK, end).now([end.location, *end.places()])
        found, end.error = end.error, 0
        return found
    default = known.get(name, 0) if level == socket.SOL_SOCKET else 0
    stored = end.options.get((level, name), default)
    return stored.to_bytes(length, "little") if length and isinstance(stored, int) else stored


def _set_option(end: StreamSocket, level: int, name: int, value: Any, length: int = 0) -> None:
    del length
    end.options[level, name] = value


def _refused(name: str) -> Callable[..., Any]:
    def refuse(*_: Any, **__: Any) -> Any:
        refusals.refuse(f"socket.{name}", "that method of sockets")

    return refuse


_METHODS: dict[str, Callable[..., Any]] = {
    "recv": _receive,
    "recv_into": _receive_into,
    "recvfrom": _receive_from,
    "send": _send,
    "sendall": _send_all,
    "connect": _connect,
    "connect_ex": _connect_ex,
    "bind": StreamSocket.bind,
    "listen": _listen,
    "_accept": _accept,
    "shutdown": _shut_down,
    "getsockname": StreamSocket.address,
    "getpeername": _peer_name,
    "settimeout": _set_timeout,
    "gettimeout": lambda end: end.seconds,
    "setblocking": _set_blocking,
    "getblocking": lambda end: end.seconds != 0,
    "getsockopt": _option,
    "setsockopt": _set_option,
    "get_inheritable": lambda _: False,
    "set_inheritable": lambda *_: None,
}
for _name in (
    "recvfrom_into",
    "recvmsg",
    "recvmsg_into",
    "sendmsg",
    "sendto",
    "dup",
    "ioctl",
    "share",
):
    if hasattr(socket.socket, _name):
        _METHODS[_name] = _refused(_name)
_OF_CLOSED = frozenset({"gettimeout", "getblocking", "recv"})
"""What can be asked of a socket that is closed; to receive nothing is fine, too."""
_CHANGING = frozenset({"settimeout", "setblocking", "setsockopt"})
_BLOCKING = frozenset({"recv", "recv_into", "recvfrom", "send", "sendall", "connect", "_accept"})


def _method(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that works on what the socket stands for, if it is none that is real."""
    original = getattr(socket.socket, name)

    def call(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        end = end_of_socket(self)
        if end is None:
            if name in _BLOCKING and control.current() is not None and concerns_program():
                escapes.add(NOT_SEEN.format("sockets"), f"socket.{name}")
            return original(self, *args, **kwargs)
        end.enter(changes=name in _CHANGING)
        if not end.is_open and name not in _OF_CLOSED:
            raise failed(errno.EBADF)
        return method(end, *args, **kwargs)

    call.__name__ = name
    return call


# Methods of sockets that are closed, too


def _file_number(self: Any) -> int:
    end = end_of_socket(self)
    if end is None:
        return int(_originals["fileno"](self))
    end.enter()
    return end.descriptor if end.is_open else -1


def _real_close(self: Any, *args: Any) -> None:
    end = end_of_socket(self)
    if end is None:
        _originals["_real_close"](self, *args)
    else:
        with contextlib.suppress(OSError):  # that it is closed already is no mistake
            end.close()


def _detach(self: Any) -> int:
    end = end_of_socket(self)
    if end is None:
        return int(_originals["detach"](self))
    end.enter(changes=True)
    del _sockets()[id(self)]
    self._closed = True
    return end.descriptor


def _make_file(self: Any, mode: str = "r", buffering: int | None = None, **text: Any) -> Any:
    """`socket.makefile`: its buffers have locks of tasks."""
    if end_of_socket(self) is None or buffering == 0 or not set(mode) <= set("rwb"):
        return _originals["makefile"](self, mode, buffering, **text)
    raw = _originals["makefile"](self, f"{mode}b", 0)
    size = io.DEFAULT_BUFFER_SIZE if buffering is None or buffering < 0 else buffering
    binary = buffered(raw, size)
    if "b" in mode:
        return binary
    found: Any = io.TextIOWrapper(binary, **text)
    found.mode = mode
    return found


def _finalize(self: Any) -> None:
    """Close a socket that nobody has any more, as the interpreter does."""
    end = end_of_socket(self)
    if end is None:
        _originals["__del__"](self)
    else:
        _real_close(self)
        del _sockets()[id(self)]


def _send_file(self: Any, file: Any, offset: int = 0, count: int | None = None) -> int:
    name = "sendfile" if end_of_socket(self) is None else "_sendfile_use_send"
    return int(_originals[name](self, file, offset, count))


def _attribute(name: str, value: Callable[[StreamSocket], Any]) -> property:
    original = getattr(socket.socket, name)

    def get(self: Any) -> Any:
        end = end_of_socket(self)
        return original.__get__(self) if end is None else value(end)

    return property(get)


def _no_parts(value: Any, label: str) -> Children:
    """Walk nothing but what a subclass adds: what a socket leads to is no object of the test."""
    for name, item in list(getattr(value, "__dict__", {}).items()):
        yield item, f"{label}.{name}"


register(socket.socket, FacetTable, _no_parts)

_ATTRIBUTES: dict[str, Any] = {
    "__init__": _init,
    "fileno": _file_number,
    "_real_close": _real_close,
    "detach": _detach,
    "sendfile": _send_file,
    "makefile": _make_file,
    "__del__": _finalize,
}
_originals.update(
    {name: getattr(socket.socket, name) for name in (*_ATTRIBUTES, "_sendfile_use_send")}
)
_originals["socketpair"] = socket.socketpair
PATCHES: Patches = Patches(
    attributes=[
        *((socket.socket, name, method) for name, method in _ATTRIBUTES.items()),
        *((socket.socket, name, _method(name, method)) for name, method in _METHODS.items()),
        (
            socket.socket,
            "family",
            _attribute("family", lambda end: socket.AddressFamily(end.family)),
        ),
        (socket.socket, "type", _attribute("type", lambda _: socket.SOCK_STREAM)),
        (socket.socket, "proto", _attribute("proto", lambda end: end.protocol)),
        (socket.socket, "timeout", _attribute("timeout", lambda end: end.seconds)),
    ],
    references=[(socket.socketpair, _pair)],
)
