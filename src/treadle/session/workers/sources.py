"""What source a test is made of: the user's files, the packages that are looked into, Treadle.

Parts of a space mean something for one program only, so those who share them, at once or one after
the other, have to have the same. Files are known by their modules' names: on another machine they
may be in another folder.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from treadle.core import version
from treadle.core.frames import is_of_the_user
from treadle.core.program import Program
from treadle.session.workers.naming import module_of

_DIGITS = 16


def files_of(test: object) -> dict[str, str]:
    """Return digests of a test's file, by its name, and of modules of the user's that it uses."""
    first = module_of(test)
    return {} if first is None else dict(_files(first))


def _files(first: ModuleType) -> Iterator[tuple[str, str]]:
    seen: set[str] = set()
    modules = [first]
    while modules:
        module = modules.pop()
        file = getattr(module, "__file__", None)
        if not file or file in seen or not is_of_the_user(file) or not Path(file).is_file():
            continue
        seen.add(file)
        name = Path(file).name if module is first else module.__name__
        yield name, _digest([Path(file)])
        modules += _used_by(module)


def _used_by(module: ModuleType) -> Iterator[ModuleType]:
    for value in list(vars(module).values()):
        name: Any = getattr(value, "__module__", None)
        other = value if isinstance(value, ModuleType) else sys.modules.get(str(name))
        if other is not None:
            yield other


def packages_of(program: Program) -> dict[str, str]:
    """Return a digest of each package that is looked into."""
    names: Any = program.options.get("instrument", ())
    return {name: _digest(_files_of_package(name)) for name in names}


def _files_of_package(name: str) -> list[Path]:
    spec = importlib.util.find_spec(name)
    if spec is None:
        return []
    if spec.submodule_search_locations:
        folders = map(Path, spec.submodule_search_locations)
        return sorted(file for folder in folders for file in folder.rglob("*.py"))
    return [Path(spec.origin)] if spec.origin and Path(spec.origin).is_file() else []


@functools.cache
def of_treadle() -> str:
    """Return a digest of Treadle itself: unreleased versions have one number."""
    return _digest(sorted(Path(version.__file__).parents[1].rglob("*.py")))


def digest_of(test: object, program: Program) -> str:
    """Return a digest of all that a test is made of but Treadle."""
    return _together({**files_of(test), **packages_of(program)})


def _together(digests: Mapping[str, str]) -> str:
    return hashlib.sha256(repr(sorted(digests.items())).encode()).hexdigest()[:_DIGITS]


def _digest(files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        content = file.read_bytes()
        digest.update(f"{file.name} {len(content)} ".encode())
        digest.update(content)
    return digest.hexdigest()[:_DIGITS]
