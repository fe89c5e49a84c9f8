"""Calls of the methods of published containers: what they touch, and what they call back.

A method is one step, if it runs no code under test. Else it is one until it calls that for the
first time, and one from each return to the next call.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable, ItemsView, Iterable, Iterator, KeysView, ValuesView
from typing import Any

from treadle.core.events import Codes
from treadle.python.accesses import (
    callbacks,
    defaults,
    item_by_item,
    iterate,
    known_functions,
    sorting,
    streams,
)
from treadle.python.accesses import instruction_hooks as hooks
from treadle.python.accesses.access_deeds import METHOD, MethodCall
from treadle.python.accesses.container_methods import (
    HASHING,
    KEEPING_ARGUMENTS,
    LOOKING,
    READING_ARGUMENTS,
    codes_of_method,
    publish_arguments,
)
from treadle.python.accesses.known_functions import ATTRIBUTE_METHODS, published_among, say
from treadle.python.accesses.taking import TAKING, called, may_take
from treadle.python.accesses.uninstrumented import hashes_visibly, kind_calls_back, may_call_back
from treadle.python.runtime import slots
from treadle.python.runtime.atoms import ATOMS
from treadle.python.sharing.containers import ContainerTable, ListTable, ViewTable
from treadle.python.sharing.nested import content
from treadle.python.sharing.published import published

_VIEWS = (KeysView, ValuesView, ItemsView, Iterator)
"""Results that say nothing."""
_UNUSUAL = frozenset(
    {
        *ATTRIBUTE_METHODS, *LOOKING, *READING_ARGUMENTS, *streams.TAKING, *streams.EMPTYING,
        "keys", "values", "items", "__iter__", "__getitem__", "__setitem__", "__missing__",
    }
)  # fmt: skip
"""Methods that do more than touch the container, whatever their arguments are."""


def call_method(
    function: Any, owner: Any, table: ContainerTable, /, *args: Any, **kwargs: Any
) -> Any:
    """Call a method of a published container."""
    name = function.__name__
    is_unusual = kwargs or name in _UNUSUAL or table.key_kinds or slots.item_by_item
    if not is_unusual and ATOMS.issuperset(map(type, args)):
        return _call_with_atoms(function, name, table, args)
    if name in ATTRIBUTE_METHODS:
        return ATTRIBUTE_METHODS[name](owner, *args)
    if name == "__iter__":
        return iterate.iterator_of(owner)
    if slots.item_by_item and isinstance(table, ListTable):
        instead = item_by_item.method(owner, name)
        if instead is not None:
            may_take(name)
            return instead(owner, table, *args, **kwargs)
    is_visible_sort = name == "sort" and not args and sorting.calls_back(owner, kwargs.get("key"))
    known_functions.resolve_key(kwargs)
    args = _to_store(owner, table, name, args, kwargs)
    publish_arguments(table, name, args, kwargs)
    codes = _codes_of_call(table, name, args, kwargs)
    call: MethodCall = (name, args, kwargs)
    again: Callable[[], None] = functools.partial(say, codes, METHOD, table.label, call)
    is_looking = name in LOOKING and not issubclass(type(owner), hooks.HASHED)
    if is_looking and "key" not in kwargs and not _are_atoms(args):
        hooks.look_into((owner, *args), codes, METHOD, table.label, call)
    elif not _runs_hash_first(name, owner, args):
        again()
    if is_visible_sort:
        result = callbacks.call(_nothing, tuple, _sort, (owner, again), kwargs)
    elif name in ("__getitem__", "__missing__") and issubclass(type(owner), defaultdict) and args:
        defaults.make_default(owner, args[0], table)
        result = callbacks.call(again, lambda: codes, owner.__getitem__, args, kwargs)
    elif _calls_back(name, owner, table, args):
        may_take(name)
        result = _call_stepwise(again, codes, function, args, kwargs)
    else:
        result = called(function, name, codes, args, kwargs)
    _tell_result(call, result)
    if name in ("keys", "values", "items") and not issubclass(type(result), list):
        ViewTable(table, type(result)).stand_for(result)
    return result


def _call_with_atoms(function: Any, name: str, table: ContainerTable, args: tuple[Any, ...]) -> Any:
    """Call a method that finds nothing to look into, to go through or to call back.

    Without this, three threads that count in a dictionary take 1.1 times as long.
    """
    publish_arguments(table, name, args, {})
    call: MethodCall = (name, args, {})
    codes = codes_of_method(table, name, args, {})
    say(codes, METHOD, table.label, call)
    result = called(function, name, codes, args, {}) if name in TAKING else function(*args)
    _tell_result(call, result)
    return result


def _tell_result(call: MethodCall, result: Any) -> None:
    """Tell who writes the execution down what a method returned."""
    if slots.on_return is not None and result is not None and not issubclass(type(result), _VIEWS):
        slots.on_return(call, result)


def _call_stepwise(
    again: Callable[[], None],
    codes: Codes,
    function: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """Call a method that may call back; what it goes on with is announced."""
    for one in args:
        if type(one) is streams.Stream:
            return callbacks.call(one.again, one.touched, function, args, kwargs)
    return callbacks.call(again, lambda: codes, function, args, kwargs)


def _nothing() -> None:
    """What `sort` touches between its calls."""


def _sort(items: Any, end: Callable[[], None], *, key: Any = None, reverse: Any = False) -> None:
    sorting.sort(items, key, bool(reverse), end)


def _runs_hash_first(name: str, owner: Any, args: tuple[Any, ...]) -> bool:
    """Tell whether a method begins with code under test, which says when it returns."""
    if name not in HASHING or not args or not issubclass(type(owner), hooks.HASHED):
        return False
    return hashes_visibly(type(args[0]))


def _calls_back(name: str, owner: Any, table: ContainerTable, args: tuple[Any, ...]) -> bool:
    """Tell whether a method of a container may run code under test."""
    if name in READING_ARGUMENTS and name != "sort":
        return True
    if any(map(kind_calls_back, table.key_kinds)):
        return True
    if name in LOOKING and not issubclass(type(owner), hooks.HASHED):
        args = (*args, *content(owner))
    return name not in KEEPING_ARGUMENTS and any(map(may_call_back, args))


def _to_store(
    owner: Any, table: ContainerTable, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, ...]:
    """Return the arguments of a method of a published container, ready to be stored there."""
    if name in streams.TAKING:
        return streams.all_to_store(owner, table, args, kwargs)
    if name in streams.EMPTYING or (name == "__setitem__" and args and type(args[0]) is slice):
        return (*args[:-1], *(streams.emptied(table, value) for value in args[-1:]))
    return args


def _codes_of_call(
    table: ContainerTable, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Codes:
    """Return what the call of a method of a published container touches before it calls back."""
    if name != "__init__" and any(type(value) is streams.Stream for value in args):
        return ()
    read = contents([*args, *kwargs.values()], goes_through=name in READING_ARGUMENTS)
    return (*codes_of_method(table, name, args, kwargs), *read)


def _are_atoms(values: tuple[Any, ...]) -> bool:
    """Tell whether there are values, all of which differ from any container."""
    return bool(values) and all(type(value) in ATOMS for value in values)


def contents(values: Iterable[Any], *, goes_through: bool) -> Codes:
    """Return the codes of reading containers; what runs foreign code to go through is announced."""
    codes: dict[int, None] = {}
    for value in published_among(values):
        table = hooks.container(value, "__iter__") if goes_through else published[id(value)]
        if isinstance(table, ContainerTable):
            codes.update(dict.fromkeys(table.whole_read()))
    return tuple(codes)
