"""What an execution changed in modules and classes under test is undone before the next one.

Code under test counts, caches and registers things in globals and classes. Exploring is replaying:
the next execution must find them as this one did.

Nothing is copied that nobody changes. Before anything is written for the first time to published
objects of a sort, that is noted (`Shared.note`): at this moment all objects of the sort that live
as long as the exploration are as they were, and are taken down. From then on they are put back
between two executions, where they are the same objects with the same content as before.

Caches in C, counters (`itertools.count`) and queues are taken down at once. Other state that is
hidden in C code or in a generator cannot be undone; whoever changes it is remembered, for reports.
"""

from __future__ import annotations

import ctypes
import functools
import gc
import itertools
import re
import sys
import types
from array import array
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any

from treadle.python.runtime.atoms import ATOMS
from treadle.python.runtime.looking import flags_of, has_dict, members_of, mro_of
from treadle.python.sharing.children import attributes_of
from treadle.python.sharing.tables import ClassTable, Table, class_feature
from treadle.python.sharing.variable import GLOBAL, MODULE

Undo = Callable[[], None]

_MISSING: Any = object()
_HOLDING = frozenset({list, tuple, dict, set, frozenset, deque, defaultdict, OrderedDict, Counter})
_CACHE: Any = type(functools.lru_cache(int))
UNDONE = frozenset({_CACHE, itertools.count})
"""Classes in C whose state is put back."""
_COUNT = re.compile(r"count\((\d+)\)")
_HEAP_TYPE = 1 << 9
"""The flag of classes that were made by a `class` statement or look like it."""
_OF_COUNT = object.__basicsize__
"""Where a counter in C has its number."""
_OF_FUNCTIONS = (
    "__module__", "__name__", "__qualname__", "__doc__", "__defaults__", "__kwdefaults__",
)  # fmt: skip
"""Attributes of functions that are not in their dictionary."""
_BY_INTERPRETER = frozenset(
    {"__dict__", "__weakref__", "__doc__", "__hash__", "__abstractmethods__", "_abc_impl"}
)
"""Attributes of classes that nobody assigns, or that are not the program's."""


class Restorer:
    """Takes down what is about to change, and puts it back."""

    def __init__(self) -> None:
        self._undo: list[Undo] = []
        self._known: set[str] = set()
        """Sorts of which something was written."""
        self._assigned: dict[tuple[str, str], Undo] = {}
        """Modules of libraries, what of them was assigned, and what puts it back."""
        self._objects: list[tuple[Any, Table]] = []
        """What lives as long as the exploration."""
        self._added: set[int] = set()
        self._of_classes: set[int] = set()
        """`id` of what classes hold in containers."""

    def add(self, objects: Iterable[tuple[Any, Table]]) -> None:
        """Be told of objects that live as long as the exploration, before anything changed."""
        for value, table in objects:
            if id(value) in self._added or not self._is_undone(value, table):
                continue
            self._added.add(id(value))
            self._objects.append((value, table))
            make = _AT_ONCE.get(type(value)) or _make_inherited(type(value))
            undo = None if make is None else make(value)
            if undo is not None:
                self._undo.append(undo)
            if table.is_primitive or _sort_of(table) in self._known:
                self._undo += _undoing(value, table)
            if _code_of(_sort_of(table)) in self._known:
                self._undo += _undoing_code(value)

    def _is_undone(self, value: Any, table: Table) -> bool:
        """Tell whether something is a part of a module or class; what a test closes over is not."""
        if isinstance(table, ClassTable):
            self._of_classes.update(_ids_in(members_of(value).values()))
            return True
        if issubclass(type(value), types.FunctionType) and "<locals>" not in value.__qualname__:
            return True
        return _belongs_to_module(table.key) or id(value) in self._of_classes

    def before_first(self, sort: str, what: Hashable) -> None:
        """Be told that something is about to be written to objects of a sort for the first time."""
        if sort.startswith(MODULE):
            self._before_assigning(sort.removeprefix(MODULE), str(what))
        if what == "__code__":
            self._before_code(sort)
        if sort in self._known:
            return
        self._known.add(sort)
        if sort.startswith(GLOBAL):
            module, _, name = sort.removeprefix(GLOBAL).rpartition(".")
            if module in sys.modules:
                self._undo.append(undo_variable(vars(sys.modules[module]), name))
        for value, table in self._objects:
            if _sort_of(table) == sort and not table.is_primitive:
                self._undo += _undoing(value, table)

    def _before_code(self, sort: str) -> None:
        """Be told that code of functions is about to be replaced.

        It is not taken down with their other attributes, since instrumentation replaces it as well.
        """
        if _code_of(sort) not in self._known:
            self._known.add(_code_of(sort))
            for value, table in self._objects:
                if _sort_of(table) == sort:
                    self._undo += _undoing_code(value)

    def _before_assigning(self, module: str, name: str) -> None:
        """Be told that code under test is about to assign a variable of a library.

        Those of `sys` are put back with its lists and streams.
        """
        found = sys.modules.get(module)
        if found not in (None, sys) and (module, name) not in self._assigned:
            self._assigned[module, name] = _undo_attribute(found, name)

    def restore(self) -> None:
        """Put everything back."""
        for undo in (*self._assigned.values(), *self._undo):
            undo()

    def clear(self) -> None:
        """Forget everything."""
        self._undo.clear()
        self._known.clear()
        self._assigned.clear()
        self._objects.clear()
        self._added.clear()
        self._of_classes.clear()


