"""What code under test sees of where objects lie: `id`, and hashes by default.

A real address differs from execution to execution, and with it the order of a set of objects. So
code under test sees a number that follows from a name: that of the publication for what others can
reach, else who asked first, and how often it had asked for one before. Neither depends on the order
in which threads run, as far as that makes no difference.

C code asks for a hash, too, when an object is put into a set. So classes whose instances have the
hash of `object` get `stable_hash` for the time of an exploration, if they are under test, or code
under test makes instances of them: a set of queues, or of events, is as usual as one of its own
objects. What was there before keeps its hash: somebody may have put it into a set already.
"""

from __future__ import annotations

import gc
import types
import weakref
import zlib
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from treadle.python.runtime import slots
from treadle.python.runtime.atoms import ATOMS
from treadle.python.runtime.looking import flags_of, found_in, members_of, qualname_of
from treadle.python.sharing.published import published
from treadle.python.sharing.tables import Table

_FIRST = 0x7E00_0000_0000
_DISTANCE = 16
"""Between two addresses; the interpreter makes hashes by leaving out the last four bits."""
_ASKED = "identities"
"""Under which a task counts how often it asked about something that is nobody else's."""

_IMMUTABLE, _HEAP_TYPE = 1 << 8, 1 << 9
"""Flags of classes that cannot be changed, and of those that are no static part of C code."""
_PLAIN_HASH: Any = object.__hash__


class _Identities:
    """The numbers of objects that code under test has asked for."""

    def __init__(self) -> None:
        self.numbers: dict[int, int] = {}
        """By the `id` of objects that are alive."""
        self._taken: dict[int, int] = {}
        """Whose a number is, in this execution."""
        self._references: dict[int, Any] = {}
        self._kept: list[Any] = []
        """Objects that cannot be referred to weakly: they live to the end of the execution."""
        self._old: dict[int, Any] | None = None
        """What was there before the exploration, once somebody asked."""
        self._early: dict[int, Any] = {}
        """What there was of a library's class before code under test called it."""
        self._changed: list[type] = []

    # The life of an exploration

    def begin_execution(self) -> None:
        """Let go of what the last execution left; garbage of it may still have its numbers."""
        for value in self._kept:
            self._forget(id(value))
        self._kept.clear()
        self._taken.clear()

    def take(self, kinds: Iterable[type]) -> None:
        """Give classes under test hashes that are the same in every execution."""
        new = list(kinds)
        if self._old is not None:  # imported meanwhile
            self._old.update(_instances_of(new))
        for kind in new:
            if _has_plain_hash(kind):
                self._change(kind)

    def meet(self, kind: type) -> None:
        """Do the same for a class of a function, which is about to make an instance."""
        if _has_plain_hash(kind):
            type.__setattr__(kind, "__hash__", stable_hash)

    def meet_library(self, kind: type) -> None:
        """Do the same for a class of a library, of which the library may have made instances."""
        if _has_plain_hash(kind):
            self._early.update(_instances_of([kind]))
            self._change(kind)

    def _change(self, kind: type) -> None:
        type.__setattr__(kind, "__hash__", stable_hash)
        self._changed.append(kind)

    def end(self) -> None:
        """Put the classes back."""
        self.begin_execution()
        while self._changed:
            type.__delattr__(self._changed.pop(), "__hash__")
        self._old = None
        self._early.clear()

    # Numbers

    def number_of(self, value: Any) -> int:
        """Return what code under test is to take for the address of an object."""
        found = self.numbers.get(id(value))
        if found is None:
            return id(value) if self._keeps_address(value) else self._new(value)
        return found

    def _keeps_address(self, value: Any) -> bool:
        """Tell whether an object is the same one in every execution."""
        kind = type(value)
        if kind in ATOMS:
            return False
        if issubclass(kind, types.ModuleType | types.BuiltinFunctionType):
            return True
        if issubclass(kind, type | types.FunctionType) and "<locals>" not in value.__qualname__:
            return True
        table = published.get(id(value))
        return self.is_old(value) if table is None else is_for_good(table.key)

    def is_old(self, value: Any) -> bool:
        """Tell whether an object was there before the exploration, or before its class was met."""
        if id(value) in self._early:
            return True
        if self._old is None:
            self.look_at_old(set(map(id, gc.get_objects())))  # what was there before is frozen
            assert self._old is not None
        return id(value) in self._old

    def look_at_old(self, young: Collection[int] = ()) -> None:
        """Take note of all objects, but for new ones, which must not be frozen with the others."""
        gc.unfreeze()
        self._old = {id(one): one for one in gc.get_objects() if id(one) not in young}
        if not young:
            gc.freeze()

    def _new(self, value: Any) -> int:
        name = _name_of(value)
        number = _FIRST + zlib.crc32(repr(name).encode()) * _DISTANCE
        while number in self._taken:
            number += _DISTANCE
        identity = id(value)
        try:
            self._references[identity] = weakref.ref(value, lambda _: self._forget(identity))
        except TypeError:
            self._kept.append(value)
        self.numbers[identity] = number
        self._taken[number] = identity
        return number

    def _forget(self, identity: int) -> None:
        self._references.pop(identity, None)
        number = self.numbers.pop(identity, None)
        if number is not None and self._taken.get(number) == identity:
            del self._taken[number]


