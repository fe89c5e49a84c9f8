"""A test of pytest's that runs once per execution, each time with new fixtures.

This is the one place that uses what pytest does not document (as of pytest 8.2 to 9):

- `Function.setup` fills `item.funcargs` with the fixtures in `item.fixturenames`. It is given only
  those of wider scopes; they are set up once, outside of Treadle's control. The others are filled
  in anew, by a new request, in every execution.
- Fixtures and tests register what is to be torn down with `session._setupstate`, in a list of the
  item's own. That list is worked off at the end of every execution.
- A `FixtureDef` keeps its value in `cached_result` until its finalizers have run. One that was left
  by an exception which pytest does not expect there (Treadle unwinds executions) would keep them.
"""

from __future__ import annotations

import contextlib
import inspect
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from _pytest.tmpdir import tmppath_result_key
from _pytest.unittest import TestCaseFunction

from treadle.core.errors import TreadleBug, TreadleError
from treadle.core.words import place_in_words
from treadle.plugin.cases import run_case
from treadle.python.runtime import control

Phase = Literal["setup", "call", "teardown"]

_FATAL = (TreadleError, TreadleBug, KeyboardInterrupt)
"""What ends the exploration, not only an execution."""

_SUBTESTS = ("_pytest.subtests", "pytest_subtests.plugin")
"""Where the fixture `subtests` comes from: pytest 9, or a plugin for older versions."""


class WiderFixture(TreadleError):
    """An execution asked for a fixture that is to be set up once, outside of control."""

    def __init__(self, name: str, fixture: Any = None) -> None:
        super().__init__(f"the fixture {name!r} is needed")
        self.name = name
        self.fixture = fixture
        """What was about to be set up, if it was in this process."""

    def __reduce__(self) -> tuple[type[WiderFixture], tuple[str]]:
        """Let other processes know the name: fixtures are not sent."""
        return WiderFixture, (self.name,)


