"""Iteration over published containers: each step of an iterator is an access.

Before a loop begins, a published container is replaced by an iterator of ours that announces each
`next`. Loops get generators, which are fast; `iter(x)` gets an object that threads may share.
"""

from __future__ import annotations

import functools
import gc
import itertools
import operator
import types
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

from treadle.python.accesses import callbacks, foreign_steps, generators
from treadle.python.accesses import instruction_hooks as hooks
from treadle.python.accesses.reach import Reach
from treadle.python.accesses.uninstrumented import OWN, Behind, behind, state_of
from treadle.python.runtime import slots
from treadle.python.runtime.atoms import ATOMS
from treadle.python.runtime.looking import found_in, module_of_class
from treadle.python.runtime.spin import effects
from treadle.python.sharing.containers import ContainerTable, ListTable
from treadle.python.sharing.nested import CALLED_IN_C, CONTAINERS, content
from treadle.python.sharing.published import published, table_of_id
from treadle.python.sharing.tables import ObjectTable
from treadle.python.sharing.walks import register
from treadle.python.sharing.weak import WeakProxyTable

_END = object()


def iterate(obj: Any) -> Any:
    """Return what a loop over an object goes through."""
    table = table_of_id(id(obj))
    if table is None:
        return obj
    if isinstance(table, WeakProxyTable):
        return iterate(table.target())
    found = behind(type(obj), "__iter__")
    if found is OWN:
        return obj
    if isinstance(table, ContainerTable) and not found.name:
        if isinstance(table, ListTable):
            return _each_item(obj, table)
        hooks.say(table.keys_read())  # an iterator knows the size that it began with
        return _each(iter(obj), lambda: hooks.go_through(obj, table))
    if is_shared_iterator(obj):
        return _each_shared(obj)
    return _foreign_iterator(obj, found) if found.is_foreign else obj


def begin(obj: Any) -> Any:
    """Return the iterator of what is written in C; a loop over a list itself would have none."""
    is_in_c = isinstance(found_in(type(obj), "__iter__"), types.WrapperDescriptorType)
    return iter(obj) if is_in_c else obj


def go_on(iterator: Any) -> Any:
    """Return what goes on for an iterator that was made earlier, and published since."""
    return iterator if issubclass(type(iterator), types.GeneratorType) else iterate(iterator)


def _foreign_iterator(obj: Any, found: Behind) -> Iterator[Any]:
    """Go through a published object by means of code that is not instrumented."""
    foreign_steps.run_foreign(found, obj)
    iterator = iter(obj)
    if iterator is obj:
        return _each_shared(obj)
    return _each(iterator, lambda: foreign_steps.run_foreign(found, obj))


def is_shared_iterator(obj: Any) -> bool:
    """Tell whether something is an iterator in C, or a generator, that others have as well."""
    if id(obj) not in published:
        return False
    step = found_in(type(obj), "__next__")
    return step is not None and not isinstance(step, types.FunctionType)


def take(obj: Any, *default: Any) -> Any:
    """Stand for `next`."""
    effects[0] = True  # who takes the next one will get another one
    if id(obj) in published:
        if generators.is_under_test(obj):
            return generators.run(obj, next, obj, *default)
        found = behind(type(obj), "__next__")
        if found is not OWN:
            foreign_steps.run_foreign(found, obj)
            try:
                value = _take_from_held(obj, default)
                if type(obj) is itertools.groupby and type(value) is tuple:
                    slots.hand_out(value[1], "group")  # which takes from what it is a group of
                return value
            finally:
                _publish_what_it_remembers(obj)
    return next(obj, *default)


_REMEMBERING: tuple[type, ...] = (
    itertools.accumulate, itertools.chain, itertools.cycle, itertools.groupby, itertools.pairwise,
    itertools.product, type(itertools.tee(())[0]),
)  # fmt: skip
"""Iterators in C that keep something that they have taken."""


def _publish_what_it_remembers(iterator: Any) -> None:
    """Publish what an iterator has taken and keeps, for whoever takes something next."""
    if _remembers(iterator):
        reach = Reach(published)
        reach.write([iterator])
        for value, label in reach.missing:
            slots.hand_out(value, label)


def _remembers(obj: Any) -> bool:
    kind = type(obj)
    if issubclass(kind, _REMEMBERING) or module_of_class(kind) not in ("builtins", "itertools"):
        return True
    parts = gc.get_referents(obj)
    return any(_remembers(part) for part in parts if issubclass(type(part), Iterator))


def _take_from_held(obj: Any, default: tuple[Any, ...]) -> Any:
    """Take the next value of an iterator in C, which may run generators under test."""
    step: Callable[[], Any] = functools.partial(next, obj, *default)
    for generator in generators.held_by(obj):
        step = functools.partial(generators.run, generator, step)
    return step()


def _each_shared(obj: Any) -> Iterator[Any]:
    while (value := take(obj, _END)) is not _END:
        yield value


def elements(obj: Any) -> Any:
    """Return what a built-in function like `list` goes through: generators step by step."""
    if generators.is_under_test(obj):
        return _each_shared(obj)
    hooks.read_elements(obj)
    return obj


def one_by_one(values: tuple[Any, ...]) -> Iterator[Any]:
    """Yield arguments of a function in C; it goes through generators of ours step by step."""
    for value in values:
        yield _each_shared(value) if generators.is_under_test(value) else value


def _each_item(obj: Any, table: ListTable) -> Iterator[Any]:
    index = 0
    while True:
        hooks.say(table.next_item(index))
        if index >= len(obj):
            return
        yield obj[index]
        index += 1