identities = _Identities()


def stable_hash(self: Any) -> int:
    """Stand for `object.__hash__` of classes under test."""
    found = identities.numbers.get(id(self))
    if found is None:
        if slots.program is None or slots.program.scheduler.me is None or identities.is_old(self):
            return int(_PLAIN_HASH(self))
        found = identities.number_of(self)
    return found // _DISTANCE


def hash_of(value: Any) -> int:
    """Stand for `hash`; `None` has the one that C code sees, as what is equal to it says."""
    is_plain = found_in(type(value), "__hash__") is _PLAIN_HASH and type(value) not in ATOMS
    return stable_hash(value) if is_plain else hash(value)


def is_plain_hash(function: Any) -> bool:
    """Tell whether a `__hash__` says that an object is equal to itself only."""
    return function is _PLAIN_HASH or function is stable_hash


def classes_in(namespace: dict[str, Any], modules: Iterable[str]) -> Iterator[type]:
    """Yield the classes of some modules that a namespace has, and those inside of them."""
    under_test = frozenset(modules)
    todo, met = list(namespace.values()), set()
    while todo:
        kind = todo.pop()
        if not issubclass(type(kind), type) or id(kind) in met:
            continue
        inside = members_of(kind)
        module = inside.get("__module__")
        if isinstance(module, str) and module in under_test:
            met.add(id(kind))
            yield kind
            todo += inside.values()


def _has_plain_hash(kind: type) -> bool:
    """Tell whether the hash of a class is that of `object`, and can be changed."""
    is_changeable = flags_of(kind) & (_HEAP_TYPE | _IMMUTABLE) == _HEAP_TYPE
    return (
        is_changeable and found_in(kind, "__hash__") is _PLAIN_HASH and not issubclass(kind, type)
    )


def _instances_of(kinds: list[type]) -> Iterator[tuple[int, Any]]:
    """Yield the instances of classes that are there and not frozen, with their `id`."""
    for one in gc.get_referrers(*kinds) if kinds else ():
        if type(one) in kinds:
            yield id(one), one


def _name_of(value: Any) -> Any:
    """Return a name that is the same in every execution."""
    if type(value) in ATOMS:
        return qualname_of(type(value)), value
    table = published.get(id(value))
    if table is not None:
        return _without_numbers(table, table.key)
    me = None if slots.program is None else slots.program.scheduler.me
    if me is None:
        return "outside", id(value)
    count = me.scratch[_ASKED] = me.scratch.get(_ASKED, 0) + 1
    return me.name, count


def is_for_good(key: Any) -> bool:
    """Tell whether something is published in every execution, and not by a task of one."""
    while issubclass(type(key), tuple) and key:
        key = key[0]
    return type(key) is not int


def _without_numbers(table: Table, key: Any) -> Any:
    """Write the name of a publication with the task's name instead of its number."""
    if issubclass(type(key), tuple):
        if len(key) == 2 and type(key[0]) is type(key[1]) is int:
            return table.shared.vocabulary.process_names[key[0]], key[1]
        return tuple(_without_numbers(table, part) for part in key)
    return key
