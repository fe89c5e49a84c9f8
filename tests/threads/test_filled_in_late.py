"""What classes of libraries fill in when somebody asks for it, in objects that threads share."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from of_others import modules_of_others
from together import outcomes, together

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

class Asking:
    def __neg__(self):
        self.made = 1
    def __getattr__(self, name):
        raise AttributeError(name)

class Counting(dict):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        self["asked"] = 1
        return 0

class Reify:
    def __init__(self, make):
        self.make = make
        self.name = make.__name__
    def __get__(self, instance, owner):
        instance.__dict__[self.name] = value = self.make(instance)
        return value

class Reified:
    @Reify
    def table(self):
        return {"x": 1}

reified = Reified()
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A library that is not instrumented."""
    sources = {"fills_in_late": _LIBRARY}
    with modules_of_others(tmp_path_factory.mktemp("late"), sources) as module:
        yield module


class Box:
    def __init__(self) -> None:
        self.found: list[Any] = []
        self.is_done = False


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


@pytest.mark.parametrize("algorithm", ["optimal", "exhaustive"])
def test_who_is_asked_for_an_attribute_is_decided_when_that_is_done(
    library: Any, algorithm: str
) -> None:
    """Between the announcement and the step, another thread may make the attribute."""

    def program() -> list[bool]:
        first, second = library.Asking(), library.Asking()
        seen: list[bool] = []

        def look() -> None:
            seen.extend([hasattr(first, "made"), hasattr(second, "made")])

        together(lambda: (-first, -second), look)
        return seen

    both = [False, True]
    assert outcomes(program, algorithm) == {str([one, other]) for one in both for other in both}


def test_who_is_asked_depends_on_the_attributes_of_a_dictionary_too(library: Any) -> None:
    def program() -> int:
        counting = library.Counting()
        seen: list[int] = []
        together(lambda: setattr(counting, "made", 5), lambda: seen.append(counting.made))
        return seen[0]

    assert outcomes(program) == {"0", "5"}


def test_a_descriptor_that_keeps_its_value_may_be_asked_in_one_order_only(library: Any) -> None:
    def make() -> tuple[Callable[[], Any], ...]:
        box = Box()

        def first() -> None:
            box.found = [library.reified.table["x"]]
            box.found.append(1)
            box.is_done = True

        def second() -> int:
            if not box.is_done:
                library.reified.table["x"]
            return len(box.found)

        return first, second

    assert explored(make) == (True, set())
