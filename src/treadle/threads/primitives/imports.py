"""`import`: a look into `sys.modules`, which threads may change, and at where modules are found.

What a module that is not there yet brings along is known once it was loaded: a test that takes it
out of `sys.modules` again changes that, and the attributes of packages, with each import.
"""

from __future__ import annotations

import builtins
import functools
import importlib
import os
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from treadle.core.events import OPEN, Codes
from treadle.python.runtime import control, slots
from treadle.python.sharing.containers import ContainerTable
from treadle.python.sharing.namespaces import instrumented
from treadle.python.sharing.published import published
from treadle.threads.primitives.outside.os_functions import taken
from treadle.threads.primitives.outside.paths import Place
from treadle.threads.primitives.patches import Patches, after_import

_original_import: Any = builtins.__import__
_original_import_module: Any = importlib.import_module


_SEARCHED = ("meta_path", "path", "path_hooks")
"""What of `sys` says where modules are found."""
_SOUGHT, _BROUGHT = "not there", "loaded"
"""What is learned of imports: that the module had to be looked for, that some were loaded."""
_brought: dict[str, list[str]] = {}
"""The modules that an import loaded."""


def _look_up(name: Any, level: int, wanted: Iterable[str] = ()) -> None:
    """Announce a look at which module has a name, if code under test takes it."""
    me = control.current()
    if slots.announce is slots.nothing or level or me is None:
        return
    if isinstance(name, str) and id(sys._getframe(2).f_globals) in instrumented:
        taken(me, functools.partial(_touched, name, tuple(wanted)), lambda: None)


def _touched(name: str, wanted: tuple[str, ...]) -> Codes:
    """Return the codes of importing a name, and names that may be modules inside of it."""
    table = published.get(id(sys.modules))
    codes: list[int] = []
    for module in (name, *_inside(name, wanted)):
        codes += _searching(module)
        if isinstance(table, ContainerTable):
            codes += (*table.membership(module), *_loading(module, table))
    return tuple(codes)


def _inside(package: str, wanted: Iterable[str]) -> list[str]:
    """Return the modules that `from package import ...` may load besides."""
    found = vars(sys.modules.get(package, object))
    if "__path__" not in found:
        return []
    names = [f"{package}.{name}" for name in wanted]
    return [
        name for name in names if name.rpartition(".")[2] not in found or _is_known(name, _SOUGHT)
    ]


def _searching(name: str) -> Codes:
    """Return the codes of looking where a module is found, if it was not there once.

    Whether it is there now plays no part: in later executions it is, and steps are to be the same.
    """
    if name not in sys.modules:
        _learn(name, _SOUGHT)
    return tuple(_places(name)) if _is_known(name, _SOUGHT) else ()


def _learn(name: str, what: str) -> None:
    control.the_program().shared.note(f"import {name}", what)


def _is_known(name: str, what: str) -> bool:
    return control.the_program().shared.happens(f"import {name}", what)


def _places(name: str) -> Iterator[int]:
    for where in _SEARCHED:
        yield from published[id(sys)][where]
        held = published.get(id(getattr(sys, where)))
        yield from held.whole_read() if isinstance(held, ContainerTable) else ()
    if "changed" in control.the_program().shared.happening:  # perhaps files
        for folder in filter(os.path.isdir, map(str, sys.path)):
            for end in ("", f"/{name.partition('.')[0]}.py"):
                place = Place.of(folder + end)
                yield from () if place is None else place.listed() if not end else place.read()


def _loading(name: str, modules: ContainerTable) -> Codes:
    """Return the codes of what an import changes if it loads something.

    Whether it does, those decide who take modules out of `sys.modules` or put them there.
    """
    if not _is_known(name, _BROUGHT):
        return ()
    codes = [OPEN] if modules.happens("inserted", "deleted", "replaced") else []
    for new in () if name in sys.modules else _brought[name]:
        codes += modules.write_item(new)
        package, _, last = new.rpartition(".")
        parent = published.get(id(sys.modules.get(package)))
        codes += () if parent is None or not package else parent.writes[last]
    return tuple(codes)


def _import(
    name: str,
    globals: Any = None,  # noqa: A002 - so it is called
    locals: Any = None,  # noqa: A002 - so it is called
    fromlist: Any = (),
    level: int = 0,
) -> Any:
    """Stand for `__import__`, which `import` statements call."""
    _look_up(name, level, fromlist or ())
    before = len(sys.modules)
    module = _original_import(name, globals, locals, fromlist, level)
    if len(sys.modules) > before:
        _take_note((name, *(f"{name}.{one}" for one in fromlist or ())), before)
    return module


def _import_module(name: str, package: str | None = None) -> Any:
    """Stand for `importlib.import_module`."""
    _look_up(name, name.startswith("."))
    before = len(sys.modules)
    module = _original_import_module(name, package)
    if len(sys.modules) > before:
        _take_note((name,), before)
    return module


def _take_note(names: Iterable[str], before: int) -> None:
    """Let what was loaded be under control, too; there are more modules than before."""
    new = list(sys.modules)[before:]
    if control.current() is not None:
        for name in names:
            if name in new and not _is_known(name, _BROUGHT):
                _brought[name] = new
                _learn(name, _BROUGHT)
    for replace in after_import:
        replace()


PATCHES: Patches = Patches(
    attributes=[(builtins, "__import__", _import)],
    references=[(_original_import_module, _import_module)],
)
