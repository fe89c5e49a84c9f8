"""A test of pytest's in another process: found by its node id, with fixtures of its own.

pytest itself finds it there: it collects that one node, with the options of the session that the
node is known from, sets up its fixtures, and calls the test, which then explores parts of its space
for as long as somebody wants that. Fixtures of wider scopes are made anew in each such process, and
torn down at its end. Nothing else of a session happens: whoever asked for the exploration shows,
reports and keeps everything, so options that write something are off, and the session is left
where it would begin to write.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

import pytest

from treadle.core.errors import TreadleBug, TreadleError
from treadle.plugin.repeated import RepeatedItem
from treadle.session.workers.naming import Name

_OPENER = "treadle.plugin.elsewhere:explore_node"
SESSION = "treadle-session"
"""What the plugin is called that has taken tests over."""
_QUIET: Mapping[str, object] = {
    "cacheclear": False, "lf": False, "failedfirst": False, "stepwise": False, "usepdb": False,
    "log_file": os.devnull, "xmlpath": None, "report_log": None, "htmlpath": None,
    "treadle_report": None, "treadle_html": None, "numprocesses": None, "dist": "no", "tx": [],
}  # fmt: skip
"""Options that choose other tests, write files, or start processes; some are of plugins."""


def name_of(repeated: RepeatedItem) -> Name:
    """Return what another process finds a test by: its node id, and how pytest was called."""
    item = repeated.item
    config = item.config
    _, _, inner = item.nodeid.partition("::")
    factory = getattr(config, "_tmp_path_factory", None)
    return Name(
        item.nodeid,
        _OPENER,
        {
            "node": f"{item.path}::{inner}",
            "fixtures": list(repeated.needed),
            "arguments": [os.fspath(one) for one in config.invocation_params.args],
            "directory": str(config.invocation_params.dir),
            "root": str(config.rootpath),
            "settings": "" if config.inipath is None else str(config.inipath),
            "options": {name: one for name, one in vars(config.option).items() if _is_plain(one)},
            "temporary": "" if factory is None else str(factory.getbasetemp()),
        },
        tears_down=True,
    )


def _is_plain(value: object) -> bool:
    """Tell whether a value means the same in another process."""
    if isinstance(value, list):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, bool | int | float | str)


def explore_node(name: Name, explore: Callable[[object], None]) -> None:
    """Let pytest find a test by its name, set it up, and explore it."""
    called = name.surroundings
    if not Path(called["directory"]).is_dir():
        raise TreadleError(
            f"{name.text} cannot be set up in another process: {called['directory']} is not there"
        )
    os.chdir(called["directory"])
    arguments = [*called["arguments"], f"--rootdir={called['root']}"]
    if called["settings"]:
        arguments += ["-c", called["settings"]]
    if "no_cov" in called["options"]:
        arguments.append("--no-cov")  # it would begin before anybody could switch it off
    with tempfile.TemporaryFile("w+") as output:
        _print_to(output)
        node = _Node(called, explore)
        with contextlib.suppress(_Left):
            pytest.main(arguments, plugins=[node])
        if node.error is not None:
            raise node.error
        if not node.has_explored:
            raise TreadleError(
                f"{name.text} cannot be set up in another process ({node.why or _last(output)}): "
                f"use workers that are copies (on Linux, without spawn and on), or workers=1"
            )


class _Left(BaseException):
    """The session is left where it would report and write."""


class _Node:
    """Makes a session of pytest's one that explores one test on behalf of another process."""

    def __init__(self, called: Mapping[str, Any], explore: Callable[[object], None]) -> None:
        self._called = called
        self._explore = explore
        self.has_explored = False
        self.error: Exception | None = None
        """What the user is to be told."""
        self.why = ""
        """What else went wrong."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_cmdline_main(self, config: Any) -> None:
        """Choose the test; take options over as they are there, but for those that write."""
        options = vars(config.option)
        options.update(self._called["options"])
        options.update({name: one for name, one in _QUIET.items() if name in options})
        options["basetemp"] = self._directory()
        config.args = [self._called["node"]]

    def _directory(self) -> str:
        """Return where temporary directories are made: beside those of the other process."""
        shared = Path(self._called["temporary"])
        if self._called["temporary"] and shared.is_dir():
            return str(shared / f"worker-{os.getpid()}")
        return tempfile.mkdtemp(prefix="treadle-")

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Let the test explore, instead of being checked."""
        ours: Any = session.config.pluginmanager.get_plugin(SESSION)
        for item in session.items if ours is not None else []:
            ours.explore_for_others(item, self._called["fixtures"], self._explored)

    def _explored(self, test: object) -> None:
        _print_to(None)
        self._explore(test)
        self.has_explored = True

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, call: pytest.CallInfo[None]) -> None:
        """Keep why the test was not called, or not explored."""
        if call.excinfo is None or self.why:
            return
        self.why = f"{call.when}: {call.excinfo.exconly(tryshort=True)}"
        if isinstance(call.excinfo.value, TreadleError | TreadleBug):
            self.error = call.excinfo.value

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Keep why the file cannot be collected."""
        if report.failed:
            self.why = self.why or report.longreprtext.strip().splitlines()[-1]

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Leave: nobody else is to write anything."""
        raise _Left


def _print_to(output: IO[str] | None) -> None:
    """Let this process print into a file, or nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for descriptor in (1, 2):
        os.dup2(nowhere if output is None else output.fileno(), descriptor)
    os.close(nowhere)


def _last(output: IO[str]) -> str:
    """Return the last line that pytest has printed."""
    output.seek(0)
    return ([line.strip() for line in output if line.strip()] or ["pytest says nothing"])[-1]
