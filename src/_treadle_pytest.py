"""What pytest loads of Treadle: thin, so that a suite without Treadle tests pays next to nothing.

Nothing of Treadle is imported before the first test that is marked for it, or before the first
report of one arrives from a worker of pytest-xdist. The work is done by `treadle.plugin`. This
module is not part of the package because importing `treadle.x` imports all of Treadle.
"""

from __future__ import annotations

from argparse import ArgumentTypeError
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

_MARKER = (
    "treadle(**options): run the test once per interleaving of its threads that can make a "
    "difference; takes the options of treadle.explore, and strict, shrink, database and profile"
)


def _or_none(kind: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return how to read a budget that can be lifted with `none`; False, as in settings."""

    def read(text: str) -> Any:
        if text == "none":
            return False
        budget = kind(text)
        if not budget > 0:
            raise ArgumentTypeError(f"{text} is not above 0; `none` lifts the limit")
        return budget

    read.__name__ = kind.__name__  # argparse names it in its error
    return read


_OPTIONS: tuple[tuple[str, dict[str, Any]], ...] = (
    (
        "--treadle-profile",
        {"metavar": "NAME", "help": "profile: dev (quick), ci (exhaustive, strict), or your own"},
    ),
    (
        "--treadle-algorithm",
        {"metavar": "NAME", "help": "algorithm, e.g. optimal, source, random, pct"},
    ),
    (
        "--treadle-max-executions",
        {
            "metavar": "N",
            "type": _or_none(int),
            "help": "stop exploring a test after N executions; `none` lifts the limit",
        },
    ),
    (
        "--treadle-timeout",
        {
            "metavar": "SECONDS",
            "type": _or_none(float),
            "help": "stop exploring a test after this time; `none` lifts the limit",
        },
    ),
    (
        "--treadle-granularity",
        {
            "choices": ["access", "gil"],
            "help": "where threads may switch: between any two accesses, or only where a global "
            "interpreter lock is handed over",
        },
    ),
    (
        "--treadle-max-rounds",
        {
            "metavar": "N",
            "type": _or_none(int),
            "help": "leave out executions in which a thread sleeps, or waits in vain, more than N "
            "times in a row at one line",
        },
    ),
    ("--treadle-seed", {"metavar": "N", "type": int, "help": "seed of random and pct"}),
    (
        "--treadle-strict",
        {
            "action": "store_const",
            "const": True,
            "help": "fail tests that were not covered within their budget",
        },
    ),
    (
        "--treadle-no-strict",
        {
            "action": "store_const",
            "const": False,
            "dest": "treadle_strict",
            "help": "pass tests that were not covered within their budget, with a note",
        },
    ),
    (
        "--treadle-no-shrink",
        {
            "action": "store_const",
            "const": False,
            "dest": "treadle_shrink",
            "help": "show a failing interleaving as it was found",
        },
    ),
    (
        "--treadle-database",
        {
            "metavar": "DIR",
            "help": "directory of failing schedules, tried first on the next run "
            "(default: .treadle beside pyproject.toml)",
        },
    ),
    (
        "--treadle-no-database",
        {
            "action": "store_const",
            "const": False,
            "dest": "treadle_database",
            "help": "keep no failing schedules and try none",
        },
    ),
    (
        "--treadle-replay",
        {"metavar": "TOKEN", "help": "run one test in exactly the interleaving of a failure"},
    ),
    (
        "--treadle-locals",
        {
            "action": "store_true",
            "default": False,
            "help": "show local variables at the point of failure",
        },
    ),
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add Treadle's options; None means that an option was not given."""
    group = parser.getgroup("treadle", "Treadle: every interleaving that can make a difference")
    for name, settings in _OPTIONS:
        group.addoption(name, **{"default": None, **settings})


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, and what waits for the first Treadle test."""
    config.addinivalue_line("markers", _MARKER)
    config.pluginmanager.register(Gate(is_worker=hasattr(config, "workerinput")), "treadle-gate")


class Gate:
    """Lets Treadle in when it is needed, and keeps the verdicts of this session."""

    def __init__(self, *, is_worker: bool) -> None:
        self._is_worker = is_worker
        self._verdicts: list[tuple[str, dict[str, Any]]] = []

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Hand the tests that are Treadle's to Treadle, those that were deselected left out."""
        ours = [item for item in items if isinstance(item, pytest.Function) and _is_ours(item)]
        if ours:
            from treadle.plugin.session import take_over

            take_over(config, ours)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the verdict of a report; pytest-xdist hands over those of its workers here."""
        if "treadle" in report.__dict__:
            self._verdicts.append((report.nodeid, report.__dict__["treadle"]))
        if "treadle_lines" in report.__dict__ and not self._is_worker:
            from treadle.plugin.longrepr import colour

            colour(report)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker of pytest-xdist how wide the terminal is."""
        if node.config.pluginmanager.hasplugin("terminalreporter"):
            node.workerinput["treadle_width"] = node.config.get_terminal_writer().fullwidth

    def pytest_report_teststatus(self, report: pytest.TestReport) -> Any:
        """Let tests be seen that passed without a proof."""
        verdict = report.__dict__.get("treadle")
        if report.passed and verdict and verdict["outcome"] == "incomplete":
            return "incomplete", "i", ("INCOMPLETE", {"yellow": True})
        return None

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Say what became of each Treadle test."""
        if self._verdicts:
            from treadle.plugin.summary import write_summary

            write_summary(terminalreporter, self._verdicts)


def _is_ours(item: pytest.Function) -> bool:
    return item.get_closest_marker("treadle") is not None or hasattr(item.obj, "__treadle__")
