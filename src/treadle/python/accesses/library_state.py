"""State that libraries keep for the whole process: filters of warnings, handlers of loggers.

Functions of the standard library in Python, not instrumented, change it and look at it. Each such
thing is one location, with a name that is the same in every execution.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import logging
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from treadle.core.events import Codes, Mode, code
from treadle.python.accesses import instruction_hooks as hooks
from treadle.python.runtime import control, notes, slots
from treadle.python.runtime.looking import module_of_class
from treadle.python.sharing.containers import ContainerTable
from treadle.python.sharing.published import published
from treadle.python.sharing.tables import ObjectTable

_CHANGED = "changed"


def looking(place: str) -> Codes:
    """Return the codes of looking at something that a library keeps, if it is ever changed."""
    shared = control.the_program().shared
    return (_at(place, Mode.READ),) if shared.happens(place, _CHANGED) else ()


def changing(place: str) -> Codes:
    """Return the codes of changing something that a library keeps."""
    known = control.the_program().shared.write(place, _CHANGED)
    notes.outlives(place)
    return (_at(place, Mode.WRITE),) if known else ()


def _at(place: str, mode: Mode) -> int:
    return code(control.the_program().shared.location(("library", place), place), mode)


def has_threads() -> bool:
    """Tell whether the current thread is under control, and the test has started others."""
    return slots.announce is not slots.nothing and control.current() is not None


# Warnings, and what is printed where

FILTERS = "warnings.filters"
_MANAGERS: dict[type, str] = {
    warnings.catch_warnings: FILTERS,
    contextlib.redirect_stdout: "sys.stdout",
    contextlib.redirect_stderr: "sys.stderr",
}
"""Context managers that set something for the whole process, and what."""


class SettingManager:
    """Stands for a context manager that sets something for the whole process."""

    def __init__(self, manager: Any) -> None:
        self._manager = manager
        self._place = _MANAGERS[type(manager)]

    def __enter__(self) -> Any:
        hooks.say(changing(self._place))
        return self._manager.__enter__()

    def __exit__(self, *error: Any) -> Any:
        hooks.say(changing(self._place))
        return self._manager.__exit__(*error)


def sets_something(manager: Any) -> bool:
    """Tell whether a context manager sets something for the whole process."""
    return type(manager) in _MANAGERS and has_threads()


def _announcing(codes: Callable[[], Codes]) -> Callable[..., Any]:
    """Stand for a function that changes or looks at what a library keeps."""

    def call(function: Any, *args: Any, **kwargs: Any) -> Any:
        if has_threads():
            hooks.say(codes())
        return function(*args, **kwargs)

    return call


# Loggers


def _loggers(logger: Any) -> Iterator[Any]:
    """Yield the loggers whose handlers get what a logger is told."""
    logger = getattr(logger, "logger", logger)  # of an adapter
    while isinstance(logger, logging.Logger):
        yield logger
        logger = logger.parent if logger.propagate else None


def _settings_of(logger: Any) -> str:
    return f"logger {logger.name}"


def enter_logger(shared: Any, logger: Any) -> None:
    """Enter a logger, its handlers and filters, which all share who ask for it by name."""
    if isinstance(logger, logging.Logger) and id(logger) not in published:
        key = ("library", _settings_of(logger))
        table = shared.new_table(ObjectTable, key, logger, _settings_of(logger))
        shared.enter_for_good(logger, table)
        for name in ("handlers", "filters"):
            label = f"{_settings_of(logger)}.{name}"
            shared.enter_container(getattr(logger, name), ("library", label), label)


def enter_loggers(shared: Any) -> None:
    """Enter the dictionary of all loggers: that matters only to who looks into it."""
    loggers = logging.root.manager.loggerDict
    shared.enter_container(loggers, ("library", "loggers"), "loggerDict")


def _get_logger(function: Any, *args: Any, **kwargs: Any) -> Any:
    """Call `logging.getLogger`, or a method like it; it may add a logger, and those above it."""
    owner = getattr(function, "__self__", None)
    above = f"{owner.name}." if isinstance(owner, logging.Logger) and owner.parent else ""
    given = next(iter((*args, *kwargs.values())), None)
    table = published.get(id(logging.root.manager.loggerDict))
    if isinstance(table, ContainerTable) and isinstance(given, str) and has_threads():
        names = itertools.accumulate(f"{above}{given}".split("."), "{}.{}".format)
        hooks.say(tuple(dict.fromkeys(code for name in names for code in table.item_write(name))))
    logger = function(*args, **kwargs)
    if control.current() is not None:
        enter_logger(control.the_program().shared, logger)
    return logger


def set_logger(function: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a method of a logger that changes its handlers, filters or level: one step."""
    for value in args:
        slots.hand_out(value, f"{_settings_of(function.__self__)}.handlers[...]")
    _change_logger(function.__self__)
    return function(*args, **kwargs)


