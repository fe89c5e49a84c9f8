"""`select.select` and `selectors` on ends in memory: wait until one of several can go on."""

from __future__ import annotations

import select
import selectors
import sys
from collections.abc import Iterable
from typing import Any

from treadle.python.runtime import control
from treadle.python.runtime.deeds import Deed
from treadle.threads.primitives import clock
from treadle.threads.primitives.channels import refusals
from treadle.threads.primitives.channels.channel import Step
from treadle.threads.primitives.channels.ends import End, end_of
from treadle.threads.primitives.outside.world import concerns_program
from treadle.threads.primitives.patches import Patches

_SELECT = Deed("select among", lambda ends: ", ".join(end.label for end in ends))
_original_select: Any = select.select


def _number(one: Any) -> int:
    """Return the descriptor of something that is selected."""
    number: int = one if isinstance(one, int) else one.fileno()
    if number < 0:
        raise ValueError(f"file descriptor cannot be a negative integer ({number})")
    return number


def _ends(several: Iterable[Any]) -> list[tuple[Any, End | None]]:
    return [(one, end_of(_number(one))) for one in several]


def _select(rlist: Any, wlist: Any, xlist: Any, timeout: float | None = None, /) -> Any:
    """`select.select`."""
    if control.current() is None:
        return _original_select(rlist, wlist, xlist, timeout)
    rlist, wlist, xlist = list(rlist), list(wlist), list(xlist)
    reading, writing = _ends(rlist), _ends(wlist)
    known = [end for _, end in (*reading, *writing, *_ends(xlist)) if end is not None]
    if not rlist and not wlist and not xlist and timeout is not None:
        clock.sleep(timeout)
        return [], [], []
    if not known and not concerns_program():
        return _original_select(rlist, wlist, xlist, timeout)
    if len(known) < len(rlist) + len(wlist) + len(xlist):
        refusals.refuse("select.select", "waiting for something real")

    def ready() -> tuple[list[Any], list[Any]]:
        return (
            [one for one, end in reading if end is not None and end.can_be_read],
            [one for one, end in writing if end is not None and end.can_be_written],
        )

    labels = ", ".join(dict.fromkeys(end.label for end in known))
    places = dict.fromkeys(place for end in known for place in end.places())
    seconds = None if timeout is None else max(timeout, 0.0)
    Step(_SELECT, known).when(lambda: any(ready()), f"one of {labels}", places, (), seconds)
    return (*ready(), [])


def _refusing(original: Any, name: str) -> Any:
    def make(*args: Any, **kwargs: Any) -> Any:
        if control.current() is not None and concerns_program():
            refusals.refuse(name, f"`{name}`")
        return original(*args, **kwargs)

    return make


def _references() -> list[tuple[Any, Any]]:
    found: list[tuple[Any, Any]] = [(_original_select, _select)]
    for name in ("poll", "epoll", "devpoll", "kqueue"):
        if hasattr(select, name):
            found.append(
                (getattr(select, name), _refusing(getattr(select, name), f"select.{name}"))
            )
    for name in ("EpollSelector", "PollSelector", "DevpollSelector", "KqueueSelector"):
        if hasattr(selectors, name):
            found.append((getattr(selectors, name), selectors.SelectSelector))
    return found


PATCHES: Patches = Patches(references=_references())


def of_ssl() -> Patches:
    """Return what refuses to encrypt what is in memory, once `ssl` is loaded."""
    context = sys.modules["ssl"].SSLContext
    original = context.wrap_socket
    return Patches([(context, "wrap_socket", _refusing(original, "ssl.SSLContext.wrap_socket"))])
