"""What loggers and handlers of `logging` are set to, for the whole process: locations.

A logger is the same for all who ask for it by its name. What decides whether and where something
is logged are its level, handlers and filters, those of the loggers above it, and what its handlers
are set to. Functions of `logging` that change such a thing, and those that look at it, say so here;
assignments by code under test are seen as those of any object are.
"""

from __future__ import annotations

import itertools
import logging
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

from treadle.core.events import Codes
from treadle.python.accesses import instruction_hooks as hooks
from treadle.python.accesses import library_names
from treadle.python.accesses.library_state import (
    announcing,
    assigned_in,
    changing,
    has_threads,
    looking,
    looking_at_sys,
)
from treadle.python.runtime import control, notes, slots
from treadle.python.runtime.looking import members_of, module_of_class, mro_of
from treadle.python.sharing.containers import ContainerTable
from treadle.python.sharing.published import published
from treadle.python.sharing.tables import ObjectTable

_DISABLED = "logging.disable"
_HANDLERS = "handlers of logging"
"""What handlers are set to: few change that while others log, so it is one location."""


def _methods_of(kind: type) -> list[str]:
    """Return the names of methods, which code under test may replace for one object."""
    functions = [name for one in mro_of(kind) for name, held in members_of(one).items()
                 if type(held) is types.FunctionType]  # fmt: skip
    return sorted({name for name in functions if not name.startswith("__")})


_DECIDING = {
    logging.Logger: (
        "level", "disabled", "propagate", "parent", "handlers", "filters",
        *_methods_of(logging.Logger),
    ),
    logging.Handler: (
        "level", "formatter", "filters", "stream",
        *_methods_of(logging.Handler),
    ),
}  # fmt: skip
"""Attributes that decide what becomes of a record; code under test may assign them."""


def _loggers(logger: Any) -> Iterator[Any]:
    """Yield the loggers whose handlers get what a logger is told."""
    logger = _behind_adapter(logger)
    while isinstance(logger, logging.Logger):
        yield logger
        logger = logger.parent if logger.propagate else None


def _behind_adapter(logger: Any) -> Any:
    while isinstance(logger, logging.LoggerAdapter):
        logger = logger.logger
    return logger


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


def _get_logger(function: Any, /, *args: Any, **kwargs: Any) -> Any:
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