def _set_root(function: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a function that changes the handlers and level of the root logger."""
    if control.current() is not None:
        enter_logger(control.the_program().shared, logging.root)
    _change_logger(logging.root)
    return function(*args, **kwargs)


def _ask_logger(function: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a method that looks at the level or the handlers of a logger."""
    look_at_logger(function.__self__, logs=False)
    return function(*args, **kwargs)


def _change_logger(owner: Any) -> None:
    """Announce that handlers, filters or the level of a logger are changed."""
    if has_threads() and isinstance(owner, logging.Logger):
        listed = [one for table in _lists_of(owner) for one in table.whole_write()]
        own = published.get(id(owner))
        level = own.stored("level") if isinstance(own, ObjectTable) else ()
        hooks.say(tuple(dict.fromkeys((*level, *listed))))


def _lists_of(logger: logging.Logger) -> list[ContainerTable]:
    """Return the tables of the handlers and filters of a logger, if others can reach it."""
    tables = [published.get(id(held)) for held in (logger.handlers, logger.filters)]
    return [table for table in tables if isinstance(table, ContainerTable)]


_QUIET = frozenset({"StreamHandler", "_StderrHandler", "NullHandler", "FileHandler"})
"""Handlers of `logging` that keep nothing: what they write to is somebody else's."""


def look_at_logger(logger: Any, logs: bool = True) -> None:
    """Announce that something is logged; note handlers that keep it, unobserved."""
    if not has_threads():
        return
    codes: dict[int, None] = {}
    for each in _loggers(logger):
        own = published.get(id(each))
        codes.update(dict.fromkeys(own["level"] if own is not None else ()))
        for table in _lists_of(each):
            codes.update(dict.fromkeys(table.whole_read()))
    hooks.say(tuple(codes))
    if not logs:
        return
    for each in _loggers(logger):
        for handler in each.handlers:
            kind = type(handler)
            package = module_of_class(kind).partition(".")[0]
            if package == "logging" and (kind.__name__ not in _QUIET or _is_in_memory(handler)):
                notes.note(f"{module_of_class(kind)}.{kind.__qualname__}.emit")


def _is_in_memory(handler: Any) -> bool:
    stream = getattr(handler, "stream", None)
    return (
        stream is not None
        and stream not in (sys.__stderr__, sys.__stdout__)
        and not hasattr(stream, "buffer")
    )


def _noting(function: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a function that sets something which others look at unobserved: that is noted."""
    _remark(f"{function.__module__}.{function.__qualname__}")
    return function(*args, **kwargs)


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


def dispatching(function: types.FunctionType) -> Codes:
    """Return the codes of calling a generic function, or of registering one for a generic method.

    Both have the names of what they stand for, so it is their code that tells them.
    """
    if function.__code__ in _DISPATCHERS:
        return looking(_DISPATCHED) if has_threads() else ()
    if function.__code__ is not _METHOD.register.__code__ or not has_threads():
        return ()
    if not _OF_METHODS:
        _remark("functools.singledispatchmethod.register")
    return changing(_DISPATCHED)


_CHANGING = {
    (function.__module__, function.__name__): FILTERS  # the module is another one since 3.14
    for function in (warnings.simplefilter, warnings.filterwarnings, warnings.resetwarnings)
}
LIBRARY_STATE: dict[tuple[str, str], Callable[..., Any]] = {
    **{
        name: _announcing(functools.partial(changing, place)) for name, place in _CHANGING.items()
    },
    ("logging", "getLogger"): _get_logger,
    ("logging", "Manager.getLogger"): _get_logger,
    ("logging", "Logger.getChild"): _get_logger,
    ("logging", "basicConfig"): _set_root,
    **dict.fromkeys(
        [
            ("logging", "Logger.isEnabledFor"), ("logging", "Logger.getEffectiveLevel"),
            ("logging", "Logger.hasHandlers"),
        ],
        _ask_logger,
    ),
    ("logging", "disable"): _noting,
    ("functools", "singledispatch.<locals>.register"): _announcing(
        functools.partial(changing, _DISPATCHED)
    ),
    ("functools", "singledispatch.<locals>.dispatch"): _announcing(
        functools.partial(looking, _DISPATCHED)
    ),
    **dict.fromkeys(
        [
            ("logging", "Logger.addHandler"), ("logging", "Logger.removeHandler"),
            ("logging", "Logger.setLevel"), ("logging", "Filterer.addFilter"),
            ("logging", "Filterer.removeFilter"),
        ],
        set_logger,
    ),
}  # fmt: skip


def _warning() -> Codes:
    """Return the codes of a warning: the filters decide, and somebody may keep it."""
    is_kept = not isinstance(getattr(warnings, "_showwarnmsg_impl", None), types.FunctionType)
    return (*looking(FILTERS), *(changing("recorded warnings") if is_kept else ()))


warn: Callable[..., Any] = functools.partial(_announcing(_warning), warnings.warn)
"""Stands for `warnings.warn`."""
