"""Code that is not instrumented and calls back: what it does when it goes on.

C code and functions of libraries are announced as one step before they run. If they call code under
test, as `sort(key=...)` and `x in items` do, others may run meanwhile; and when they go on, they
touch shared objects again, unseen. So code under test that returns (or yields) asks here whom it
returns to (`leave`). If that is code in the middle of a call, what that touches is announced
*again*, as a step of its own.

There are two sorts of such code: a function that one of ours has called (`call`), and the
instruction at which code under test stands (`expect`). Which one it is, is seen from the frames.

A library's function may also go on without anybody noticing: after a primitive, or by an exception.
Then the step that its callback ended with is said to touch all that the function may touch, too.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from treadle.core.events import Codes
from treadle.core.frames import is_own
from treadle.python.runtime import control, notes
from treadle.python.runtime.operation import Caller
from treadle.python.runtime.task import let_go_of_calls, set_callers
from treadle.python.sharing.namespaces import instrumented

Again = Callable[[], None]
"""Announces once more what code touches that is in the middle of a call."""
Touched = Callable[[], Codes]
"""Returns what that is."""

_NEAR = 40
"""Bytes between the call of a hook and the end of the instruction that it was called for."""


class _Call(Caller):
    """A function that is not instrumented, and has not returned yet."""

    __slots__ = ("_again", "_called", "_frame", "_touched")

    def __init__(self, frame: FrameType, again: Again, touched: Touched) -> None:
        self._frame = frame
        self._again = again
        self._touched = touched
        self._called: FrameType | None = None
        """The outermost call of code under test, when the present step began."""

    def is_at(self, frames: list[FrameType]) -> bool:
        """Tell whether it is this that code under test returns to."""
        return self._frame in frames

    def is_over(self) -> bool:
        """Who made it says when it is over."""
        return False

    def go_on(self) -> None:
        """Code under test is about to return to it."""
        self._again()

    def end_step(self) -> None:
        """The task is about to begin another step: look whether the function went on in this."""
        called = self._outermost()
        if called is None or called is not self._called:
            self.went_on()
        self._called = called

    def went_on(self) -> None:
        """The function may have touched what it can reach, in the present step."""
        control.revise(self._touched())

    def _outermost(self) -> FrameType | None:
        """Return the frame of what the function called: code under test, or a primitive."""
        found = None
        for frame in _stack(sys._getframe(2)):
            if frame is self._frame:
                break
            if id(frame.f_globals) in instrumented:
                found = frame
        return found


class _Instruction(Caller):
    """An instruction of code under test that was announced, or will be by what it calls first."""

    __slots__ = ("_again", "_code", "_frame", "_is_told", "_place", "_touched")

    def __init__(self, frame: FrameType, again: Again, touched: Touched, is_told: bool) -> None:
        self._frame = id(frame)  # to keep it would keep all its variables alive
        self._code = frame.f_code
        self._place = frame.f_lasti
        self._again = again
        self._touched = touched
        self._is_told = is_told
        """Whether nothing is to be added once it is over."""

    def is_at(self, frames: list[FrameType]) -> bool:
        """Tell whether it is this that code under test returns to."""
        return bool(frames) and self._is_in(frames[-1])

    def _is_in(self, frame: FrameType) -> bool:
        return (
            id(frame) == self._frame
            and frame.f_code is self._code
            and 0 <= frame.f_lasti - self._place <= _NEAR
        )

    def is_over(self) -> bool:
        """Tell whether the code under test has left the instruction."""
        return not any(map(self._is_in, _stack(sys._getframe(1))))

    def go_on(self) -> None:
        """Code under test is about to return to it."""
        self._again()

    def end_step(self) -> None:
        """Once it is over the present step has touched what it touches.

        That is what it did if it called nothing after all, or what it touches only now: an
        attribute that it has made.
        """
        if not self._is_told and self.is_over():
            self._is_told = True
            control.revise(self._touched())


def _stack(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _is_under_test(frame: FrameType) -> bool:
    """Tell whether a frame is of code under test; Treadle's own is trusted like that."""
    return id(frame.f_globals) in instrumented and not is_own(frame.f_code.co_filename)


def _up_to_code_under_test(frame: FrameType | None) -> list[FrameType]:
    """Return a frame and those behind it, up to the first of code under test."""
    found = []
    for one in _stack(frame):
        found.append(one)
        if _is_under_test(one):
            break
    return found


def leave() -> None:
    """Before code under test returns or yields, while something waits for that."""
    me = control.current()
    if me is None or not me.callers:
        return
    frames = _up_to_code_under_test(sys._getframe(1).f_back)
    for caller in reversed(me.callers):
        if caller.is_at(frames):
            caller.go_on()
            return
    let_go_of_calls(me)


def expect(again: Again, touched: Touched, *, is_told: bool = True) -> None:
    """Take note that the instruction at which code under test stands may call back.

    If not all is told that it touches, it is asked for once more when it is over.
    """
    me = control.current()
    if me is None:
        return
    frame = _up_to_code_under_test(sys._getframe(1))[-1]
    let_go_of_calls(me)
    before = [caller for caller in me.callers if not caller.is_at([frame])]
    set_callers(me, (*before, _Instruction(frame, again, touched, is_told)))


def forget() -> None:
    """Take note that the instruction at which code under test stands does not touch it again."""
    me = control.current()
    if me is not None:
        frame = _up_to_code_under_test(sys._getframe(1))[-1]
        set_callers(me, tuple(one for one in me.callers if not one.is_at([frame])))


_IN_C = (types.BuiltinFunctionType, types.MethodWrapperType)


def _left_callback(error: Exception) -> bool:
    """Tell whether an exception was raised by code under test that C code had called."""
    trace = error.__traceback__ and error.__traceback__.tb_next
    while trace is not None:
        if _is_under_test(trace.tb_frame):
            return True
        trace = trace.tb_next
    return False


def _say_that_nobody_comes_between(function: Any) -> None:
    """Note what C code did after an exception left a function that it had called."""
    notes.remark(
        "exceptions that leave callbacks",
        f"{type(function.__self__).__module__.lstrip('_')}.{function.__qualname__}",
        "an exception left what {} had called: what C code did after that belongs to the last step "
        "of the function, so nobody is seen to come in between",
    )


def call(
    again: Again, touched: Touched, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Call a function that was announced."""
    me = control.current()
    if me is None:
        return function(*args, **kwargs)
    this = _Call(sys._getframe(), again, touched)
    before = me.callers
    set_callers(me, (*before, this))
    try:
        return function(*args, **kwargs)
    except Exception as error:
        if issubclass(type(function), _IN_C) and _left_callback(error):
            _say_that_nobody_comes_between(function)
        raise
    finally:
        set_callers(me, before)
        if not control.the_program().scheduler.aborting:
            this.went_on()
        del this  # it has hold of this frame, and so of all arguments
