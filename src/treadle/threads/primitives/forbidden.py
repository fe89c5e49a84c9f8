"""What a test must not do to the process that explores it: end it, or copy it."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from treadle.core.errors import TreadleError
from treadle.core.frames import is_of_the_standard_library, room_of
from treadle.python.runtime import control
from treadle.threads.primitives.patches import Patches


class ProcessExit(BaseException):
    """A thread called `os._exit`, which would have ended the whole process at once."""


def _exit_process(original: Callable[..., NoReturn], name: str) -> Callable[..., NoReturn]:
    """Return a version of a function that ends the process: under control it is a finding."""

    def leave(*args: Any, **kwargs: Any) -> NoReturn:
        if control.current() is None:
            original(*args, **kwargs)
        given = ", ".join(map(repr, args))
        raise ProcessExit(f"{name}({given}) ends the whole process at once, without any clean-up")

    leave.__name__ = original.__name__
    return leave


def _start_process(original: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return a version of a function that starts a process: under control it is refused."""

    def start(*args: Any, **kwargs: Any) -> Any:
        if control.current() is None:
            return original(*args, **kwargs)
        scheduler = control.the_program().scheduler
        # Noted, so that it is raised even if the test catches it.
        scheduler.fatal = TreadleError(
            f"the test calls {_called_as(name)}: other processes cannot be explored; "
            f"use threads, or give the test a stand-in for the process"
        )
        raise scheduler.fatal

    start.__name__ = original.__name__
    return start


def _called_as(name: str) -> str:
    """Return the function of the standard library that the test called to come here."""
    frame = sys._getframe(1)
    while frame.f_back is not None:
        is_own = room_of(frame.f_code.co_filename) is not None
        if not is_own and not is_of_the_standard_library(frame.f_code.co_filename):
            break
        if frame.f_globals.get("__name__") == "threading":
            break  # the function is a thread's target
        if not is_own:
            name = f"{frame.f_globals.get('__name__')}.{frame.f_code.co_qualname}"
        frame = frame.f_back
    return f"{name}()".replace(".__init__()", "()")


def _references() -> list[tuple[Any, Any]]:
    found: list[tuple[Any, Any]] = [
        (os._exit, _exit_process(os._exit, "os._exit")),
        (os.abort, _exit_process(os.abort, "os.abort")),
    ]
    for module, names in (
        ("os", "fork forkpty posix_spawn posix_spawnp system execv execve"),
        ("_posixsubprocess", "fork_exec"),
        ("_winapi", "CreateProcess"),
    ):
        try:
            owner = importlib.import_module(module)
        except ImportError:  # of another operating system
            continue
        for name in names.split():
            if hasattr(owner, name):
                original = getattr(owner, name)
                found.append((original, _start_process(original, f"{module}.{name}")))
    return found


PATCHES: Patches = Patches(references=_references())