def _each(iterator: Iterator[Any], before: Callable[[], None]) -> Iterator[Any]:
    while True:
        before()
        value = next(iterator, _END)
        if value is _END:
            return
        yield value


def backwards(obj: Any) -> Any:
    """Return what `reversed` goes through."""
    table = table_of_id(id(obj))
    if table is None:
        return reversed(obj)
    found = behind(type(obj), "__reversed__")
    if found.name or (found.is_foreign and not isinstance(table, ContainerTable)):
        foreign_steps.run_foreign(found, obj)
        return _each(reversed(obj), lambda: foreign_steps.run_foreign(found, obj))
    if found is OWN or not isinstance(table, ContainerTable):
        return reversed(obj)
    hooks.say(table.whole_read())
    return _each(reversed(obj), lambda: _go_back(obj, table))


def _go_back(obj: Any, table: ContainerTable) -> None:
    """Before an iterator goes back by one element."""
    if isinstance(obj, OrderedDict):
        hooks.go_through(obj, table)
    else:
        hooks.say(table.whole_read())


# Built-in functions that look into each element


def to_ask_for_truth(values: Any) -> Any:
    """Return what `any` and `all` go through."""
    if not published or type(values) in ATOMS:
        return values
    if _is_read_at_once(values) and not _is_read_by_item(values):
        hooks.read_truths(values)
        return values
    return _truths(iterate(values))


def _is_read_at_once(values: Any) -> bool:
    """Tell whether going through something is no code under test, nor a generator's."""
    if not issubclass(type(values), CONTAINERS) and (
        id(values) not in published or is_shared_iterator(values)
    ):
        return False
    return behind(type(values), "__iter__") is not OWN


def _is_read_by_item(values: Any) -> bool:
    """Tell whether going through a list is several steps, although nobody is called."""
    return slots.item_by_item and isinstance(table_of_id(id(values)), ListTable)


def _truths(values: Any) -> Iterator[Any]:
    for value in values:
        if id(value) in published:
            hooks.read_truth(value)
        yield value


def to_compare(values: Any) -> Any:
    """Return what `min`, `max` and `sum` go through.

    Elements that come one by one are taken first: they are compared in one step.
    """
    if not published or type(values) in ATOMS:
        return values
    is_at_once = _is_read_at_once(values) and not _is_read_by_item(values)
    found = values if is_at_once else list(iterate(values))
    hooks.read_elements(found)
    return found


def to_sort(values: Any) -> Any:
    """Return what `sorted` puts in order: it has taken all elements before it compares any."""
    if not published or type(values) in ATOMS:
        return values
    if not _is_read_at_once(values):
        found = list(iterate(values))
        hooks.read_elements(found)
        return found
    hooks.read_elements(values)
    if any(issubclass(type(one), CONTAINERS) and hooks.reaches(one) for one in content(values)):
        return values
    taken = list(values)
    callbacks.forget()
    return taken


class SharedIterator:
    """What `iter(x)` returns for a published container; threads may share it."""

    def __init__(self, obj: Any, table: ContainerTable) -> None:
        self._obj = obj
        self._table = table
        self._index = 0
        if not isinstance(table, ListTable):
            hooks.say(table.keys_read())
        self.native = iter(obj)

    def __iter__(self) -> SharedIterator:
        return self

    def __next__(self) -> Any:
        own = table_of_id(id(self))
        if own is not None:
            hooks.say((state_of(own),))
        table = self._table
        if isinstance(table, ListTable):
            hooks.say(table.next_item(self._index))
            self._index += 1
        else:
            hooks.go_through(self._obj, table)
        return next(self.native)

    def __length_hint__(self) -> int:
        table = self._table
        hooks.say(table.size() if isinstance(table, ListTable) else table.keys_read())
        return operator.length_hint(self.native)


def iterator_of(obj: Any, *sentinel: Any) -> Any:
    """Stand for `iter`."""
    if sentinel:
        return iter(called_late(obj), *sentinel)
    table = table_of_id(id(obj))
    if table is None:
        return iter(obj)
    if isinstance(table, WeakProxyTable):
        return iterator_of(table.target())
    found = behind(type(obj), "__iter__")
    if found.name or (found.is_foreign and not isinstance(table, ContainerTable)):
        foreign_steps.run_foreign(found, obj)
        iterator = iter(obj)
        slots.hand_out(iterator, f"iterator of {table.label}")
        return iterator
    if found is OWN or not isinstance(table, ContainerTable):
        return iter(obj)
    return SharedIterator(obj, table)


def called_late(function: Any) -> Any:
    """Return what an iterator in C calls again and again; what that touches is looked at then."""
    if type(function) is types.FunctionType or issubclass(type(function), type):
        return slots.resolve(function)
    return functools.partial(_call_late, function)


def _call_late(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    return slots.resolve(function)(*args, **kwargs)


def late_if_in_c(value: Any) -> Any:
    """Return what a library calls back in place of a method in C, which says nothing of itself."""
    return called_late(value) if type(value) in CALLED_IN_C else value


def calling_back(call: Callable[..., Any]) -> Callable[..., Any]:
    """Return what stands for a function of a library that calls back some of its arguments."""

    def call_seen(function: Any, /, *args: Any, **kwargs: Any) -> Any:
        named = {name: late_if_in_c(value) for name, value in kwargs.items()}
        return call(function, *map(late_if_in_c, args), **named)

    return call_seen


def lazily(obj: Any) -> Any:
    """Return what an iterator in C, like `map`, goes through: threads may share that as well."""
    is_container = isinstance(table_of_id(id(obj)), ContainerTable)
    return iterator_of(obj) if is_container else iterate(obj)


register(SharedIterator, ObjectTable)
