"""`import treadle` loads what is used when it is used; its names are what they are said to be."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

import treadle
from treadle.explore.registry import ALGORITHMS

HEAVY = {
    "greenlet",
    "bytecode",
    "rich",
    "click",
    "asyncio",
    "pytest",
    "tomllib",
    "concurrent",
    "z3",
}
"""What `import treadle` must not load."""


def in_a_new_process(script: str) -> str:
    """Return what a script prints that has imported nothing yet.

    It finds Treadle and other packages, but not what tests before this one have put on the path.
    """
    path = [str(Path(package.__file__ or "").parents[1]) for package in (treadle, pytest)]
    done = subprocess.run(
        [sys.executable, "-S", "-c", dedent(script)],
        env={"PYTHONPATH": ":".join(path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_what_is_loaded_at_each_step() -> None:
    """One process, so that it is clear what each step adds."""
    printed = in_a_new_process(
        f"""
        import sys
        heavy = {HEAVY!r}
        def show(what):
            rooms = {{m.split(".")[1] for m in sys.modules if m.startswith("treadle.")}}
            # Light front ends come with their packages.
            rooms -= {{"analyses", "model", "networks", "smt"}}
            found = {{m.partition(".")[0] for m in sys.modules}} & heavy
            print(what, *sorted(rooms), "+", *sorted(found))
        import treadle
        show("import:")
        treadle.TreadleError, treadle.Schedule, treadle.__version__, dir(treadle)
        show("errors:")
        list(treadle.ALGORITHMS)
        show("algorithms:")
        from treadle.session.options import everything
        everything()
        show("options:")
        """
    )
    assert printed.splitlines() == [
        "import: core +",
        "errors: core +",
        "algorithms: core explore +",
        "options: actors core explore python session tasks threads +",
    ]


@pytest.mark.parametrize(
    "first",
    [
        "import treadle.explore.search",
        "from treadle.explore import registry",
        "import treadle.model, treadle.explore",
        "import treadle.cli",
        "importlib.import_module('treadle.explore.source_sets.optimal')",
    ],
)
def test_explore_is_the_function_whatever_was_imported_before(first: str) -> None:
    printed = in_a_new_process(
        f"""
        import importlib, sys, types
        {first}
        import treadle
        from treadle import explore
        package = sys.modules["treadle.explore"]
        assert isinstance(package, types.ModuleType), package
        assert treadle.explore is explore is not package
        print(explore.__module__, explore.__name__, callable(explore))
        from treadle.explore.budget import Budget
        assert treadle.explore is explore
        from treadle import *
        assert globals()["explore"] is treadle.explore
        """
    )
    assert printed == "treadle.api explore True\n"


@pytest.mark.parametrize("name", treadle.__all__)
def test_each_public_name_is_found_in_its_home(name: str) -> None:
    value = getattr(treadle, name)
    home = treadle._HOME_OF.get(name, "treadle")
    assert value is getattr(importlib.import_module(home), name)
    if isinstance(value, type):
        assert value.__module__ == home
    assert name in dir(treadle)


def test_names_that_are_not_there() -> None:
    for name in ("exlpore", "_missing", "Program"):
        with pytest.raises(AttributeError, match=f"module 'treadle' has no attribute '{name}'"):
            getattr(treadle, name)
    with pytest.raises(ImportError, match="cannot import name 'Program'"):
        exec("from treadle import Program")


def test_homes_are_those_of_what_is_public() -> None:
    assert sorted([*treadle._HOME_OF, "actors", "model"]) == sorted(treadle.__all__)
    assert treadle.ALGORITHMS is ALGORITHMS
    assert treadle.model is importlib.import_module("treadle.model")
