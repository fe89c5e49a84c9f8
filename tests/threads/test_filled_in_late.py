"""What classes of libraries fill in when somebody asks for it, in objects that threads share."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from together import together

import treadle

_LIBRARY = """
import functools

class Settings:
    def __init__(self, read=None):
        self.read = read
    @functools.cached_property
    def loaded(self):
        return {"a": 1}
    @functools.cached_property
    def left(self):
        return self.read()
    @functools.cached_property
    def right(self):
        return self.read()

settings = Settings()
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A library that is not instrumented."""
    folder: Path = tmp_path_factory.mktemp("late") / "site-packages"
    folder.mkdir()
    (folder / "fills_in_late.py").write_text(_LIBRARY)
    sys.path.insert(0, str(folder))
    yield importlib.import_module("fills_in_late")
    sys.path.remove(str(folder))
    del sys.modules["fills_in_late"]


class Box:
    def __init__(self) -> None:
        self.found: list[Any] = []


def explored(make: Callable[[], tuple[Callable[[], Any], ...]]) -> tuple[bool, set[str]]:
    """Return whether all executions were seen, and the kinds of failures."""
    result = treadle.explore(lambda: together(*make()), stop_on_failure=False)
    return result.complete, {failure.kind for failure in result.failures}


def test_a_cached_property_of_a_library_is_computed_under_a_lock_that_is_known(
    library: Any,
) -> None:
    def make() -> tuple[Callable[[], Any], ...]:
        box = Box()

        def work() -> None:
            box.found.append(library.settings.loaded["a"])

        return work, work

    assert explored(make) == (True, set())


def test_threads_share_that_lock_by_objects_of_their_own(library: Any) -> None:
    """There is one lock for all instances of a class up to Python 3.11."""

    def make() -> tuple[Callable[[], Any], ...]:
        first, second, new = Box(), Box(), library.Settings

        def left() -> Any:
            return new(lambda: (first.found.append(1), new(int).right)).left

        def right() -> Any:
            return new(lambda: (second.found.append(1), new(int).left)).right

        return left, right

    assert explored(make) == (True, {"deadlock"} if sys.version_info < (3, 12) else set())
