"""What other threads see of an event loop: whether it is closed, whether it runs, how it is set.

asyncio itself asks for that all the time, in the loop's own thread. So these are locations only if
somebody else asks: code under test, or a thread that gives the loop something to call. That is
learned, like what happens to data.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FrameType
from typing import Any

from treadle.core.events import Mode
from treadle.core.frames import callers_frame
from treadle.python.runtime import control, slots
from treadle.threads.primitives.facets import act, register_primitive, table_of

OPEN, RUNNING, SETTINGS = "open", "running", "settings"
"""What there is to see."""
_SORT = "event loop"
SETTERS = ("set_debug", "set_task_factory", "set_exception_handler", "set_default_executor")
GETTERS = ("get_debug", "get_task_factory", "get_exception_handler")


class LoopState:
    """The locations of a loop."""

    def __init__(self) -> None:
        control.publish(self, "event loop")

    def look(self, what: str) -> None:
        """Somebody who may be in another thread looks."""
        if has_threads() and control.the_program().shared.note(_SORT, what):
            self._access(Mode.READ, what)

    def change(self, what: str) -> None:
        """What others may look at is about to be another thing."""
        if has_threads() and control.the_program().shared.happens(_SORT, what):
            self._access(Mode.WRITE, what)

    def _access(self, mode: Mode, what: str) -> None:
        me, table = control.current(), table_of(id(self))
        if me is not None and table is not None:
            codes = (table.code(mode, what, f" {what}"),)
            act(control.announce(codes), codes)


def has_threads() -> bool:
    """Tell whether the test has started threads, and the execution goes on."""
    if slots.announce is slots.nothing or control.current() is None:
        return False
    return not control.the_program().scheduler.aborting


def is_asked_by_asyncio() -> bool:
    """Tell whether the caller of a loop's method is of asyncio itself."""
    frame: FrameType = callers_frame()
    return str(frame.f_globals.get("__name__")).partition(".")[0] == "asyncio"


def looking(original: Callable[..., Any], what: str) -> Callable[..., Any]:
    """Return a method that looks at a loop, if it is not asyncio that asks."""

    def call(self: Any, *args: Any) -> Any:
        if not is_asked_by_asyncio():
            self.state.look(what)
        return original(self, *args)

    return call


def changing(original: Callable[..., Any], what: str) -> Callable[..., Any]:
    """Return a method that changes what others may see of a loop."""

    def call(self: Any, *args: Any) -> Any:
        self.state.change(what)
        return original(self, *args)

    return call


register_primitive(LoopState, frozenset())
