"""Code that is not instrumented and calls back: what it does when it goes on.

A function of a library is announced as one step before it is called. If it calls code under test
or a primitive, those take steps of their own, and what the function does afterwards belongs to the
last of these. So that step is said to touch all that the function may touch, as well.

Whether the function went on between two steps is seen from the frames: then it is no longer the
same call of code under test that is running.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from treadle.python.accesses.uninstrumented import Reach
from treadle.python.runtime import control, slots
from treadle.python.runtime.operation import Caller
from treadle.python.sharing.namespaces import instrumented

Find = Callable[[], Reach]


class _Call(Caller):
    """A function that is not instrumented, and has not returned yet."""

    __slots__ = ("_called", "_find", "_frame")

    def __init__(self, frame: FrameType, find: Find) -> None:
        self._frame = frame
        self._find = find
        self._called: FrameType | None = None
        """The outermost call of code under test, when the present step began."""

    def end_step(self) -> None:
        """The task is about to begin another step: look whether the function went on in this."""
        called = self._outermost()
        if called is None or called is not self._called:
            self.goes_on()
        self._called = called

    def goes_on(self) -> None:
        """The function may have touched what it can reach, in the present step."""
        reach = self._find()
        if reach.missing:
            for value, label in reach.missing:
                slots.hand_out(value, label)
            reach = self._find()
        control.revise(reach.codes)

    def _outermost(self) -> FrameType | None:
        """Return the frame of the code under test that the function called, if it is running."""
        found = None
        frame: FrameType | None = sys._getframe(2)
        while frame is not None and frame is not self._frame:
            if id(frame.f_globals) in instrumented:
                found = frame
            frame = frame.f_back
        return found


def call(find: Find, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function that was announced, and that may touch what `find` finds."""
    me = control.current()
    if me is None:
        return function(*args, **kwargs)
    this = _Call(sys._getframe(), find)
    before = me.callers
    me.callers = (*before, this)
    try:
        return function(*args, **kwargs)
    finally:
        me.callers = before
        if not control.the_program().scheduler.aborting:
            this.goes_on()