def _ids_in(values: Iterable[Any]) -> Iterator[int]:
    """Yield the `id` of objects, and of what built-in containers among them hold."""
    todo, met = list(values), set[int]()
    while todo:
        value = todo.pop()
        if type(value) in ATOMS or id(value) in met:
            continue
        met.add(id(value))
        yield id(value)
        if type(value) in _HOLDING:
            todo += value.values() if issubclass(type(value), dict) else value


def _belongs_to_module(key: Any) -> bool:
    """Tell whether something was published as a part of what a module holds.

    What `sys` holds others put back, and modules that were imported stay.
    """
    if issubclass(type(key), tuple) and key[:1] == ("attribute",):
        return bool(key[1] != "sys")
    while issubclass(type(key), tuple) and key:
        key = key[0]
    return key in ("global", "variable")


def _sort_of(table: Table) -> str:
    """Return the sort under which writing to an object is noted."""
    return class_feature(table.owner, "")[0] if isinstance(table, ClassTable) else table.sort


def _code_of(sort: str) -> str:
    """Return under which name it is remembered that code of functions of a sort is replaced."""
    return f"code of {sort}"


def _undoing_code(value: Any) -> list[Undo]:
    """Return what gives a function its code back."""
    if not issubclass(type(value), types.FunctionType):
        return []
    before = value.__code__
    return [lambda: setattr(value, "__code__", before)]


def _undoing(value: Any, table: Table) -> list[Undo]:
    """Return what puts an object back."""
    if isinstance(table, ClassTable):
        return [_undo_class(value)]
    if issubclass(type(value), types.CellType):
        return [_undo_cell(value)]
    makers = undo_content, _undo_attributes, _undo_slots, _undo_function
    found = [make(value) for make in makers]
    return [undo for undo in found if undo is not None]


# What holds named things


def undo_variable(namespace: dict[str, Any], name: str) -> Undo:
    """Return what puts a variable back, or removes it again."""
    before = namespace.get(name, _MISSING)

    def undo() -> None:
        if before is _MISSING:
            namespace.pop(name, None)
        elif namespace.get(name, _MISSING) is not before:
            namespace[name] = before

    return undo


def _undo_attribute(module: Any, name: str) -> Undo:
    """Return what puts an attribute of a module back, but for what is imported and stays."""
    assigned = undo_variable(vars(module), name)

    def undo() -> None:
        held = vars(module).get(name)
        is_inside = issubclass(type(held), types.ModuleType)
        if not is_inside or sys.modules.get(f"{module.__name__}.{name}") is not held:
            assigned()

    return undo


def _undo_cell(cell: types.CellType) -> Undo:
    before = _content_of(cell)

    def undo() -> None:
        if _content_of(cell) is not before:
            if before is _MISSING:
                del cell.cell_contents
            else:
                cell.cell_contents = before

    return undo


