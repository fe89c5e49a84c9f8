"""What C code takes out of an iterable and stores: taken, published and stored, one by one.

`shared.extend(values)` goes through `values`, and whatever comes is in the shared list at once. A
built-in container is stored in one step, and what is in it is published before. So is what an
iterator in C passes on without running code under test, after it was emptied. Everything else runs
code under test, which takes steps of its own; meanwhile others see what was stored so far. There
each element is a step: C code gets an iterator that takes the next element, publishes it, announces
that it is stored, and hands it over.
"""

from __future__ import annotations

import functools
import gc
import itertools
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from treadle.core.events import Codes
from treadle.python.accesses import callbacks, foreign_steps, iterate
from treadle.python.accesses import instruction_hooks as hooks
from treadle.python.accesses.access_deeds import SIZE, STORED
from treadle.python.accesses.uninstrumented import OWN, PLAIN, behind
from treadle.python.runtime import slots
from treadle.python.runtime.atoms import ATOMS
from treadle.python.runtime.spin import effects
from treadle.python.sharing.containers import (
    EXACT,
    AttributesTable,
    ContainerTable,
    DictTable,
    ListTable,
    SetTable,
)
from treadle.python.sharing.nested import CONTAINERS
from treadle.python.sharing.published import published

TAKING = frozenset({"extend", "extendleft", "update", "__iadd__", "__ior__", "__init__"})
"""Methods that store what they take out of their arguments, one by one."""
EMPTYING = frozenset({"symmetric_difference_update", "__ixor__"})
"""Methods that store what they take out of an argument, after they have taken all of it."""
_REVERSIBLE: list[Any] = [[], {}, {}.values(), {}.items(), deque()]
_SEQUENCES: list[Any] = [(), set(), range(0), range(1 << 99), "", b"", bytearray()]
_PASSING_ON: frozenset[type] = frozenset(
    {
        enumerate, zip, reversed, itertools.chain, itertools.islice, itertools.repeat,
        itertools.product, itertools.permutations, itertools.combinations,
        itertools.combinations_with_replacement, itertools.zip_longest, itertools.pairwise,
        type(itertools.tee(())[0]),
        *(type(iter(empty)) for empty in (*_SEQUENCES, *_REVERSIBLE)),
        *(type(reversed(empty)) for empty in _REVERSIBLE),
    }
)  # fmt: skip
"""Iterators in C that hand on what they find, and call nothing."""
_DEEPEST = 10


class Stream(Iterator[Any]):
    """What C code takes elements from that it stores in a published container."""

    def __init__(self, obj: Any, table: ContainerTable, values: Iterator[Any]) -> None:
        self._obj = obj
        self._table = table
        self._values = values
        self._codes: Codes = ()
        self._stored: Any = None

    def __next__(self) -> Any:
        self._codes = ()  # nothing is being stored while code under test makes the next one
        value = next(self._values)
        effects[0] = True
        self._table.hand_out(value, slots.hand_out)
        self._stored = value
        self._codes = _one_more(self._table, value)
        self.again()
        return value

    def again(self) -> None:
        """Announce that what was taken last is stored, also after its `__hash__` or `__eq__`."""
        hooks.say(self._codes, STORED, self._obj, self._stored)

    def touched(self) -> Codes:
        """Return what storing that touches."""
        return self._codes


class Replacing(Iterator[Any]):
    """What C code takes all elements from before it replaces a slice by them, in one step."""

    def __init__(self, obj: Any, table: ContainerTable, values: Any) -> None:
        self._obj = obj
        self._table = table
        self._values = values
        self._taken: list[Any] = []

    def __iter__(self) -> Replacing:
        self._values = iter(iterate.iterate(self._values))  # C code says what cannot be iterated
        return self

    def __next__(self) -> Any:
        try:
            value = next(self._values)
        except StopIteration:
            self._table.hand_out_all(self._taken, slots.hand_out)
            hooks.say(self._table.whole_write(), STORED, self._obj, self._taken)
            raise
        self._taken.append(value)
        return value


def _one_more(table: ContainerTable, value: Any) -> Codes:
    """Return the codes of storing what was taken."""
    if isinstance(table, ListTable):
        return table.grow()
    if isinstance(table, SetTable):
        return table.item_write(value)
    if isinstance(table, DictTable | AttributesTable):
        return table.item_write(value[0]) if type(value) is tuple and value else table.whole_write()
    return table.whole_write()


def to_store(obj: Any, table: ContainerTable, values: Any) -> Any:
    """Return what C code is to take elements from, instead of something, and store in a container.

    If it is no `Stream`, what it holds is published now, and storing it is one step.
    """
    if is_at_once(values):
        found = values
    elif _passes_on(values):
        found = _taken(values)
    else:
        return Stream(obj, table, iter(_elements(table, values)))
    table.hand_out_all(found, slots.hand_out)
    return found


