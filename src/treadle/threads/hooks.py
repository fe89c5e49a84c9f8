"""What rewritten code calls before it touches something that may be shared.

The rewriter (`rewrite`) inserts a call to one of these functions before each instruction that reads
or writes an attribute, item, variable of an enclosing function or global, behind a check that the
object is published. The hook announces the access and returns when it is to happen. What calls of
functions written in C touch is in `calls`, iteration in `iterate`.
"""

from __future__ import annotations

import types
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from treadle.events import OPEN, Codes
from treadle.threads.containers import ContainerTable, is_overridden, whole_read
from treadle.threads.shared import ATOMS, Table


def nothing(codes: Any) -> None:
    """Stand in for `announce` where nothing is shared with anybody yet."""


def _nobody(value: Any, label: str) -> None:
    """Stand in for `hand_out` outside of an exploration."""


def _no_loop(site: object) -> None:
    """Stand in for `on_loop` where nobody looks for loops that only wait."""


def _no_point() -> None:
    """Stand in for `on_point` where threads may be switched at every access."""


published: dict[int, Table] = {}
"""Tables of the published objects, by `id`."""
announce: Callable[[Any], None] = nothing
"""Ends the current task's step; returns when the next one begins."""
hand_out: Callable[[Any, str], None] = _nobody
"""Publishes a value under a name, on behalf of the current task."""
revise: Callable[[Codes], None] = nothing
"""Adds accesses to the current step that only showed when it was taken."""
on_loop: Callable[[object], None] = _no_loop
"""Called before the backward jump of a `while` loop."""
on_point: Callable[[], None] = _no_point
"""Called where an interpreter with a global lock may switch threads."""
on_special: Callable[[Any, str], None] = _nobody
"""Called before a special method of a published object that is no container is."""
effects = [False]
"""Whether code under test has changed anything, shared or not, since this was last set to False."""
unobserved: list[tuple[str, str]] = []
"""Functions that touched shared objects unobserved: name, and `file:line` of the first call."""


def loop(site: object) -> None:
    """Before the backward jump of a `while` loop."""
    if announce is not nothing:
        on_loop(site)


def point() -> None:
    """Where an interpreter with a global lock may switch threads."""
    on_point()


# Attributes


def load_attr(obj: Any, name: str) -> None:
    """Before `obj.name` is read."""
    table = published.get(id(obj))
    if table is not None:
        codes = table[name]
        if codes:
            announce(codes)


def load_class_attr(obj: Any, name: str) -> None:
    """Before `obj.name` is read, an attribute that classes have and that is assigned."""
    table = published.get(id(obj))
    if table is None:
        table = published.get(id(obj.__class__))
    if table is not None:
        codes = table[name]
        if codes:
            announce(codes)


def store_attr(value: Any, obj: Any, name: str) -> None:
    """Before `obj.name = value`."""
    table = published.get(id(obj))
    if table is not None:
        if value.__class__ not in ATOMS:
            hand_out(value, f"{table.label}.{name}")
        codes = table.writes[name]
        if codes:
            announce(codes)


def delete_attr(obj: Any, name: str) -> None:
    """Before `del obj.name`."""
    table = published.get(id(obj))
    if table is not None:
        codes = table.writes[name]
        if codes:
            announce(codes)


# Variables of enclosing functions, and globals


def load_cell(cell: Any) -> None:
    """Before the variable of an enclosing function is read."""
    table = published.get(id(cell))
    if table is not None:
        codes = table["cell"]
        if codes:
            announce(codes)


def store_cell(value: Any, cell: Any) -> None:
    """Before the variable of an enclosing function is assigned."""
    table = published.get(id(cell))
    if table is not None:
        if value.__class__ not in ATOMS:
            hand_out(value, table.label)
        codes = table.writes["cell"]
        if codes:
            announce(codes)


def delete_cell(cell: Any) -> None:
    """Before the variable of an enclosing function is deleted."""
    table = published.get(id(cell))
    if table is not None:
        codes = table.writes["cell"]
        if codes:
            announce(codes)


load_global = load_cell
"""Before a global is read; what stands for the variable has a table like a closure's."""
store_global = store_cell
delete_global = delete_cell


# Items


def container(obj: Any, method: str) -> ContainerTable | None:
    """Return the table of a published container whose method is not code under test.

    If it is something else, its own method is about to be called.
    """
    table = published.get(id(obj))
    if isinstance(table, ContainerTable):
        return None if is_overridden(obj.__class__, method) else table
    if table is not None:
        on_special(obj, method)
    return None


def load_item(obj: Any, key: Any) -> None:
    """Before `obj[key]` is read."""
    table = container(obj, "__getitem__")
    if table is not None:
        codes = table.item(key)
        if codes:
            announce(codes)
        if isinstance(obj, defaultdict) and isinstance(obj.default_factory, types.FunctionType):
            _make_default(obj, key, table)


