"""The functions of `os` on paths and descriptors: one step each, with the locations they touch.

A table says what each does with the paths that it is given. Functions of the operating system that
are in no table lead out of sight: they are named in the verdict.
"""

from __future__ import annotations

import functools
import os
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from treadle.core.events import Codes
from treadle.python.accesses.known_functions import FUNCTIONS
from treadle.python.accesses.outside_modules import NOT_SEEN
from treadle.python.runtime import control
from treadle.python.runtime.escapes import escapes
from treadle.python.runtime.task import Task
from treadle.threads.primitives.outside import descriptors
from treadle.threads.primitives.outside.paths import Place, files, is_channel, is_regular
from treadle.threads.primitives.outside.surroundings import MASK
from treadle.threads.primitives.outside.world import (
    concerns_program,
    has_threads,
    reading,
    step,
)
from treadle.threads.primitives.patches import Patches

try:
    import posix as _system
except ImportError:
    import nt as _system  # type: ignore[no-redef]

BUSY = "outside"
"""Under which a task remembers that it is in the middle of an operation."""


class Use(NamedTuple):
    """What a function does with a path."""

    codes: Callable[[Place], Codes]
    changes: bool = False
    anew: bool = False
    """Whether what was there before does not matter any more."""


LOOK = Use(Place.exists)
READ = Use(Place.read)
READ_ON = Use(Place.read_on)
LIST = Use(Place.listed)
WRITE = Use(Place.written, changes=True)
MAKE = Use(Place.made, changes=True, anew=True)
REPLACE = Use(Place.overwritten, changes=True, anew=True)
APPEND = Use(Place.replaced, changes=True)
COUNT = Use(Place.written)
"""One more name changes how many a file has, and nothing that would be left over."""
_MAKING = (MAKE, REPLACE, APPEND)
"""What may make a new file, whose mode depends on the mask."""


