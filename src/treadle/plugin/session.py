"""Treadle in one pytest session: takes tests over, checks them, and amends their reports."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from treadle.core.decorated import ASKS_FOR
from treadle.core.errors import TreadleError
from treadle.core.failure import Failure
from treadle.core.frames import users_part
from treadle.core.result import Result
from treadle.findings.database import Database
from treadle.plugin.cases import expects_failure
from treadle.plugin.checking import Check, Checked
from treadle.plugin.coverage import advice_on_coverage
from treadle.plugin.elsewhere import SESSION
from treadle.plugin.executions import SKIPS, Executions
from treadle.plugin.layout import Layout
from treadle.plugin.live import live_tail
from treadle.plugin.longrepr import (
    amend,
    found_of,
    not_covered,
    replay_line,
    report_of,
    skipped_by_thread,
)
from treadle.plugin.repeated import RepeatedItem, WiderFixture
from treadle.plugin.tracebacks import cut_to_user
from treadle.report.registry import report_for, write_report
from treadle.session.front_ends import front_end_of
from treadle.session.memory import Memory
from treadle.session.options import everything
from treadle.session.settings import Settings, project_of

_REPEATED = pytest.StashKey[RepeatedItem]()
_CHECKED = pytest.StashKey[Checked]()


def take_over(config: pytest.Config, items: Sequence[pytest.Function]) -> None:
    """Make tests run under Treadle."""
    try:
        session = PytestSession(config)
    except TreadleError as error:
        raise pytest.UsageError(f"treadle: {error}") from None
    if config.getoption("treadle_replay") is not None and len(items) > 1:
        raise pytest.UsageError(
            f"treadle: --treadle-replay is for one test, and {len(items)} were selected: "
            f"name it, as in FILE.py::test"
        )
    config.pluginmanager.register(session, SESSION)
    for item in items:
        session.take_over(item)


class PytestSession:
    """The part of the plugin that is there once a test is Treadle's."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._project = project_of(config.rootpath)
        self._given = {
            name: value
            for name in everything()
            if (value := config.getoption(f"treadle_{name}")) is not None
        }
        self._profile: str | None = config.getoption("treadle_profile")
        report: str | None = config.getoption("treadle_report")
        self._report = config.invocation_params.dir / report if report else None
        if self._report is not None:
            report_for(self._report)  # so that an unknown suffix shows now
        pages: str | None = config.getoption("treadle_html")
        self._pages = config.invocation_params.dir / pages if pages else None
        if self._pages is not None:
            _make(self._pages)
        self._running: RepeatedItem | None = None
        self._advice = advice_on_coverage()
        self._settings({})  # so that mistakes show now, once

    def take_over(self, item: pytest.Function) -> None:
        """Make a test run under Treadle."""
        repeated = item.stash[_REPEATED] = RepeatedItem(item)
        item.setup = repeated.set_up  # type: ignore[method-assign]
        item.runtest = functools.partial(self._run, repeated)  # type: ignore[method-assign]

    def explore_for_others(
        self, item: pytest.Function, fixtures: Sequence[str], explore: Callable[[object], None]
    ) -> None:
        """Make a test explore parts of its space on behalf of another process.

        Fixtures are set up first of which that process knows that executions ask for them.
        """
        repeated = item.stash[_REPEATED]

        def run() -> None:
            self._running = repeated
            for name in fixtures:
                repeated.set_up_wider(WiderFixture(name))
            executions = Executions(repeated)
            executions.guarded(lambda: explore(executions))

        item.runtest = run  # type: ignore[method-assign]

    # Settings

    def _settings(self, asked_for: dict[str, object]) -> Settings:
        """Return the settings of a test that asks for some itself."""
        asked_for = dict(asked_for)
        profile = asked_for.pop("profile", None)
        if profile is not None and not isinstance(profile, str):
            raise TreadleError(f"the test's options: profile must be a name, not {profile!r}")
        settings = self._project.settings(self._profile or profile)
        asked = settings.changed(asked_for, "the test's options", for_this_test=True)
        return asked.changed(self._given, "the command line")

    # Running

    def _run(self, repeated: RepeatedItem) -> None:
        __tracebackhide__ = True
        item: pytest.Function = repeated.item
        self._running = repeated
        try:
            settings = self._settings(marked_options(item))
            checked = self._check(repeated, settings)
        except KeyboardInterrupt as interrupt:
            raise interrupt.with_traceback(users_part(interrupt.__traceback__)) from None
        finally:
            self._running = None
        item.stash[_CHECKED] = self._with_advice(self._reported(checked, item))
        if checked.skipped is not None:
            cut_to_user(checked.skipped)
            raise checked.skipped
        if expects_failure(item):
            judge_expected(checked)
        elif checked.failure is not None:
            raise self._error_of(checked.failure)
        elif settings.strict and checked.verdict.outcome == "incomplete":
            raise not_covered(checked.verdict)

    def _check(self, repeated: RepeatedItem, settings: Settings) -> Checked:
        __tracebackhide__ = True
        item: pytest.Function = repeated.item
        front_end_of(item.function).refuse(item.function)
        if getattr(item.obj, "is_hypothesis_test", False):
            raise TreadleError(
                "Hypothesis draws new values in each execution: leave out the mark or decorator of "
                "the test; in it, call a function that is decorated with @treadle.check(), so that "
                "each example is explored by itself"
            )
        memory = None
        if settings.database:
            from treadle.smt.place import keep_in

            memory = Memory(Database(self._config.rootpath / settings.database), item.nodeid)
            keep_in(self._config.rootpath / settings.database)
        is_debugged = self._config.getoption("usepdb", False) and settings.workers != 1
        if is_debugged:
            settings = settings.changed({"workers": 1})
        check = Check(
            repeated,
            settings,
            memory=memory,
            listener=live_tail(self._config),
            layout=Layout.of(self._config),
            is_reported=self._report is not None or self._pages is not None,
        )
        token = self._config.getoption("treadle_replay")
        checked = check.check() if token is None else check.replay(token)
        if is_debugged:
            notes = (*checked.verdict.notes, "explored by one worker: --pdb needs this process")
            checked = replace(checked, verdict=replace(checked.verdict, notes=notes))
        return checked

    def _reported(self, checked: Checked, item: pytest.Function) -> Checked:
        """Write a test's reports beside those of others; say where, and how to replay it."""
        verdict, failure = checked.verdict, checked.failure
        if failure is not None:
            where = failure.trace[-1].where if failure.trace else ""
            token = checked.token
            verdict = replace(verdict, where=where, replay=token and replay_line(token, item))
        result = checked.result
        name = re.sub(r"[^\w.-]+", "-", item.nodeid).strip("-")
        if result is not None and self._report is not None:
            file = self._report.with_stem(f"{self._report.stem}-{name}")
            write_report(file, result, item.nodeid, _replays(result, item))
        if result is not None and self._pages is not None:
            page = self._pages / f"{name}.html"
            write_report(page, result, item.nodeid, _replays(result, item))
            verdict = replace(verdict, page=str(page))
        return replace(checked, verdict=verdict)

    def _with_advice(self, checked: Checked) -> Checked:
        """Add what concerns the whole session to the first verdict."""
        advice, self._advice = self._advice, ()
        if not advice:
            return checked
        verdict = replace(checked.verdict, notes=(*checked.verdict.notes, *advice))
        return replace(checked, verdict=verdict)

    def _error_of(self, failure: Failure) -> BaseException:
        """Return what pytest is to show for a failure."""
        error = failure.exception
        if error is None:
            return found_of(failure)
        if isinstance(error, SKIPS):  # in another thread: what skips the test is no failure
            error = skipped_by_thread(failure.process, error)
        if not self._config.getoption("fulltrace"):
            cut_to_user(error)
        return error

    # Hooks

    @pytest.hookimpl(tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> None:
        """Follow which fixtures an execution sets up."""
        if self._running is not None:
            self._running.begin_fixture(fixturedef)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, Any, Any]:
        """Add the verdict to a test's report, and say what failed and how to see it again."""
        report = yield
        repeated = item.stash.get(_REPEATED, None)
        if call.when == "call" and repeated is not None:
            checked = item.stash.get(_CHECKED, None)
            if checked is not None and checked.skipped is None:
                verdict = checked.verdict
                if report.skipped and hasattr(report, "wasxfail"):
                    verdict = verdict.as_expected()
                report.treadle = verdict.as_dict()
                item.user_properties.append(("treadle", str(verdict)))  # JUnit reads it at the end
            if report.failed and call.excinfo is not None:
                lines = [] if checked is None else report_of(checked, item)
                amend(report, item, call.excinfo.value, lines)
                report.when = "call" if checked is None else checked.phase
        return report


def _make(directory: Path) -> None:
    """Make a directory, if it is not there."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TreadleError(f"cannot make {directory}: {error.strerror}") from error


def _replays(result: Result, item: pytest.Item) -> list[str]:
    return [replay_line(failure.token, item) for failure in result.failures]


def judge_expected(checked: Checked) -> None:
    """Judge a test that `unittest.expectedFailure` marks: some execution is to fail."""
    __tracebackhide__ = True
    if checked.failure is not None:
        pytest.xfail(str(checked.failure.message))
    pytest.fail(f"unexpected success: {checked.verdict}", pytrace=False)


def marked_options(item: pytest.Function) -> dict[str, object]:
    """Return what a test asks for: its marks, those of its class and module, and `check`."""
    options: dict[str, object] = {}
    for mark in reversed(list(item.iter_markers("treadle"))):
        if mark.args:
            raise TreadleError(
                f"@pytest.mark.treadle takes options by name only, not {mark.args[0]!r}"
            )
        options.update(mark.kwargs)
    options.update(getattr(item.obj, ASKS_FOR, {}))
    return options
