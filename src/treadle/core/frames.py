"""Whose code is this frame: the user's, a library's, or Treadle's own?

Reports, tracebacks, the watchdog, the debugger, Ctrl-C and the plugin all have to know. This module
alone looks at where files are. Everything below the package `treadle` is Treadle's own, but for the
papers' programs, which are under test like a user's.

Three circles around a user's code:

- `room_of` is the package of Treadle's that a file belongs to (`threads`, `model`, `plugin`, ...);
- `is_machinery` are files that stand between the user's functions: Treadle's own, and those of the
  standard library whose primitives Treadle replaces;
- `is_of_the_user` leaves out all libraries as well.
"""

from __future__ import annotations

import functools
import gc
import os
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path
from types import (
    AsyncGeneratorType,
    CodeType,
    CoroutineType,
    FrameType,
    GeneratorType,
    TracebackType,
)
from typing import Any, TypeVar

Place = tuple[str, int]
"""File and line."""

_PACKAGE = Path(__file__).parents[1]
_OWN = tuple(
    f"{path.as_posix()}/"
    for path in dict.fromkeys((_PACKAGE, _PACKAGE.resolve(), Path("src/treadle")))
)
"""What names of Treadle's own files begin with; the last one, in tracebacks of compiled code."""
_UNDER_TEST = frozenset({"papers"})
"""Packages of Treadle's that hold programs to explore."""
_PRIMITIVES = ("threading.py", "queue.py", "_threading_local.py", "contextlib.py", "concurrent/")
"""Files of the standard library that Treadle stands for, or that use what it stands for."""
_PYTEST = ("_pytest", "pluggy")
_TEST_RUNNERS = (*_PYTEST, "unittest")
"""Packages that run tests."""
_PACKAGE_FOLDERS = frozenset({"site-packages", "dist-packages"})


def _folders(*names: str) -> tuple[str, ...]:
    """Return folders as frames name them, and where they are if a link leads there."""
    paths = [Path(sysconfig.get_paths()[name]) for name in names]
    both = (path.as_posix() for one in paths for path in (one, one.resolve()))
    return tuple(dict.fromkeys(f"{path}/" for path in both))


_STANDARD = _folders("stdlib", "platstdlib")
_LIBRARIES = (*_STANDARD, *_folders("purelib", "platlib"))
_STANDS_FOR = tuple(f"{folder}{name}" for folder in _STANDARD for name in _PRIMITIVES)


@functools.cache
def _installed() -> tuple[str, ...]:
    """Return the folders that packages were installed into, as `pip install --target` does."""
    folders = (Path(entry) for entry in sys.path if entry)
    return tuple(
        f"{folder.resolve().as_posix()}/"
        for folder in folders
        if next(folder.glob("*.dist-info"), None) is not None
    )


def _with_slashes(file: str) -> str:
    return file.replace(os.sep, "/")


@functools.cache
def room_of(file: str) -> str | None:
    """Return the package of Treadle's that a file is in; None if it is not Treadle's own."""
    file = _with_slashes(file)
    for own in _OWN:
        if file.startswith(own):
            room = file.removeprefix(own).partition("/")[0].removesuffix(".py")
            return None if room in _UNDER_TEST else room
    return None


@functools.cache
def is_machinery(file: str) -> bool:
    """Tell whether a file stands between the user's functions."""
    return (
        room_of(file) is not None
        or _with_slashes(file).startswith(_STANDS_FOR)
        or Path(file).parts[:1] == ("greenlet",)
    )


@functools.cache
def is_of_the_user(file: str) -> bool:
    """Tell whether a file belongs to no library; asking the disk about each is dear."""
    path = Path(file).resolve()
    if file.startswith(("<frozen", *_OWN)) or _PACKAGE_FOLDERS.intersection(path.parts):
        return False
    return not path.as_posix().startswith((*_LIBRARIES, *_OWN, *_installed()))


@functools.cache
def is_of_the_standard_library(file: str) -> bool:
    """Tell whether a file came with Python."""
    is_there = _with_slashes(file).startswith(_STANDARD)
    return is_there and not _PACKAGE_FOLDERS.intersection(Path(file).parts)


def runs_tests(frame: FrameType) -> bool:
    """Tell whether a frame is of what runs tests, whose variables nobody wants to see."""
    return (
        _package_of(frame) in _TEST_RUNNERS and frame.f_globals.get("__name__") != "unittest.mock"
    )


