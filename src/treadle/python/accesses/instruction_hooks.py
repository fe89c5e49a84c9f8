"""What rewritten code calls before it touches something that may be shared.

The rewriter (`rewrite`) inserts a call to one of these functions before each instruction that reads
or writes an attribute, item, variable of an enclosing function or global, behind a check that the
object is published. The hook announces the access and returns when it is to happen. What calls of
functions written in C touch is in `calls`, iteration in `iterate`, in `uninstrumented` whose code
runs behind an operator or an attribute, and in `access_deeds` what accesses are in words.
"""

from __future__ import annotations

import functools
import re
import types
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from treadle.core.events import OPEN, Codes
from treadle.core.frames import callers_frame
from treadle.python.accesses import callbacks, defaults
from treadle.python.accesses.access_deeds import (
    ATTRIBUTE,
    CELL,
    DELETED,
    ITEM,
    MEMBERSHIP,
    SIZE,
    STORED,
    WHOLE,
)
from treadle.python.accesses.foreign_steps import load_unless_stored, perform, run_foreign
from treadle.python.accesses.reach import Reach
from treadle.python.accesses.uninstrumented import (
    IN_STATE,
    OWN,
    behind,
    behind_attribute,
    calls_back,
    has_plain_attributes,
    hashes_visibly,
    kind_calls_back,
    look_at_state_of,
    may_call_back,
)
from treadle.python.runtime import control, notes, slots, spin
from treadle.python.runtime.atoms import ATOMS
from treadle.python.runtime.deeds import PLAIN_ACCESS, Deed
from treadle.python.sharing import identities
from treadle.python.sharing.containers import EXACT, ContainerTable
from treadle.python.sharing.namespaces import instrumented
from treadle.python.sharing.nested import KEYS, content, holds
from treadle.python.sharing.published import published, table_of_id
from treadle.python.sharing.weak import WeakProxyTable

_PLAIN = instrumented.plain_classes
_RUNNING = "{} shows what runs only as far as that has just been entered or left"
_DEEDS = {"get": ATTRIBUTE, "set": STORED, "delete": DELETED}


def say(codes: Codes, deed: Deed = PLAIN_ACCESS, about: Any = None, detail: Any = None) -> None:
    """Announce an access, if there is one; hooks that run often do that themselves."""
    if codes:
        slots.announce(codes, deed, about, detail)


def loop(site: object) -> None:
    """Before the backward jump of a `while` loop."""
    if slots.announce is not slots.nothing:
        spin.visit(site)


def point() -> None:
    """Where an interpreter with a global lock may switch threads."""
    control.point()


# What may call back, and code that is not instrumented


def say_by_key(
    key: Any, table: ContainerTable, codes: Codes, deed: Deed, about: Any, detail: Any
) -> None:
    """Announce an access by a key, which may run its `__hash__`, and `__eq__` of it and others.

    A `__hash__` that is code under test is run before anything is touched: when it returns is
    early enough.
    """
    if type(key) in ATOMS and not table.key_kinds:
        if codes:
            slots.announce(codes, deed, about, detail)
    elif calls_back(key) or any(map(kind_calls_back, table.key_kinds)):
        is_late = issubclass(type(about), HASHED) and hashes_visibly(type(key))
        say_again_and_again(codes, deed, about, detail, is_late=is_late)
    else:
        say(codes, deed, about, detail)


def say_again_and_again(
    codes: Codes, deed: Deed, about: Any, detail: Any, *, is_late: bool = False
) -> None:
    """Announce an access by an instruction that may call back, and whenever it goes on.

    If it is late, code under test is called before anything is touched.
    """
    if codes:
        again = functools.partial(say, codes, deed, about, detail)
        if not is_late:
            again()
        callbacks.expect(again, lambda: codes, is_told=not is_late)


def _runs_foreign(obj: Any, name: str, access: str, *others: Any) -> bool:
    """Tell whether an attribute of a published object is foreign code, and announce that."""
    if has_plain_attributes(type(obj)):
        return False
    found = behind_attribute(type(obj), name, access)
    if not found.is_foreign:
        return False
    if found.unless_stored and access == "get":
        load_unless_stored(found, obj, name)
        return True
    if found.unless_stored and name in getattr(obj, "__dict__", ()):
        return False
    deed = _DEEDS[access]
    if found is IN_STATE:
        if name.endswith("_running"):
            notes.remark("running", f"{type(obj).__name__}.{name}", _RUNNING)
        say((look_at_state_of(published[id(obj)]),), deed, obj, name)
        return False
    run_foreign(found, obj, others, name, deed, others[0] if others else name)
    return True


