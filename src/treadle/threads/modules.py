"""Which code is instrumented: functions that exist already, and modules imported later."""

from __future__ import annotations

import gc
import sys
import sysconfig
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from treadle.threads.rewrite import Scope, rewrite
from treadle.threads.shared import Shared

_LIBRARIES = tuple(
    str(Path(sysconfig.get_paths()[name]).resolve())
    for name in ("stdlib", "platstdlib", "purelib", "platlib")
)
_OWN = str(Path(__file__).resolve().parents[1])


class Instrumentation:
    """Rewrites the code under test, and puts it back."""

    def __init__(self, test: Callable[[], Any], packages: tuple[str, ...]) -> None:
        self._test = test
        self._packages = packages
        self._swapped: list[tuple[types.FunctionType, types.CodeType]] = []
        self._rewritten: dict[int, tuple[types.CodeType, types.CodeType]] = {}

    def install(self, shared: Shared) -> None:
        """Rewrite every function of the modules that are instrumented."""
        modules = list(self._modules())
        module_names = {module.__name__ for module in modules}
        shared.follows = lambda kind: kind.__module__ in module_names
        names = {id(vars(module)) for module in modules}
        for function in gc.get_objects():
            if isinstance(function, types.FunctionType) and id(function.__globals__) in names:
                self._swapped.append((function, function.__code__))
                function.__code__ = self._rewrite(function.__code__)

    def undo(self) -> None:
        """Put the original code back."""
        while self._swapped:
            function, code = self._swapped.pop()
            function.__code__ = code

    def _rewrite(self, code: types.CodeType) -> types.CodeType:
        known = self._rewritten.get(id(code))
        if known is None:
            known = self._rewritten[id(code)] = (code, rewrite(code, Scope()))
        return known[1]

    def _modules(self) -> Iterator[types.ModuleType]:
        for name, module in list(sys.modules.items()):
            if isinstance(module, types.ModuleType) and self.is_instrumented(name, module):
                yield module

    def is_instrumented(self, name: str, module: types.ModuleType) -> bool:
        """Tell whether a module's code is under test."""
        if any(name == package or name.startswith(package + ".") for package in self._packages):
            return True
        file = getattr(module, "__file__", None)
        if not file:
            return name == "__main__"
        path = str(Path(file).resolve())
        return not path.startswith((*_LIBRARIES, _OWN))
