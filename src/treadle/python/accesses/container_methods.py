"""What the methods of built-in containers touch."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from treadle.core.events import OPEN, Codes
from treadle.python.runtime import slots
from treadle.python.runtime.spin import effects
from treadle.python.sharing.containers import (
    AttributesTable,
    ContainerTable,
    DictTable,
    ListTable,
    MappingProxyTable,
    SetTable,
    SimpleTable,
    ViewTable,
)

Rule = Callable[[Any, tuple[Any, ...]], Codes]
"""Returns what a method touches, given the table and the arguments."""

READING_ARGUMENTS = frozenset(
    {
        "extend", "extendleft", "update", "union", "intersection", "difference", "join", "sort",
        "symmetric_difference", "intersection_update", "difference_update", "fromlist",
        "symmetric_difference_update", "issubset", "issuperset", "isdisjoint", "writelines",
        "format", "format_map", "fromkeys", "__init__", "__iadd__", "__ior__", "__add__",
        "translate",
    }
)  # fmt: skip
"""Methods that go through their arguments."""
KEEPING_ARGUMENTS = frozenset({"append", "appendleft"})
"""Methods that neither look into their argument nor ask it for anything."""
HASHING = frozenset(
    {
        "get", "setdefault", "add", "remove", "discard", "__contains__", "__getitem__",
        "__setitem__", "__delitem__",
    }
)  # fmt: skip
"""Methods of dictionaries and sets that begin with the hash of their first argument.

`pop` does not, if there is nothing in the dictionary.
"""
LOOKING = frozenset({"index", "count", "remove", "sort", "__contains__", "__eq__", "__lt__"})
"""Methods that look into the elements of the container that they belong to."""
MUTATORS = frozenset(
    {
        "append", "appendleft", "add", "clear", "discard", "extend", "extendleft", "insert",
        "move_to_end", "pop", "popitem", "popleft", "remove", "reverse", "rotate", "setdefault",
        "sort", "update", "difference_update", "intersection_update", "write",
        "symmetric_difference_update", "__setitem__", "__delitem__", "send", "__next__",
        "subtract", "resize", "take_bytes",
    }
)  # fmt: skip
"""Names of methods that change the object that they belong to."""
_STORING = frozenset(
    {
        "append", "appendleft", "add", "insert", "setdefault", "__setitem__",
    }
)  # fmt: skip


def codes_of_method(
    table: ContainerTable, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Codes:
    """Return what a method of a published container touches in it."""
    rule = _rules_of(type(table)).get(name)
    if rule is None:
        return (*table.whole_write(), OPEN)
    return rule(table, (*args, kwargs) if kwargs else args)


@functools.cache
def _rules_of(kind: type[ContainerTable]) -> dict[str, Rule]:
    return next((rules for known, rules in _RULES if issubclass(kind, known)), {})


def publish_arguments(
    table: ContainerTable, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Publish what a method is about to put into a published container."""
    if name not in _STORING:
        return
    effects[0] = True
    for value in (*args, *kwargs.values()):
        table.hand_out(value, slots.hand_out)


# Rules


def _read(table: ContainerTable, _: Any) -> Codes:
    return table.whole_read()


def _write(table: ContainerTable, _: Any) -> Codes:
    return table.whole_write()


def _take_any(table: ContainerTable, _: Any) -> Codes:
    """Which one is taken depends on the order in which they were put in."""
    return (*table.keys_read(), *table.whole_write())


def _size(table: ContainerTable, _: Any) -> Codes:
    return table.size()


def _nothing(_table: ContainerTable, _: Any) -> Codes:
    return ()


def _grow(table: ListTable, _: Any) -> Codes:
    return table.grow()


def _get_item(table: ContainerTable, args: Any) -> Codes:
    return table.item(args[0]) if args else ()


def _set_item(table: ContainerTable, args: Any) -> Codes:
    return table.item_write(args[0]) if args else ()


