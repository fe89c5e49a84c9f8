"""Tests by name.

Copies of a process have the test; all others import it: `path/file.py::name`. What has no name, a
function inside of another one, say, cannot be imported.
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from treadle.core.errors import TreadleError
from treadle.core.frames import is_of_the_user


@dataclass(frozen=True, slots=True)
class Name:
    """What another process finds a test by."""

    text: str
    opener: str = "treadle.session.workers.naming:explore_named"
    """Who finds it there, and explores it: `module:function`."""
    surroundings: Mapping[str, Any] = field(default_factory=dict)
    """What else the opener has to know, as plain data."""
    tears_down: bool = False
    """Whether the opener has something to tear down when the exploration is over."""


class HasNoName(TreadleError):
    """A test that no other process can find."""


def module_of(test: object) -> ModuleType | None:
    """Return the module that a test is in: of a program, the one that has a variable for it."""
    function = inspect.unwrap(test) if callable(test) else test
    name = getattr(function, "__module__", None)
    if inspect.isfunction(function) and name in sys.modules:
        return sys.modules[name]
    return next((module for module, _ in _variables(test)), None)


def _variables(test: object) -> Iterator[tuple[ModuleType, str]]:
    """Yield users' modules with a variable that is the test, and its name."""
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if isinstance(module, ModuleType) and file and is_of_the_user(file):
            for name, value in list(vars(module).items()):
                if value is test:
                    yield module, name


def name_of(test: object, asked: str) -> Name:
    """Return `path/file.py::name`; refuse what cannot be imported."""
    function = inspect.unwrap(test) if callable(test) else test
    module = module_of(test)
    name = getattr(function, "__qualname__", "")
    if inspect.isfunction(function) and "<locals>" in name:
        outer, _, inner = name.rpartition(".<locals>.")
        raise HasNoName(
            f"{asked} needs a test that can be imported by name, and {inner} is defined inside "
            f"{outer.rpartition('.')[2]}: move it to the module, or use workers=1"
        )
    if not inspect.isfunction(function):
        name = next((one for _, one in _variables(test)), "")
    file = getattr(module, "__file__", None)
    if not file or not name or not Path(file).is_file() or _found(module, name) is None:
        raise HasNoName(
            f"{asked} needs a test that can be imported by name, and this one has none: make it a "
            f"function or a variable of a module, or use workers=1"
        )
    return Name(f"{Path(file).resolve()}::{name}")


def explore_named(name: Name, explore: Callable[[object], None]) -> None:
    """Find a test that `name_of` names, in a process of its own, and explore it."""
    explore(named(name.text))


def named(text: str) -> object:
    """Return what a name of `name_of` stands for, in a process of its own."""
    file, _, name = text.partition("::")
    module_name = f"treadle_target_{Path(file).stem}"
    spec = importlib.util.spec_from_file_location(module_name, file)
    assert spec is not None, "a file in Python always has a loader"
    assert spec.loader is not None
    module = sys.modules[module_name] = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(Path(file).parent))
    spec.loader.exec_module(module)
    found = _found(module, name)
    if found is None:
        raise TreadleError(
            f"{file} has no {name} when it is imported: define it outside of "
            f"`if __name__ == '__main__'`"
        )
    return found


def _found(module: ModuleType | None, name: str) -> Any:
    """Return what a dotted name stands for in a module; None if there is nothing."""
    value: Any = module
    for one in name.split("."):
        value = getattr(value, one, None)
    return value
