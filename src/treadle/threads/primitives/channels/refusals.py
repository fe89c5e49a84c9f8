"""What sockets and pipes can do that is not modelled: it is refused at once, in words."""

from __future__ import annotations

import _socket
from typing import NoReturn

from treadle.core.errors import CannotBeExplored
from treadle.core.frames import place_of_frame
from treadle.core.words import place_in_words
from treadle.python.runtime import control
from treadle.python.runtime.escapes import called_by_user

_WHAT_WORKS = (
    "sockets of streams and pipes are explored if both ends are in the test, with blocking calls, "
    "time-outs, select and selectors; give the test a stand-in for the rest"
)
_SECONDS = 0.2


def refuse(name: str, what: str) -> NoReturn:
    """End the exploration: the test does something that is not modelled."""
    program = control.the_program()
    called, frame = called_by_user(name) or (f"{name}()", None)
    where = f" at {place_in_words(place_of_frame(frame))}" if frame is not None else ""
    error = CannotBeExplored(
        f"{program.name} cannot be explored: it calls {called}{where}, and {what} is not modelled; "
        f"{_WHAT_WORKS}"
    )
    program.scheduler.fatal = error  # so that it is raised even if the test catches it
    raise error


def refuse_if_real(port: int) -> None:
    """Refuse to connect to a server outside of the test, if there is one at a port."""
    probe = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    try:
        probe.settimeout(_SECONDS)
        is_there = port > 0 and probe.connect_ex(("127.0.0.1", port)) == 0
    finally:
        probe.close()
    if is_there:
        refuse("socket.connect", f"a server outside of the test (port {port})")
