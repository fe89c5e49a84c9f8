"""Whether code of a library changes what classes, modules, functions and closures keep for it.

`Counter.n += 1`, `type(self).names.append(name)`, `settings.value = 1`: nothing that such code is
given shows it, so its instructions are read. A value is *kept* if it comes from a class, module or
function that the code names, from its class (`cls`, `type(self)`) or from a variable of a function
around it, by attributes and items. An object that the code has made itself, or was given, is not.
"""

from __future__ import annotations

import dis
import sys
import types
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from treadle.python.runtime.about_code import remembered
from treadle.python.runtime.looking import found_in, module_of_class

CHANGING_METHODS = frozenset(
    name
    for kind in (list, dict, set)
    for name in vars(kind)
    if not name.startswith("_") and name not in ("copy", "count", "index", "get", "keys", "values")
) - {"items", "union", "difference", "intersection", "issubset", "issuperset", "isdisjoint",
     "symmetric_difference", "fromkeys"}  # fmt: skip
_HOLDERS = (type, types.ModuleType, types.FunctionType)
_MADE_BY = ("__init__", "__new__")
"""What calling a class calls."""
_OF_CLASSES = ("__new__", "__init_subclass__", "__class_getitem__")
"""What gets its class without being told to be a class method."""
_BESIDES = frozenset(
    {"EXTENDED_ARG", "PUSH_NULL", "PRECALL", "NOP", "NOT_TAKEN", "RESUME", "COPY_FREE_VARS"}
)
"""Instructions between which a value stays what it is."""
_LOADS_ATTRIBUTE = ("LOAD_ATTR", "LOAD_METHOD")

Depths = dict[str, int]
"""Variables whose values are kept, and by how many steps: a class itself is at 0."""


class _Piece(NamedTuple):
    """A piece of code, and what its first argument is."""

    code: types.CodeType
    namespace: dict[str, Any]
    kind: type
    """The class whose method it is; `object` if it is none."""
    gets_class: bool
    kept: tuple[tuple[str, int], ...]
    """Variables of functions around it that are kept."""


def changes(function: types.FunctionType, owner: Any) -> bool:
    """Tell whether a function, or what it calls in its package, changes what is kept."""
    is_class = issubclass(type(owner), type)
    kind: Any = owner if is_class else type(owner)
    return _changes_for(function, kind, is_class and function.__name__ != "__init__")


def changes_as_method(method: types.FunctionType, kind: type) -> bool:
    """Tell whether a method, or what it calls in its package, changes what is kept.

    It is called for an object of a class.
    """
    return _changes_for(method, kind, False)


def _changes_for(function: types.FunctionType, kind: type, is_class: bool) -> bool:
    metaclass: Any = type(kind)  # a hash of its own may raise
    find = _changes if metaclass.__hash__ is type.__hash__ else _find_changes
    return find(function.__code__, function.__globals__.get("__name__", ""), kind, is_class)


def _find_changes(code: types.CodeType, module: str, kind: type, is_class: bool) -> bool:
    namespace = vars(sys.modules.get(module, object))
    is_class = is_class or code.co_name in _OF_CLASSES
    todo = [_Piece(code, dict(namespace), kind, is_class, _around(code))]
    seen = {(id(code), id(kind), is_class)}
    while todo:
        piece = todo.pop()
        reader = _Reader(piece)
        if reader.changes():
            return True
        for one in _called(piece, reader, module.partition(".")[0]):
            key = (id(one.code), id(one.kind), one.gets_class)
            if key not in seen:
                seen.add(key)
                todo.append(one)
    return False


_changes = remembered(_find_changes)


def _around(code: types.CodeType) -> tuple[tuple[str, int], ...]:
    return tuple((name, int(name != "__class__")) for name in code.co_freevars)


def _called(piece: _Piece, reader: _Reader, package: str) -> Iterator[_Piece]:
    """Yield what is nested in code, functions of its package that it names, and methods."""
    for const in piece.code.co_consts:
        if type(const) is types.CodeType:
            kept = tuple(item for item in reader.kept.items() if item[0] in const.co_freevars)
            yield _Piece(const, piece.namespace, object, False, kept)
    for name in piece.code.co_names:
        value: Any = piece.namespace.get(name)
        if issubclass(type(value), type) and _is_of(module_of_class(value), package):
            for method in dict.fromkeys((*piece.code.co_names, *_MADE_BY)):
                yield from _function(found_in(value, method), value, package)
        for one in _function(value, object, package):
            yield one._replace(gets_class=name in reader.given)
        if piece.kind is not object:
            yield from _function(found_in(piece.kind, name), piece.kind, package)


def _is_of(module: str, package: str) -> bool:
    return module.partition(".")[0] == package


def _function(value: Any, kind: type, package: str) -> Iterator[_Piece]:
    """Yield the code of a function or method, if it is of a package."""
    is_of_class = type(value) is classmethod
    value = value.fget if type(value) is property else getattr(value, "__func__", value)
    if type(value) is types.FunctionType and _is_of(str(value.__module__), package):
        gets_class = is_of_class or value.__name__ in _OF_CLASSES or issubclass(kind, type)
        code = value.__code__
        yield _Piece(code, value.__globals__, kind, gets_class, _around(code))


