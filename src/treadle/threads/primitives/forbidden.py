"""What a test must not do to the process that explores it: end it, or copy it."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from typing import Any, NoReturn

from treadle.core.errors import TreadleError
from treadle.core.frames import place_of_frame
from treadle.core.words import place_in_words
from treadle.python.runtime import control
from treadle.python.runtime.escapes import called_by_user
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


_PROCESSES = (
    "other processes cannot be explored; use threads, or give the test a stand-in for the process"
)
_POOLS = (
    "its threads wait for each other by real pipes and by polling; use "
    "concurrent.futures.ThreadPoolExecutor, which is explored"
)


def _refused(original: Callable[..., Any], name: str, why: str) -> Callable[..., Any]:
    """Return a version of a function that under control is refused, with the reason."""

    def start(*args: Any, **kwargs: Any) -> Any:
        if control.current() is None:
            return original(*args, **kwargs)
        scheduler = control.the_program().scheduler
        called, frame = called_by_user(name) or (f"{name}()", None)
        where = f" at {place_in_words(place_of_frame(frame))}" if frame is not None else ""
        # Noted, so that it is raised even if the test catches it.
        scheduler.fatal = TreadleError(f"the test calls {called}{where}: {why}")
        raise scheduler.fatal

    start.__name__ = original.__name__
    return start


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
                found.append((original, _refused(original, f"{module}.{name}", _PROCESSES)))
    return found


PATCHES: Patches = Patches(references=_references())


def pools() -> Patches:
    """Return what refuses the pools of threads of `multiprocessing`, once that is loaded."""
    from multiprocessing.pool import ThreadPool

    make = ThreadPool.__init__
    return Patches([(ThreadPool, "__init__", _refused(make, "multiprocessing.ThreadPool", _POOLS))])
