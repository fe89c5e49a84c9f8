"""What all tests share: helper modules, Hypothesis profiles, and what only runs when asked for."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parent))  # `brute` and `random_programs`, for the tests

from one_python import one_is_enough
from surroundings import forget_surroundings

forget_surroundings()

pytest_plugins = ["pytester"]

# Deterministic, so that what passes once passes always; `--hypothesis-profile=wild` draws anew.
settings.register_profile(
    "steady",
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
settings.register_profile("wild", settings.get_profile("steady"), derandomize=False)
settings.load_profile("steady")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "minutes: takes minutes; only runs with `-m slow`")
    config.addinivalue_line("markers", "one_python: does not depend on the interpreter")


@pytest.hookimpl(tryfirst=True)  # before marks are selected by `-m`
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what one Python is enough for; leave out what takes minutes, unless marks are chosen."""
    for item in items:
        if one_is_enough(item.nodeid):
            item.add_marker("one_python")
    if config.getoption("-m"):
        return
    left_out = [item for item in items if item.get_closest_marker("minutes")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("minutes")]


@pytest.fixture
def command_line(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[Any, str, str]]:
    """Run the command in this process; return status, stdout and stderr."""
    from treadle import cli  # not for all tests: what is loaded slows explorations down

    def run(*arguments: str) -> tuple[Any, str, str]:
        with pytest.raises(SystemExit) as ended:
            cli.main(arguments)
        captured = capsys.readouterr()
        return ended.value.code, captured.out, captured.err

    return run


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty directory; what commands add to `sys.path` is forgotten."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return tmp_path
