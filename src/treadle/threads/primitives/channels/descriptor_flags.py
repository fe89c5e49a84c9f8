"""`fcntl` on pipes and sockets in memory: whether they block; the rest is refused."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from typing import Any

from treadle.python.accesses.outside_modules import look_outside
from treadle.threads.primitives.channels import refusals
from treadle.threads.primitives.channels.ends import End, end_of
from treadle.threads.primitives.patches import Patches


def _control(end: End, command: int, argument: int = 0) -> int:
    """`fcntl.fcntl`."""
    end.enter(changes=command == fcntl.F_SETFL)
    if command == fcntl.F_GETFL:
        both = end.incoming is not None and end.outgoing is not None
        direction = os.O_RDWR if both else os.O_RDONLY if end.incoming else os.O_WRONLY
        return direction | (os.O_NONBLOCK if end.seconds == 0 else 0)
    if command == fcntl.F_SETFL:
        end.seconds = 0.0 if argument & os.O_NONBLOCK else None
    elif command == fcntl.F_GETFD:
        return fcntl.FD_CLOEXEC
    elif command != fcntl.F_SETFD:
        refusals.refuse("fcntl.fcntl", "that command of `fcntl`")
    return 0


def _refused(name: str) -> Callable[..., Any]:
    def refuse(*_: Any) -> Any:
        refusals.refuse(f"fcntl.{name}", f"`fcntl.{name}` of a pipe or a socket")

    return refuse


def _on_end(original: Any, model: Callable[..., Any]) -> Callable[..., Any]:
    """Stand for a function on descriptors and objects that have one."""

    def call(fd: Any, *args: Any) -> Any:
        number = fd if isinstance(fd, int) else fd.fileno()
        end = end_of(number)
        if end is not None:
            return model(end, *args)
        look_outside("fcntl", original.__name__)
        return original(fd, *args)

    return call


PATCHES: Patches = Patches(
    references=[
        (fcntl.fcntl, _on_end(fcntl.fcntl, _control)),
        *((getattr(fcntl, name), _on_end(getattr(fcntl, name), _refused(name)))
          for name in ("ioctl", "flock", "lockf")),
    ]
)  # fmt: skip