# Attributes


def load_attr(obj: Any, name: str) -> None:
    """Before `obj.name` is read."""
    table = table_of_id(id(obj))
    if table is not None and (type(obj) in _PLAIN or not _runs_foreign(obj, name, "get")):
        codes = table[name]
        if codes:
            slots.announce(codes, ATTRIBUTE, obj, name)


def load_class_attr(obj: Any, name: str) -> None:
    """Before `obj.name` is read, an attribute that classes have and that is assigned."""
    table = table_of_id(id(obj))
    if table is None:
        table = table_of_id(id(type(obj)))
    elif type(obj) not in _PLAIN and _runs_foreign(obj, name, "get"):
        return
    if table is not None:
        codes = table[name]
        if codes:
            slots.announce(codes, ATTRIBUTE, obj, name)


def store_attr(value: Any, obj: Any, name: str) -> None:
    """Before `obj.name = value`."""
    table = table_of_id(id(obj))
    if table is not None and (type(obj) in _PLAIN or not _runs_foreign(obj, name, "set", value)):
        if type(value) not in ATOMS:
            slots.hand_out(value, f"{table.label}.{name}")
        codes = table.stores[name]
        if codes:
            slots.announce(codes, STORED, obj, value)


def delete_attr(obj: Any, name: str) -> None:
    """Before `del obj.name`."""
    table = table_of_id(id(obj))
    if table is not None and (type(obj) in _PLAIN or not _runs_foreign(obj, name, "delete")):
        codes = table.writes[name]
        if codes:
            slots.announce(codes, DELETED, obj)


# Variables of enclosing functions, and globals


def load_cell(cell: Any) -> None:
    """Before the variable of an enclosing function is read."""
    table = table_of_id(id(cell))
    if table is not None:
        codes = table["cell"]
        if codes:
            slots.announce(codes, CELL, cell)


def store_cell(value: Any, cell: Any) -> None:
    """Before the variable of an enclosing function is assigned."""
    table = table_of_id(id(cell))
    if table is not None:
        if type(value) not in ATOMS:
            slots.hand_out(value, table.label)
        codes = table.stores["cell"]
        if codes:
            slots.announce(codes, STORED, cell, value)


def delete_cell(cell: Any) -> None:
    """Before the variable of an enclosing function is deleted."""
    table = table_of_id(id(cell))
    if table is not None:
        codes = table.writes["cell"]
        if codes:
            slots.announce(codes, DELETED, cell)


load_global = load_cell
"""Before a global is read; what stands for the variable has a table like a closure's."""
delete_global = delete_cell


# Names in code that `exec` and `eval` run, whose namespaces are dictionaries


def load_name(name: str) -> None:
    """Before a name is looked up."""
    frame = callers_frame()
    load_item(frame.f_locals, name)
    if name not in frame.f_locals:
        load_item(frame.f_globals, name)
        if name not in frame.f_globals:
            load_item(frame.f_builtins, name)


def store_name(value: Any, name: str, is_global: bool) -> None:
    """Before a name is assigned."""
    frame = callers_frame()
    namespace = frame.f_globals if is_global else frame.f_locals
    table = container(namespace, "__setitem__", name, value)
    if table is not None:
        table.hand_out(value, slots.hand_out, name)
        say(table.item_write(name), STORED, namespace, value)


def delete_name(name: str, is_global: bool) -> None:
    """Before a name is deleted."""
    frame = callers_frame()
    delete_item(frame.f_globals if is_global else frame.f_locals, name)


# Special methods, and functions whose code is replaced


def look_at_classes(*operands: Any) -> None:
    """Before an instruction that runs special methods, which somebody replaces, or a function."""
    names = control.the_program().shared.specials
    if not names:
        return
    found = {id(one): one for operand in operands for one in _deciding(operand)}
    tables = [published[one] for one in found if one in published]
    codes = dict.fromkeys(code for table in tables for name in names for code in table[name])
    if "__class__" in names:
        codes |= dict.fromkeys(code for operand in operands for code in _own_class(operand))
    if codes:  # which may depend on what is in a container now
        slots.announce((*codes, OPEN))


def _deciding(operand: Any) -> Iterator[Any]:
    """Yield what decides what is run when something is done with an operand."""
    if type(operand) is types.MethodType:
        operand = operand.__func__
    if issubclass(type(operand), type | types.FunctionType):
        yield operand
    yield type(operand)
    if type(operand) in (list, tuple, set):  # whose elements may be compared
        yield from map(type, operand)
    if type(operand) in (tuple, types.UnionType):  # of classes, for `isinstance`
        yield from getattr(operand, "__args__", operand)


