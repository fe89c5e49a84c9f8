"""What belongs to the whole process: its environment, current directory and mask for new files.

Each variable of `os.environ` is a location, and so is which variables there are. `os.environ` is
written in Python: its methods that do more than one thing are more than one step, as they are
for real threads. What an execution changes is put back before the next one begins.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from typing import Any

from treadle.core.events import Codes
from treadle.python.runtime.task import Task
from treadle.threads.primitives.outside.world import adding, announcing, reading, writing
from treadle.threads.primitives.patches import Patches

_Environ: Any = type(os.environ)
_VARIABLES = "os.environ"
DIRECTORY = "the current directory"
MASK = "the mask for new files"


class Surroundings:
    """Puts back what an execution changed in its process."""

    def __init__(self) -> None:
        self._environment: dict[Any, Any] = {}
        self._directory = ""
        self._mask = 0

    def take(self) -> Callable[[], None]:
        """Remember how things are; return what puts them back."""
        self._environment = dict(os.environ)
        with contextlib.suppress(OSError):  # it was removed
            self._directory = _getcwd()
        self._mask = _umask(0)
        _umask(self._mask)
        _changed.clear()
        return self._put_back

    def begin(self, main: Task) -> None:
        """Put back what the last execution changed."""
        del main
        if _changed:
            self._put_back()

    def _put_back(self) -> None:
        if _VARIABLES in _changed:
            for name in os.environ.keys() - self._environment.keys():
                del os.environ[name]
            os.environ.update(self._environment)
        if DIRECTORY in _changed and self._directory:
            _chdir(self._directory)
        if MASK in _changed:
            _umask(self._mask)
        _changed.clear()


_changed: set[str] = set()
"""What the present execution may have changed."""


def _variable(name: Any) -> str:
    return f"os.environ[{os.fsdecode(name)!r}]" if isinstance(name, str | bytes) else _VARIABLES


def _reads(_: Any, name: Any) -> Codes:
    return reading(_variable(name))


def _writes(_: Any, name: Any, *__: Any) -> Codes:
    return (*writing(_variable(name)), *adding(_VARIABLES))


def _reads_all(_: Any) -> Codes:
    return reading(_VARIABLES)


def _noting(what: str) -> Callable[[], None]:
    return lambda: _changed.add(what)


def _method(name: str, codes: Callable[..., Codes], changes: bool = False) -> tuple[Any, str, Any]:
    original = vars(_Environ)[name]
    note = _noting(_VARIABLES) if changes else (lambda: None)
    return _Environ, name, announcing(original, codes, note)


_getcwd = os.getcwd
_chdir = os.chdir
_umask = os.umask

PATCHES: Patches = Patches(
    attributes=[
        _method("__getitem__", _reads),
        _method("__setitem__", _writes, changes=True),
        _method("__delitem__", _writes, changes=True),
        _method("__iter__", _reads_all),
        _method("__len__", _reads_all),
    ],
    references=[
        (_getcwd, announcing(_getcwd, lambda: reading(DIRECTORY))),
        (os.getcwdb, announcing(os.getcwdb, lambda: reading(DIRECTORY))),
        (_chdir, announcing(_chdir, lambda _: writing(DIRECTORY), _noting(DIRECTORY))),
        (_umask, announcing(_umask, lambda _: writing(MASK), _noting(MASK))),
    ],
)
if hasattr(os, "fchdir"):
    PATCHES.references.append(
        (os.fchdir, announcing(os.fchdir, lambda _: writing(DIRECTORY), _noting(DIRECTORY)))
    )