def all_to_store(
    obj: Any, table: ContainerTable, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, ...]:
    """Do the same with all arguments of a method; if one comes step by step, all do."""
    ready = tuple(to_store(obj, table, values) for values in args)
    if any(type(one) is Stream for one in ready):
        ready = tuple(
            one if type(one) is Stream else Stream(obj, table, iter(_elements(table, one)))
            for one in ready
        )
        if kwargs:  # of a dictionary's `update`, where they come last
            ready = (itertools.chain(*ready, Stream(obj, table, iter(tuple(kwargs.items())))),)
            kwargs.clear()
    for key, value in kwargs.items():
        table.hand_out(value, slots.hand_out, key)
    return ready


def emptied(table: ContainerTable, values: Any) -> Any:
    """Return the elements of something that C code takes all of before it stores them."""
    if is_at_once(values):
        found = values
    else:
        found = _taken(values) if _passes_on(values) else list(iterate.iterate(values))
    table.hand_out_all(found, slots.hand_out)
    return found


def handed_on(table: ContainerTable, values: Any) -> Any:
    """Return what a function goes through by itself; what comes is published as it comes."""
    if is_at_once(values) or _passes_on(values):
        return emptied(table, values)
    return map(functools.partial(_publish_one, table), iterate.iterate(values))


def _publish_one(table: ContainerTable, value: Any) -> Any:
    table.hand_out(value, slots.hand_out)
    return value


def is_at_once(values: Any) -> bool:
    """Tell whether C code goes through something in one step, and `content` tells what it finds."""
    kind = type(values)
    return kind in ATOMS or (issubclass(kind, CONTAINERS) and behind(kind, "__iter__") is not OWN)


def _taken(values: Any) -> list[Any]:
    """Empty an iterator in C, in a step of its own if others have it too."""
    if id(values) in published:
        foreign_steps.run_foreign(PLAIN, values)
    return list(values)


def _passes_on(values: Any, depth: int = 0) -> bool:
    """Tell whether something is an iterator that runs no code under test."""
    if type(values) not in _PASSING_ON or depth > _DEEPEST:
        return False
    parts = gc.get_referents(values)
    if type(values) is itertools.chain:  # goes through the elements of what it has got, too
        held = [one for part in parts for one in gc.get_referents(part)]
        parts += gc.get_referents(*held)
    return all(is_at_once(part) or _passes_on(part, depth + 1) for part in parts)


def _elements(table: ContainerTable, values: Any) -> Iterable[Any]:
    """Return what to go through; of a mapping that is stored in a dictionary, pairs."""
    if not isinstance(table, DictTable | AttributesTable) or isinstance(table, SetTable):
        elements: Iterable[Any] = iterate.iterate(values)
        return elements
    if not hasattr(values, "keys"):
        return map(_as_pair, iterate.iterate(values))
    return ((key, _item_of(values, key)) for key in iterate.iterate(values.keys()))


def _as_pair(value: Any) -> Any:
    """Return a pair as a tuple; C code says what is wrong with anything else."""
    return value if type(value) is tuple or type(value) in ATOMS else tuple(iterate.iterate(value))


def _item_of(mapping: Any, key: Any) -> Any:
    hooks.load_item(mapping, key)
    return mapping[key]


# Hooks that replace what is stored


def store_item(value: Any, obj: Any, key: Any) -> Any:
    """Before `obj[key] = value`; return what to store."""
    if type(key) is slice:
        return store_slice(value, obj)
    table = hooks.container(obj, "__setitem__", key, value)
    if table is not None:
        table.hand_out(key, slots.hand_out)
        table.hand_out(value, slots.hand_out, key)
        hooks.say_by_key(key, table, table.item_write(key), STORED, obj, value)
    return value


def store_slice(value: Any, obj: Any) -> Any:
    """Before `obj[i:j] = value`; return what to store."""
    table = hooks.container(obj, "__setitem__", value)
    if table is not None:
        if not (is_at_once(value) or _passes_on(value)):
            hooks.say(table.size(), SIZE, obj)  # C code looks which elements there are first
            return Replacing(obj, table, value)
        value = emptied(table, value)
        codes = (*table.whole_write(), *hooks.whole(value))
        if codes:
            slots.announce(codes, STORED, obj, value)
    elif type(obj) in EXACT:
        hooks.say(hooks.whole(value), STORED, obj, value)
    return value


def update_in_place(obj: Any, value: Any, method: str) -> Any:
    """Before `obj += value` and the like; return the operand to use."""
    table = published.get(id(obj))
    if not isinstance(table, ContainerTable) or behind(type(obj), method) is OWN:
        hooks.read_both(obj, value, method)
        return value
    table = hooks.container(obj, method, value)
    if table is None:
        return value
    if method in TAKING:
        value = to_store(obj, table, value)
        if type(value) is Stream:
            callbacks.expect(value.again, value.touched)
            return value
    else:
        table.hand_out_all(value, slots.hand_out)
    hooks.say_again_and_again((*table.extend(value), *hooks.whole(value)), STORED, obj, value)
    return value
