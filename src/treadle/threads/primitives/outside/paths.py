"""Files and directories as locations, by their paths.

A path has three: whether it *exists* (what it leads to), its *content* (with size, times and mode),
and its *entries*, if it is a directory. Whoever uses a path looks at the existence of all
directories above it as well. Paths are resolved: `.`, `..` and links lead to the same locations. A
file that was renamed or linked has the content of all its names.

Paths that nobody could foresee (`tempfile`, fixtures of pytest) are named after who made them:
they are others in each execution.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from treadle.core.events import OPEN, Codes
from treadle.core.program import Crash
from treadle.python.runtime import control
from treadle.python.runtime.spin import unseen
from treadle.python.runtime.task import Task
from treadle.threads.primitives.outside.surroundings import DIRECTORY
from treadle.threads.primitives.outside.world import adding, reading, writing

_MAKERS = frozenset({"tempfile", "_pytest"})
"""Libraries that make files and directories with names of their own."""
_FOLLOWED = "followed"
"""What is learned of links."""
_F_GETPATH = 50
_stat, _lstat, _fstat, _readlink = os.stat, os.lstat, os.fstat, os.readlink


class LeftOver(Exception):
    """A thread looked at a file that an earlier execution had changed."""


@dataclass(slots=True)
class _Execution:
    """What an execution does to the file system."""

    names: dict[str, str] = field(default_factory=dict)
    """Names of paths that nobody could foresee."""
    files: dict[tuple[int, int], dict[str, None]] = field(default_factory=dict)
    """The paths that a file has had, by device and number."""
    changed: set[str] = field(default_factory=set)
    made_anew: set[str] = field(default_factory=set)
    """Paths whose state does not depend on what was there before."""
    told: set[str] = field(default_factory=set)
    """Paths of which it was reported that they are left over."""
    resolved: dict[str, str] = field(default_factory=dict)
    """Where directories really are, until something is changed."""


class Files:
    """The file system, as one exploration knows it."""

    def __init__(self) -> None:
        self._now = _Execution()
        self._changed_before: set[str] = set()
        """Paths that earlier executions changed."""
        self._existed: dict[str, bool] = {}
        """Whether paths were there before anybody changed them."""

    def take(self) -> Callable[[], None]:
        """Begin an exploration; there is nothing to put back."""
        self._now = _Execution()
        self._changed_before.clear()
        self._existed.clear()
        return lambda: None

    def begin(self, main: Task) -> None:
        """Begin an execution."""
        del main
        now = self._now
        now.resolved.clear()
        if now.names or now.files or now.changed or now.made_anew or now.told:
            self._changed_before |= self._now.changed
            self._now = _Execution()

    # Names

    def name(self, path: str) -> str:
        """Return the name of a resolved path, which is the same in every execution."""
        names = self._now.names
        if names:
            head = path
            while head not in names and os.path.dirname(head) != head:
                head = os.path.dirname(head)
            if head in names:
                return names[head] + path[len(head) :]
        return path

    def making(self, path: str) -> bool:
        """Name a path that is about to be made, if nobody could foresee its name; tell whether."""
        maker = _maker()
        if not maker or path in self._now.names:
            return False
        me = control.task()
        me.scratch[maker] = number = me.scratch.get(maker, 0) + 1
        self._now.names[path] = f"<{maker} {number} of {me.name}>"
        return True

    def not_made(self, path: str) -> None:
        """Take the name back of a path that could not be made: it was there."""
        del self._now.names[path]
        control.task().scratch[_maker()] -= 1

    def in_words(self, text: str) -> str:
        """Return a text with the names of paths that nobody could foresee in their place."""
        for path, name in self._now.names.items():
            text = text.replace(path, name)
        return text

    def file(self, found: os.stat_result, path: str) -> list[str]:
        """Return the names of a file that is there, this one included."""
        names = self._now.files.setdefault((found.st_dev, found.st_ino), {})
        names[self.name(path)] = None
        return list(names)

    def moved(self, before: Iterable[os.stat_result], paths: Iterable[str]) -> None:
        """Take note of what became of files whose paths were changed, removed or renamed.

        They have one more name, or are gone: then another file may get their number.
        """
        there = {}
        for path in paths:
            with contextlib.suppress(OSError):
                there[path] = _lstat(path)
        alive = {(found.st_dev, found.st_ino) for found in there.values()}
        for found in before:
            is_last = found.st_nlink <= 1 or stat.S_ISDIR(found.st_mode)
            if is_last and (found.st_dev, found.st_ino) not in alive:
                self._now.files.pop((found.st_dev, found.st_ino), None)
        for path, found in there.items():
            self.file(found, path)

    def resolved(self, folder: str) -> str:
        """Return where a directory really is: tests look at thousands of files in a few of them."""
        known = self._now.resolved
        if not os.path.isabs(folder):
            return os.path.realpath(folder)
        if folder not in known:
            known[folder] = os.path.realpath(folder)
        return known[folder]

    def forget_resolved(self) -> None:
        """Take note that something may have become a link, or is none any more."""
        self._now.resolved.clear()

    # What outlives an execution

    def remember(self, path: str) -> os.stat_result | None:
        """Return what is there that the program is about to change, if anything; remember that."""
        found = None
        with contextlib.suppress(OSError, ValueError):
            found = _lstat(path)
        self._existed.setdefault(path, found is not None)
        return found

    def changed(self, path: str, *, anew: bool) -> None:
        """Take note that the program changed what a path leads to, or made it anew."""
        self.forget_resolved()
        self._now.changed.add(path)
        if anew:
            self._now.made_anew.add(path)

    def looks(self, path: str) -> None:
        """Report it if a thread depends on what an earlier execution left behind.

        Other programs may change it, too: a loop that looks may end.
        """
        unseen[0] = True
        now = self._now
        if path not in self._changed_before or path in now.told:
            return
        if not now.made_anew.isdisjoint([path, *_above(path)]):
            return
        if not os.path.lexists(path) and not self._existed[path]:
            return  # it was removed again
        now.told.add(path)
        scheduler = control.the_program().scheduler
        error = LeftOver(
            f"{self.name(path)} is as an earlier execution left it: make it anew at the beginning "
            f"of the test, or remove it at its end"
        )
        number = control.task().number
        scheduler.crashes.append(Crash(number, scheduler.steps, error, "nondeterminism"))


files = Files()
"""The file system of the present exploration."""


def _maker() -> str:
    """Return the library that makes a path with a name of its own, if one does."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        module = str(frame.f_globals.get("__name__")).partition(".")[0]
        if module in _MAKERS:
            return "temporary path" if module == "tempfile" else "path of pytest"
        if module not in ("os", "pathlib", "treadle"):
            return ""
        frame = frame.f_back
    return ""