def set_logger(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call a method of a logger that changes its handlers, filters or level: one step."""
    owner = _behind_adapter(function.__self__)
    for value in args:
        slots.hand_out(value, f"{_settings_of(owner)}.handlers[...]")
    _change_logger(owner)
    return function(*args, **kwargs)


def set_handler(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call a method of a handler that changes its level, filters, formatter or stream: one step."""
    for value in args:
        slots.hand_out(value, f"{_HANDLERS}[...]")
    if has_threads():
        hooks.say(changing(_HANDLERS))
    return function(*args, **kwargs)


def _set_filter(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call `addFilter` or `removeFilter`, which loggers and handlers have."""
    is_logger = isinstance(function.__self__, logging.Logger)
    return (set_logger if is_logger else set_handler)(function, *args, **kwargs)


def _ask_handler(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call a method of a handler that looks at what it is set to."""
    if has_threads():
        hooks.say(tuple(dict.fromkeys((*looking(_HANDLERS), *_attributes_of(function.__self__)))))
    return function(*args, **kwargs)


def _set_root(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call a function that changes the handlers and level of the root logger."""
    if control.current() is not None:
        enter_logger(control.the_program().shared, logging.root)
    _change_logger(logging.root)
    return function(*args, **kwargs)


def _ask_logger(function: Any, /, *args: Any, **kwargs: Any) -> Any:
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
    handlers = [_enter_handler(each, *found) for each in _loggers(logger)
                for found in enumerate(each.handlers)]  # fmt: skip
    captured = _capturing() if logs and any(map(_captures, handlers)) else ()
    replaced = _replaced_for(logger, handlers) if logs else ()
    hooks.say(tuple(dict.fromkeys((*_looking_at(logger), *captured, *replaced))))
    for handler in handlers if logs else ():
        kind = type(handler)
        if module_of_class(kind).partition(".")[0] == "logging" and _keeps(handler):
            notes.note(f"{module_of_class(kind)}.{kind.__qualname__}.emit")


def _replaced_for(logger: Any, handlers: list[Any]) -> Codes:
    """Return the codes of looking at methods of loggers and handlers that are assigned."""
    shared = control.the_program().shared
    owner = _behind_adapter(logger)
    if not shared.assigned or not isinstance(owner, logging.Logger):
        return ()
    called = [(logging.Logger._log, owner), *((type(each).handle, each) for each in handlers)]
    functions = [(one, each) for one, each in called if isinstance(one, types.FunctionType)]
    return tuple(
        code for one, each in functions for code in library_names.codes_of(one, each, shared)
    )


def _enter_handler(logger: Any, index: int, handler: Any) -> Any:
    """Publish a handler that keeps what is logged: its logger may have it from a library."""
    if id(handler) not in published and _keeps(handler) and not _captures(handler):
        name, shared = f"{_settings_of(logger)}.handlers[{index}]", control.the_program().shared
        shared.publish(handler, name, ("handler", logger.name, index))
    return handler


def _keeps(handler: Any) -> bool:
    kind = type(handler)
    is_quiet = module_of_class(kind) == "logging" and kind.__name__ in _QUIET
    return not is_quiet or _is_in_memory(handler)


# What pytest keeps of what is logged, for tests that ask for it

_CAPTURED = "captured logs"
_ASKED = "asked for"


def _captures(handler: Any) -> bool:
    return module_of_class(type(handler)) == "_pytest.logging"


def _capturing() -> Codes:
    """Return the codes of logging something that the test may ask pytest for."""
    is_asked = control.the_program().shared.happens(_CAPTURED, _ASKED)
    return changing(_CAPTURED) if is_asked else ()


def ask_for_captured() -> None:
    """Announce that the test asks pytest for what was logged."""
    if control.current() is not None and has_threads():
        control.the_program().shared.note(_CAPTURED, _ASKED)
        hooks.say(looking(_CAPTURED))


def _looking_at(logger: Any) -> Iterator[int]:
    """Yield the codes of all that decides what becomes of a record."""
    yield from (*looking(_DISABLED), *looking(_HANDLERS))
    for each in _loggers(logger):
        yield from _attributes_of(each)
        for table in _lists_of(each):
            yield from table.whole_read()
        for handler in each.handlers:
            yield from _attributes_of(handler)
    yield from (*assigned_in(logging), *looking_at_sys("stderr"))  # the handler of last resort


def _attributes_of(held: Any) -> Codes:
    """Return the codes of looking at what a logger or handler is set to by assignments."""
    table = published.get(id(held))
    kind = logging.Logger if isinstance(held, logging.Logger) else logging.Handler
    names = _DECIDING[kind] if isinstance(table, ObjectTable) else ()
    return tuple(code for name in names for code in published[id(held)][name])


def _is_in_memory(handler: Any) -> bool:
    stream = getattr(handler, "stream", None)
    return (
        stream is not None
        and stream not in (sys.__stderr__, sys.__stdout__)
        and not hasattr(stream, "buffer")
    )


def _set_by_methods() -> dict[tuple[str, str], Callable[..., Any]]:
    set_by = {
        ("logging", "Logger.addHandler"): set_logger,
        ("logging", "Logger.removeHandler"): set_logger,
        ("logging", "Logger.setLevel"): set_logger,
        ("logging", "LoggerAdapter.setLevel"): set_logger,
        ("logging", "Filterer.addFilter"): _set_filter,
        ("logging", "Filterer.removeFilter"): _set_filter,
    }
    for name in ("Handler.setLevel", "Handler.setFormatter", "StreamHandler.setStream"):
        set_by["logging", name] = set_handler
    for name in ("Handler.handle", "Handler.format", "Handler.emit", "StreamHandler.emit"):
        set_by["logging", name] = _ask_handler
    for name in ("isEnabledFor", "getEffectiveLevel", "hasHandlers"):
        set_by["logging", f"Logger.{name}"] = _ask_logger
    return set_by


LOGGING: dict[tuple[str, str], Callable[..., Any]] = {
    ("logging", "getLogger"): _get_logger,
    ("logging", "Manager.getLogger"): _get_logger,
    ("logging", "Logger.getChild"): _get_logger,
    ("logging", "basicConfig"): _set_root,
    ("logging", "disable"): announcing(lambda: changing(_DISABLED)),
    **_set_by_methods(),
}
"""Functions of `logging`, and what stands for them."""
