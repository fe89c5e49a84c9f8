"""Locations outside of the program: variables of the environment, files, the current directory.

They have names that are the same in every execution. Like others, they make a difference only if
somebody changes them while there are threads: that is learned (`treadle.python.sharing.shared`).
"""

from __future__ import annotations

import functools
import os
import sys
import types
from collections.abc import Callable, Iterable
from typing import Any

from treadle.core.events import OPEN, Codes, Mode, code
from treadle.core.frames import is_of_the_user, room_of, runs_tests
from treadle.python.runtime import control, slots
from treadle.python.runtime.deeds import PLAIN_ACCESS, Deed
from treadle.python.runtime.spin import effects

_CHANGED = "changed"
_ANYWHERE = "anything outside"
_MOST_PLACES = 1000
"""What may be known to change, one by one: names of files may be others in each execution."""


_BETWEEN = ("python/accesses/", "python/runtime/scheduler.py", "python/runtime/fibers.py",
            "threads/primitives/")  # fmt: skip
"""Where Treadle's code stands between that of the user and a library."""
_READING_CODE = frozenset(
    {"importlib", "zipimport", "pkgutil", "linecache", "tokenize", "traceback", "inspect", "pdb",
     "bdb", "doctest", "gettext", "zoneinfo"}
)  # fmt: skip
"""Libraries that look at source code and the like when it suits them, and remember it."""


def concerns_program() -> bool:
    """Tell whether it is the program under test that does something, not who runs or shows it."""
    global _is_asking
    if _is_asking or control.current() is None:
        return False
    _is_asking = True  # whose code it is, is asked of the disk
    try:
        return _is_of_program(sys._getframe(2))
    finally:
        _is_asking = False


_is_asking = False


def _is_of_program(frame: types.FrameType | None) -> bool:
    while frame is not None:
        file, module = frame.f_code.co_filename, str(frame.f_globals.get("__name__"))
        if room_of(file) is not None:
            if not _stands_between(file):
                return False
        elif module.lstrip("_").partition(".")[0] in _READING_CODE or runs_tests(frame):
            return False
        elif is_of_the_user(file):
            return True
        frame = frame.f_back
    return True


@functools.cache
def _stands_between(file: str) -> bool:
    return any(f"treadle/{place}" in file.replace(os.sep, "/") for place in _BETWEEN)


def has_threads() -> bool:
    """Tell whether the test has started threads."""
    return slots.announce is not slots.nothing


def reading(*places: str) -> Codes:
    """Return the codes of looking at places; none for those that never change."""
    shared = control.the_program().shared
    anywhere = shared.happens(_ANYWHERE, _CHANGED)
    return tuple(
        _at(place, Mode.READ) for place in places if anywhere or shared.happens(place, _CHANGED)
    )


def writing(*places: str) -> Codes:
    """Return the codes of changing places, as far as that was known."""
    return _changing(places, Mode.WRITE)


def adding(*places: str) -> Codes:
    """Return the codes of changing places so that the order of such changes does not matter."""
    return _changing(places, Mode.ADD)


def _changing(places: Iterable[str], mode: Mode) -> Codes:
    effects[0] = True
    shared = control.the_program().shared
    if shared.happens(_ANYWHERE, _CHANGED):
        return tuple(_at(place, mode) for place in places)
    if len(shared.features) + len(shared.learned) > _MOST_PLACES:
        shared.write(_ANYWHERE, _CHANGED)
        return ()
    known = [place for place in places if shared.write(place, _CHANGED)]
    return tuple(_at(place, mode) for place in known)


def _at(place: str, mode: Mode) -> int:
    return code(control.the_program().shared.location(("outside", place), place), mode)


def step(find: Callable[[], Codes], deed: Deed = PLAIN_ACCESS, about: Any = None) -> None:
    """Take a step that makes some accesses; which ones, is found out anew when it happens."""
    codes = tuple(dict.fromkeys(find()))
    if not codes:
        return
    control.announce(codes, deed, about)
    now = tuple(dict.fromkeys(find()))
    if not set(now) <= {*codes, OPEN}:
        control.revise(now)


def announcing(
    original: Any, codes: Callable[..., Codes], undo: Callable[[], object] = lambda: None
) -> Callable[..., Any]:
    """Stand for a function that reads or changes something outside.

    `codes` returns what the arguments make it access; `undo` is told that it is called at all.
    """

    def call(*args: Any, **kwargs: Any) -> Any:
        if not concerns_program():
            return original(*args, **kwargs)
        undo()
        if has_threads():
            step(lambda: codes(*args, **kwargs))
        return original(*args, **kwargs)

    if isinstance(original, types.BuiltinFunctionType):
        call.__name__ = original.__name__
    return call
