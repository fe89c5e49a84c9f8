"""`os.pipe` under control, and the functions of `os` on descriptors of pipes and sockets."""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Callable
from typing import Any

from treadle.python.accesses.known_functions import FUNCTIONS
from treadle.python.runtime import control
from treadle.threads.primitives.channels import refusals
from treadle.threads.primitives.channels.buffered import buffered
from treadle.threads.primitives.channels.channel import Channel
from treadle.threads.primitives.channels.ends import End, end_at, end_of, failed, is_descriptor
from treadle.threads.primitives.outside import file_objects, os_functions
from treadle.threads.primitives.outside.world import concerns_program
from treadle.threads.primitives.patches import Patches


def _pipe(flags: int = 0) -> tuple[int, int]:
    """`os.pipe`, `os.pipe2`."""
    if control.current() is None or not concerns_program():
        return os.pipe2(flags) if flags else _original_pipe()
    reader, writer = End("pipe"), End("pipe")
    reader.incoming = writer.outgoing = Channel("pipe")
    reader.peer, writer.peer = writer, reader
    if flags & os.O_NONBLOCK:
        reader.seconds = writer.seconds = 0.0
    return reader.descriptor, writer.descriptor


def _read(end: End, length: int) -> bytes:
    return end.read(length, seconds=end.seconds)


def _write(end: End, data: Any) -> int:
    view = memoryview(data).cast("B")
    if end.seconds is not None:
        return end.write(view, end.seconds)
    end.write_all(view)
    return len(view)


def _set_blocking(end: End, blocking: object) -> None:
    end.seconds = None if blocking else 0.0


_MODELS: dict[str, Callable[..., Any]] = {
    "read": _read,
    "write": _write,
    "close": End.close,
    "set_blocking": _set_blocking,
    "get_blocking": lambda end: end.seconds != 0,
    "isatty": lambda _: False,
    "get_inheritable": lambda _: False,
    "set_inheritable": lambda *_: None,
}
_REFUSED = ("dup", "dup2", "readv", "writev", "fstat", "splice", "sendfile")


def _on_end(name: str, model: Callable[..., Any] | None, otherwise: Any) -> Callable[..., Any]:
    """Stand for a function whose first argument is a descriptor; `otherwise` is for real ones."""

    def call(*args: Any, **kwargs: Any) -> Any:
        descriptor = args[0] if args else kwargs.get("fd")
        if not is_descriptor(descriptor):
            return otherwise(*args, **kwargs)
        if control.current() is None and name == "close":
            return None  # a finalizer, after the execution
        end = end_at(descriptor)
        if end is None:
            raise failed(errno.EBADF)
        if model is None:
            refusals.refuse(f"os.{name}", f"`os.{name}` of a pipe or a socket")
        if name != "close":
            end.enter(changes=name == "set_blocking")
            if not end.is_open:
                raise failed(errno.EBADF)
        kwargs.pop("fd", None)
        return model(end, *args[1:], **kwargs)

    return call


class _File(io.RawIOBase):
    """What `open` makes of a descriptor of a pipe."""

    def __init__(self, end: End, mode: str, closefd: bool) -> None:
        self.name = end.descriptor
        self.mode = mode
        self._end = end
        self._closes = closefd

    def fileno(self) -> int:
        """Return the descriptor."""
        return self._end.descriptor

    def readable(self) -> bool:
        """Tell whether it was opened to be read."""
        return "r" in str(self.mode)

    def writable(self) -> bool:
        """Tell whether it was opened to be written."""
        return "r" not in str(self.mode)

    def readinto(self, buffer: Any) -> int | None:
        """Read what there is."""
        view = memoryview(buffer).cast("B")
        try:
            self._end.enter()
            data = _read(self._end, len(view))
        except BlockingIOError:
            return None
        view[: len(data)] = data
        return len(data)

    def write(self, data: Any) -> int | None:
        """Write some of it."""
        try:
            self._end.enter()
            return _write(self._end, data)
        except BlockingIOError:
            return None

    def close(self) -> None:
        """Close it, and the descriptor."""
        if not self.closed:
            super().close()
            if self._closes and self._end.is_open and control.current() is not None:
                self._end.close()


def _open(
    file: Any,
    mode: str = "r",
    buffering: int = -1,
    encoding: str | None = None,
    errors: str | None = None,
    newline: str | None = None,
    closefd: bool = True,
    opener: Any = None,
) -> Any:
    """Stand for `open`."""
    end = end_of(file)
    if end is None:
        return _open_file(file, mode, buffering, encoding, errors, newline, closefd, opener)
    raw = _File(end, mode.replace("t", ""), closefd)
    if buffering == 0:
        return raw
    binary = buffered(raw, buffering if buffering > 1 else io.DEFAULT_BUFFER_SIZE)
    if "b" in mode:
        return binary
    return io.TextIOWrapper(binary, encoding, errors, newline, line_buffering=buffering == 1)


_original_pipe = os.pipe
_open_file = dict(file_objects.PATCHES.references)[io.open]


def _references() -> list[tuple[Any, Any]]:
    others = {id(old): new for old, new in os_functions.PATCHES.references}
    found: list[tuple[Any, Any]] = [(io.open, _open), (_original_pipe, _pipe)]
    if hasattr(os, "pipe2"):
        found.append((os.pipe2, _pipe))
    for name in (*_MODELS, *_REFUSED):
        original = getattr(os, name, None)
        if original is not None:
            otherwise = others.get(id(original), original)
            found.append((original, _on_end(name, _MODELS.get(name), otherwise)))
    return found


PATCHES: Patches = Patches(references=_references())
FUNCTIONS.update(PATCHES.references)  # somebody may have kept an original
