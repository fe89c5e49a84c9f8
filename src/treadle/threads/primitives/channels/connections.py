"""`multiprocessing.Pipe` between threads: its connections work on descriptors of ends in memory.

They close their descriptor when they are collected. One that is collected after its execution must
leave that alone: by then, the descriptor is none.
"""

from __future__ import annotations

import functools
from multiprocessing import connection
from typing import Any

from treadle.python.runtime import control
from treadle.threads.primitives.channels.ends import is_descriptor
from treadle.threads.primitives.patches import Patches

_Base: Any = connection._ConnectionBase
_original_init: Any = _Base.__init__


def _init(self: Any, handle: int, readable: bool = True, writable: bool = True) -> None:
    """`multiprocessing.connection.Connection.__init__`."""
    _original_init(self, handle, readable, writable)
    if is_descriptor(handle):
        kind: Any = type(self)
        self.__class__ = _left_alone(kind)


@functools.cache
def _left_alone(kind: Any) -> type:
    """Return a class of connections that do nothing when they are collected too late."""
    same = {"__module__": kind.__module__, "__qualname__": kind.__qualname__}

    def finalize(self: Any) -> None:
        if control.current() is not None:
            kind.__del__(self)

    return type(kind.__name__, (kind,), {**same, "__del__": finalize})


PATCHES: Patches = Patches([(_Base, "__init__", _init)])