def _own_class(operand: Any) -> Iterator[int]:
    """Yield the codes of looking which class an operand has, or its elements have."""
    elements = operand if type(operand) in (list, tuple, set) else ()
    for one in (operand, *elements):
        table = table_of_id(id(one))
        if table is not None:
            yield from table["__class__"]


# Items


def container(obj: Any, method: str, *others: Any) -> ContainerTable | None:
    """Return the table of a published container that does what it always does.

    If it runs code that is not instrumented, that is announced, with other operands.
    """
    table = table_of_id(id(obj))
    if table is None:
        return None
    is_container = isinstance(table, ContainerTable)
    if type(obj) not in EXACT:
        if isinstance(table, WeakProxyTable):
            return container(table.target(), method, *others)
        found = behind(type(obj), method)
        if found is OWN:
            return None
        if found.is_foreign and (found.name or not is_container):
            if method == "__setitem__":
                run_foreign(found, obj, others, "", STORED, others[-1])
            else:
                run_foreign(found, obj, others)
            return None
    return table if is_container else None  # type: ignore[return-value]


def load_item(obj: Any, key: Any) -> None:
    """Before `obj[key]` is read."""
    table = container(obj, "__getitem__", key)
    if table is not None:
        codes = table.item(key)
        makes_missing = issubclass(type(obj), defaultdict)
        if makes_missing:
            codes = (*codes, *table["default_factory"])
        say_by_key(key, table, codes, ITEM, obj, key)
        if makes_missing:
            defaults.make_default(obj, key, table)


def make_defaults(obj: Any, names: Iterable[Any]) -> None:
    """Before C code asks for several items, if it may find a `defaultdict`."""
    if id(obj) in published and issubclass(type(obj), defaultdict):
        for name in names:
            load_item(obj, name)


def delete_item(obj: Any, key: Any) -> None:
    """Before `del obj[key]`."""
    table = container(obj, "__delitem__", key)
    if table is not None:
        say_by_key(key, table, table.item_delete(key), DELETED, obj, None)


def load_slice(obj: Any) -> None:
    """Before `obj[i:j]` is read."""
    table = container(obj, "__getitem__")
    if table is not None:
        say(table.whole_read(), WHOLE, obj)


# Containers as a whole


def whole(obj: Any) -> Codes:
    """Return the codes of reading all of a container, if it is one and published."""
    table = table_of_id(id(obj))
    return table.whole_read() if isinstance(table, ContainerTable) else ()


def read_size(obj: Any) -> None:
    """Before the length of something is asked for."""
    _size(container(obj, "__len__"), obj)


def read_truth(obj: Any) -> None:
    """Before the truth of something is asked for."""
    _size(container(obj, "__bool__"), obj)


def _size(table: ContainerTable | None, obj: Any) -> None:
    if table is not None:
        say(table.size(), SIZE, obj)


def read_whole(obj: Any) -> None:
    """Before something is unpacked or copied into a new container."""
    table = container(obj, "__iter__")
    if table is not None:
        _say_of_keys(table.whole_read(), WHOLE, obj, any(map(may_call_back, content(obj))))


def go_through(obj: Any, table: ContainerTable) -> None:
    """Before an iterator over a dictionary or set goes on; an ordered one looks its key up."""
    looks = issubclass(type(obj), OrderedDict) and any(map(kind_calls_back, table.key_kinds))
    _say_of_keys(table.keys_read(), PLAIN_ACCESS, None, looks)


def _say_of_keys(codes: Codes, deed: Deed, about: Any, calls_back: bool) -> None:
    (say_again_and_again if calls_back else say)(codes, deed, about, None)


_FIELDS = re.compile(r"%\((.*?)\)")
"""Names in `"%(name)s"`."""
_REFLECTED = {
    "__lt__": "__gt__", "__gt__": "__lt__", "__le__": "__ge__", "__ge__": "__le__",
    "__eq__": "__eq__", "__ne__": "__ne__",
}  # fmt: skip


def reaches(obj: Any) -> bool:
    """Tell whether something is published, or holds what is."""
    return id(obj) in published or holds(obj, published)


