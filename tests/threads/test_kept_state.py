"""What libraries that are not instrumented keep in their modules: registries, settings, objects."""

from __future__ import annotations

import calendar
import csv
import decimal
import importlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from together import together

import treadle

LIBRARY = """
import logging
import re

_log = logging.getLogger("others")
_WORD = re.compile("a")
_values = {}
_limit = 0
_UNITS = {"m": 1}

def put(name, value):
    _values[name] = value

def get(name):
    return _values.get(name, 0)

def set_limit(value):
    global _limit
    _limit = value

def reset_limit(value):
    set_limit(value)

def limit():
    return _limit

def unit(name):
    return _UNITS[name]

class Registry:
    names = []

    def __init__(self):
        self.count = 0

    def set_count(self, count):
        self.count = count

    def get_count(self):
        return self.count

    @classmethod
    def add(cls, name):
        cls.names.append(name)

    @classmethod
    def first(cls):
        return cls.names[0]

registry = Registry()

class Parser:
    def feed(self, text):
        _log.debug(text)
        self.found = _WORD.match(text)
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A module that lies where the code of others does."""
    folder = tmp_path_factory.mktemp("others") / "site-packages"
    folder.mkdir()
    (folder / "settings_of_others.py").write_text(LIBRARY)
    sys.path.insert(0, str(folder))
    yield importlib.import_module("settings_of_others")
    sys.path.remove(str(folder))
    del sys.modules["settings_of_others"]


@pytest.mark.parametrize("setter", ["set_limit", "reset_limit"])
def test_a_global_variable_of_a_library(library: Any, setter: str) -> None:
    def test() -> None:
        library.set_limit(0)
        together(*[lambda: getattr(library, setter)(library.limit() + 1)] * 2)
        assert library.limit() == 2

    result = treadle.explore(test)
    assert [failure.kind for failure in result.failures] == ["assertion"]
    assert any(f"settings_of_others.{setter} ran uninst" in note for note in result.notes)


def test_a_dictionary_of_a_library(library: Any) -> None:
    def test() -> None:
        library.put("n", 0)
        together(*[lambda: library.put("n", library.get("n") + 1)] * 2)
        assert library.get("n") == 2

    assert [failure.kind for failure in treadle.explore(test).failures] == ["assertion"]


@pytest.mark.usefixtures("library")
def test_a_dictionary_that_the_test_changes_itself() -> None:
    def test() -> None:
        import settings_of_others  # type: ignore[import-not-found]

        settings_of_others.put("n", 0)

        def change() -> None:
            settings_of_others._values["n"] += 1

        def call() -> None:
            settings_of_others.put("n", settings_of_others.get("n") + 1)

        together(change, call)
        assert settings_of_others.get("n") == 2

    assert [failure.kind for failure in treadle.explore(test).failures] == ["assertion"]


def test_an_object_of_a_library(library: Any) -> None:
    def test() -> None:
        registry = library.registry
        registry.set_count(0)
        together(*[lambda: library.registry.set_count(library.registry.get_count() + 1)] * 2)
        assert registry.get_count() == 2

    assert [failure.kind for failure in treadle.explore(test).failures] == ["assertion"]


def test_a_list_of_a_class_of_a_library(library: Any) -> None:
    def test() -> None:
        library.Registry.names.clear()
        together(lambda: library.Registry.add("a"), lambda: library.Registry.add("b"))
        assert library.Registry.first() == "a"

    assert [failure.kind for failure in treadle.explore(test).failures] == ["assertion"]


def test_tables_that_nobody_changes_are_no_steps(library: Any) -> None:
    def test() -> None:
        together(*[lambda: library.unit("m")] * 2)

    result = treadle.explore(test)
    assert (result.ok, result.executions, result.notes) == (True, 1, [])


def test_loggers_and_patterns_are_no_state(library: Any) -> None:
    def test() -> None:
        together(*[lambda: library.Parser().feed("a")] * 2)

    result = treadle.explore(test)
    assert (result.ok, result.executions, result.notes) == (True, 1, [])


def test_the_default_context_of_decimal() -> None:
    def test() -> None:
        decimal.DefaultContext.prec = 28
        made: list[int] = []

        def change() -> None:
            decimal.DefaultContext.prec = 5

        together(lambda: made.append(decimal.Context().prec), change)
        decimal.DefaultContext.prec = 28
        assert made == [28]

    assert [failure.kind for failure in treadle.explore(test).failures] == ["assertion"]


def test_an_attribute_of_an_object_that_a_module_keeps() -> None:
    def test() -> None:
        shown: list[int] = []

        def assign() -> None:
            calendar.c.firstweekday = 6

        together(lambda: shown.append(calendar.c.firstweekday), assign)
        calendar.c.firstweekday = 0
        assert shown == [0]

    assert [failure.kind for failure in treadle.explore(test).failures] == ["assertion"]


@pytest.mark.parametrize(
    ("change", "back"),
    [
        (lambda: calendar.setfirstweekday(6), lambda: calendar.setfirstweekday(0)),
        (lambda: csv.field_size_limit(7), lambda: csv.field_size_limit(131072)),
        (lambda: csv.register_dialect("odd"), lambda: csv.unregister_dialect("odd")),
    ],
)
def test_settings_of_the_standard_library_are_named(
    change: Callable[[], Any], back: Callable[[], Any]
) -> None:
    def test() -> None:
        together(change, lambda: None)
        back()

    escapes = treadle.explore(test).escapes
    assert escapes
    assert all("settings of the whole process are not modelled" in one for one in escapes)
