"""What pytest loads of Treadle: thin, so that a suite without Treadle tests pays next to nothing.

Only the declarations of options are imported before the first test that is marked for Treadle, or
before the first report of one arrives from a worker of pytest-xdist. The work is done by
`treadle.plugin`.
"""

from __future__ import annotations

from argparse import ArgumentTypeError
from typing import TYPE_CHECKING, Any

import pytest

from treadle.core.arguments import Takes, argument
from treadle.session.options import everything

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from treadle.core.options import Option

_MARKER = (
    "treadle(**options): run the test once per interleaving of its threads that can make a "
    "difference; takes the options of treadle.explore, and strict, shrink, database and profile"
)


_OWN_OPTIONS: tuple[tuple[str, dict[str, Any]], ...] = (
    (
        "--treadle-profile",
        {"metavar": "NAME", "help": "profile: dev (quick), ci (exhaustive, strict), or your own"},
    ),
    (
        "--treadle-replay",
        {"metavar": "TOKEN", "help": "run one test in exactly the interleaving of a failure"},
    ),
    (
        "--treadle-report",
        {
            "metavar": "FILE",
            "help": "write a report of each test, as FILE with the test's name before the suffix",
        },
    ),
    (
        "--treadle-html",
        {
            "metavar": "DIR",
            "help": "write a page to look at for each test into a directory, and an index of them",
        },
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


def _number(option: Option, kind: type) -> Callable[[str], Any]:
    """Return how to read a number; a limit can be lifted with `none`."""

    def read(text: str) -> Any:
        number = option.parsed(text)
        if number is not False and not option.values.admits(number):
            lifts = "; `none` lifts the limit" if option.values.can_be_none else ""
            raise ArgumentTypeError(f"{text} is not above 0{lifts}")
        return number

    read.__name__ = kind.__name__  # argparse names it in its error
    return read


def _flags(option: Option) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield an option of explorations as pytest takes it."""
    written, flag = argument(option), f"--treadle-{option.flag}"
    dest = {"dest": f"treadle_{option.name}"}
    shown: dict[str, Any] = {**dest, "help": option.help.rstrip(".").replace("%", "%%")}
    if written.takes is Takes.NOTHING:
        shown |= {"action": "store_const", "const": True}
    elif written.choices and option.name != "algorithm":  # a conftest may add algorithms
        shown["choices"] = written.choices
    else:
        shown["metavar"] = option.values.metavar
    if written.takes is Takes.ONE_WORD_EACH_TIME:
        shown["action"] = "append"
    if written.number is not None:
        shown["type"] = _number(option, written.number)
    elif written.is_meant:
        shown["type"] = option.meant
    yield flag, shown
    if written.off_flag:
        off = {**dest, "action": "store_const", "const": False, "help": f"the opposite of {flag}"}
        yield f"--treadle-{written.off_flag}", off


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add Treadle's options; None means that an option was not given."""
    group = parser.getgroup("treadle", "Treadle: every interleaving that can make a difference")
    declared = (flag for option in everything().values() for flag in _flags(option))
    for name, settings in (*_OWN_OPTIONS, *declared):
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
            if not self._is_worker:
                from treadle.plugin.published import publish

                publish(terminalreporter, self._verdicts)


def _is_ours(item: pytest.Function) -> bool:
    return item.get_closest_marker("treadle") is not None or hasattr(item.obj, "__treadle__")