def _delete_item(table: ContainerTable, args: Any) -> Codes:
    return table.item_delete(args[0]) if args else ()


def _member(table: ContainerTable, args: Any) -> Codes:
    return table.membership(args[0]) if args else ()


def _set_default(table: DictTable, args: Any) -> Codes:
    """Read a key that is there from the beginning; else it may be inserted."""
    if not args:
        return ()
    return table.membership(args[0]) if table.is_old(args[0]) else table.item_write(args[0])


def _update(table: ContainerTable, args: Any) -> Codes:
    codes: dict[int, None] = {}
    for value in args:
        codes.update(dict.fromkeys(table.extend(value)))
    return tuple(codes)


def _rules(**named: tuple[str, Rule]) -> dict[str, Rule]:
    return {name: rule for names, rule in named.values() for name in names.split()}


_COMMON = _rules(
    reads=(
        "copy __copy__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ __repr__ __str__ __reduce__ "
        "__reduce_ex__ __iter__ __reversed__ __add__ __radd__ __mul__ __rmul__ __or__ __ror__ "
        "__and__ __rand__ __sub__ __rsub__ __xor__ __rxor__ __format__ __deepcopy__",
        _read,
    ),
    sizes=("__len__ __bool__ __sizeof__", _size),
    nothing=("__hash__ __class_getitem__ __dir__ __init_subclass__ __subclasshook__", _nothing),
    contains=("__contains__", _member),
    get=("__getitem__", _get_item),
    set=("__setitem__", _set_item),
    delete=("__delitem__", _delete_item),
    writes=("clear __init__ __imul__", _write),
)
_LIST = {
    **_COMMON,
    **_rules(
        reads=(
            "index count decode hex find rfind rindex startswith endswith split rsplit splitlines "
            "strip lstrip rstrip join replace partition rpartition lower upper title swapcase "
            "capitalize center ljust rjust zfill expandtabs translate isalnum isalpha isascii "
            "isdigit islower isspace istitle isupper removeprefix removesuffix",
            _read,
        ),
        grows=("append", _grow),
        extends=("extend __iadd__", _grow),
        writes=("insert pop remove reverse sort", _write),
    ),
}
_DICT = {
    **_COMMON,
    **_rules(
        reads=("__reversed__", _read),
        views=("keys values items", _nothing),
        gets=("get __contains__", _member),
        default=("setdefault", _set_default),
        pops=("pop", _delete_item),
        updates=("update __ior__", _update),
        takes=("popitem", _take_any),
        writes=("move_to_end", _write),
    ),
}
_SET = {
    **_COMMON,
    **_rules(
        reads=(
            "union intersection difference symmetric_difference issubset issuperset isdisjoint",
            _read,
        ),
        adds=("add", _set_item),
        removes=("remove discard", _delete_item),
        updates=("update __ior__", _update),
        writes=(
            "intersection_update difference_update symmetric_difference_update __iand__ "
            "__isub__ __ixor__",
            _write,
        ),
        takes=("pop", _take_any),
    ),
}
_SIMPLE = {
    **_COMMON,
    **_rules(
        reads=("index count tobytes tolist tounicode buffer_info", _read),
        writes=(
            "append appendleft extend extendleft insert pop popleft remove reverse rotate sort "
            "__iadd__ frombytes fromfile fromlist fromunicode byteswap",
            _write,
        ),
    ),
}
_VIEW = {
    **_COMMON,
    **_rules(reads=("isdisjoint mapping", _read)),
}
_RULES: list[tuple[type[ContainerTable], dict[str, Rule]]] = [
    (ListTable, _LIST),
    (SetTable, _SET),
    (DictTable, _DICT),
    (AttributesTable, {**_DICT, "setdefault": _set_item}),
    (ViewTable, _VIEW),
    (MappingProxyTable, _DICT),
    (SimpleTable, _SIMPLE),
]
