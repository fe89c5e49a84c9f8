"""Classes of libraries, and how modules are found, are shared by all threads.

One thread changes what a class holds, or where modules come from; another one looks, directly or by
a function of the library. Nothing is put back here: Treadle does, after each execution.
"""

from __future__ import annotations

import argparse
import configparser
import faulthandler
import gettext
import http.server
import importlib
import io
import json
import logging
import mimetypes
import pprint
import re
import sys
import threading
import tracemalloc
import urllib.parse
import xml
import xml.sax
import xmlrpc.client
import zoneinfo
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from together import Look, looking, outcomes, together

import treadle

Handler = http.server.SimpleHTTPRequestHandler


def a_dictionary_of_a_class() -> Look:
    def change() -> None:
        xmlrpc.client.Marshaller.dispatch[bytearray] = None  # type: ignore[assignment]

    return change, lambda: xmlrpc.client.Marshaller.dispatch.get(bytearray, 0) is None


def a_dictionary_of_a_class_it_derives_from() -> Look:
    def change() -> None:
        configparser.ConfigParser.BOOLEAN_STATES["sure"] = True

    return change, lambda: "sure" in configparser.ConfigParser.BOOLEAN_STATES


def a_dictionary_that_a_method_looks_into() -> Look:
    parser = configparser.ConfigParser()
    parser.read_dict({"section": {"key": "sure"}})

    def change() -> None:
        parser.BOOLEAN_STATES["sure"] = True

    def look() -> bool:
        try:
            return parser.getboolean("section", "key")
        except ValueError:
            return False

    return change, look


def a_dictionary_that_a_method_of_its_own_object_looks_into() -> Look:
    def change() -> None:
        Handler.extensions_map[".made_up"] = "made/up"

    return change, lambda: Handler.__new__(Handler).guess_type("a.made_up") == "made/up"


def a_method_that_a_method_calls() -> Look:
    def change() -> None:
        argparse.ArgumentParser.format_usage = lambda _: "made up"  # type: ignore[method-assign]

    def look() -> bool:
        printed = io.StringIO()
        argparse.ArgumentParser(prog="x").print_usage(printed)
        return printed.getvalue() == "made up"

    return change, look


def a_method_of_a_class_that_a_function_makes() -> Look:
    def change() -> None:
        pprint.PrettyPrinter.pformat = lambda *_: "made up"  # type: ignore[method-assign]

    return change, lambda: pprint.pformat(1) == "made up"


def a_setting_of_a_class() -> Look:
    def change() -> None:
        logging.Formatter.default_time_format = "%d"

    def look() -> bool:
        record = logging.LogRecord("a", 1, "f", 1, "m", (), None)
        return len(logging.Formatter("%(asctime)s").format(record)) < len("2000-01-01")

    return change, look