def read_both(left: Any, right: Any, method: str) -> None:
    """Before two things are compared or combined."""
    if id(left) not in published and id(right) not in published:
        look_into((left, right))
        return
    reflected = _REFLECTED.get(method) or f"__r{method.removeprefix('__i').removeprefix('__')}"
    for obj, name, other in ((left, method, right), (right, reflected, left)):
        table = table_of_id(id(obj))
        if table is not None and type(obj) not in EXACT:
            found = behind(type(obj), name)
            if found.name or (found.is_foreign and not isinstance(table, ContainerTable)):
                run_foreign(found, obj, (other,))
                return
    is_format = method == "__mod__" and isinstance(left, str)
    if is_format:
        make_defaults(right, _FIELDS.findall(left))
    is_counted = isinstance(left, Counter) and isinstance(right, Counter)
    name = f"collections.Counter.{method}" if is_counted else ""
    read_deeply((left, right), ("__format__",) if is_format else (), name=name)


def read_one(obj: Any, method: str) -> None:
    """Before an operator is applied to one thing."""
    table = container(obj, method)
    if table is not None and isinstance(obj, Counter):  # made of all its counts by the library
        read_deeply((obj,), (), name=f"collections.Counter.{method}")


def hash_of(obj: Any) -> int:
    """Stand for `hash`."""
    read_one(obj, "__hash__")
    return identities.hash_of(obj)


def read_deep(obj: Any) -> None:
    """Before something is put into words."""
    if reaches(obj):
        read_deeply((obj,), ("__format__", "__str__", "__repr__"), deed=WHOLE)


def read_elements(obj: Any) -> None:
    """Before a built-in function goes through something."""
    if reaches(obj):
        read_deeply((obj,), ("__iter__",), deed=WHOLE)


def read_truths(obj: Any) -> None:
    """Before the truth of each element of a container is asked for."""

    def find() -> Reach:
        reach = Reach(published)
        reach.read_truths(obj)
        return reach

    if reaches(obj):
        perform(find, WHOLE, obj)


def look_into(
    values: tuple[Any, ...],
    codes: Codes = (),
    deed: Deed = PLAIN_ACCESS,
    about: Any = None,
    detail: Any = None,
) -> None:
    """Announce that C code looks into values, in a step that makes some other accesses."""

    def find() -> Reach:
        reach = Reach(published)
        reach.touch(codes)
        reach.read(values, ())
        return reach

    if codes or any(reaches(value) for value in values):
        perform(find, deed, about, detail)


def read_deeply(
    roots: tuple[Any, ...],
    methods: tuple[str, ...] | None,
    deeply: bool = False,
    deed: Deed = PLAIN_ACCESS,
    name: str = "",
    *,
    through: bool = False,
) -> None:
    """Announce that things are read with the containers in them, by means of some methods.

    If there is a deed, it is about the first of them. `name` is what does it, if that is not
    instrumented; then it looks `through` objects that are not published, too.
    """

    def find() -> Reach:
        reach = Reach(published)
        reach.read(roots, methods, deeply, through=through or bool(name))
        reach.notes += [name] if name else []
        return reach

    perform(find, deed, roots[0] if roots else None)


HASHED = (dict, set, frozenset, types.MappingProxyType, *KEYS)
"""Containers that find elements without a look at the others."""


def contains(item: Any, obj: Any) -> None:
    """Before `item in obj`."""
    table = container(obj, "__contains__", item)
    if issubclass(type(obj), HASHED):
        if table is not None:
            say_by_key(item, table, table.membership(item), MEMBERSHIP, obj, item)
    elif type(item) in ATOMS and (table is None or ATOMS.issuperset(map(type, content(obj)))):
        if table is not None:
            say(table.membership(item), MEMBERSHIP, obj, item)
    elif table is not None:
        look_into((obj, item), table.membership(item), MEMBERSHIP, obj, item)
    elif id(obj) not in published:
        look_into((obj,), (), MEMBERSHIP, obj, item)


# Patterns


def match_keys(obj: Any, keys: tuple[Any, ...]) -> None:
    """Before the keys of a mapping pattern are looked up."""
    table = container(obj, "get")
    if table is not None:
        codes = tuple(dict.fromkeys(code for key in keys for code in table.membership(key)))
        say(codes, WHOLE, obj)


def match_class(obj: Any, kind: Any, names: tuple[str, ...], count: int) -> None:
    """Before the attributes of a class pattern are read."""
    table = table_of_id(id(obj))
    if table is None or not issubclass(type(obj), kind):
        return
    positional = tuple(getattr(kind, "__match_args__", ()))[:count]
    codes = tuple(dict.fromkeys(code for name in (*positional, *names) for code in table[name]))
    say(codes, WHOLE, obj)
