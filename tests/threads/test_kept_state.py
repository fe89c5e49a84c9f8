"""What libraries that are not instrumented keep in their modules: registries, settings, objects."""

from __future__ import annotations

import calendar
import copyreg
import csv
import decimal
import importlib
import mimetypes
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from of_others import modules_of_others
from together import outcomes, together

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
    sources = {"settings_of_others": LIBRARY}
    with modules_of_others(tmp_path_factory.mktemp("others"), sources) as module:
        yield module


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


def test_types_of_files_that_one_thread_adds() -> None:
    """The module keeps them in an object of its own; nothing of the test's goes there."""

    def found() -> str | None:
        mimetypes.init()
        seen: list[str | None] = []
        together(
            lambda: mimetypes.add_type("made/up", ".made-up"),
            lambda: seen.append(mimetypes.guess_type("x.made-up")[0]),
        )
        mimetypes.init()
        return seen[0]

    assert outcomes(found) == {"None", "'made/up'"}


def test_names_that_a_library_reaches_by_many_functions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    functions = [f"def f{index}():\n    return f{index + 1}()\n" for index in range(500)]
    folder = tmp_path / "site-packages"
    folder.mkdir()
    source = "\n".join(["limit = [0]\n", *functions, "def f500():\n    return limit[0]\n"])
    (folder / "far_away_of_others.py").write_text(source)
    monkeypatch.syspath_prepend(folder)
    library = importlib.import_module("far_away_of_others")

    def seen() -> int:
        library.limit = [0]
        found: list[int] = []

        def change() -> None:
            library.limit = [1]

        together(change, lambda: found.append(library.f0()))
        return found[0]

    assert outcomes(seen) == {"0", "1"}


def test_a_module_that_no_global_variable_holds(library: Any) -> None:
    """The test has it in a variable of a function, an attribute, or out of `sys.modules`."""

    def seen(reach: Callable[[], Any]) -> Callable[[], int]:
        def program() -> int:
            reach().kept = 0
            found: list[int] = []

            def change() -> None:
                reach().kept = 1

            together(change, lambda: found.append(reach().kept))
            return found[0]

        return program

    held = types.SimpleNamespace(module=library)
    for reach in (
        lambda: library,
        lambda: held.module,
        lambda: sys.modules["settings_of_others"],
        lambda: library.Registry,
    ):
        assert outcomes(seen(reach)) == {"0", "1"}
    assert not hasattr(library, "kept")


@pytest.mark.parametrize("granularity", ["access", "gil"])
def test_what_the_test_assigns_in_a_library_is_undone_though_it_is_cut(
    library: Any, granularity: str
) -> None:
    before = library.limit

    def test() -> None:
        found: list[int] = []
        library.set_limit(0)

        def change() -> None:
            library.limit = lambda: 1

        together(change, lambda: found.append(library.limit()))
        library.limit = before
        raise ValueError(found)

    result = treadle.explore(test, granularity=granularity, stop_on_failure=False)
    assert {failure.message for failure in result.failures} == {
        "ValueError: [0]",
        "ValueError: [1]",
    }
    assert library.limit is before


@pytest.mark.parametrize(
    ("change", "back"),
    [
        (lambda: calendar.setfirstweekday(6), lambda: calendar.setfirstweekday(0)),
        (lambda: csv.field_size_limit(7), lambda: csv.field_size_limit(131072)),
        (lambda: csv.register_dialect("odd"), lambda: csv.unregister_dialect("odd")),
        (
            lambda: copyreg.add_extension("made.up", "Name", 240),
            lambda: copyreg.remove_extension("made.up", "Name", 240),
        ),
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
