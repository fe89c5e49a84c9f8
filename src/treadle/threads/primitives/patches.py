"""What is replaced while a test is explored, and put back whatever happens.

Classes written in Python (`threading.Thread`, `queue.Queue`, ...) are patched in place, method by
method: so subclasses, instances made at import and `from queue import Queue` all follow. What is
written in C (`_thread.allocate_lock`, `time.sleep`, ...) is replaced wherever a module of
`sys.modules` refers to it (`references`); who keeps it elsewhere calls what stands for it
(`stand_ins.HELD`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from types import FunctionType, ModuleType
from typing import Any

from treadle.python.accesses.stand_ins import HELD
from treadle.threads.primitives.references import References

_MISSING = object()
after_import: list[Callable[[], None]] = []
"""Called when a module was loaded while a test is explored: what it has may have to be replaced."""
_references = References()
_CAN_RUN_THEMSELVES = frozenset({"functools", "queue"})
"""Modules whose own code works on controlled locks, if users want it explored."""


@dataclass(slots=True)
class Patches:
    """A set of replacements."""

    attributes: list[tuple[Any, str, Any]] = field(default_factory=list)
    """Owner, name and what the attribute is while a test is explored."""
    references: list[tuple[Any, Any]] = field(default_factory=list)
    """Originals, and what stands for them in every module that refers to them."""

    def __post_init__(self) -> None:
        """Call functions as what they stand for: a thread is named after its function."""
        for _, name, stand_in in self.attributes:
            if isinstance(stand_in, FunctionType):
                stand_in.__name__ = name
        for original, stand_in in self.references:
            if isinstance(stand_in, FunctionType):
                stand_in.__name__ = original.__name__


class Installer:
    """Installs patches, and undoes them in reverse order.

    Modules that were loaded meanwhile have what they imported by name from others: stand-ins. They
    get the originals when all is put back.
    """

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []
        self._modules: frozenset[str] = frozenset()
        """Modules that were loaded before anything was replaced."""
        self._originals: dict[int, Any] = {}
        """By `id` of what stands for them."""

    def install(
        self, patches: Iterable[Patches], looks_inside: Callable[[str], bool] = lambda _: False
    ) -> None:
        """Install sets of patches; undoes all of them if one cannot be installed.

        A class of a module that the user wants to look inside is left as it is, if it is one that
        can run on the other primitives.
        """
        if not self._undo:
            self._modules = frozenset(sys.modules)
        try:
            replaced: dict[int, Any] = {}
            for one in patches:
                for owner, name, value in one.attributes:
                    module = getattr(owner, "__module__", "")
                    if module not in _CAN_RUN_THEMSELVES or not looks_inside(module):
                        self._hold(owner, name, value)
                        self._set(owner, name, value)
                for original, new in one.references:
                    replaced[id(original)] = new
                    self._originals.setdefault(id(new), original)
            HELD.update(replaced)
            for owner, name, value in _references.find(replaced):
                self._set(owner, name, value)
        except BaseException:
            self.undo()
            raise

    def undo(self) -> None:
        """Put everything back."""
        while self._undo:
            self._undo.pop()()
        HELD.clear()
        new = sys.modules.keys() - self._modules
        for owner, name, original in _references.put_back(new, self._originals):
            setattr(owner, name, original)
        self._originals.clear()

    def _hold(self, owner: Any, name: str, value: Any) -> None:
        """Say what stands for a function in Python that somebody may have kept."""
        original = vars(owner).get(name)
        if type(original) is FunctionType and type(value) is FunctionType:
            HELD[id(original)] = value

    def _set(self, owner: Any, name: str, value: Any) -> None:
        is_of_function = type(owner) is FunctionType
        before = getattr(owner, name) if is_of_function else vars(owner).get(name, _MISSING)
        if type(owner) is ModuleType and before is not _MISSING:
            self._originals.setdefault(id(value), before)
        setattr(owner, name, value)
        self._undo.append(
            (lambda: delattr(owner, name))
            if before is _MISSING
            else (lambda: setattr(owner, name, before))
        )
