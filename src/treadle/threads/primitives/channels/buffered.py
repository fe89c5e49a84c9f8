"""Buffered files of pipes and sockets, in C: one thread at a time is inside of one.

They have locks of their own, which tell threads apart as the interpreter does. For it all tasks are
one thread, so a second one would be told that it calls a method inside of itself; it has to wait.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

from treadle.python.runtime import control, slots
from treadle.threads.primitives.locks import RLock

_READING = ("read", "read1", "readinto", "readinto1", "readline", "peek", "__next__")
_WRITING = ("write", "flush", "truncate")
_BOTH = ("close", "seek", "tell", "detach")


def _locked(method: Callable[..., Any], name: str) -> Callable[..., Any]:
    def call(self: Any, *args: Any) -> Any:
        if control.current() is None:  # a finalizer, after the execution
            return method(self, *args)
        with getattr(self, name):
            return method(self, *args)

    call.__name__ = method.__name__
    return call


def _with_lock(kind: Any, *, is_pair: bool = False) -> Any:
    """Return a class like one of `io`, with a lock; a pair has one for each direction."""
    reading, writing = ("reading", "writing") if is_pair else ("lock", "lock")
    locks = dict.fromkeys(_READING, reading) | dict.fromkeys((*_WRITING, *_BOTH), writing)

    def begin(self: Any, *args: Any) -> None:
        kind.__init__(self, *args)
        for name in {reading: None, writing: None}:
            lock = RLock()
            setattr(self, name, lock)
            slots.hand_out(lock, f"{name} of a file")  # a walk does not look into what is in C

    methods = {name: _locked(getattr(kind, name), lock) for name, lock in locks.items()
               if hasattr(kind, name)}  # fmt: skip
    return type(kind.__name__, (kind,), {**methods, "__init__": begin})


_Reader = _with_lock(io.BufferedReader)
_Writer = _with_lock(io.BufferedWriter)
_Pair = _with_lock(io.BufferedRWPair, is_pair=True)


def buffered(raw: io.RawIOBase, size: int) -> Any:
    """Return a buffer for a raw file, to read, to write, or both."""
    if raw.readable() and raw.writable():
        return _Pair(raw, raw, size)
    return _Reader(raw, size) if raw.readable() else _Writer(raw, size)
