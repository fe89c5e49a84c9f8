"""A front end in small, for analyses that know none: its tasks run to their first wait."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

import greenlet

from treadle.analyses.known import Known, methods_of
from treadle.analyses.lower import Lowering
from treadle.analyses.segments import Frame, Segments


class Sender:
    """What `x.m` is for an actor x."""

    def __init__(self, actor: Any, function: Callable[..., Any]) -> None:
        self.actor, self.function = actor, function

    def __call__(self, *arguments: Any) -> Any:
        return self.function(self.actor, *arguments)

    def send(self, *arguments: Any) -> Future:
        return Future()


class Method:
    """A method of an actor, as a front end keeps it."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __get__(self, actor: Any, owner: type | None = None) -> Any:
        return self if actor is None else Sender(actor, self.function)


class Actor:
    """The base of all actors."""

    def __init_subclass__(cls) -> None:
        for name, value in list(vars(cls).items()):
            if isinstance(value, FunctionType) and not name.startswith("__"):
                setattr(cls, name, Method(value))

    @classmethod
    def local(cls, *arguments: Any) -> Any:
        return cls(*arguments)


class Future:
    """A future that never ends: who waits for it stands there."""

    def __await__(self) -> Any:
        return iter(self.get() or ())

    def get(self) -> Any:
        return greenlet.getcurrent().parent.switch()

    def done(self) -> Future:
        return self


def until(condition: Callable[[], Any]) -> Future:
    del condition
    return Future()


def pause() -> Future:
    return Future()


KNOWN = Known(actor=Actor, until=until, pause=pause)


def segments(*classes: type) -> Segments:
    return Segments(KNOWN, classes)


def lowered(function: Any, *classes: type) -> list[str]:
    """Return the instructions of a function or method, in words."""
    known = [methods_of(cls, Actor) for cls in classes]
    plain = getattr(function, "function", function)
    method = Lowering(KNOWN, frozenset().union(*known)).method(
        plain, is_method=plain is not function
    )
    return [line[6:] for line in str(method).splitlines()[1:]]


def standing(actor: Any, method: str, *arguments: Any) -> tuple[Frame, ...]:
    """Run a task to its first wait; return its frames, the outermost first."""
    task = greenlet.greenlet(_run)
    task.switch(vars(type(actor))[method].function, actor, *arguments)
    frame, found = task.gr_frame, []
    while frame is not None:
        if frame.f_code.co_filename != __file__:
            this = frame.f_locals.get("self")
            found.append(Frame(frame.f_code, frame.f_lasti, this and type(this)))
        frame = frame.f_back
    return tuple(reversed(found))


def _run(function: Any, *arguments: Any) -> None:
    started = function(*arguments)
    if inspect.iscoroutine(started):
        with contextlib.suppress(StopIteration):
            started.send(None)