# From what functions are given to paths


def path_of_descriptor(descriptor: int) -> str:
    """Return the path that a file was opened by."""
    try:
        return _readlink(f"/proc/self/fd/{descriptor}").removesuffix(" (deleted)")
    except OSError:
        return _by_control(descriptor)


def _by_control(descriptor: int) -> str:
    """Ask macOS for the path of a file."""
    try:
        import fcntl

        found = fcntl.fcntl(descriptor, _F_GETPATH, b"\0" * 1024)
        return os.fsdecode(found.rstrip(b"\0"))
    except (ImportError, OSError, ValueError):
        return f"descriptor {descriptor}"


@dataclass(slots=True)
class Place:
    """Where a function was led to."""

    path: str
    """Resolved."""
    passed: tuple[str, ...]
    """Paths on the way that lead elsewhere if they change."""
    is_relative: bool
    is_led: bool = False
    """Whether links, or the like, led there."""

    @classmethod
    def of(cls, given: Any, folder: Any = None, follows: bool = True) -> Place | None:
        """Resolve a path, or a descriptor, of a folder's if one is given."""
        if given is None:
            given = "."
        if isinstance(given, int):
            return cls(path_of_descriptor(given), (), False)
        try:
            path = os.fsdecode(given)
        except TypeError:
            return None  # the function refuses it
        is_relative = not os.path.isabs(path)
        if is_relative and isinstance(folder, int):
            path = os.path.join(path_of_descriptor(folder), path)
            is_relative = False
        return cls._resolved(path, follows, is_relative)

    @classmethod
    def _resolved(cls, path: str, follows: bool, is_relative: bool) -> Place:
        whole = os.path.abspath(path)
        head, tail = os.path.split(path.rstrip("/") or path)
        real = os.path.join(files.resolved(head), tail)
        if tail in ("", ".", "..") or (follows and _is_link(real)):
            real = os.path.realpath(path)
        passed = [] if whole == real else [whole, *_above(whole)]
        return cls(real, tuple(dict.fromkeys([*_above(real), *passed])), is_relative, bool(passed))

    def name(self) -> str:
        """Return the name of the path."""
        return files.name(self.path)

    # Accesses

    def reached(self) -> Codes:
        """Return the codes of coming here: by all directories above."""
        above = reading(*(_existence(files.name(path)) for path in self.passed))
        codes = (*above, *reading(DIRECTORY)) if self.is_relative else above
        return (*codes, OPEN) if codes and self._may_lead_elsewhere() else codes

    def _may_lead_elsewhere(self) -> bool:
        """Tell whether there is a link on the way, or was one: it is learned which paths are."""
        shared = control.the_program().shared
        if self.is_led:
            for path in filter(os.path.islink, self.passed):
                shared.note(f"link {files.name(path)}", _FOLLOWED)
        if _FOLLOWED not in shared.happening:
            return False
        return any(
            shared.happens(f"link {files.name(path)}", _FOLLOWED)
            for path in (self.path, *self.passed)
        )

    def exists(self) -> Codes:
        """Return the codes of asking whether it is there."""
        files.looks(self.path)
        return (*reading(_existence(self.name())), *self.reached())

    def read(self) -> Codes:
        """Return the codes of looking at its content, size, times or mode."""
        return (*reading(*map(content, self._names())), *self.exists(), *self._if_renamed())

    def written(self) -> Codes:
        """Return the codes of changing its content or mode."""
        return (*writing(*map(content, self._names())), *self.exists(), *self._if_renamed())

    def content_read(self) -> Codes:
        """Return the codes of reading it, once it is open."""
        files.looks(self.path)
        return (*reading(*map(content, self._names())), *self._if_renamed())

    def read_on(self) -> Codes:
        """Return the codes of reading it by a descriptor, which goes on where it stood."""
        return (*self.read(), *writing(f"position in {self.name()}"))

    def content_written(self) -> Codes:
        """Return the codes of writing it, once it is open."""
        return (*writing(*map(content, self._names())), *self._if_renamed())

    def listed(self) -> Codes:
        """Return the codes of looking at the entries of a directory."""
        return (*reading(_entries(self.name())), *self.exists())

    def made(self) -> Codes:
        """Return the codes of making or removing it, which depends on whether it is there."""
        files.looks(self.path)
        return self.replaced()

    def replaced(self) -> Codes:
        """Return the codes of putting something in its place, whatever is there."""
        parent = files.name(os.path.dirname(self.path))
        codes = (*writing(_existence(self.name())), *adding(_entries(parent)))
        return (*codes, *self._others(), *self.reached())

    def overwritten(self) -> Codes:
        """Return the codes of making it anew with another content."""
        return (*self.replaced(), *writing(*map(content, self._names())), *self._if_renamed())

    def _others(self) -> Codes:
        """Return the codes of changing how many names a file has that is no longer called so."""
        with contextlib.suppress(OSError, ValueError):
            found = _lstat(self.path)
            if found.st_nlink > 1 and not stat.S_ISDIR(found.st_mode):
                return (*writing(*map(content, files.file(found, self.path))), OPEN)
        return ()

    def _names(self) -> list[str]:
        try:
            return files.file(_stat(self.path), self.path)
        except (OSError, ValueError):
            return [self.name()]

    def _if_renamed(self) -> Codes:
        return (OPEN,) if len(self._names()) > 1 else ()


def content(name: str) -> str:
    """Return what the content of a file is called."""
    return f"file {name}"


def _existence(name: str) -> str:
    return f"existence of {name}"


def _entries(name: str) -> str:
    return f"entries of {name}"


def _is_link(path: str) -> bool:
    try:
        return stat.S_ISLNK(_lstat(path).st_mode)
    except (OSError, ValueError):
        return False


def _above(path: str) -> list[str]:
    """Return the directories above a path, but for the root."""
    found = []
    path = os.path.dirname(path)
    while os.path.dirname(path) != path:
        found.append(path)
        path = os.path.dirname(path)
    return found


def is_regular(descriptor: int) -> bool:
    """Tell whether a descriptor is of a file or a directory, not of a pipe or a terminal."""
    try:
        mode = _fstat(descriptor).st_mode
    except OSError:
        return False
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)


def is_channel(descriptor: int) -> bool:
    """Tell whether a descriptor is of a pipe or a socket."""
    try:
        mode = _fstat(descriptor).st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