def a_method_that_loggers_call() -> Look:
    logger = logging.getLogger("treadle.made.up")
    kept: list[str] = []

    class Keeps(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            kept.append(self.format(record))

    logger.handlers[:] = [Keeps()]

    def change() -> None:
        logging.Formatter.formatMessage = lambda *_: "made up"  # type: ignore[method-assign]

    def look() -> bool:
        logger.warning("other")
        return kept == ["made up"]

    return change, look


def a_method_of_one_logger() -> Look:
    logger: Any = logging.Logger("made up")
    kept: list[Any] = []

    def change() -> None:
        logger.handle = kept.append

    def look() -> bool:
        logger.warning("other")
        return bool(kept)

    logger.handlers[:] = [logging.NullHandler()]
    return change, look


def a_method_of_one_handler() -> Look:
    logger = logging.Logger("made up")
    handler: Any = logging.NullHandler()
    kept: list[Any] = []

    def change() -> None:
        handler.handle = kept.append

    def look() -> bool:
        logger.warning("other")
        return bool(kept)

    logger.handlers[:] = [handler]
    return change, look


def a_method_of_an_object_that_a_module_keeps() -> Look:
    mimetypes.init()

    def change() -> None:
        mimetypes.MimeTypes.guess_extension = lambda *_: "made up"  # type: ignore[method-assign]

    return change, lambda: mimetypes.guess_extension("text/plain") == "made up"


def an_attribute_that_was_not_there() -> Look:
    def change() -> None:
        json.JSONEncoder.made_up = 1  # type: ignore[attr-defined]

    return change, lambda: hasattr(json.JSONEncoder, "made_up")


class Finds:
    """Finds one module, wherever it is looked for, and is its loader."""

    @staticmethod
    def find_spec(name: str, *_: Any) -> ModuleSpec | None:
        return ModuleSpec(name, Finds()) if name == "treadle_made_up" else None  # type: ignore[arg-type]

    def create_module(self, _: ModuleSpec) -> None: ...

    def exec_module(self, _: ModuleType) -> None: ...


def is_found() -> bool:
    try:
        importlib.import_module("treadle_made_up")
    except ImportError:
        return False
    del sys.modules["treadle_made_up"]
    return True


def a_finder() -> Look:
    return lambda: sys.meta_path.append(Finds()), is_found  # type: ignore[arg-type]


def a_hook_for_paths() -> Look:
    sys.path.append("made up")
    sys.path_importer_cache.pop("made up", None)

    def hook(path: str) -> Finds:
        if path != "made up":
            raise ImportError
        return Finds()

    return lambda: sys.path_hooks.append(hook), is_found  # type: ignore[arg-type]


def a_module_that_an_import_loads() -> Look:
    sys.modules.pop("xml.sax.saxutils", None)

    def change() -> None:
        import xml.sax.saxutils  # noqa: F401

    return change, lambda: "xml.sax.saxutils" in sys.modules


def an_attribute_that_an_import_sets() -> Look:
    sys.modules.pop("xml.sax.saxutils", None)
    vars(xml.sax).pop("saxutils", None)

    def change() -> None:
        from xml.sax import saxutils

        assert saxutils

    return change, lambda: hasattr(xml.sax, "saxutils")


LOOKS: list[Callable[[], Look]] = [
    a_dictionary_of_a_class, a_dictionary_of_a_class_it_derives_from,
    a_dictionary_that_a_method_looks_into, a_dictionary_that_a_method_of_its_own_object_looks_into,
    a_method_that_a_method_calls, a_method_of_a_class_that_a_function_makes, a_setting_of_a_class,
    a_method_that_loggers_call, a_method_of_one_logger, a_method_of_one_handler,
    a_method_of_an_object_that_a_module_keeps,
    an_attribute_that_was_not_there, a_finder, a_hook_for_paths, a_module_that_an_import_loads,
    an_attribute_that_an_import_sets,
]  # fmt: skip


@pytest.mark.parametrize("make", LOOKS, ids=lambda make: make.__name__)
def test_both_outcomes_are_seen(make: Callable[[], Look]) -> None:
    assert looking(make) == {"False", "True"}


def test_what_the_test_changes_in_classes_of_libraries_is_undone() -> None:
    before = json.JSONEncoder.item_separator, dict(Handler.extensions_map)

    def test() -> None:
        def change() -> None:
            json.JSONEncoder.item_separator = "; "
            Handler.extensions_map.clear()

        assert json.JSONEncoder.item_separator == ", "
        assert Handler.extensions_map
        together(change, lambda: json.JSONEncoder.item_separator)

    result = treadle.explore(test)
    assert (result.ok, result.executions) == (True, 2)
    assert (json.JSONEncoder.item_separator, dict(Handler.extensions_map)) == before


@pytest.mark.parametrize("statement", ["import", "from", "import_module"])
def test_a_file_that_a_thread_writes_is_found_or_not(
    statement: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    file = tmp_path / "treadle_written.py"

    def load() -> None:
        if statement == "import":
            import treadle_written  # type: ignore[import-not-found]

            assert treadle_written
        elif statement == "from":
            from treadle_written import __file__ as found

            assert found
        else:
            importlib.import_module("treadle_written")

    def program() -> bool:
        file.unlink(missing_ok=True)
        sys.modules.pop("treadle_written", None)
        importlib.invalidate_caches()
        seen = []

        def look() -> None:
            importlib.invalidate_caches()
            try:
                load()
                seen.append(True)
            except ImportError:
                seen.append(False)

        together(file.touch, look)
        file.unlink()
        return seen[0]

    assert outcomes(program) == {"False", "True"}


@pytest.mark.parametrize(
    ("change", "back"),
    [
        (tracemalloc.start, tracemalloc.stop),
        (faulthandler.enable, lambda: None),
        (lambda: threading.setprofile(None), lambda: None),
        (lambda: threading.settrace(None), lambda: None),  # type: ignore[arg-type]
        (re.purge, lambda: None),
        (urllib.parse.clear_cache, lambda: None),  # type: ignore[attr-defined]
        (zoneinfo.ZoneInfo.clear_cache, lambda: None),
        (lambda: gettext.NullTranslations().install([]), lambda: None),
    ],
)
def test_settings_of_the_whole_process_are_named(
    change: Callable[[], Any], back: Callable[[], Any]
) -> None:
    def test() -> None:
        together(change, lambda: None)
        back()

    escapes = treadle.explore(test).escapes
    assert escapes
    assert all("settings of the whole process are not modelled" in one for one in escapes)


def test_the_size_of_stacks_is_shared() -> None:
    def program() -> int:
        seen = []
        threading.stack_size(0)
        together(lambda: threading.stack_size(1 << 20), lambda: seen.append(threading.stack_size()))
        threading.stack_size(0)
        return seen[0]

    assert outcomes(program) == {"0", str(1 << 20)}
