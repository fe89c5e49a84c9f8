"""State that libraries keep for the whole process: filters of warnings, generic functions.

Functions of the standard library in Python, not instrumented, change it and look at it. Each such
thing is one location, with a name that is the same in every execution.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import types
import warnings
from collections.abc import Callable
from typing import Any

from treadle.core.events import Codes, Mode
from treadle.python.accesses import instruction_hooks as hooks
from treadle.python.runtime import control, notes, slots
from treadle.python.runtime.looking import mro_of
from treadle.python.sharing import kept
from treadle.python.sharing.containers import ContainerTable
from treadle.python.sharing.published import published


def looking(place: str) -> Codes:
    """Return the codes of looking at something that a library keeps, if it is ever changed."""
    return kept.looked_at(control.the_program().shared, place)


def changing(place: str) -> Codes:
    """Return the codes of changing something that a library keeps."""
    shared = control.the_program().shared
    known = shared.write(place, kept.CHANGED)
    notes.outlives(place)
    return (kept.at(shared, place, Mode.WRITE),) if known else ()


def has_threads() -> bool:
    """Tell whether the current thread is under control, and the test has started others."""
    return slots.announce is not slots.nothing and control.current() is not None


# Warnings, and what is printed where

FILTERS = "warnings.filters"


def _assigning(module: types.ModuleType, name: str) -> Codes:
    """Return the codes of assigning a name of a module, as code under test may do itself."""
    table = published.get(id(module))
    return () if table is None else table.writes[name]


def looking_at_sys(name: str) -> Codes:
    """Return the codes of looking at a name of `sys`."""
    table = published.get(id(sys))
    return () if table is None else table[name]


def _changing_filters() -> Codes:
    """Return the codes of putting other filters of warnings, or another list of them, in place."""
    held = published.get(id(warnings.filters))
    listed = held.whole_write() if isinstance(held, ContainerTable) else ()
    return (*changing(FILTERS), *_assigning(warnings, "filters"), *listed)


_MANAGERS: dict[type, Callable[[], Codes]] = {
    warnings.catch_warnings: _changing_filters,
    contextlib.redirect_stdout: functools.partial(_assigning, sys, "stdout"),
    contextlib.redirect_stderr: functools.partial(_assigning, sys, "stderr"),
}
"""Context managers that set something for the whole process, and the codes of that."""
_KINDS = frozenset(_MANAGERS)


class SettingManager:
    """Stands for a context manager that sets something for the whole process."""

    def __init__(self, manager: Any) -> None:
        self._manager = manager
        kind = type(manager)
        self._setting = next(codes for each, codes in _MANAGERS.items() if issubclass(kind, each))

    def __enter__(self) -> Any:
        return self._set(self._manager.__enter__)

    def __exit__(self, *error: Any) -> Any:
        return self._set(self._manager.__exit__, *error)

    def _set(self, method: Callable[..., Any], *args: Any) -> Any:
        hooks.say(self._setting())
        result = method(*args)
        hooks.point()  # it is Python code, which ends with a call
        return result


def sets_something(manager: Any) -> bool:
    """Tell whether a context manager sets something for the whole process.

    To ask for a subclass takes 1.05 times the time of a test of nothing but `with lock:`, as the
    metaclass of two of these classes is written in Python.
    """
    return not _KINDS.isdisjoint(mro_of(type(manager))) and has_threads()


def _enter_or_leave(function: Any, *args: Any) -> Any:
    """Call `__enter__` or `__exit__` of such a manager by its name."""
    manager = function.__self__
    found = SettingManager(manager) if sets_something(manager) else manager
    return getattr(found, function.__name__)(*args)


def _enter_context(function: Any, manager: Any) -> Any:
    """Call `enter_context` of a stack of managers, which leaves this one when it ends."""
    return function(SettingManager(manager) if sets_something(manager) else manager)


def announcing(codes: Callable[[], Codes]) -> Callable[..., Any]:
    """Stand for a function that changes or looks at what a library keeps."""

    def call(function: Any, /, *args: Any, **kwargs: Any) -> Any:
        if has_threads():
            hooks.say(codes())
        return function(*args, **kwargs)

    return call


# Generic functions


def _remark(name: str) -> None:
    notes.remark(
        name, name, "what {} sets is no location: others that look at it do so in one order only"
    )


_DISPATCHED = "functions registered by singledispatch"
_METHOD: Any = functools.singledispatchmethod
_OF_METHODS = frozenset(
    const for const in _METHOD.__get__.__code__.co_consts if isinstance(const, types.CodeType)
)
"""The code of generic methods; from Python 3.14 on they are objects in place of functions."""
_DISPATCHERS = _OF_METHODS | {functools.singledispatch(print).__code__}  # type: ignore[attr-defined]


def dispatching(function: types.FunctionType, owner: Any) -> Codes:
    """Return the codes of calling a generic function, or of registering one for a generic method.

    Both have the names of what they stand for, so it is their code that tells them; `owner` is the
    generic method.
    """
    if _is_one_of(function.__code__, _DISPATCHERS):
        return _dispatching() if has_threads() else ()
    if function.__code__ is not _METHOD.register.__code__ or not has_threads():
        return ()
    if not _OF_METHODS:
        _remark("functools.singledispatchmethod.register")
    return _registering(owner.dispatcher.register)


def _is_one_of(code: types.CodeType, codes: frozenset[types.CodeType]) -> bool:
    """Tell whether code is among some: to compare it would look at all that is in it."""
    return any(code is one for one in codes)


def _dispatching() -> Codes:
    """Return the codes of looking for a function; who registers meanwhile is not seen to."""
    codes = looking(_DISPATCHED)
    if codes:
        notes.note("functools.singledispatch.dispatch")
    return codes


def _registering(register: Any) -> Codes:
    """Return the codes of registering a function; others may have hold of the registry."""
    cells = dict(zip(register.__code__.co_freevars, register.__closure__ or (), strict=True))
    held = published.get(id(cells["registry"].cell_contents)) if "registry" in cells else None
    written = held.whole_write() if isinstance(held, ContainerTable) else ()
    return (*changing(_DISPATCHED), *written)


def _register(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call `register` of a generic function."""
    if has_threads():
        hooks.say(_registering(function))
    return function(*args, **kwargs)


