"""Settings: layers, profiles, and errors that name the file and the key."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

import treadle
from treadle.core.errors import TreadleError
from treadle.session.options import everything, exploring
from treadle.session.settings import Settings, project_of


@pytest.fixture(autouse=True)
def _no_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TREADLE_PROFILE", raising=False)


def write(directory: Path, text: str) -> Path:
    file = directory / "pyproject.toml"
    file.write_text(text)
    return file


def test_defaults_are_those_of_explore() -> None:
    parameters = inspect.signature(treadle.explore).parameters
    names = set(parameters) - {"test", "listener", "guided", "observe"}
    assert names == set(exploring())
    assert {name: getattr(Settings(), name) for name in names} == {
        name: parameters[name].default for name in names
    }


def test_every_setting_can_be_read() -> None:
    values: dict[str, Any] = {
        "algorithm": "pct", "schedule": "oldest", "max_executions": 3, "max_steps": 4,
        "timeout": 1.5, "granularity": "gil", "instrument": ["a", "b"], "races": True,
        "thread_exceptions": False, "max_rounds": 3, "watchdog": 2, "seed": -1, "depth": 2,
        "stop_on_failure": False, "strict": True, "shrink": False, "database": "kept",
        "learn": False, "refined": False, "constraints": "none", "uniformity": "keeps",
        "escapes": "fail", "clock": "shared", "towards_deadlock": True,
        "dependency": "field", "order": "fifo", "max_tasks": 5,
        "always_release": True, "early_stop": True, "yields": "exact", "leftover_tasks": False,
        "latency": 5.0, "timeouts": "last", "cancellations": 1, "split": ["x"], "resets": 1,
        "restore": False, "threads": True, "workers": 2, "split_by": "executions", "spawn": True,
        "checkpoint": "kept.json", "resume": "kept.json", "on": "dask://head:1",
    }  # fmt: skip
    assert values.keys() == everything().keys()
    settings = Settings().changed(values, "here")
    assert {name: getattr(settings, name) for name in values} == {
        **values,
        "instrument": ("a", "b"),
        "split": ("x",),
    }


def test_built_in_profiles(tmp_path: Path) -> None:
    dev, ci = project_of(tmp_path).settings(), project_of(tmp_path).settings("ci")
    assert (dev.max_executions, dev.timeout, dev.strict) == (10_000, 10.0, False)
    assert (ci.max_executions, ci.timeout, ci.strict) == (None, 600.0, True)


def test_layers(tmp_path: Path) -> None:
    write(
        tmp_path,
        """
        [tool.treadle]
        timeout = 5
        seed = 1
        [tool.treadle.profiles.ci]
        timeout = false
        [tool.treadle.profiles.nightly]
        algorithm = "source"
        seed = 2
        """,
    )
    dev, ci, nightly = (project_of(tmp_path).settings(name) for name in ("dev", "ci", "nightly"))
    assert (dev.timeout, dev.seed, dev.max_executions) == (5, 1, 10_000)
    assert (ci.timeout, ci.seed, ci.strict) == (None, 1, True)
    assert (nightly.timeout, nightly.seed, nightly.algorithm) == (5, 2, "source")
    assert nightly.max_executions is None


def test_the_profile_is_chosen_by_argument_environment_or_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(
        tmp_path,
        "[tool.treadle]\nprofile = 'a'\n"
        "[tool.treadle.profiles]\na = {seed = 1}\nb = {seed = 2}\nc = {seed = 3}\n",
    )
    assert project_of(tmp_path).settings().seed == 1
    monkeypatch.setenv("TREADLE_PROFILE", "b")
    assert project_of(tmp_path).settings().seed == 2
    assert project_of(tmp_path).settings("c").seed == 3


def test_the_nearest_project_counts(tmp_path: Path) -> None:
    write(tmp_path, "[tool.treadle]\nseed = 1\n")
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    assert project_of(below).settings().seed == 1
    assert project_of(below).directory == tmp_path.resolve()
    write(below, "[tool.other]\n")
    assert project_of(below).settings().seed == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[tool.treadle]\nalgoritm = 'x'", "[tool.treadle]: unknown setting 'algoritm': did you"),
        ("[tool.treadle]\nzzz = 1", "[tool.treadle]: unknown setting 'zzz': choose from algorithm"),
        ("[tool.treadle]\nalgorithm = 'x'", "unknown algorithm 'x': choose one of exhaustive, "),
        ("[tool.treadle]\nmax_executions = 0", "max_executions must be a whole number above 0, or"),
        ("[tool.treadle]\nmax_executions = true", "max_executions must be a whole number above 0"),
        ("[tool.treadle]\nmax_steps = false", "max_steps must be a whole number above 0, not"),
        ("[tool.treadle]\ntimeout = '5'", "timeout must be a number of seconds above 0, or false"),
        ("[tool.treadle]\ninstrument = 'a'", "instrument must be a list of packages, like"),
        ("[tool.treadle]\nstrict = 1", "strict must be true or false, not 1"),
        ("[tool.treadle]\nseed = 1.5", "seed must be a whole number, not 1.5"),
        ("[tool.treadle]\ndatabase = ''", "database must be a directory, or false for none"),
        ("[tool.treadle]\nprofile = 1", "profile must be a name, not 1"),
        ("[tool.treadle]\nprofiles = 1", "[tool.treadle.profiles] must be a table, not 1"),
        ("[tool.treadle.profiles]\nx = 1", "[tool.treadle.profiles.x] must be a table, not 1"),
        ("[tool.treadle.profiles.x]\nsed = 1", "[tool.treadle.profiles.x]: unknown setting 'sed'"),
        ("[tool]\ntreadle = 1", "[tool.treadle] must be a table, not 1"),
        ("[tool.treadle", "Expected ']'"),
    ],
)
def test_mistakes(tmp_path: Path, text: str, message: str) -> None:
    file = write(tmp_path, text)
    with pytest.raises(TreadleError) as raised:
        project_of(tmp_path).settings()
    assert message in str(raised.value)
    assert str(raised.value).startswith(f"{file}: ")


def test_unknown_profiles(tmp_path: Path) -> None:
    with pytest.raises(TreadleError, match="unknown profile 'x': choose one of ci, dev, or add"):
        project_of(tmp_path).settings("x")
