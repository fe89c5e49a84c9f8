"""The check of the house (`scripts/layers.py`), on small trees."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent.parent / "scripts" / "layers.py"
CLEAN = {
    "treadle/__init__.py": "from treadle.api import explore\n",
    "treadle/api.py": "from treadle.explore.search import search\nfrom treadle.model import kit\n",
    "treadle/core/events.py": "import sys\nimport collections.abc\n",
    "treadle/explore/search.py": "from treadle.core import events\n",
    "treadle/model/kit.py": "from treadle.core.events import sys\nimport rich\n",
}


@pytest.fixture(scope="module")
def layers():
    spec = importlib.util.spec_from_file_location("layers", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look themselves up there
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def check(layers, tmp_path, capsys) -> Callable[..., tuple[int, list[str], list[str]]]:
    """Return a function: status, what is wrong, and everything printed for a changed clean tree."""

    def run(files: dict[str, str], *options: str, tests: str = "x = 1\n" * 99):
        for name, text in {**CLEAN, **files}.items():
            path = tmp_path / "src" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        (tmp_path / "tests").mkdir()
        (tmp_path / "tests" / "test_all.py").write_text(tests)
        status = layers.main(["--root", str(tmp_path), *options])
        printed = capsys.readouterr().out.splitlines()
        return status, [line for line in printed if line.startswith(("src/", "tests:"))], printed

    return run


def test_a_clean_tree_passes_and_is_drawn(check):
    status, wrong, printed = check({})
    assert (status, wrong) == (0, [])
    assert [line.split(maxsplit=1) for line in printed[:5]] == [
        ["__init__", "api"],
        ["api", "explore, model"],
        ["model", "core"],
        ["explore", "core"],
        ["core", "-"],
    ]


@pytest.mark.parametrize(
    "line",
    [
        "from treadle.report.text import words",
        "from treadle.report import text",
        "import treadle.report.text",
        "from ..report import text",
        "def function():\n    from treadle.report import text",
        "class Kit:\n    def method(self):\n        import treadle.report.text",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from treadle.report import text",
        "import importlib\ntext = importlib.import_module('treadle.report.text')",
    ],
)
def test_an_import_that_points_up(check, line):
    files = {"treadle/report/text.py": "", "treadle/model/kit.py": line + "\n"}
    status, wrong, _ = check(files)
    number = line.count("\n") + 1
    assert status == 1
    assert wrong == [
        f"src/treadle/model/kit.py:{number}: model.kit imports report.text, which is above it"
    ]


def test_an_order_inside_of_a_package(check):
    status, wrong, _ = check(
        {
            "treadle/explore/source_sets/optimal.py": "from treadle.explore.basic import sleep\n",
            "treadle/explore/basic/sleep.py": "",
            "treadle/python/runtime/control.py": "from treadle.python.accesses import hooks\n",
            "treadle/python/accesses/hooks.py": "",
        }
    )
    assert status == 1
    assert [line.partition(": ")[2] for line in wrong] == [
        "python.runtime.control imports python.accesses.hooks, which is above it"
    ]


@pytest.mark.parametrize(
    "where",
    ["", "def function():\n    ", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    "],
)
def test_a_cycle_of_packages(check, where):
    status, wrong, _ = check(
        {
            "treadle/core/events.py": f"{where}from treadle.explore import search\n",
        }
    )
    cycles = [line.partition(": ")[2] for line in wrong if "cycle" in line]
    assert status == 1
    assert cycles == [
        "a cycle of packages: core, explore",
        "a cycle of modules: core.events, explore.search",
    ]


def test_a_cycle_of_modules_that_a_function_hides(check):
    status, wrong, _ = check(
        {
            "treadle/model/kit.py": "from treadle.model import run\n",
            "treadle/model/run.py": "def start():\n    from treadle.model.kit import Kit\n",
        }
    )
    assert status == 1
    assert wrong == ["src/treadle/model/kit.py:1: a cycle of modules: model.kit, model.run"]


def test_a_cycle_for_type_checkers_in_one_package_is_counted(check):
    status, wrong, printed = check(
        {
            "treadle/model/kit.py": "from treadle.model import run\n",
            "treadle/model/run.py": (
                "import typing\nif typing.TYPE_CHECKING:\n    from treadle.model.kit import Kit\n"
            ),
        }
    )
    assert (status, wrong) == (0, [])
    assert "cycles for type checkers only, inside of one package: 1" in printed


def test_front_ends_do_not_know_each_other(check):
    status, wrong, _ = check(
        {
            "treadle/threads/run.py": "from treadle.model import kit\n",
            "treadle/networks/node.py": "from treadle.model import kit\n",
            "treadle/tasks/loop.py": "from treadle.threads import run\n",
        }
    )
    assert status == 1
    assert wrong == [
        "src/treadle/threads/run.py:1: threads.run imports model.kit: a front end knows no other"
    ]


@pytest.mark.parametrize("name", ["core/events", "explore/search"])
def test_the_core_stands_alone(check, name):
    status, wrong, _ = check({f"treadle/{name}.py": "import greenlet\nimport heapq\n"})
    module = name.replace("/", ".")
    assert status == 1
    assert wrong == [f"src/treadle/{name}.py:1: {module} imports greenlet: not its own"]


def test_a_module_without_a_place(check):
    status, wrong, _ = check({"treadle/attic/box.py": ""})
    assert status == 1
    assert wrong == [
        "src/treadle/attic/box.py:1: attic.box has no place in ORDER (scripts/layers.py)"
    ]


def test_a_module_that_is_just_short_enough(check):
    status, wrong, _ = check({"treadle/model/kit.py": "#\n" * 600})
    assert (status, wrong) == (0, [])


def test_a_module_that_is_too_long(check):
    status, wrong, _ = check({"treadle/model/kit.py": "#\n" * 601})
    assert (status, wrong) == (1, ["src/treadle/model/kit.py:1: 601 lines, more than 600"])


def function(lines: int) -> str:
    explained = '    """Explain.\n\n    At length.\n    """\n    # a comment\n\n'
    return "def long(\n    first,\n    second,\n):\n" + explained + "    pass\n" * lines


def test_a_function_that_is_just_short_enough(check):
    assert check({"treadle/model/kit.py": function(40)})[:2] == (0, [])


def test_a_function_that_is_too_long(check):
    status, wrong, _ = check({"treadle/model/kit.py": function(41)})
    assert status == 1
    assert wrong == ["src/treadle/model/kit.py:1: the body of long has 41 lines, more than 40"]


def test_how_long_functions_are(check):
    text = "".join(function(lines) for lines in (2, 4, 6, 8, 22))
    _, _, printed = check({"treadle/model/kit.py": text})
    assert "function bodies: median 6, p90 16.4, max 22 lines" in printed


def test_tests_are_as_long_as_the_source(check):
    status, wrong, _ = check({}, tests="x = 1\n# a comment\n\n")
    assert status == 1
    assert wrong == ["tests:1: 1 lines of code, fewer than the source's 8"]


def test_a_report_alone_never_fails(check):
    status, wrong, _ = check({"treadle/attic/box.py": ""}, "--report-only")
    assert (status, len(wrong)) == (0, 1)
