"""What the standard library keeps for the whole process and lets anybody change.

Where modules are looked for, which warnings are shown, where output goes, and how loggers are set.
Tests add to it and do not always take that back; the next execution must find it as this one did.
"""

from __future__ import annotations

import logging
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


class ProcessTables:
    """Puts back what an execution changed in them."""

    def __init__(self) -> None:
        self._undo: list[Undo] = []

    def take(self) -> Callable[[], None]:
        """Remember how things are; return what puts them back."""
        self._undo = [
            *map(_undo_stream, _STREAMS),
            *(_undo_list(module, name) for module, name in _LISTS),
            _undo_loggers(),
        ]
        return self._put_back

    def begin(self, main: Task) -> None:
        """Put back what the last execution changed."""
        del main
        self._put_back()

    def _put_back(self) -> None:
        for undo in self._undo:
            undo()


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
    known = logging.root.manager.loggerDict
    before = {logger: _copied(*_settings(logger)) for logger in _loggers()}
    named, disabled = [*known.values()], logging.root.manager.disable

    def undo() -> None:
        is_same = [*known.values()] == named and logging.root.manager.disable == disabled
        if not is_same or any(_settings(one) != then for one, then in before.items()):
            for logger in _loggers():
                _set(logger, *before.get(logger, _new_settings(logger)))
            logging.disable(disabled)  # which forgets who is enabled for what

    return undo


_Settings = tuple[int, bool, bool, list[Any], list[Any]]


def _loggers() -> list[logging.Logger]:
    found = logging.root.manager.loggerDict.values()
    return [logging.root, *(one for one in found if isinstance(one, logging.Logger))]


def _settings(logger: logging.Logger) -> _Settings:
    return logger.level, logger.propagate, logger.disabled, logger.handlers, logger.filters


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