class RepeatedItem:
    """Runs a test item again and again."""

    def __init__(self, item: pytest.Function) -> None:
        self.item: Any = item
        self.is_coroutine = inspect.iscoroutinefunction(inspect.unwrap(item.function))
        """Whether what the test returns has to be awaited."""
        self.failed_in: Phase = "call"
        """The phase that the last execution failed in, if it did."""
        self._is_running = False
        self._begun: list[Any] = []
        """The fixtures that were begun in the present execution."""
        self._wider: list[tuple[Any, int]] = []
        """Fixtures of wider scopes, and how many finalizers they have."""
        self._kept = 1
        """Finalizers that are for the end, not for every execution."""
        self.needed: list[str] = []
        """Fixtures of wider scopes that were set up because an execution asked for them."""
        self._properties: list[tuple[str, object]] = []
        """What was recorded for reports before the first execution."""
        self._directories = _Directories(item.config)

    # Once

    def set_up(self) -> None:
        """Set up the fixtures of wider scopes; what pytest calls to set up the item."""
        item = self.item
        names = item.fixturenames
        for fixtures in map(item._fixtureinfo.name2fixturedefs.get, names):
            self._refuse_asynchronous(fixtures[-1] if fixtures else None)
        item.fixturenames = [name for name in names if self._is_wider(name)]
        try:
            type(item).setup(item)
        finally:
            item.fixturenames = names
            self._keep_finalizers()
            self._properties = list(item.user_properties)

    def set_up_wider(self, needed: WiderFixture) -> None:
        """Set up a fixture of a wider scope that an execution asked for."""
        if self.needed[-1:] == [needed.name]:
            raise TreadleBug(f"the fixture {needed.name!r} does not last")
        self.needed.append(needed.name)
        if needed.fixture is not None:
            needed.fixture._finalizers.clear()  # it was about to be set up
        self.item._initrequest()
        self.item._request.getfixturevalue(needed.name)
        self._keep_finalizers()

    def _keep_finalizers(self) -> None:
        """Leave what is to be torn down by now to pytest: the item, and `class` without a class."""
        self._kept = len(self._finalizers())

    def _finalizers(self) -> list[Callable[[], object]]:
        """Return what is to be torn down with the item."""
        stack = self.item.session._setupstate.stack
        return stack[self.item][0] if self.item in stack else []

    def functions(self) -> list[Callable[..., object]]:
        """Return the functions of the fixtures that every execution runs."""
        return [fixture.func for fixture in self._fixtures() if fixture.scope == "function"]

    def _is_wider(self, name: str) -> bool:
        fixtures = self.item._fixtureinfo.name2fixturedefs.get(name)
        return bool(fixtures) and fixtures[-1].scope != "function"

    def _fixtures(self) -> Iterator[Any]:
        for fixtures in self.item._fixtureinfo.name2fixturedefs.values():
            yield from fixtures

    def _refuse_asynchronous(self, fixture: Any) -> None:
        """Refuse a fixture whose value would belong to a loop of its own, or of a plugin."""
        function = None if fixture is None else inspect.unwrap(fixture.func)
        if not self.is_coroutine or not (
            inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)
        ):
            return
        code = function.__code__
        where = place_in_words((code.co_filename, code.co_firstlineno))
        raise _noted(
            TreadleError(
                f"the fixture {fixture.argname!r} at {where} is asynchronous, so its value belongs "
                f"to another event loop: make it in the test, by an asynchronous context manager "
                f"say"
            )
        )

    def become_hand(self) -> None:
        """Take temporary directories apart from those of the process that this is a copy of."""
        self._directories.become_hand()

    # Every execution

    def run(self) -> object:
        """Run the test once, with new fixtures, and tear them down whatever happens."""
        __tracebackhide__ = True
        with self._with_fixtures():
            return self._call()

    async def run_awaited(self) -> object:
        """Run a test that is a coroutine function once; its fixtures live until it has ended."""
        __tracebackhide__ = True
        with self._with_fixtures():
            awaited: Any = self._call()
            return await awaited

    @contextlib.contextmanager
    def _with_fixtures(self) -> Iterator[None]:
        __tracebackhide__ = True
        self._begin()
        self._is_running = True
        try:
            self.item._request._fillfixtures()
            self.failed_in = "call"
            yield
            self.failed_in = "teardown"
        except BaseException as error:
            self._tear_down_after(error)
            raise
        self._tear_down()
        self.failed_in = "call"

    def begin_fixture(self, fixture: Any) -> None:
        """Take note that a fixture is about to be set up; refuse some."""
        if not self._is_running:
            return
        self._refuse_asynchronous(fixture)
        if fixture.scope != "function":
            raise _noted(WiderFixture(fixture.argname, fixture))
        if fixture.argname == "subtests" and fixture.func.__module__ in _SUBTESTS:
            raise _noted(
                TreadleError(
                    "the fixture 'subtests' reports failures past Treadle, so it cannot be used "
                    "here: assert in the test itself, parametrize it, or use unittest's subTest"
                )
            )
        self._begun.append(fixture)

    def _begin(self) -> None:
        """Forget the execution before: its fixtures, its instance, what it left behind."""
        item = self.item
        if self._is_running:  # it was abandoned
            with contextlib.suppress(Exception):
                self._tear_down()
        self._wider = [
            (fixture, len(fixture._finalizers))
            for fixture in self._fixtures()
            if fixture.scope != "function"
        ]
        self.failed_in = "setup"
        item.user_properties[:] = self._properties
        self._directories.forget(item.funcargs.get("tmp_path"))
        item.stash[tmppath_result_key] = {"call": False}
        item._initrequest()
        if item.cls is not None:
            item._obj = None
            vars(item).pop("_instance", None)

    def _call(self) -> object:
        __tracebackhide__ = True
        item = self.item
        if isinstance(item, TestCaseFunction):
            run_case(item.instance)
            return None
        return item.obj(**{name: item.funcargs[name] for name in item._fixtureinfo.argnames})

    def _tear_down(self) -> None:
        __tracebackhide__ = True
        for fixture in self._begun:
            if fixture.cached_result is None:
                fixture.cached_result = (None, None, None)
        self._begun.clear()
        finalizers = self._finalizers()
        errors: list[BaseException] = []
        while len(finalizers) > self._kept:
            try:
                finalizers.pop()()
            except BaseException as error:
                errors.append(error)
        for fixture, count in self._wider:
            del fixture._finalizers[count:]
        self._is_running = False
        if errors:
            raise _most_important(errors)

    def _tear_down_after(self, error: BaseException) -> None:
        """Tear down; what goes wrong then does not hide what went wrong before."""
        try:
            self._tear_down()
        except _FATAL:
            raise
        except Exception as second:
            error.add_note(f"and then, in the teardown: {type(second).__name__}: {second}")
        except BaseException:  # the execution is being unwound
            return


def _noted(error: TreadleError) -> TreadleError:
    """Return an error that ends the execution even if the test catches it."""
    if control.current() is not None:
        control.the_program().scheduler.fatal = error
    return error


class _Directories:
    """Lets every execution have the same temporary directory, empty."""

    def __init__(self, config: Any) -> None:
        self._factory: Any = getattr(config, "_tmp_path_factory", None)
        self._numbers: dict[str, int] | None = getattr(self._factory, "_next_number", None)
        """The number of the next directory, by name; newer versions of pytest count."""
        self._before: dict[str, int] | None = None

    def become_hand(self) -> None:
        """Make directories in one of this process's own, so that no other process removes them."""
        if self._factory is not None:
            base = self._factory.getbasetemp() / f"worker-{os.getpid()}"
            base.mkdir(exist_ok=True)
            self._factory._basetemp = base

    def forget(self, path: Path | None) -> None:
        """Remove a directory, so that the next one can have its name."""
        if path is not None:
            shutil.rmtree(path, ignore_errors=True)
        if self._numbers is None:
            return
        if self._before is None:
            self._before = dict(self._numbers)
        self._numbers.clear()
        self._numbers.update(self._before)


def _most_important(errors: list[BaseException]) -> BaseException:
    """Return one exception for all that went wrong in a teardown."""
    for error in errors:
        if isinstance(error, _FATAL) or not isinstance(error, Exception):
            return error
    if len(errors) == 1:
        return errors[0]
    return BaseExceptionGroup("errors during test teardown", errors)
