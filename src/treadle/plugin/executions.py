"""What Treadle explores: a call is one execution of a test, apart from all others.

pytest runs a test once, and expects that what the test prints, logs and warns of appears once. So
all that is thrown away, except for what the one execution printed and logged that is shown in the
end, and one of each warning. Breakpoints count only in that one, too.
"""

from __future__ import annotations

import contextlib
import inspect
import os
import pdb
import sys
import unittest
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from treadle.core.decorated import called_plainly
from treadle.core.errors import TreadleError
from treadle.plugin.repeated import RepeatedItem, WiderFixture
from treadle.python.runtime.choice import assume

Done = TypeVar("Done")

SKIPS = (pytest.skip.Exception, unittest.SkipTest)
"""What skips a test."""


class Left(TreadleError):
    """An execution called `pytest.exit`, which ends everything."""

    def __init__(self, reason: BaseException) -> None:
        super().__init__(str(reason))
        self.reason = reason


class Executions:
    """A test of pytest's as a function that Treadle can explore."""

    def __init__(self, repeated: RepeatedItem) -> None:
        item = repeated.item
        self.repeated = repeated
        self.skipped: BaseException | None = None
        """What the test was skipped with, if it was."""
        self._seen: dict[tuple[str, int, str], warnings.WarningMessage] = {}
        self._is_shown = False
        nowhere = Path(os.devnull)
        self._nowhere = nowhere.open("w", encoding="utf-8", errors="replace")
        self._log_handlers = _log_handlers(item.config)
        # What Treadle has to know of the function that is really run:
        self.__name__ = item.name
        self.__wrapped__ = inspect.unwrap(item.function)
        self.__signature__ = inspect.Signature()
        self.runs_also = tuple(repeated.functions())

    def become_hand(self) -> None:
        """Run in a copy of the process: its temporary directories are its own."""
        self.repeated.become_hand()

    def close(self) -> None:
        """Let go of what it holds, and pass the warnings on."""
        self._nowhere.close()
        with warnings.catch_warnings():
            warnings.simplefilter("always")  # the filters have let them pass already
            for found in self._seen.values():
                warnings.warn_explicit(found.message, found.category, found.filename, found.lineno)

    def guarded(self, what: Callable[[], Done]) -> Done:
        """Do something that runs the test; set fixtures of wider scopes up when it needs them."""
        output = sys.stdout, sys.stderr
        try:
            with called_plainly():
                while True:
                    try:
                        return what()
                    except WiderFixture as needed:
                        self.repeated.set_up_wider(needed)
        except Left as left:
            raise left.reason from None
        finally:
            sys.stdout, sys.stderr = output
            self.close()

    @contextlib.contextmanager
    def shown(self) -> Iterator[None]:
        """Let executions print and log as tests do, not into nowhere."""
        self._is_shown = True
        try:
            yield
        finally:
            self._is_shown = False

    def __call__(self) -> object:
        """Run the test once; if it is a coroutine function, return what is to be awaited."""
        __tracebackhide__ = True
        if self.repeated.is_coroutine:
            return self._awaited()
        with self._surrounded():
            return self.repeated.run()

    async def _awaited(self) -> object:
        __tracebackhide__ = True
        with self._surrounded():
            return await self.repeated.run_awaited()

    @contextlib.contextmanager
    def _surrounded(self) -> Iterator[None]:
        """Keep what an execution prints, logs and warns of apart; take note of what skips it."""
        __tracebackhide__ = True
        for handler in self._log_handlers:
            handler.clear()
        with self._quiet(), self._warnings_once():
            try:
                yield
            except SKIPS as reason:
                self.skipped = reason
                assume(False)
            except pytest.exit.Exception as reason:
                raise Left(reason) from None

    @contextlib.contextmanager
    def _quiet(self) -> Iterator[None]:
        if self._is_shown:
            yield
            return
        before = sys.stdout, sys.stderr, sys.breakpointhook, pdb.set_trace
        sys.stdout = sys.stderr = self._nowhere
        sys.breakpointhook = pdb.set_trace = _go_on
        try:
            yield
        finally:
            sys.stdout, sys.stderr, sys.breakpointhook, pdb.set_trace = before

    @contextlib.contextmanager
    def _warnings_once(self) -> Iterator[None]:
        """Make each execution warn as if it was the only one, and keep one warning of each."""
        with warnings.catch_warnings(record=True) as caught:
            try:
                yield
            finally:
                for found in caught:
                    key = found.filename, found.lineno, str(found.message)
                    self._seen.setdefault(key, found)


def _go_on(*args: object, **kwargs: object) -> None:
    """Pass a breakpoint in an execution that nobody looks at."""


def _log_handlers(config: pytest.Config) -> list[Any]:
    """Return what keeps log records for `caplog` and for reports."""
    plugin = config.pluginmanager.get_plugin("logging-plugin")
    return [] if plugin is None else [plugin.caplog_handler, plugin.report_handler]