class Argument(NamedTuple):
    """A path among the arguments of a function."""

    position: int
    name: str
    use: Use
    folder: str = "dir_fd"
    follows: bool = True

    def place(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Place | None:
        """Return where the path leads; None if there is none, or one that is refused."""
        given = args[self.position] if len(args) > self.position else kwargs.get(self.name)
        follows = self.follows and kwargs.get("follow_symlinks", True)
        return Place.of(given, kwargs.get(self.folder), follows)


_PATH = {
    "mkdir": MAKE, "unlink": MAKE, "remove": MAKE, "rmdir": MAKE, "truncate": WRITE,
    "chmod": WRITE, "chown": WRITE, "lchown": WRITE, "lchmod": WRITE, "utime": WRITE,
    "setxattr": WRITE, "removexattr": WRITE, "chflags": WRITE, "lchflags": WRITE,
    "getxattr": READ, "listxattr": READ, "access": READ, "listdir": LIST, "readlink": LOOK,
    "stat": READ, "lstat": READ,
}  # fmt: skip
_NOT_FOLLOWING = frozenset({"mkdir", "unlink", "remove", "rmdir", "readlink", "lstat", "lchown"})
_TWO_PATHS: dict[str, tuple[Argument, ...]] = {
    name: (
        Argument(0, "src", MAKE, "src_dir_fd", follows=False),
        Argument(1, "dst", REPLACE, "dst_dir_fd", follows=False),
    )
    for name in ("rename", "replace")
}
_TWO_PATHS["link"] = (
    Argument(0, "src", COUNT, "src_dir_fd"),
    Argument(1, "dst", MAKE, "dst_dir_fd", follows=False),
)
_TWO_PATHS["symlink"] = (Argument(1, "dst", MAKE, follows=False),)
_ARGUMENTS: dict[str, tuple[Argument, ...]] = {
    **{
        name: (Argument(0, "path", use, follows=name not in _NOT_FOLLOWING),)
        for name, use in _PATH.items()
    },
    **_TWO_PATHS,
}
_DESCRIPTORS = {
    "read": READ_ON, "readv": READ_ON, "pread": READ, "preadv": READ,
    "write": WRITE, "writev": WRITE,
    "pwrite": WRITE, "pwritev": WRITE, "ftruncate": WRITE, "posix_fallocate": WRITE,
    "fchmod": WRITE, "fchown": WRITE, "fstat": READ, "lseek": READ_ON,
}  # fmt: skip
"""Functions whose first argument is a descriptor."""
_MOVING = {"sendfile": (1, 0), "copy_file_range": (0, 1), "splice": (0, 1)}
"""Functions from one descriptor to another: where these are among the arguments."""
_ASKING = frozenset(
    {"exists", "lexists", "isdir", "isfile", "islink", "ismount", "is_dir", "is_file",
     "is_symlink", "realpath", "_joinrealpath", "resolve"}
)  # fmt: skip
"""Functions that ask for the status of a path only to know whether it is there."""
_NAMES = """
    WCOREDUMP WEXITSTATUS WIFCONTINUED WIFEXITED WIFSIGNALED WIFSTOPPED WSTOPSIG WTERMSIG _exit
    abort confstr cpu_count ctermid device_encoding fdatasync fpathconf fspath fstatvfs fsync
    get_blocking get_inheritable set_inheritable get_terminal_size getcwd getcwdb getegid geteuid
    getgid getgrouplist getgroups getloadavg getlogin getpgid getpgrp getpid getppid getpriority
    getrandom getresgid getresuid getsid getuid isatty major makedev minor pathconf posix_fadvise
    register_at_fork sched_get_priority_max sched_get_priority_min sched_getaffinity
    sched_getparam sched_getscheduler sched_rr_get_interval sched_yield statvfs strerror sync
    sysconf times ttyname umask uname urandom waitstatus_to_exitcode chdir fchdir putenv unsetenv
    close dup dup2 open scandir execv execve fork forkpty posix_spawn posix_spawnp system
    process_cpu_count get_handle_inheritable set_handle_inheritable listdrives listvolumes
    listmounts _supports_virtual_terminal _getdiskusage _getfullpathname _getvolumepathname
    _create_environ _is_inputhook_installed _inputhook
"""
_HARMLESS = frozenset(_NAMES.split())
"""Functions that say something that never changes, touch nothing shared, or are modelled apart."""
_PRINTED = (1, 2)
"""Descriptors of what is printed: nobody reads that again."""


def entering() -> Task | None:
    """Return the current task if it is about to leave the program; None inside of an operation."""
    me = control.current()
    if me is None or BUSY in me.scratch or not concerns_program():
        return None
    return me


Uses = list[tuple[Place, Use]]


def taken(me: Task, find: Callable[[], Codes], act: Callable[[], Any]) -> Any:
    """Take a step outside: find out what it touches, announce that, and act."""
    me.scratch[BUSY] = True
    try:
        if has_threads() and not control.the_program().scheduler.aborting:
            step(find)
        return act()
    finally:
        me.scratch.pop(BUSY, None)


def used(
    me: Task,
    find_uses: Callable[[], Uses],
    act: Callable[[], Any],
    also: Callable[[], Codes] = tuple,
) -> Any:
    """Do something with paths, in one step, which also has other accesses."""
    me.scratch[BUSY] = True  # to resolve a path, one looks at files
    try:
        uses = find_uses()
        before = {place.path: files.remember(place.path) for place, use in uses if use.changes}
    finally:
        me.scratch.pop(BUSY, None)

    def find() -> Codes:
        masked = reading(MASK) if any(use in _MAKING for _, use in uses) else ()
        return (*(code for place, use in uses for code in use.codes(place)), *masked, *also())

    named = [place.path for place, use in uses if use.anew and files.making(place.path)]
    try:
        # That an earlier execution left such a path is no business of this one: it takes another.
        is_taken = any(before[path] is not None for path in named)
        result = act() if is_taken else taken(me, find, act)
    except FileExistsError:
        for path in named:
            files.not_made(path)
        raise
    for place, use in uses:
        if use.changes:
            files.changed(place.path, anew=use.anew or before[place.path] is None)
    files.moved([found for found in before.values() if found is not None], before)
    return result


def _on_paths(original: Any, arguments: tuple[Argument, ...]) -> Callable[..., Any]:
    """Stand for a function that takes paths."""
    makes = original.__name__ == "mkdir"
    changes = any(argument.use.changes for argument in arguments)

    def call(*args: Any, **kwargs: Any) -> Any:
        me = entering()
        if me is None:
            result = original(*args, **kwargs)
            if changes:
                files.forget_resolved()
            if makes and control.current() is not None:
                files.making(os.path.abspath(os.fsdecode(args[0])))
            return result
        is_asking = _only_asks(sys._getframe(1))

        def find_uses() -> Uses:
            found = [(argument.place(args, kwargs), argument.use) for argument in arguments]
            return [
                (place, LOOK if is_asking and use is READ else use)
                for place, use in found
                if place is not None
            ]

        return used(me, find_uses, lambda: original(*args, **kwargs))

    return call


def _only_asks(frame: types.FrameType | None) -> bool:
    """Tell whether a caller asks for a status only to know whether something is there."""
    while frame is not None and frame.f_code.co_name in ("stat", "lstat"):
        frame = frame.f_back
    if frame is None or frame.f_code.co_name not in _ASKING:
        return False
    module = str(frame.f_globals.get("__name__")).partition(".")[0]
    return module in ("genericpath", "posixpath", "ntpath", "pathlib", "os")


def _on_descriptor(original: Any, positions: tuple[int, ...], uses: tuple[Use, ...]) -> Any:
    """Stand for a function that takes descriptors."""

    def call(*args: Any, **kwargs: Any) -> Any:
        me = entering()
        given = [args[at] for at in positions if len(args) > at and isinstance(args[at], int)]
        if me is None or len(given) < len(positions):
            return original(*args, **kwargs)
        if any(is_channel(one) for one in given if one not in _PRINTED):
            escapes.add(NOT_SEEN.format("pipes and sockets"), f"os.{original.__name__}")

        def find_uses() -> Uses:
            pairs = zip(given, uses, strict=True)
            found = [(Place.of(one), use) for one, use in pairs if is_regular(one)]
            return [(place, use) for place, use in found if place is not None]

        def also() -> Codes:
            return tuple(code for one in given for code in descriptors.codes_of(me, one))

        return used(me, find_uses, lambda: original(*args, **kwargs), also)

    return call


def _close(fd: int) -> None:
    """Stand for `os.close`."""
    me = entering()
    if me is None:
        _original_close(fd)
    else:
        find = functools.partial(descriptors.codes_of, me, fd, changes=True)
        taken(me, find, lambda: _original_close(fd))


def _dup(fd: int) -> int:
    """Stand for `os.dup`."""
    me = entering()
    if me is None:
        return _original_dup(fd)
    find = functools.partial(descriptors.codes_of, me, fd)
    made: int = taken(me, find, lambda: _original_dup(fd))
    descriptors.opened(me, made)
    return made


def _dup2(fd: int, fd2: int, inheritable: bool = True) -> int:
    """Stand for `os.dup2`: the second descriptor is closed, and is of another file then."""
    me = entering()
    if me is None:
        return _original_dup2(fd, fd2, inheritable)

    def find() -> Codes:
        codes = descriptors.codes_of(me, fd2, changes=True)
        return (*descriptors.codes_of(me, fd), *codes)

    made: int = taken(me, find, lambda: _original_dup2(fd, fd2, inheritable))
    descriptors.duplicated(me, fd, made)
    return made


def _open(path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
    """Stand for `os.open`."""
    me = entering()
    if me is None:
        return _original_open(path, flags, mode, dir_fd=dir_fd)
    follows = not flags & getattr(os, "O_NOFOLLOW", 0)
    places: Uses = []

    def find_uses() -> Uses:
        place = Place.of(path, dir_fd, follows)
        places[:] = [] if place is None else [(place, _use_of_flags(flags))]
        return places

    def act() -> int:
        descriptor = _original_open(path, flags, mode, dir_fd=dir_fd)
        descriptors.opened(me, descriptor)
        for place, _ in places:
            opened(place, descriptor)
        return descriptor

    found: int = used(me, find_uses, act)
    return found


def _use_of_flags(flags: int) -> Use:
    """Return what opening a file does, besides what is done with it then."""
    if flags & os.O_CREAT:
        return MAKE if flags & os.O_EXCL else REPLACE if flags & os.O_TRUNC else APPEND
    return WRITE if flags & os.O_TRUNC else LOOK


def opened(place: Place, descriptor: int) -> None:
    """Take note of a file that was opened: by its number it can be found under other names."""
    files.file(_fstat(descriptor), place.path)


class _Entries:
    """Stands for what `os.scandir` returns: all entries are there when it is called."""

    def __init__(self, entries: list[Any]) -> None:
        self._entries = iter(entries)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return next(self._entries)

    def __enter__(self) -> _Entries:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Forget the entries that are left."""
        self._entries = iter(())


class _Entry:
    """Stands for an entry of a directory: its status is looked at when that is asked for."""

    def __init__(self, entry: Any) -> None:
        self._entry = entry
        self.name = entry.name
        self.path = entry.path

    def __fspath__(self) -> Any:
        return self.path

    def __repr__(self) -> str:
        return repr(self._entry)

    def inode(self) -> int:
        """Return its number."""
        return int(self._entry.inode())

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        """Tell whether it is a directory; it was when the directory was read."""
        return bool(self._entry.is_dir(follow_symlinks=follow_symlinks))

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        """Tell whether it is a file; it was when the directory was read."""
        return bool(self._entry.is_file(follow_symlinks=follow_symlinks))

    def is_symlink(self) -> bool:
        """Tell whether it is a link."""
        return bool(self._entry.is_symlink())

    def is_junction(self) -> bool:
        """Tell whether it is a junction of Windows."""
        return bool(self._entry.is_junction())

    def stat(self, *, follow_symlinks: bool = True) -> Any:
        """Ask for its status."""
        me = entering()
        act = functools.partial(self._entry.stat, follow_symlinks=follow_symlinks)
        if me is None:
            return act()
        find_place = functools.partial(Place.of, self.path, None, follow_symlinks)
        return used(me, lambda: _one(find_place(), READ), act)


def _scandir(path: Any = None) -> Any:
    """Stand for `os.scandir`."""
    me = entering()
    if me is None:
        return _original_scandir(path)

    def act() -> _Entries:
        with _original_scandir(path) as entries:
            return _Entries([_Entry(entry) for entry in entries])

    return used(me, lambda: _one(Place.of(path), LIST), act)


def _one(place: Place | None, use: Use) -> Uses:
    return [] if place is None else [(place, use)]


def _leading_outside(original: Any) -> Callable[..., Any]:
    """Stand for a function that is not modelled."""

    def call(*args: Any, **kwargs: Any) -> Any:
        if concerns_program():
            escapes.add(NOT_SEEN.format("the operating system"), f"os.{original.__name__}")
        return original(*args, **kwargs)

    return call


_original_close = os.close
_original_dup = os.dup
_original_dup2 = os.dup2
_original_open = os.open
_original_scandir = os.scandir
_fstat = os.fstat


def _references() -> list[tuple[Any, Any]]:
    found: list[tuple[Any, Any]] = [
        (_original_open, _open), (_original_scandir, _scandir), (_original_close, _close),
        (_original_dup, _dup), (_original_dup2, _dup2),
    ]  # fmt: skip
    for name, function in vars(_system).items():
        if not isinstance(function, types.BuiltinFunctionType) or name in _HARMLESS:
            continue
        if name in _ARGUMENTS:
            found.append((function, _on_paths(function, _ARGUMENTS[name])))
        elif name in _DESCRIPTORS:
            found.append((function, _on_descriptor(function, (0,), (_DESCRIPTORS[name],))))
        elif name in _MOVING:
            found.append((function, _on_descriptor(function, _MOVING[name], (READ, WRITE))))
        elif not name.startswith("_path"):
            found.append((function, _leading_outside(function)))
    return found


def _abilities(replaced: list[tuple[Any, Any]]) -> list[tuple[Any, str, Any]]:
    """Let stand-ins be known to be able to do what the originals can."""
    sets = ("supports_dir_fd", "supports_effective_ids", "supports_fd", "supports_follow_symlinks")
    return [
        (os, name, getattr(os, name) | {new for old, new in replaced if old in getattr(os, name)})
        for name in sets
    ]


_replaced = _references()
PATCHES: Patches = Patches(attributes=_abilities(_replaced), references=_replaced)
FUNCTIONS.update(PATCHES.references)  # somebody may have kept an original