def _content_of(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return _MISSING


def _undo_class(kind: type) -> Undo:
    attributes = members_of(kind)
    before = {name: item for name, item in attributes.items() if name not in _BY_INTERPRETER}

    def undo() -> None:
        for name in [name for name in attributes if name not in _BY_INTERPRETER]:
            if name not in before:
                type.__delattr__(kind, name)
        for name, item in before.items():
            if attributes.get(name, _MISSING) is not item:
                type.__setattr__(kind, name, item)

    return undo


def _undo_attributes(value: Any) -> Undo | None:
    return _undo_dict(attributes_of(value)) if has_dict(type(value)) else None


def _undo_function(value: Any) -> Undo | None:
    if not issubclass(type(value), types.FunctionType):
        return None
    before = {name: getattr(value, name) for name in _OF_FUNCTIONS}

    def undo() -> None:
        for name, item in before.items():
            if getattr(value, name) is not item:
                setattr(value, name, item)

    return undo


def _undo_slots(value: Any) -> Undo | None:
    descriptors = [
        found
        for owner in mro_of(type(value))
        for found in members_of(owner).values()
        if type(found) is types.MemberDescriptorType and flags_of(owner) & _HEAP_TYPE
    ]
    if not descriptors:
        return None
    before = [(descriptor, _in_slot(descriptor, value)) for descriptor in descriptors]

    def undo() -> None:
        for descriptor, item in before:
            if _in_slot(descriptor, value) is not item:
                if item is _MISSING:
                    descriptor.__delete__(value)
                else:
                    descriptor.__set__(value, item)

    return undo


def _in_slot(descriptor: Any, value: Any) -> Any:
    try:
        return descriptor.__get__(value)
    except AttributeError:
        return _MISSING


# Containers


def undo_content(value: Any) -> Undo | None:
    """Return what puts the elements of a built-in container back, whatever its class says."""
    if issubclass(type(value), OrderedDict):
        return _undo_ordered(value)
    for kind, make in _CONTAINERS.items():
        if issubclass(type(value), kind):
            return make(value)
    return None


def _undo_dict(value: Any) -> Undo:
    before: dict[Any, Any] = dict.copy(value)

    def undo() -> None:
        if not _has_same_items(value, before):
            dict.clear(value)
            dict.update(value, before)  # of a dictionary: no key is hashed again

    return undo


def _undo_ordered(value: Any) -> Undo:
    before = dict(OrderedDict.items(value))

    def undo() -> None:
        if not _has_same_items(value, before):
            OrderedDict.clear(value)
            for key, item in before.items():
                OrderedDict.__setitem__(value, key, item)

    return undo


def _has_same_items(value: Any, before: dict[Any, Any]) -> bool:
    """Tell whether a dictionary has the same keys, in the same order, and the same values."""
    return dict.__len__(value) == len(before) and all(
        key is other and item is another
        for (key, item), (other, another) in zip(dict.items(value), before.items(), strict=True)
    )


def _undo_set(value: Any) -> Undo:
    before: set[Any] = set.copy(value)
    elements = {id(one) for one in before}

    def undo() -> None:
        if set.__len__(value) != len(before) or elements != set(map(id, set.__iter__(value))):
            set.clear(value)
            set.update(value, before)

    return undo


def _undo_list(value: Any) -> Undo:
    before = list.copy(value)

    def undo() -> None:
        if list.__len__(value) != len(before) or any(
            one is not other for one, other in zip(list.__iter__(value), before, strict=True)
        ):
            list.__setitem__(value, slice(None), before)

    return undo


def _undo_deque(value: Any) -> Undo:
    before = list(deque.__iter__(value))

    def undo() -> None:
        if [*map(id, deque.__iter__(value))] != [*map(id, before)]:
            deque.clear(value)
            deque.extend(value, before)

    return undo


def _undo_values(value: Any) -> Undo:
    """Put the numbers back of which a container holds no objects."""
    before = value[:]

    def undo() -> None:
        if value != before:
            value[:] = before

    return undo


_CONTAINERS: dict[type, Callable[[Any], Undo]] = {
    dict: _undo_dict,
    set: _undo_set,
    list: _undo_list,
    deque: _undo_deque,
    bytearray: _undo_values,
    array: _undo_values,
}


# State in C


def _undo_cache(cache: Any) -> Undo | None:
    """Empty a cache that was empty; refill one without limit, whose results are a dictionary."""
    before: dict[Any, Any] = {}
    results: Any = None
    if cache.cache_info().currsize:
        if cache.cache_info().maxsize is not None:
            return None
        own = attributes_of(cache)
        [results] = [
            found for found in gc.get_referents(cache) if type(found) is dict and found is not own
        ]
        before = dict.copy(results)
    known = cache.cache_info()

    def undo() -> None:
        if cache.cache_info() != known:
            cache.cache_clear()
            if results is not None:
                dict.update(results, before)

    return undo


def _undo_count(counter: Any) -> Undo | None:
    """Set a counter in C back, where it counts small numbers by one: nothing else can do that."""
    shown = _COUNT.fullmatch(repr(counter))
    number = ctypes.c_ssize_t.from_address(id(counter) + _OF_COUNT)
    if shown is None or number.value != int(shown[1]):
        return None
    before = number.value

    def undo() -> None:
        if _COUNT.fullmatch(repr(counter)) is not None:
            number.value = before

    return undo


_AT_ONCE: dict[type, Callable[[Any], Undo | None]] = {
    _CACHE: _undo_cache,
    itertools.count: _undo_count,
}
"""What takes the state of objects down at once, by their class."""
_INHERITED: list[type] = []


def undo_by(kind: type, take_down: Callable[[Any], Undo]) -> None:
    """Say how instances of a class, and of those that derive from it, are taken down at once."""
    _AT_ONCE[kind] = take_down
    _INHERITED.append(kind)


def _make_inherited(kind: type) -> Callable[[Any], Undo | None] | None:
    base = next((base for base in _INHERITED if issubclass(kind, base)), None)
    return None if base is None else _AT_ONCE[base]
