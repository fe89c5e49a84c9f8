"""Rewritten code, kept: in memory, and on disk for the next process.

Rewriting costs as much as a hundred compilations. On disk there is one file per package, with
marshalled code in which placeholders stand for the hooks. The key of an entry says everything that
the result depends on: the code itself, the interpreter, the rewriter and the scope. A file that
cannot be read or written, or whose content makes no sense, is ignored.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import marshal
import os
import sys
import tempfile
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bytecode

from treadle.python import accesses, instrument
from treadle.python.accesses import direct_methods
from treadle.python.instrument import rewrite as rewriter
from treadle.python.instrument.first_calls import first_call_of
from treadle.python.instrument.scan import codes_in, facts_of
from treadle.python.instrument.scope import Scope
from treadle.python.runtime.atoms import ATOMS
from treadle.python.runtime.spin import effects
from treadle.python.runtime.task import awaiting
from treadle.python.sharing.published import published
from treadle.python.sharing.variable import Variable

_MARK = "\0treadle"
_ACCESSES = "treadle.python.accesses."
"""Modules whose functions rewritten code calls: it is written down which."""
_MOST_ENTRIES = 20_000
"""Of one file; a large package has some thousand functions."""

_HOOKS: dict[str, Any] = {
    "published": published,
    "effects": effects,
    "awaiting": awaiting,
    "id": id,
    "type": type,
    "atoms": ATOMS,
    "direct": direct_methods.DIRECT,
}
_NAMES = {id(value): name for name, value in _HOOKS.items()}


@functools.cache
def _version() -> str:
    """Return what changes when the rewriter does: rewritten code then may look different."""
    content = hashlib.blake2b(bytecode.__version__.encode(), digest_size=12)
    for path in sources():
        content.update(path.read_bytes())
    return content.hexdigest()


def sources() -> list[Path]:
    """Return the files of all modules that decide what rewritten code looks like."""
    packages = (accesses, instrument)
    return sorted(path for one in packages for path in Path(one.__path__[0]).glob("*.py"))


class RewrittenCode:
    """Everything that was rewritten in this process."""

    def __init__(self, variable: Callable[[str, str], object]) -> None:
        self._variable = variable
        """Returns what stands for a global variable of a module."""
        self._memory: dict[Any, tuple[types.CodeType, types.CodeType]] = {}
        self._originals: dict[int, tuple[types.CodeType, types.CodeType]] = {}
        self._met: set[int] = set()
        """`id`s of what was rewritten, which the memory keeps alive."""
        self._files: dict[tuple[str, str], _File] = {}
        """By file and package."""

    def original(self, code: types.CodeType) -> types.CodeType:
        """Return what a code object was before it was rewritten."""
        known = self._originals.get(id(code))
        if known is not None:
            return known[1]
        first = first_call_of(code)
        return code if first is None else first.code

    def remembered(self, code: types.CodeType, module: str, scope: Scope) -> types.CodeType | None:
        """Return what was rewritten in this process earlier, if it was."""
        if id(code) not in self._met:
            return None
        known = self._memory.get((id(code), _scope_key(module, _relevant(scope, code))))
        return None if known is None else known[1]

    def prepare(self, code: types.CodeType, module: str) -> None:
        """Read what there is on disk: while a test runs, files are the test's."""
        self._file(code, module)

    def rewritten(self, code: types.CodeType, module: str, scope: Scope) -> types.CodeType:
        """Return a code object with hooks, rewritten now or earlier."""
        code = self.original(code)
        scope = _relevant(scope, code)
        what = _scope_key(module, scope)
        known = self._memory.get((id(code), what))
        if known is None:
            new = self._fetch(code, module, what, scope)
            known = self._memory[id(code), what] = code, new
            self._met.add(id(code))
            self._remember(code, known[1])
        return known[1]

    def save(self) -> None:
        """Write to disk what is new."""
        for file in set(self._files.values()):
            file.save()

    def _file(self, code: types.CodeType, module: str) -> _File:
        key = code.co_filename, module.partition(".")[0]
        known = self._files.get(key)
        if known is None:
            unit = _unit(*key)
            same = (file for file in self._files.values() if file.unit == unit)
            known = self._files[key] = next(same, None) or _File(unit)
        return known

    def _fetch(self, code: types.CodeType, module: str, what: str, scope: Scope) -> types.CodeType:
        file = self._file(code, module)
        key = _digest(code, what)
        stored = file.entries.get(key)
        if stored is not None:
            try:
                found = _decode(marshal.loads(stored), self._variable)
                if isinstance(found, types.CodeType):
                    return found
            except Exception:  # whatever is wrong with it, it can be made again
                file.entries.pop(key, None)
        new = rewriter.rewrite(code, scope)
        with contextlib.suppress(ValueError):  # a constant that cannot be written down
            file.add(key, marshal.dumps(_encode(new)))
        return new

    def _remember(self, old: types.CodeType, new: types.CodeType) -> None:
        before, after = list(codes_in(old)), list(codes_in(new))
        if [code.co_qualname for code in before] != [code.co_qualname for code in after]:
            before, after = [old], [new]
        for one, other in zip(before, after, strict=True):
            self._originals[id(other)] = (other, one)


