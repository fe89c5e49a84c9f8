"""Running pytest in pytest: tests are written as text, and what comes out is looked at."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from types import SimpleNamespace

import pytest

import treadle
from running_pytest import WITHOUT_HYPOTHESIS, Run, write

# A run in this process forgets what it was the first to import. The next one would import it anew,
# beside what is loaded already: two of Treadle's modules of one name, each with a state of its own.
for _module in pkgutil.walk_packages(treadle.__path__, "treadle."):
    if not _module.name.endswith("__main__"):
        importlib.import_module(_module.name)


@pytest.fixture(autouse=True)
def _plain_environment(
    pytester: pytest.Pytester,  # noqa: ARG001 - forgets PYTEST_ADDOPTS, so it comes first
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("PYTEST_ADDOPTS", WITHOUT_HYPOTHESIS)
    monkeypatch.setattr(sys, "__stdout__", SimpleNamespace(encoding="utf-8"))


@pytest.fixture
def run(pytester: pytest.Pytester) -> Run:
    """Write a test file, and run pytest on it in this process."""

    def run_pytest(source: str, *args: str) -> pytest.RunResult:
        write(pytester, source)
        return pytester.runpytest_inprocess("-p", "no:cacheprovider", *args)

    return run_pytest


@pytest.fixture
def run_apart(pytester: pytest.Pytester) -> Run:
    """Write a test file, and run pytest on it in another process."""

    def run_pytest(source: str, *args: str) -> pytest.RunResult:
        write(pytester, source)
        return pytester.runpytest_subprocess("-p", "no:cacheprovider", *args)

    return run_pytest