def _make_default(obj: Any, key: Any, table: ContainerTable) -> None:
    """Do what a `defaultdict` does for a missing key: not one step, as its factory takes some."""
    if not dict.__contains__(obj, key):
        value = obj.default_factory()
        table.hand_out(key, hand_out)
        table.hand_out(value, hand_out, key)
        codes = table.item_write(key)
        if codes:
            announce(codes)
        dict.__setitem__(obj, key, value)


def store_item(value: Any, obj: Any, key: Any) -> None:
    """Before `obj[key] = value`."""
    table = container(obj, "__setitem__")
    if table is not None:
        table.hand_out(key, hand_out)
        table.hand_out(value, hand_out, key)
        codes = table.item_write(key)
        if codes:
            announce(codes)


def delete_item(obj: Any, key: Any) -> None:
    """Before `del obj[key]`."""
    table = container(obj, "__delitem__")
    if table is not None:
        codes = table.item_delete(key)
        if codes:
            announce(codes)


def load_slice(obj: Any) -> None:
    """Before `obj[i:j]` is read."""
    table = container(obj, "__getitem__")
    if table is not None:
        codes = table.whole_read()
        if codes:
            announce(codes)


def store_slice(value: Any, obj: Any) -> None:
    """Before `obj[i:j] = value`."""
    table = container(obj, "__setitem__")
    if table is not None:
        table.hand_out_all(value, hand_out)
        codes = (*table.whole_write(), *_whole(value))
        if codes:
            announce(codes)


# Containers as a whole


def _whole(obj: Any) -> Codes:
    """Return the codes of reading all of a container, if it is one and published."""
    table = published.get(id(obj))
    return table.whole_read() if isinstance(table, ContainerTable) else ()


def read_size(obj: Any) -> None:
    """Before the truth or the length of something is asked for."""
    table = container(obj, "__bool__" if hasattr(obj.__class__, "__bool__") else "__len__")
    if table is not None:
        codes = table.size()
        if codes:
            announce(codes)


def read_whole(obj: Any) -> None:
    """Before something is unpacked or copied into a new container."""
    table = container(obj, "__iter__")
    if table is not None:
        codes = table.whole_read()
        if codes:
            announce(codes)


def read_both(left: Any, right: Any, method: str = "__eq__") -> None:
    """Before two things are compared or combined."""
    for obj in (left, right):
        if id(obj) in published:
            container(obj, method)
    announce_deep((left, right))


def read_deep(obj: Any) -> None:
    """Before something is put into words, or gone through to its end."""
    if id(obj) in published and container(obj, "__iter__") is None:
        container(obj, "__repr__")
    announce_deep((obj,))


def announce_deep(roots: tuple[Any, ...]) -> None:
    """Announce that containers are read with all that is in them, when it happens."""
    codes = deep_codes(roots)
    if codes:
        announce(codes)
        found = deep_codes(roots)
        if found != codes:
            revise(found)


def deep_codes(roots: tuple[Any, ...]) -> Codes:
    """Return the codes of reading containers and the containers in them.

    Which those are depends on what is read; then the step is open.
    """
    codes: dict[int, None] = {}
    seen = set()
    count = 0
    todo = list(roots)
    while todo:
        obj = todo.pop()
        kind = obj.__class__
        if kind in ATOMS or id(obj) in seen:
            continue
        seen.add(id(obj))
        table = published.get(id(obj))
        if isinstance(table, ContainerTable):
            codes.update(dict.fromkeys(table.whole_read()))
            count += 1
        if isinstance(obj, dict):
            todo += [*dict.keys(obj), *dict.values(obj)]
        elif kind in (list, tuple):
            todo += obj
    return (*codes, OPEN) if codes and count > len(roots) else tuple(codes)


def contains(item: Any, obj: Any) -> None:
    """Before `item in obj`."""
    table = container(obj, "__contains__")
    if table is not None:
        codes = table.membership(item)
        if codes:
            announce(codes)


def update_in_place(obj: Any, value: Any) -> None:
    """Before `obj += value` and the like."""
    table = container(obj, "__iadd__")
    if table is None:
        read_both(obj, value, "__add__")
        return
    table.hand_out_all(value, hand_out)
    codes = (*table.extend(value), *_whole(value))
    if codes:
        announce(codes)


# Patterns


def match_keys(obj: Any, keys: tuple[Any, ...]) -> None:
    """Before the keys of a mapping pattern are looked up."""
    table = container(obj, "get")
    if table is not None:
        codes = tuple(dict.fromkeys(code for key in keys for code in table.membership(key)))
        if codes:
            announce(codes)


def match_class(obj: Any, kind: Any, names: tuple[str, ...], count: int) -> None:
    """Before the attributes of a class pattern are read."""
    table = published.get(id(obj))
    if table is None or not isinstance(obj, kind):
        return
    positional = tuple(getattr(kind, "__match_args__", ()))[:count]
    codes = tuple(dict.fromkeys(code for name in (*positional, *names) for code in table[name]))
    if codes:
        announce(codes)


def everything(obj: Any) -> Codes:
    """Return the codes of reading all that a published object holds."""
    table = published.get(id(obj))
    return () if table is None else whole_read(table)
