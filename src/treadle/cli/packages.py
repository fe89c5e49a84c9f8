"""From the name of a package, a directory or a file to the source of code that uses threads."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

from treadle.cli.loading import has_only_functions
from treadle.core.errors import TreadleError

_LEFT_OUT = frozenset({"__pycache__", "node_modules", "site-packages"})
_DOTTED = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


def files_of_package(target: str) -> list[Path]:
    """Return the files of a directory, a package, or a Python file without programs of its own.

    Nothing if the target is something else: a program, or a test by its name.
    """
    path = Path(target)
    if path.is_dir():
        return _files_below(path, path)
    if path.suffix == ".py" and path.exists():
        return [path.resolve()] if has_only_functions(path) else []
    if not _DOTTED.fullmatch(target) or path.exists():
        return []
    return _files_of_module(target)


def _files_below(folder: Path, shown: Path) -> list[Path]:
    found = [
        path
        for path in sorted(folder.resolve().rglob("*.py"))
        if not any(
            part in _LEFT_OUT or part.startswith(".")
            for part in path.relative_to(folder.resolve()).parts
        )
    ]
    if not found:
        raise TreadleError(f"there is no Python file below {shown}: give the root of a package")
    return found


def _files_of_module(name: str) -> list[Path]:
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        spec = None
    if spec is None:
        return []
    if spec.submodule_search_locations:
        return [
            path
            for folder in spec.submodule_search_locations
            for path in _files_below(Path(folder), Path(name))
        ]
    if spec.origin is None or not spec.origin.endswith(".py"):
        raise TreadleError(f"{name} is not written in Python: there is no source to look at")
    return [Path(spec.origin)]
