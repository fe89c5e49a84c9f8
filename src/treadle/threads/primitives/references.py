"""Where loaded modules refer to what is replaced: by a name, a default argument, in a class.

The user's modules are looked at each time, and only at their names: what their code calls is looked
at when it does so (`stand_ins.HELD`). Modules of libraries are looked at as a whole, and what was
found is remembered until they change: there are hundreds, and nearly always they are the same.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from treadle.core.frames import is_of_the_user
from treadle.python.runtime.looking import members_of

_LOOKED_AT_AGAIN = 64
"""Explorations after which all modules are looked at again."""

Place = tuple[Any, str, Any]
"""Who refers to what is replaced, by which attribute, and what that is to be."""


@dataclass(slots=True)
class _Seen:
    """A module of a library, as it was when it was looked at."""

    module: ModuleType
    """Kept, so that no other gets its `id`."""
    namespace: dict[str, Any]
    size: int
    names: list[str]
    """Variables that refer to what is replaced."""
    inside: list[tuple[Any, str]]
    """Functions and classes of the module that do so, and by which attribute."""

    def refers_to_nothing(self) -> bool:
        """Tell whether nothing is to be changed, and the module is as large as it was."""
        return not self.names and not self.inside and self.size == len(self.namespace)


class References:
    """Finds who refers to what is replaced."""

    def __init__(self) -> None:
        self._originals: set[int] = set()
        self._seen: dict[int, _Seen] = {}
        self._left = 0

    def find(self, replaced: dict[int, Any]) -> Iterator[Place]:
        """Yield the places to change, given what stands for objects with some `id`."""
        self._left -= 1
        if self._left < 0 or replaced.keys() != self._originals:
            self._seen.clear()
            self._originals, self._left = set(replaced), _LOOKED_AT_AGAIN
        for module in list(sys.modules.values()):
            seen = self._seen.get(id(module))
            if seen is not None and seen.refers_to_nothing():
                continue
            if isinstance(module, ModuleType) and not module.__name__.startswith("treadle."):
                yield from self._of_module(module, replaced)

    def put_back(self, names: Iterable[str], originals: dict[int, Any]) -> Iterator[Place]:
        """Yield the places of modules that refer to stand-ins, given what these stand for."""
        for module in [sys.modules[name] for name in names if name in sys.modules]:
            self._seen.pop(id(module), None)
            if isinstance(module, ModuleType) and not module.__name__.startswith("treadle."):
                namespace = vars(module)
                yield from _changed(module, _names_of(namespace, originals), namespace, originals)
                for owner, name in _inside(module, originals):
                    yield owner, name, _with_stand_ins(getattr(owner, name, None), originals)

    def _of_module(self, module: ModuleType, replaced: dict[int, Any]) -> Iterator[Place]:
        namespace = vars(module)
        seen = self._seen.get(id(module))
        if seen is None or seen.size != len(namespace):
            names = _names_of(namespace, replaced)
            file = namespace.get("__file__")
            if not isinstance(file, str) or is_of_the_user(file):
                yield from _changed(module, names, namespace, replaced)
                return
            inside = list(_inside(module, replaced))
            seen = self._seen[id(module)] = _Seen(module, namespace, len(namespace), names, inside)
        yield from _changed(module, seen.names, namespace, replaced)
        for owner, name in seen.inside:
            yield owner, name, _with_stand_ins(getattr(owner, name, None), replaced)


def _names_of(namespace: dict[str, Any], replaced: dict[int, Any]) -> list[str]:
    if replaced.keys().isdisjoint(map(id, list(namespace.values()))):
        return []
    return [name for name, value in list(namespace.items()) if id(value) in replaced]


def _changed(
    module: ModuleType, names: list[str], namespace: dict[str, Any], replaced: dict[int, Any]
) -> Iterator[Place]:
    for name in names:
        value = namespace.get(name)
        if id(value) in replaced:
            yield module, name, replaced[id(value)]


def _inside(module: ModuleType, replaced: dict[int, Any]) -> Iterator[tuple[Any, str]]:
    """Yield the functions and classes of a module that refer to what is replaced."""
    for value in list(vars(module).values()):
        if type(value) is FunctionType and value.__globals__ is vars(module):
            yield from _defaults_of(value, replaced)
        elif issubclass(type(value), type) and _module_of(value) == module.__name__:
            for name, item in list(members_of(value).items()):
                if id(item) in replaced:
                    yield value, name
                elif type(item) is FunctionType:
                    yield from _defaults_of(item, replaced)


def _module_of(kind: type) -> Any:
    return members_of(kind).get("__module__")


def _defaults_of(function: FunctionType, replaced: dict[int, Any]) -> Iterator[tuple[Any, str]]:
    if function.__defaults__ and any(id(value) in replaced for value in function.__defaults__):
        yield function, "__defaults__"
    given = function.__kwdefaults__
    if given and any(id(value) in replaced for value in given.values()):
        yield function, "__kwdefaults__"


def _with_stand_ins(value: Any, replaced: dict[int, Any]) -> Any:
    """Return the defaults of a function, or the attribute of a class, as they are to be."""
    if type(value) is tuple:
        return tuple(replaced.get(id(item), item) for item in value)
    if type(value) is dict:
        return {name: replaced.get(id(item), item) for name, item in value.items()}
    stand_in = replaced.get(id(value), value)
    return staticmethod(stand_in) if type(value) is BuiltinFunctionType else stand_in
