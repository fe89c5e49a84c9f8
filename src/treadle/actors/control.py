"""Who runs now: the task whose macro-step is under way, if there is one.

What users call (`x.m.send()`, `f.get()`, `C()`) finds the run through here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from treadle.core.errors import TreadleError
from treadle.core.frames import is_own, users_frame
from treadle.core.words import place_in_words

if TYPE_CHECKING:
    from treadle.actors.actor import Actor
    from treadle.actors.future import Future
    from treadle.actors.programs import Program
    from treadle.actors.task import Task

program: Program | None = None
"""The program that is being explored."""
current: Task | None = None
"""The task whose macro-step is under way."""
is_evaluating = False
"""Whether a condition of `until()` is being evaluated, which may only look at fields."""
look: Callable[[Actor, str], Any] | None = None
"""How fields are read while a property is checked, which may look into all actors."""


def running(what: str) -> Task:
    """Return the task that runs; refuse `what` outside of one."""
    if current is None:
        refuse(f"{what} outside of a task: do it in the program's main function or in a method")
    return current


def refuse(message: str) -> NoReturn:
    """Refuse what a task does, with the line of it; also if the task catches the exception."""
    error = TreadleError(f"{message} ({here()})")
    if current is not None:
        current.run.fatal = current.run.fatal or error
    raise error


def here() -> str:
    """Return the line of the code under test that is running; or where its function begins."""
    frame = users_frame(sys._getframe(1), is_own)
    if frame is not None:
        return place_in_words((frame.f_code.co_filename, frame.f_lineno))
    code = current and getattr(current.function, "__code__", None)
    return place_in_words((code.co_filename, code.co_firstlineno)) if code else ""


def own_future() -> Future[Any]:
    """Return the future of the task that runs (ABS: `destiny`)."""
    return running("a task's own future is asked for").future
