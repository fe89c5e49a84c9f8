"""`treadle run` and the settings: of the test, of the project, of a profile."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Call = Callable[..., tuple[int, str, str]]
Run = Callable[..., dict[str, Any]]

TESTS = """\
import threading
import treadle


class Counter:
    value = 0


def racy():
    counter = Counter()

    def add():
        counter.value += 1

    threads = [threading.Thread(target=add) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@treadle.check(algorithm="source", granularity="gil")
def decorated():
    racy()


@treadle.check(profile="small")
def small():
    racy()
"""

SETTINGS = """\
[tool.treadle]
algorithm = "sleep"

[tool.treadle.profiles.small]
max_executions = 1
"""


@pytest.fixture(autouse=True)
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TREADLE_PROFILE", raising=False)
    Path("tests.py").write_text(TESTS)
    Path("pyproject.toml").write_text(SETTINGS)


@pytest.fixture
def run(command_line: Call) -> Callable[..., dict[str, Any]]:
    """Run a test; return its result as JSON."""

    def explored(*arguments: str) -> dict[str, Any]:
        _, out, _ = command_line("run", *arguments, "--json", "--no-database")
        found: dict[str, Any] = json.loads(out)
        return found

    return explored


def test_the_project_decides(run: Run) -> None:
    found = run("tests.py::racy")
    assert (found["algorithm"], found["executions"], found["complete"]) == ("sleep", 4, True)


def test_the_command_line_wins(run: Run) -> None:
    assert run("tests.py::racy", "--algorithm", "optimal")["algorithm"] == "optimal"


def test_an_option_given_as_its_default_wins_too(run: Run) -> None:
    Path("pyproject.toml").write_text("[tool.treadle]\nmax_executions = 1\nseed = 3\n")
    assert run("tests.py::racy", "--algorithm", "random", "--seed", "0")["executions"] == 1


def test_a_decorated_test_is_explored_as_it_asks(run: Run) -> None:
    found = run("tests.py::decorated")
    assert (found["algorithm"], found["executions"], found["complete"]) == ("source", 2, True)
    found = run("tests.py::decorated", "--granularity", "access")
    assert found["executions"] == 4


@pytest.mark.parametrize("how", ["option", "variable", "test"])
def test_a_profile_is_used_if_it_is_named(
    how: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    if how == "variable":
        monkeypatch.setenv("TREADLE_PROFILE", "small")
    arguments = ["--profile", "small"] if how == "option" else []
    found = run("tests.py::small" if how == "test" else "tests.py::racy", *arguments)
    assert (found["executions"], found["complete"]) == (1, False)


def test_an_unknown_profile(command_line: Call) -> None:
    status, _, error = command_line("run", "tests.py::racy", "--profile", "smal")
    assert status == 2
    assert "unknown profile 'smal': choose one of ci, dev, small" in error


def test_a_wrong_setting_names_its_file(command_line: Call) -> None:
    Path("pyproject.toml").write_text('[tool.treadle]\nalgorithm = "fast"\n')
    status, _, error = command_line("run", "tests.py::racy")
    assert status == 2
    assert "pyproject.toml: [tool.treadle]: unknown algorithm 'fast': choose one of" in error


@pytest.mark.parametrize("how", ["option", "project"])
def test_a_package_that_is_not_there(how: str, command_line: Call) -> None:
    if how == "project":
        Path("pyproject.toml").write_text('[tool.treadle]\ninstrument = ["nowhere"]\n')
    arguments = ["--instrument", "nowhere"] if how == "option" else []
    status, _, error = command_line("run", "tests.py::racy", *arguments)
    assert status == 2
    assert "instrument: there is no module or package 'nowhere': give the name" in error