class _Reader:
    """Goes through the instructions of a piece of code."""

    def __init__(self, piece: _Piece) -> None:
        self._code = piece.code
        self._namespace: Mapping[str, Any] = piece.namespace
        self._around = {name for name, _ in piece.kept}
        self.kept: Depths = dict(piece.kept)
        if piece.gets_class and piece.code.co_argcount:
            self.kept[piece.code.co_varnames[0]] = 0
        self._done = [one for one in dis.get_instructions(piece.code) if one.opname != "CACHE"]
        self.given: set[str] = set()
        """Functions that get a class or module as their first argument."""
        for _ in range(2):  # what is stored late in a loop is looked at early
            for at, one in enumerate(self._done):
                self._take_note(at, one)

    def changes(self) -> bool:
        """Tell whether it changes something that is kept."""
        return any(self._changes(at, one) for at, one in enumerate(self._done))

    def _take_note(self, at: int, one: dis.Instruction) -> None:
        if one.opname.startswith(("STORE_FAST", "STORE_DEREF")):
            names = one.argval if type(one.argval) is tuple else (one.argval,)
            depth = self._depth(at - 1)
            if depth is not None:
                self.kept.setdefault(names[0], depth)
        elif one.opname == "LOAD_GLOBAL" and self._first_argument(at) == 0:
            self.given.add(one.argval)

    def _changes(self, at: int, one: dis.Instruction) -> bool:
        depth: int | None = None
        match one.opname:
            case "STORE_ATTR" | "DELETE_ATTR":
                depth = self._depth(self._receiver(at, one.argval))
            case "STORE_SUBSCR" | "DELETE_SUBSCR":
                depth = self._container(at)
            case "STORE_DEREF" | "DELETE_DEREF":
                return one.argval in self._around
            case "LOAD_GLOBAL" if one.argval in ("setattr", "delattr"):
                depth = self._first_argument(at)
            case "LOAD_ATTR" | "LOAD_METHOD" if one.argval in CHANGING_METHODS:
                return bool(self._depth(at - 1))  # those of a class itself are looked into
        return depth is not None

    def _depth(self, at: int) -> int | None:
        """Return how the value is kept that an instruction leaves on top; None if it is not."""
        while self._done[at].opname in _BESIDES and at > 0:
            at -= 1
        one = self._done[at]
        if one.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            return 0 if issubclass(type(self._namespace.get(one.argval)), _HOLDERS) else None
        if one.opname.startswith(("LOAD_FAST", "LOAD_DEREF", "LOAD_CLOSURE", "STORE_FAST_LOAD")):
            return self.kept.get(one.argval[-1] if type(one.argval) is tuple else one.argval)
        if one.opname in _LOADS_ATTRIBUTE:
            return 0 if one.argval == "__class__" else _deeper(self._depth(at - 1))
        if one.opname == "BINARY_SUBSCR" or one.argrepr == "[]":
            return _deeper(self._below(at - 1))
        if one.opname in ("IMPORT_NAME", "IMPORT_FROM"):
            return int(one.opname == "IMPORT_FROM")
        if one.opname == "COPY" and one.arg == 1:
            return self._depth(at - 1)
        return 0 if one.opname == "CALL" and one.arg == 1 and self._asks_for_type(at) else None

    def _asks_for_type(self, at: int) -> bool:
        before = [one for one in self._done[max(at - 5, 0) : at] if one.opname not in _BESIDES]
        return len(before) > 1 and (before[-2].opname, before[-2].argval) == ("LOAD_GLOBAL", "type")

    def _first_argument(self, at: int) -> int | None:
        """Return how the value is kept that is loaded right after something."""
        after = self._done[at + 1]
        if after.opname.startswith("LOAD_FAST"):
            return self.kept.get(after.argval[0] if type(after.argval) is tuple else after.argval)
        return self._depth(at + 1) if after.opname.startswith("LOAD_") else None

    def _receiver(self, at: int, name: str) -> int:
        """Return what leaves the object whose attribute is stored."""
        if self._done[at - 1].opname != "SWAP":
            return at - 1
        found = at - 1  # `x.n += 1`: x is copied before n is looked at
        while found > 0 and not (
            self._done[found].opname in _LOADS_ATTRIBUTE
            and self._done[found].argval == name
            and self._done[found - 1].opname == "COPY"
        ):
            found -= 1
        return found - 1

    def _container(self, at: int) -> int | None:
        """Return how the container is kept of which an item is stored."""
        if self._done[at - 1].opname != "SWAP":
            return self._below(at - 1)
        found = at - 1  # `x[k] += 1`: both are copied before the item is looked at
        while found > 1 and not (self._copies(found) and self._copies(found - 1)):
            found -= 1
        return self._below(found - 2)

    def _copies(self, at: int) -> bool:
        return (self._done[at].opname, self._done[at].arg) == ("COPY", 2)

    def _below(self, at: int) -> int | None:
        """Return how the value is kept below the one that an instruction leaves on top."""
        missing = 1
        for here in range(at, -1, -1):
            one = self._done[here]
            missing -= dis.stack_effect(one.opcode, one.arg, jump=False)
            if missing < 0:  # one instruction that loads both
                return self.kept.get(one.argval[0]) if type(one.argval) is tuple else None
            if missing == 0:
                return self._depth(here - 1)
        return None


def _deeper(depth: int | None) -> int | None:
    return None if depth is None else depth + 1