def _relevant(scope: Scope, code: types.CodeType) -> Scope:
    """Leave out of a scope what a code object has nothing to do with."""
    facts = facts_of(code)
    used = facts.names
    return Scope(
        variables={name: value for name, value in scope.variables.items() if name in used},
        class_names=scope.class_names & used,
        shadowed=scope.shadowed & used,
        own=scope.own & used,
        methods=scope.methods & used,
        computed=scope.computed & used,
        specials=scope.specials,
        meets_foreign_operators=facts.operates and scope.meets_foreign_operators,
        replaces_specials=scope.replaces_specials,
        assigns_cells=scope.assigns_cells,
        is_executed=scope.is_executed,
        gil=scope.gil,
        item_by_item=scope.item_by_item,
    )


def _scope_key(module: str, scope: Scope) -> str:
    parts = (
        scope.variables, scope.class_names, scope.shadowed, scope.own, scope.methods,
        scope.computed, scope.specials,
    )  # fmt: skip
    flags = (
        scope.gil, scope.item_by_item, scope.meets_foreign_operators, scope.replaces_specials,
        scope.assigns_cells, scope.is_executed,
    )  # fmt: skip
    return repr((module, flags, *(sorted(part) for part in parts)))


def _digest(code: types.CodeType, what: str) -> str:
    content = hashlib.blake2b(f"{code.co_filename} {what}".encode(), digest_size=20)
    for one in codes_in(code):
        plain = [const for const in one.co_consts if not isinstance(const, types.CodeType)]
        content.update(
            repr(
                (
                    one.co_qualname, one.co_firstlineno, one.co_flags, one.co_argcount,
                    one.co_posonlyargcount, one.co_kwonlyargcount, one.co_names, one.co_varnames,
                    one.co_freevars, one.co_cellvars, [_stable(const) for const in plain],
                )
            ).encode()
        )  # fmt: skip
        content.update(one.co_code + one.co_linetable + one.co_exceptiontable)
    return content.hexdigest()


def _stable(const: Any) -> object:
    """Return a constant in a form whose `repr` is the same in every process."""
    if isinstance(const, frozenset):
        return sorted(map(repr, const))
    return [_stable(part) for part in const] if isinstance(const, tuple) else const


def _encode(code: types.CodeType) -> types.CodeType:
    return code.replace(co_consts=tuple(_encoded(const) for const in code.co_consts))


def _encoded(const: Any) -> Any:
    if isinstance(const, types.CodeType):
        return _encode(const)
    if isinstance(const, Variable):
        return (_MARK, const.module, const.name)
    if isinstance(const, types.FunctionType) and (const.__module__ or "").startswith(_ACCESSES):
        return (_MARK, const.__module__, const.__qualname__)
    name = _NAMES.get(id(const))
    return const if name is None else (_MARK, name)


def _decode(code: types.CodeType, variable: Callable[[str, str], object]) -> types.CodeType:
    return code.replace(co_consts=tuple(_decoded(const, variable) for const in code.co_consts))


def _decoded(const: Any, variable: Callable[[str, str], object]) -> Any:
    if isinstance(const, types.CodeType):
        return _decode(const, variable)
    if const.__class__ is not tuple or not const or const[0] != _MARK:
        return const
    if len(const) == 2:
        return _HOOKS[const[1]]
    module, name = const[1:]
    return (
        vars(sys.modules[module])[name] if module.startswith(_ACCESSES) else variable(module, name)
    )


def _unit(source: str, package: str) -> str:
    """Return what is kept in one file: the folder of a package, or a single source file."""
    folders = Path(source).parts[:-1]
    if package not in folders:
        return source
    depth = len(folders) - folders[::-1].index(package)
    return str(Path(*folders[:depth]))


class _File:
    """The entries of a package, or of one source file."""

    def __init__(self, unit: str) -> None:
        self.unit = unit
        name = f"{unit} {sys.implementation.cache_tag} {sys.hexversion} {_version()}"
        digest = hashlib.blake2b(name.encode(), digest_size=12).hexdigest()
        self._path = directory() / f"{Path(unit).stem[:40]}-{digest}.bin"
        self._is_new = False
        self.entries: dict[str, bytes] = self._load()

    def add(self, key: str, value: bytes) -> None:
        """Enter something."""
        if len(self.entries) >= _MOST_ENTRIES:
            self.entries.clear()
        self.entries[key] = value
        self._is_new = True

    def _load(self) -> dict[str, bytes]:
        try:
            content = self._path.read_bytes()
            digest, data = content[:20], content[20:]
            if hashlib.blake2b(data, digest_size=20).digest() != digest:
                return {}
            found = marshal.loads(data)
        except (OSError, ValueError, EOFError, TypeError):
            return {}
        return found if isinstance(found, dict) else {}

    def save(self) -> None:
        """Write the entries, at once or not at all; what others have written meanwhile stays."""
        if not self._is_new:
            return
        self._is_new = False
        others = self._load()
        if len(self.entries | others) <= _MOST_ENTRIES:
            self.entries = others | self.entries
        data = marshal.dumps(self.entries)
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self._path.parent)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(hashlib.blake2b(data, digest_size=20).digest() + data)
                Path(name).replace(self._path)
            except OSError:
                Path(name).unlink(missing_ok=True)
        except OSError:  # a cache that cannot be written is no cache
            return


def directory() -> Path:
    """Return where rewritten code is kept: `TREADLE_CACHE`, or the user's cache directory."""
    named = os.environ.get("TREADLE_CACHE")
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(base) if base else Path.home() / ".cache") / "treadle"
    except RuntimeError:  # there is no home
        return Path(tempfile.gettempdir()) / "treadle-cache"
