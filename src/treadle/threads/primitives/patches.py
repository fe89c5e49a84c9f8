"""What is replaced while a test is explored, and put back whatever happens.

Classes written in Python (`threading.Thread`, `queue.Queue`, ...) are patched in place, method by
method: so subclasses, instances made at import and `from queue import Queue` all follow. What is
written in C (`_thread.allocate_lock`, `time.sleep`, ...) is replaced wherever a module of
`sys.modules` refers to it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from types import FunctionType, ModuleType
from typing import Any

_MISSING = object()
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
    """Installs patches, and undoes them in reverse order."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []

    def install(
        self, patches: Iterable[Patches], looks_inside: Callable[[str], bool] = lambda _: False
    ) -> None:
        """Install sets of patches; undoes all of them if one cannot be installed.

        A class of a module that the user wants to look inside is left as it is, if it is one that
        can run on the other primitives.
        """
        try:
            replaced: dict[int, Any] = {}
            for one in patches:
                for owner, name, value in one.attributes:
                    module = getattr(owner, "__module__", "")
                    if module not in _CAN_RUN_THEMSELVES or not looks_inside(module):
                        self._set(owner, name, value)
                replaced.update((id(original), new) for original, new in one.references)
            self._replace_references(replaced)
        except BaseException:
            self.undo()
            raise

    def undo(self) -> None:
        """Put everything back."""
        while self._undo:
            self._undo.pop()()

    def _set(self, owner: Any, name: str, value: Any) -> None:
        before = vars(owner).get(name, _MISSING)
        setattr(owner, name, value)
        self._undo.append(
            (lambda: delattr(owner, name))
            if before is _MISSING
            else (lambda: setattr(owner, name, before))
        )

    def _replace_references(self, replaced: dict[int, Any]) -> None:
        for module in list(sys.modules.values()):
            if not isinstance(module, ModuleType) or module.__name__.startswith("treadle."):
                continue
            namespace = vars(module)
            if replaced.keys().isdisjoint(map(id, list(namespace.values()))):
                continue
            for name, value in list(namespace.items()):
                if id(value) in replaced:
                    self._set(module, name, replaced[id(value)])
