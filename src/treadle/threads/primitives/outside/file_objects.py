"""Files that are open: reading and writing them are steps on the content of the file.

While a test is explored, `open` returns objects of these classes. Each is a class of `io` whose
methods announce what they touch. One call is one step, as it would be under the lock that such an
object has. What is buffered may reach the file at any writing call, at the latest when the file
is closed: so each of them is taken to write the content.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable
from typing import Any

from treadle.core.events import Codes
from treadle.python.accesses.known_functions import FUNCTIONS
from treadle.python.accesses.uninstrumented import state_of
from treadle.python.runtime.task import Task
from treadle.python.sharing.published import published
from treadle.threads.primitives.outside import descriptors
from treadle.threads.primitives.outside.os_functions import (
    APPEND,
    BUSY,
    LOOK,
    MAKE,
    REPLACE,
    Use,
    Uses,
    entering,
    opened,
    taken,
    used,
)
from treadle.threads.primitives.outside.paths import Place, is_regular
from treadle.threads.primitives.patches import Patches

_READS = ("read", "read1", "readinto", "readinto1", "readall", "readline", "readlines", "peek",
          "__next__")  # fmt: skip
_WRITES = ("write", "truncate")
_MOVES = ("seek", "tell", "flush", "close", "detach")
"""Methods that write what is buffered, if anything is."""
_ENDS = ("close", "detach")
"""Methods after which the descriptor is not this file's any more."""


def _codes(file: Any, writes: bool, place: Place | None) -> Codes:
    """Return what a method touches: the content, and the object itself if it is shared."""
    table = published.get(id(file))
    own = () if table is None else (state_of(table),)
    if place is None:
        return own
    return (*own, *(place.content_written() if writes else place.content_read()))


def _method(name: str, original: Any, writes: Callable[[Any], bool]) -> Any:
    """Return a method that announces what it does."""

    def call(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        me = entering()
        if me is None or self.closed:
            return original(self, *args, **kwargs)
        place, descriptor = _place_of(me, self)
        changes, ends = writes(self), name in _ENDS

        def find() -> Codes:
            open_or_not = descriptors.codes_of(me, descriptor, changes=ends)
            return (*_codes(self, changes, place), *open_or_not)

        return taken(me, find, lambda: original(self, *args, **kwargs))

    call.__name__ = name
    return call


def _place_of(me: Task, file: Any) -> tuple[Place | None, int | None]:
    """Return where a file is, and its descriptor; None for what is no file on a disk."""
    me.scratch[BUSY] = True
    try:
        descriptor = file.fileno()
        return (Place.of(descriptor) if is_regular(descriptor) else None), descriptor
    except (OSError, ValueError):
        return None, None
    finally:
        me.scratch.pop(BUSY, None)


def _may_write(file: Any) -> bool:
    return bool(file.writable())


def _write_lines(self: Any, lines: Iterable[Any], /) -> None:
    """Write lines one by one, as they come."""
    for line in lines:
        self.write(line)


def _announcing(kind: Any) -> Any:
    """Return a class of `io` whose methods announce what they do."""
    methods: dict[str, Any] = {"writelines": _write_lines}
    for names, writes in (
        (_READS, lambda _: False),
        (_WRITES, lambda _: True),
        (_MOVES, _may_write),
    ):
        for name in names:
            if hasattr(kind, name):
                methods[name] = _method(name, getattr(kind, name), writes)
    return type(kind.__name__, (kind,), {**methods, "__module__": "_io"})


RawFile: Any = _announcing(io.FileIO)
Reader: Any = _announcing(io.BufferedReader)
Writer: Any = _announcing(io.BufferedWriter)
Updater: Any = _announcing(io.BufferedRandom)
Text: Any = _announcing(io.TextIOWrapper)


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
    me = entering()
    options = (buffering, encoding, errors, newline, closefd, opener)
    is_plain_binary = encoding is None and errors is None and newline is None
    if me is None or not _is_sound(file, mode) or ("b" in mode and not is_plain_binary):
        return _original(file, mode, *options)
    raw_mode = mode.replace("t", "").replace("b", "")

    def find_uses() -> Uses:
        place = None if isinstance(file, int) else Place.of(file)
        return [] if place is None else [(place, _use_of(mode))]

    def make() -> Any:
        return _layered(RawFile(file, raw_mode, closefd, opener), mode, options)

    def act() -> Any:
        made = make()
        place = Place.of(made.fileno())
        if place is not None and not isinstance(file, int):
            descriptors.opened(me, made.fileno())
            opened(place, made.fileno())
        return made

    if opener is not None:  # it takes the steps, and what comes from it is a descriptor
        return make()
    return used(me, find_uses, act)


def _is_sound(file: Any, mode: Any) -> bool:
    """Tell whether the arguments are such that the original would not refuse them at once."""
    return (
        isinstance(mode, str)
        and isinstance(file, str | bytes | int | os.PathLike)
        and set(mode) <= set("rwaxbt+")
        and sum(mode.count(letter) for letter in "rwax") == 1
        and not ("b" in mode and "t" in mode)
    )


def _use_of(mode: str) -> Use:
    return {"r": LOOK, "w": REPLACE, "a": APPEND, "x": MAKE}[next(c for c in mode if c in "rwax")]


def _layered(raw: Any, mode: str, options: tuple[Any, ...]) -> Any:
    """Put the layers on a file that `open` puts there, with the checks that it makes."""
    buffering, encoding, errors, newline, closefd, _ = options
    try:
        is_line = buffering == 1 or (buffering < 0 and raw.isatty())
        size = _size_of_buffer(raw) if buffering < 0 or is_line else buffering
        if size == 0:
            if "b" in mode:
                return raw
            raise ValueError("can't have unbuffered text I/O")
        kind = Updater if "+" in mode else Reader if "r" in mode else Writer
        buffered = kind(raw, size)
        if "b" in mode:
            return buffered
        text = Text(buffered, encoding, errors, newline, is_line)
        text.mode = mode
    except BaseException:
        if closefd:
            raw.close()
        raise
    return text


def _size_of_buffer(raw: Any) -> int:
    try:
        size = _fstat(raw.fileno()).st_blksize
    except (OSError, AttributeError):
        return io.DEFAULT_BUFFER_SIZE
    return size if size > 1 else io.DEFAULT_BUFFER_SIZE


_original: Any = io.open
_fstat = os.fstat

PATCHES: Patches = Patches(references=[(_original, _open)])
FUNCTIONS.update(PATCHES.references)  # somebody may have kept an original