_CHANGING_FILTERS = [
    (function.__module__, function.__name__)  # the module is another one since 3.14
    for function in (warnings.simplefilter, warnings.filterwarnings, warnings.resetwarnings)
]
_ENTERED = {
    (function.__module__, function.__qualname__)
    for kind in _MANAGERS
    for function in (kind.__enter__, kind.__exit__)  # type: ignore[attr-defined]
}
LIBRARY_STATE: dict[tuple[str, str], Callable[..., Any]] = {
    **dict.fromkeys(_CHANGING_FILTERS, announcing(_changing_filters)),
    **dict.fromkeys(sorted(_ENTERED), _enter_or_leave),
    ("contextlib", "_BaseExitStack.enter_context"): _enter_context,
    ("functools", "singledispatch.<locals>.register"): _register,
    ("functools", "singledispatch.<locals>.dispatch"): announcing(_dispatching),
}


_TYPES_OF_FILES = "the types of files"
KEPT: dict[tuple[str, str], Callable[[], Codes]] = {
    **{
        ("mimetypes", name): functools.partial(changing, _TYPES_OF_FILES)
        for name in ("add_type", "init")
    },
    **{
        ("mimetypes", f"guess_{what}"): functools.partial(looking, _TYPES_OF_FILES)
        for what in ("type", "extension", "all_extensions", "file_type")
    },
}
"""What functions do to what their module keeps, besides what they reach by name."""


def _warning() -> Codes:
    """Return the codes of a warning: the filters decide, and somebody may keep it."""
    is_kept = not isinstance(getattr(warnings, "_showwarnmsg_impl", None), types.FunctionType)
    recorded = changing("recorded warnings") if is_kept else ()
    return (*looking(FILTERS), *assigned_in(warnings), *looking_at_sys("stderr"), *recorded)


def assigned_in(module: types.ModuleType) -> Codes:
    """Return the codes of looking at the names of a module that code under test assigns."""
    table = published.get(id(module))
    assigned = control.the_program().shared.assigned
    names = sorted(str(name) for home, name in assigned if home == module.__name__)
    return () if table is None else tuple(code for name in names for code in table[name])


def warn(
    message: Any, category: Any = None, stacklevel: int = 1, source: Any = None, **kwargs: Any
) -> None:
    """Stand for `warnings.warn`; the warning is to name the line that calls this function."""
    if has_threads():
        hooks.say(_warning())
    warnings.warn(message, category, max(stacklevel, 1) + 1, source, **kwargs)