def _package_of(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__")).partition(".")[0]


_Function = TypeVar("_Function", bound=Callable[..., object])
_outermost: dict[int, CodeType] = {}
"""By `id`: code that was rewritten cannot be hashed."""


def outermost(function: _Function) -> _Function:
    """Mark a function that runs a test's code: who called it has nothing to do with the test."""
    code: CodeType = function.__code__
    _outermost[id(code)] = code
    return function


def users_frame(
    frame: FrameType | None, leaves_out: Callable[[str], bool] = is_machinery
) -> FrameType | None:
    """Return the innermost frame, from this one outwards, of a file that is not left out."""
    while frame is not None and leaves_out(frame.f_code.co_filename):
        frame = None if id(frame.f_code) in _outermost else frame.f_back
    return frame


def is_own(file: str) -> bool:
    """Tell whether a file is Treadle's own."""
    return room_of(file) is not None


def callers_frame() -> FrameType:
    """Return the frame of whoever called Treadle, with or without compiled functions between."""
    frame = callers_frame_if_any()
    assert frame is not None
    return frame


def callers_frame_if_any() -> FrameType | None:
    """Return the same; there is none in a thread whose function is one in C."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_own(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def place_of_frame(
    frame: FrameType | None, leaves_out: Callable[[str], bool] = is_machinery
) -> Place | None:
    """Return where the innermost frame of a file stands that is not left out."""
    frame = users_frame(frame, leaves_out)
    return None if frame is None else (frame.f_code.co_filename, frame.f_lineno)


def frames_of_traceback(error: BaseException) -> list[tuple[FrameType, int]]:
    """Return the frames that an exception went through, outermost first, each with its line."""
    frames = []
    traceback = error.__traceback__
    while traceback is not None:
        frames.append((traceback.tb_frame, traceback.tb_lineno))
        traceback = traceback.tb_next
    return frames


_OF_COROUTINES = ("cr", "ag", "gi")
_STANDING_FOR_ONE = frozenset(
    {"async_generator_asend", "async_generator_athrow", "coroutine_wrapper", "anext_awaitable"}
)
"""Classes of what C code makes of a coroutine or asynchronous generator to be awaited."""


def awaiting_frames(awaited: Any, holders: list[tuple[Any, Any]] | None = None) -> list[FrameType]:
    """Return the frames in which a coroutine stands, and what it awaits, outermost first.

    What has these frames, and what that awaits, is put into `holders`, if it is asked for.
    """
    frames: list[FrameType] = []
    while awaited is not None:
        kind = type(awaited)
        if kind is CoroutineType:  # asked for at every step of a task
            frame, further = awaited.cr_frame, awaited.cr_await
        elif kind is GeneratorType:
            frame, further = awaited.gi_frame, awaited.gi_yieldfrom
        else:
            frame, further = _frame_of(awaited)
        if frame is None:
            awaited = _stood_for(awaited)
        else:
            frames.append(frame)
            if holders is not None:
                holders.append((awaited, further))
            awaited = further
    return frames


def _frame_of(awaited: Any) -> tuple[FrameType | None, Any]:
    """Return the frame of what is, or looks like, a coroutine or generator, and what it awaits."""
    for kind in _OF_COROUTINES:
        frame = getattr(awaited, f"{kind}_frame", None)
        if frame is not None:
            further = getattr(awaited, f"{kind}_await", None)
            return frame, further or getattr(awaited, f"{kind}_yieldfrom", None)
    return None, None


def _stood_for(awaited: Any) -> Any:
    """Return the coroutine, or what stands for one, that something in C runs; None for others."""
    if type(awaited).__name__ not in _STANDING_FOR_ONE:
        return None
    kinds = (AsyncGeneratorType, CoroutineType)
    for held in gc.get_referents(awaited):
        if isinstance(held, kinds) or type(held).__name__ in _STANDING_FOR_ONE:
            return held
    return None


def place_of_exception(
    error: BaseException, leaves_out: Callable[[str], bool] = is_machinery
) -> Place | None:
    """Return where the innermost frame of a file is in a traceback that is not left out."""
    for frame, line in reversed(frames_of_traceback(error)):
        if not leaves_out(frame.f_code.co_filename):
            return frame.f_code.co_filename, line
    return None


def users_part(traceback: TracebackType | None) -> TracebackType | None:
    """Return a traceback without machinery and without pytest.

    An interrupt may come at an instruction that belongs to no line, where pytest expects one.
    """
    if traceback is None:
        return None
    rest = users_part(traceback.tb_next)
    code = traceback.tb_frame.f_code
    if is_machinery(code.co_filename) or _package_of(traceback.tb_frame) in _PYTEST:
        return rest
    line = traceback.tb_lineno or code.co_firstlineno
    return TracebackType(rest, traceback.tb_frame, traceback.tb_lasti, line)
