"""Which of the modules that are loaded are under test, asked once for each set of them.

There are hundreds, and from one exploration to the next they are nearly always the same.
"""

from __future__ import annotations

import operator
import sys
import types
from typing import Any

from treadle.core.frames import is_of_the_user


def is_covered(name: str, packages: tuple[str, ...]) -> bool:
    """Tell whether a module belongs to packages that the user named."""
    return any(name == package or name.startswith(package + ".") for package in packages)


def is_under_test(name: str, module: types.ModuleType, packages: tuple[str, ...]) -> bool:
    """Tell whether a module is the user's, or of a package that the user named."""
    if is_covered(name, packages):
        return True
    file = getattr(module, "__file__", None)
    if not isinstance(file, str) or name.partition(".")[0] == "treadle":
        return name == "__main__"
    return is_of_the_user(file)


class LoadedModules:
    """The namespaces of the modules in `sys.modules` that matter."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._modules: list[Any] = []
        self._packages: tuple[str, ...] = ()
        self._under_test: dict[str, dict[str, Any]] = {}
        self._own: list[int] = []

    def under_test(self, packages: tuple[str, ...]) -> dict[str, dict[str, Any]]:
        """Return the namespaces of modules under test, by name, in the order of names."""
        self._look(packages)
        return self._under_test

    def own(self, packages: tuple[str, ...]) -> list[int]:
        """Return the `id` of the namespaces of Treadle's own modules."""
        self._look(packages)
        return self._own

    def _look(self, packages: tuple[str, ...]) -> None:
        """Look at all modules, if they are not the same as last time."""
        names, modules = list(sys.modules), list(sys.modules.values())
        if (
            packages == self._packages
            and names == self._names
            and all(map(operator.is_, modules, self._modules))
        ):
            return
        self._packages, self._names, self._modules = packages, names, modules
        loaded = [
            (name, module)
            for name, module in zip(names, modules, strict=True)
            if isinstance(module, types.ModuleType)
        ]
        self._under_test = {
            name: vars(module)
            for name, module in sorted(loaded, key=operator.itemgetter(0))
            if is_under_test(name, module, packages)
        }
        self._own = [
            id(vars(module)) for name, module in loaded if name.partition(".")[0] == "treadle"
        ]
