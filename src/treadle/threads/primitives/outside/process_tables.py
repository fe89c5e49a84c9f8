"""What the standard library keeps for the whole process and lets anybody change.

Where modules are looked for, which warnings are shown, where output goes, and how loggers are set.
Tests add to it and do not always take that back; the next execution must find it as this one did.
"""

from __future__ import annotations

import logging
import operator
import os
import sys
import types
import warnings
from collections.abc import Callable
from typing import Any

from treadle.python.runtime.task import Task
from treadle.python.sharing.restoring import Undo, undo_variable

_LISTS = ((sys, "path"), (sys, "meta_path"), (sys, "path_hooks"), (warnings, "filters"))
_STREAMS = ("stdin", "stdout", "stderr")
_OF_SYS = (*_STREAMS, "path", "meta_path", "path_hooks")


class ProcessTables:
    """Puts back what an execution changed in them."""

    def __init__(self) -> None:
        self._undo: list[Undo] = []

    def take(self) -> Callable[[], None]:
        """Remember how things are; return what puts them back."""
        self._undo = [_undo_streams_and_lists(), _undo_loggers()]
        return self._put_back

    def begin(self, main: Task) -> None:
        """Put back what the last execution changed."""
        del main
        self._put_back()

    def _put_back(self) -> None:
        for undo in self._undo:
            undo()


def _undo_streams_and_lists() -> Undo:
    """Put back all that are not as they were; mostly they are, which one comparison shows.

    Nobody is asked whether it is equal to another: that may be code under test.
    """
    undo = [*map(_undo_stream, _STREAMS), *(_undo_list(*place) for place in _LISTS)]
    lists: list[list[Any]] = [getattr(module, name) for module, name in _LISTS]
    before = _held(*lists)

    def undo_what_changed() -> None:
        now = _held(*lists)
        if len(now) != len(before) or not all(map(operator.is_, now, before)):
            for one in undo:
                one()

    return undo_what_changed


def _held(
    path: list[Any], meta_path: list[Any], path_hooks: list[Any], filters: list[Any]
) -> list[Any]:
    """Return which streams and lists there are now, and what is in the lists there were."""
    now = map(vars(sys).get, _OF_SYS)
    shown = vars(warnings).get("filters")
    return [*now, shown, *path, path, *meta_path, meta_path, *path_hooks, path_hooks, *filters]


def _undo_stream(name: str) -> Undo:
    """Put back where output goes, unless it goes nowhere: nobody is to see this execution."""
    undo = undo_variable(vars(sys), name)

    def undo_unless_silenced() -> None:
        if getattr(getattr(sys, name, None), "name", None) != os.devnull:
            undo()

    return undo_unless_silenced


def _undo_list(module: types.ModuleType, name: str) -> Undo:
    """Put back which list a module has under a name, and what is in it."""
    value: list[Any] = getattr(module, name)
    before = [*value]
    elements = [*map(id, before)]

    def undo() -> None:
        if getattr(module, name) is not value or [*map(id, value)] != elements:
            setattr(module, name, value)
            value[:] = before
            with warnings.catch_warnings():  # lets it forget what it knew of its filters
                pass

    return undo


def _undo_loggers() -> Undo:
    """Put back the levels, handlers and filters of all loggers.

    A logger that is new stays: the module that asked for it does. It is as new ones are.
    """
    manager = logging.root.manager
    known = manager.loggerDict
    before = {logger: _copied(*_settings(logger)) for logger in _loggers()}
    settings = [*before.values()]
    named, disabled = [*known.values()], manager.disable

    def undo() -> None:
        is_same = [*map(_settings, before)] == settings and [*known.values()] == named
        if not is_same or manager.disable != disabled:
            for logger in _loggers():
                _set(logger, *before.get(logger, _new_settings(logger)))
            logging.disable(disabled)  # which forgets who is enabled for what

    return undo


_Settings = tuple[int, bool, bool, list[Any], list[Any]]
_settings: Callable[[logging.Logger], _Settings] = operator.attrgetter(
    "level", "propagate", "disabled", "handlers", "filters"
)


def _loggers() -> list[logging.Logger]:
    found = logging.root.manager.loggerDict.values()
    return [logging.root, *(one for one in found if isinstance(one, logging.Logger))]


def _copied(
    level: int, propagate: bool, disabled: bool, handlers: list[Any], filters: list[Any]
) -> _Settings:
    return level, propagate, disabled, [*handlers], [*filters]


def _new_settings(logger: logging.Logger) -> _Settings:
    """Return what a new logger has, and what libraries give theirs when they are imported."""
    handlers = [one for one in logger.handlers if isinstance(one, logging.NullHandler)]
    return logging.NOTSET, True, False, handlers, []


def _set(
    logger: logging.Logger,
    level: int,
    propagate: bool,
    disabled: bool,
    handlers: list[Any],
    filters: list[Any],
) -> None:
    logger.level, logger.propagate, logger.disabled = level, propagate, disabled
    logger.handlers[:] = handlers
    logger.filters[:] = filters
