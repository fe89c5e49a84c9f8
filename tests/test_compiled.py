"""What is compiled (setup.py): interpreted classes cannot derive from compiled ones."""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest

from treadle.explore.registry import ALGORITHMS

ROOT = Path(__file__).parents[1]


def compiled_modules() -> list[str]:
    """Return the names of the modules that setup.py compiles."""
    for statement in ast.parse((ROOT / "setup.py").read_text()).body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets) == "COMPILED":
            compiled: dict[str, tuple[str, ...]] = ast.literal_eval(statement.value)
            return [
                f"{p.replace('/', '.')}.{name}" for p, names in compiled.items() for name in names
            ]
    raise AssertionError("setup.py does not say what is compiled")


COMPILED = compiled_modules()


def derived(kind: type) -> Iterator[type]:
    """Yield the classes of Treadle that derive from a class."""
    for one in type.__subclasses__(kind):
        if one.__module__.startswith("treadle."):
            yield one
        yield from derived(one)


@pytest.mark.parametrize("name", COMPILED)
def test_what_derives_from_compiled_classes_is_compiled(name: str) -> None:
    module = importlib.import_module(name)
    kinds = [
        one for one in vars(module).values() if inspect.isclass(one) and one.__module__ == name
    ]
    interpreted = {
        f"{one.__module__}.{one.__qualname__}"
        for kind in kinds
        for one in derived(kind)
        if one.__module__ not in COMPILED
    }
    assert interpreted == set()


def test_algorithms_and_the_scheduler_are_compiled() -> None:
    needed = {kind.__module__ for kind in ALGORITHMS.values()}
    assert needed | {"treadle.python.runtime.scheduler"} <= set(COMPILED)
