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


class ProcessTables:
    """Puts back what an execution changed in them."""

    def __init__(self) -> None:
        self._undo: list[Undo] = []
        self._is_as_before: Callable[[], bool] = lambda: True

    def take(self) -> Callable[[], None]:
        """Remember how things are; return what puts them back."""
        undo_lists = (_undo_list(module, name) for module, name in _LISTS)
        self._undo = [*map(_undo_stream, _STREAMS), *undo_lists, _undo_loggers()]
        self._is_as_before = _comparison()
        return self._put_back

    def begin(self, main: Task) -> None:
        """Put back what the last execution changed."""
        del main
        if not self._is_as_before():
            self._put_back()

    def _put_back(self) -> None:
        for undo in self._undo:
            undo()


def _comparison() -> Callable[[], bool]:
    """Return what tells whether everything is as it is now: it nearly always is.

    Before each execution of a small test, to ask one by one takes 5 % of its time, and to pick what
    `sys` has out of its dictionary 1 %. Finders and hooks of imports are not asked whether they are
    equal: that may be code under test.
    """
    stdin, stdout, stderr, path = sys.stdin, sys.stdout, sys.stderr, sys.path
    filters, paths, shown = warnings.filters, [*path], [*warnings.filters]
    finders, hooks = sys.meta_path, sys.path_hooks
    finding, hooking = [*finders], [*hooks]
    manager, known, loggers = logging.root.manager, logging.root.manager.loggerDict, _loggers()
    named, disabled = [*known.values()], manager.disable
    settings = [_copied(*_settings(logger)) for logger in loggers]

    def is_as_before() -> bool:
        try:
            return (
                sys.stdout is stdout
                and sys.stderr is stderr
                and sys.stdin is stdin
                and sys.path is path
                and path == paths
                and sys.meta_path is finders
                and len(finders) == len(finding)
                and all(map(operator.is_, finders, finding))
                and sys.path_hooks is hooks
                and len(hooks) == len(hooking)
                and all(map(operator.is_, hooks, hooking))
                and warnings.filters is filters
                and filters == shown
                and [*known.values()] == named
                and [*map(_settings, loggers)] == settings
                and manager.disable == disabled
            )
        except AttributeError:  # somebody deleted one
            return False

    return is_as_before


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
    before = {logger: _copied(*_settings(logger)) for logger in _loggers()}
    disabled = logging.root.manager.disable

    def undo() -> None:
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
