"""Tests by name, and what source they are made of.

Copies of a process have the test; all others import it: `path/file.py::name`. What has no name, a
function inside of another one, say, cannot be imported.
"""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from treadle.core.frames import is_of_the_user


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


def digest_of(test: object) -> str:
    """Return a digest of the source of a test, and of what its modules import of the user's own."""
    first = module_of(test)
    digest = hashlib.sha256()
    for file in sorted(_files([] if first is None else [first])):
        digest.update(Path(file).name.encode())
        digest.update(Path(file).read_bytes())
    return digest.hexdigest()[:16]


def _files(modules: list[ModuleType]) -> set[str]:
    seen: set[str] = set()
    while modules:
        module = modules.pop()
        file = getattr(module, "__file__", None)
        if not file or file in seen or not is_of_the_user(file) or not Path(file).is_file():
            continue
        seen.add(file)
        for value in list(vars(module).values()):
            name: Any = getattr(value, "__module__", None)
            other = value if isinstance(value, ModuleType) else sys.modules.get(str(name))
            if other is not None:
                modules.append(other)
    return seen
