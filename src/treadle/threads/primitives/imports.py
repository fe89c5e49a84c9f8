"""`import` of a module that is loaded: a look into `sys.modules`, which threads may change."""

from __future__ import annotations

import builtins
import importlib
import sys
from typing import Any

from treadle.python.accesses import instruction_hooks as hooks
from treadle.python.runtime import control, slots
from treadle.python.sharing.containers import ContainerTable
from treadle.python.sharing.namespaces import instrumented
from treadle.python.sharing.published import published
from treadle.threads.primitives.patches import Patches, after_import

_original_import: Any = builtins.__import__
_original_import_module: Any = importlib.import_module


def _look_up(name: Any, level: int) -> None:
    """Announce a look at which module has a name, if code under test takes it."""
    if slots.announce is slots.nothing or level or control.current() is None:
        return
    table = published.get(id(sys.modules))
    if isinstance(table, ContainerTable) and id(sys._getframe(2).f_globals) in instrumented:
        hooks.say(table.membership(name))


def _import(
    name: str,
    globals: Any = None,  # noqa: A002 - so it is called
    locals: Any = None,  # noqa: A002 - so it is called
    fromlist: Any = (),
    level: int = 0,
) -> Any:
    """Stand for `__import__`, which `import` statements call."""
    _look_up(name, level)
    before = len(sys.modules)
    module = _original_import(name, globals, locals, fromlist, level)
    _replace_what_is_new(before)
    return module


def _import_module(name: str, package: str | None = None) -> Any:
    """Stand for `importlib.import_module`."""
    _look_up(name, name.startswith("."))
    before = len(sys.modules)
    module = _original_import_module(name, package)
    _replace_what_is_new(before)
    return module


def _replace_what_is_new(before: int) -> None:
    """Let what was loaded be under control, too, if there are more modules than before."""
    if len(sys.modules) > before:
        for replace in after_import:
            replace()


PATCHES: Patches = Patches(
    attributes=[(builtins, "__import__", _import)],
    references=[(_original_import_module, _import_module)],
)
