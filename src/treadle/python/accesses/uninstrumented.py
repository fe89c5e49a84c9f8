"""Code that is not instrumented, behind operators and attributes: whose it is, what it may touch.

`cache[key]`, `len(cache)` and `cache.size` run code of the class of `cache`. Code under test
announces what it does itself, and what built-in containers do is known. The special methods and
properties of all other classes are *foreign*: they are taken to write all that hangs on the object.
"""

from __future__ import annotations

import decimal
import numbers
import types
import typing
import weakref
from array import array
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, MappingView
from dataclasses import dataclass
from typing import Any

from treadle.core.events import OPEN, Codes, Mode
from treadle.python.accesses import callbacks
from treadle.python.runtime import notes, slots
from treadle.python.runtime.atoms import ATOMS
from treadle.python.runtime.looking import module_of_class
from treadle.python.sharing import children
from treadle.python.sharing.containers import ContainerTable, whole_read, whole_write
from treadle.python.sharing.identities import is_for_good, stable_hash
from treadle.python.sharing.key_kinds import AnyKey, kinds_in
from treadle.python.sharing.namespaces import instrumented
from treadle.python.sharing.nested import CONTAINERS, SHOWING, content, shown_by
from treadle.python.sharing.restoring import UNDONE
from treadle.python.sharing.tables import ObjectTable, Table

modules_under_test: set[str] = set()
"""Names of the modules whose classes are code under test."""
_SILENT = frozenset(
    {
        "threading", "_thread", "queue", "concurrent", "contextlib", "contextvars", "functools",
        "enum", "abc", "_abc", "typing", "types", "treadle", "importlib", "_frozen_importlib",
        "_frozen_importlib_external", "sched", "asyncio", "selectors", "time", "greenlet",
        "posixpath", "genericpath", "pdb", "bdb",
    }
)  # fmt: skip
"""Libraries that announce themselves, only call back, or keep no shared data of the test's."""
_READERS = frozenset(
    {
        "dataclasses", "logging", "warnings", "re", "unittest", "pytest", "_pytest", "inspect",
        "traceback", "linecache", "pathlib", "hypothesis", "_py_warnings",
    }
)  # fmt: skip
"""Libraries that at most read what they are given."""
CALLBACKS = frozenset({"collections.abc", "_collections_abc"})
"""Libraries whose classes do everything by means of the methods of classes derived from them."""
_IMMUTABLE = frozenset(
    {"re", "datetime", "decimal", "_decimal", "_pydecimal", "uuid", "zoneinfo", "_struct",
     "fractions", "ipaddress", "pathlib", "pathlib._local", "_operator", "_functools"}
)  # fmt: skip
"""Modules whose objects do not change."""
_OF_CONTEXTS = frozenset({decimal.Context, *type(decimal.DefaultContext.flags).__mro__[:2]})
"""Classes of `decimal` whose objects do: contexts, and the flags that each has."""
_PLAIN = frozenset(
    {
        object, list, dict, set, deque, bytearray, array, tuple, frozenset, str, bytes, int, float,
        complex, bool, range, slice, type, OrderedDict, defaultdict, Counter, numbers.Number,
        typing.Generic, types.FunctionType, types.MethodType, types.BuiltinFunctionType,
        types.CellType, types.ModuleType, property,
        types.SimpleNamespace, types.MappingProxyType, BaseException,
        weakref.ProxyType, weakref.CallableProxyType,
    }
)  # fmt: skip
"""Classes whose own methods are known, or have nothing to hide."""
_INERT = (
    type, types.FunctionType, types.CellType, types.BuiltinFunctionType, types.MethodType,
    types.ModuleType, types.CodeType, types.FrameType,
)  # fmt: skip
_INSTEAD = {
    "__bool__": ("__bool__", "__len__"),
    "__contains__": ("__contains__", "__iter__", "__getitem__"),
    "__iter__": ("__iter__", "__getitem__"),
    "__reversed__": ("__reversed__", "__getitem__"),
    "__format__": ("__format__", "__str__", "__repr__"),
    "__str__": ("__str__", "__repr__"),
    **{
        f"__i{name}__": (f"__i{name}__", f"__{name}__")
        for name in ("add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "pow", "lshift",
                     "rshift", "and", "xor", "or")
    },
}  # fmt: skip
"""What is looked for instead of a special method that a class does not have."""
_CORE = ("__getitem__", "__setitem__", "__delitem__", "__iter__", "__len__", "__contains__",
         "insert", "add", "discard")  # fmt: skip
"""What the classes of `collections.abc` are built on."""
_COMPARING = ("__hash__", "__eq__", "__ne__", "__lt__", "__gt__", "__le__", "__ge__", "__index__")
"""What C code calls to look for something, or to put things in order."""
_ON_ELEMENTS = ("__eq__", "__lt__", "__format__", "__bool__", "__add__", "__iter__")
"""What functions do with the elements of what they are given."""
_MAKING = frozenset(
    {"__init__", "__new__", "__init_subclass__", "__class_getitem__", "__subclasshook__",
     "__dict__", "__weakref__", "__module__", "__doc__", "__slots__", "__annotations__",
     "__hash__", "__match_args__", "__post_init__", "__del__", "__static_attributes__",
     "__firstlineno__", "__set_name__", "__qualname__", "__abstractmethods__",
     "__parameters__", "__orig_bases__", "__getattribute__", "__setattr__", "__delattr__",
     "__dataclass_fields__", "__dataclass_params__", "__replace__"}
)  # fmt: skip
"""What classes have under such names that says nothing about what operators do."""
_MOST_CLASSES = 4000


@dataclass(frozen=True, slots=True, eq=False)
class Behind:
    """Whose code an operation runs."""

    is_foreign: bool = False
    name: str = ""
    """The name of a foreign function in Python; empty in C."""
    unless_stored: bool = False
    """Whether it runs only if the object does not hold an attribute of that name itself."""


PLAIN = Behind()
"""What is known: of a built-in class, or of one that is taken to change nothing."""
OWN = Behind()
"""Code under test, which announces itself."""
_IN_C = Behind(is_foreign=True)
IN_STATE = Behind(is_foreign=True)
"""No code: an attribute that shows the state of an object in C."""


def is_silent(module: str | None) -> bool:
    """Tell whether functions of a module need no event."""
    return module is None or module in _SILENT or module.partition(".")[0] in _SILENT


def is_reader(module: str | None) -> bool:
    """Tell whether functions of a module at most read their arguments."""
    return module is not None and module.partition(".")[0] in _READERS


def is_immutable(kind: type) -> bool:
    """Tell whether instances of a class, written in C or Python, do not change."""
    return module_of_class(kind) in _IMMUTABLE and kind not in _OF_CONTEXTS


def module_of(function: types.FunctionType) -> str | None:
    """Return the module that a function was written in, whatever it says of itself, if any."""
    name: str | None = function.__globals__.get("__name__")
    return name


# Whose code it is


def behind(kind: type, method: str) -> Behind:
    """Return whose code a special method of a class is."""
    if kind in _PLAIN:
        return PLAIN
    found: Behind = _remembered((kind, method), _method, kind, method)
    return found


def behind_attribute(kind: type, name: str, access: str) -> Behind:
    """Return whose code is run by reading, assigning or deleting an attribute."""
    found: Behind = _remembered((kind, name, access), _attribute, kind, name, access)
    return found


def has_plain_attributes(kind: type) -> bool:
    """Tell whether no attribute of a class runs code that is not instrumented."""
    names = {name for owner in kind.__mro__[:-1] for name in vars(owner)} | {"_"}
    is_plain = not any(
        behind_attribute(kind, name, access).is_foreign for name in names for access in _GENERAL
    )
    if is_plain:
        instrumented.plain_classes.add(kind)
    return is_plain


def calls_back(value: Any) -> bool:
    """Tell whether hashing or comparing something may run code under test."""
    return any(map(kind_calls_back, kinds_in(value)))


def may_call_back(value: Any) -> bool:
    """Tell whether comparing something, or what is in it, may run code under test."""
    kind = type(value)
    return kind not in ATOMS and (issubclass(kind, CONTAINERS) or kind_calls_back(kind))


def kind_calls_back(kind: type) -> bool:
    """Tell whether hashing, comparing or counting with instances of a class does."""
    if kind in ATOMS or kind in _PLAIN:
        return False
    found: bool = _remembered((kind, "calls back"), _calls_back, kind)
    return found


def _calls_back(kind: type) -> bool:
    return kind is AnyKey or any(_method(kind, name) is OWN for name in _COMPARING)


def hashes_visibly(kind: type) -> bool:
    """Tell whether `__hash__` of a class is certain to be code under test that says it returns."""
    if kind in ATOMS or kind in _PLAIN:
        return False
    found: bool = _remembered((kind, "hashes"), _hashes_visibly, kind)
    return found


def _hashes_visibly(kind: type) -> bool:
    function: Any = (_lookup(kind, "__hash__") or (None, None))[1]
    return issubclass(type(function), types.FunctionType) and any(
        const is callbacks.leave for const in function.__code__.co_consts
    )


def is_foreign(kind: type) -> bool:
    """Tell whether a class has operations that are not instrumented, and may have hidden state."""
    if kind in _PLAIN or kind in ATOMS:
        return False
    found: bool = _remembered((kind,), _has_foreign_base, kind)
    return found


_OPERATORS = (
    "__add__", "__sub__", "__mul__", "__mod__", "__truediv__", "__floordiv__", "__pow__",
    "__and__", "__or__", "__xor__", "__lshift__", "__rshift__", "__eq__", "__lt__",
)  # fmt: skip


def has_foreign_operators(kind: type) -> bool:
    """Tell whether operators run code for a class that is not instrumented."""
    return is_foreign(kind) and any(behind(kind, method).is_foreign for method in _OPERATORS)


def _remembered(key: Any, find: Callable[..., Any], *args: Any) -> Any:
    known = instrumented.about_classes
    found = known.get(key)
    if found is None:
        if len(known) > _MOST_CLASSES:  # classes that a test defines are new in every execution
            instrumented.forget()
        found = known[key] = find(*args)
    return found


def _has_foreign_base(kind: type) -> bool:
    return any(
        owner not in _PLAIN
        and module_of_class(owner) not in modules_under_test
        and module_of_class(owner) not in CALLBACKS
        and not _is_harmless(owner)
        and not slots.take_in(module_of_class(owner))
        for owner in kind.__mro__
    ) or issubclass(kind, MappingView)


def _special_methods(kind: type) -> tuple[str, ...]:
    """Return the special methods that a class has, but for those that make instances."""
    found = dict.fromkeys(name for owner in kind.__mro__[:-1] for name in vars(owner))
    return tuple(name for name in found if name.startswith("__") and name not in _MAKING)


def _is_harmless(owner: type) -> bool:
    module = module_of_class(owner)
    if owner in _OF_CONTEXTS:
        return False
    if is_immutable(owner) or is_silent(module) or is_reader(module):
        return True
    frozen = getattr(owner.__dict__.get("__dataclass_params__"), "frozen", False)
    return bool(frozen) or issubclass(owner, BaseException)


def _lookup(kind: type, name: str) -> tuple[type, Any] | None:
    """Return an attribute of a class, other than those of `object`, and the class that has it."""
    for owner in kind.__mro__[:-1]:
        if name in owner.__dict__:
            return owner, owner.__dict__[name]
    return None


def _method(kind: type, method: str) -> Behind:
    if method == "__getitem__" and issubclass(kind, dict):
        missing = _lookup(kind, "__missing__")
        if missing is not None and _judge(kind, *missing).is_foreign:
            return _judge(kind, *missing)
    for name in _INSTEAD.get(method, (method,)):
        found = _lookup(kind, name)
        if found is not None:
            return _judge(kind, *found)
    return PLAIN


def _judge(kind: type, owner: type, found: Any) -> Behind:
    """Return whose a method is, as it is found in a class."""
    found = getattr(found, "__func__", found)
    while hasattr(found, "__wrapped__"):
        found = found.__wrapped__
    if found is None or found is stable_hash:
        return PLAIN
    if isinstance(found, types.FunctionType):
        if id(found.__globals__) in instrumented or slots.take_in(module_of(found) or ""):
            return OWN
        if owner in _PLAIN or _is_harmless(owner) or module_of(found) is None:
            return PLAIN
        if module_of(found) in CALLBACKS:
            return _judge_callback(kind)
        return Behind(is_foreign=True, name=f"{module_of(found)}.{found.__qualname__}")
    return PLAIN if owner in _PLAIN or _is_harmless(owner) else _IN_C


def _judge_callback(kind: type) -> Behind:
    """A method of `collections.abc` is foreign if the methods are that it calls."""
    if issubclass(kind, MappingView):
        return _IN_C
    for name in _CORE:
        found = _lookup(kind, name)
        if found is not None and found[0].__module__ not in CALLBACKS:
            core = _judge(kind, *found)
            if core.is_foreign:
                return core
    return PLAIN


_GENERAL = {"get": "__getattribute__", "set": "__setattr__", "delete": "__delattr__"}
_DESCRIPTOR = {"get": "__get__", "set": "__set__", "delete": "__delete__"}
_OF_PROPERTY = {"get": "fget", "set": "fset", "delete": "fdel"}


def _attribute(kind: type, name: str, access: str) -> Behind:
    general = _lookup(kind, _GENERAL[access])
    if general is not None:
        found = _judge(kind, *general)
        if found.name:
            return found
    held = _lookup(kind, name)
    if held is None:
        fallback = _lookup(kind, "__getattr__") if access == "get" else None
        found = PLAIN if fallback is None else _judge(kind, *fallback)
        if access == "get" and general is not None and _judge(kind, *general) is _IN_C:
            return IN_STATE  # C code that knows more attributes than the class, as `flags`
        return Behind(True, found.name, True) if found.name else PLAIN
    owner, descriptor = held
    if isinstance(descriptor, property):
        function = getattr(descriptor, _OF_PROPERTY[access])
        found = PLAIN if function is None else _judge(kind, owner, function)
        return found if found.name else PLAIN
    if access == "get" and _shows_state(owner, descriptor):
        return IN_STATE
    code = _lookup(type(descriptor), _DESCRIPTOR[access])
    if code is None or not isinstance(code[1], types.FunctionType):
        return PLAIN
    found = _judge(type(descriptor), *code)
    is_weak = _lookup(type(descriptor), "__set__") is None
    return Behind(True, found.name, is_weak) if found.name else PLAIN


def _shows_state(owner: type, descriptor: Any) -> bool:
    """Tell whether an attribute is what an object in C says of itself, such as `closed`."""
    is_in_c = not owner.__flags__ & _HEAP_TYPE or module_of_class(owner) not in modules_under_test
    return (
        isinstance(descriptor, types.GetSetDescriptorType | types.MemberDescriptorType)
        and is_in_c
        and owner not in _PLAIN
        and not _is_harmless(owner)
        and "__slots__" not in vars(owner)
        and descriptor.__name__ not in ("__dict__", "__weakref__")
    )


# What it touches


class Reach:
    """Collects what an operation may touch that is not looked into."""

    def __init__(self, published: dict[int, Table]) -> None:
        self._published = published
        self._codes: dict[int, None] = {}
        self._is_open = False
        self._seen: set[int] = set()
        self.missing: list[tuple[Any, str]] = []
        """What hangs on a published object and is not published: it was put there unseen."""
        self.notes: list[str] = []
        """Names of foreign functions that are called."""

    @property
    def codes(self) -> Codes:
        """What is touched, in a fixed order, what the operation is about first."""
        if not self._codes:
            return ()
        first, *others = self._codes
        return (first, *sorted(others), *([OPEN] if self._is_open else []))

    def _add(self, codes: Iterable[int]) -> None:
        self._codes.update(dict.fromkeys(codes))

    def touch(self, codes: Codes) -> None:
        """Add accesses that are known."""
        self._add(codes)

    def write(self, roots: Iterable[Any], others: Iterable[Any] = (), name: str = "") -> None:
        """Add that everything which hangs on some objects is written.

        Of the others only containers and objects of foreign classes are. `name` is an attribute
        that may be made.
        """
        self._is_open = True
        todo = [*((value, True) for value in roots), *((value, False) for value in others)]
        while todo:
            value, is_root = todo.pop(0)
            if type(value) in ATOMS or id(value) in self._seen or issubclass(type(value), _INERT):
                continue
            self._seen.add(id(value))
            parts = self._write_one(value, is_root, name)
            if not ATOMS.issuperset(map(type, parts)):  # of numbers and strings there are many
                todo += [(part, False) for part in parts if type(part) not in ATOMS]

    def _write_one(self, value: Any, is_root: bool, name: str) -> Iterable[Any]:
        """Add what is written of one object; return what hangs on it."""
        kind = type(value)
        table = self._published.get(id(value))
        if table is None:
            return value if kind in (tuple, frozenset) else ()
        foreign = is_foreign(kind)
        if isinstance(table, ContainerTable):
            self._add(table.whole_write())
            found = content(value)
            self._miss(found, f"{table.label}[...]")
            return [*found, *self._write_attributes(value, table, "")] if foreign else found
        if type(table) is not ObjectTable:
            self._add(whole_write(table, ()) if is_root else ())
            return ()
        if not is_root and not foreign:
            return ()
        if foreign:
            self._add((state_of(table),))
        return self._write_attributes(value, table, name if is_root else "")

    def _write_attributes(self, value: Any, table: Any, name: str) -> list[Any]:
        if issubclass(type(value), types.GeneratorType):
            frame = value.gi_frame
            is_own = frame is None or id(frame.f_globals) in instrumented
            return [] if is_own else self._hidden(value, table)
        if not type(value).__flags__ & _HEAP_TYPE:
            self._add(whole_write(table, ()))
            return self._hidden(value, table)
        held = {label[1:]: part for part, label in children.children_of_instance(value, "")}
        held = {key: part for key, part in held.items() if not issubclass(type(part), type)}
        for key, part in held.items():
            self._miss([part], f"{table.label}.{key}")
        self._add(whole_write(table, ()))
        for key in dict.fromkeys([*held, *([name] if name else [])]):
            self._add(table.stored(key))
        hidden = children.hidden_parts(value)
        self._miss(hidden, table.label)
        return [*held.values(), *hidden]

    def _hidden(self, value: Any, table: Table) -> list[Any]:
        """Return what an object in C holds."""
        found = children.parts_in_c(value)
        self._miss(found, table.label)
        return found

    def _miss(self, parts: Iterable[Any], label: str) -> None:
        """Take note of what hangs on something published, if it is not published itself."""
        for part in parts:
            kind = type(part)
            if kind in (tuple, frozenset):
                self._miss(part, label)
            elif (
                kind not in ATOMS
                and id(part) not in self._published
                and not issubclass(kind, weakref.ref)  # it depends on chance what those lead to
                and (not issubclass(kind, _INERT) or _is_under_test(part))
            ):
                self.missing.append((part, label))

    def read(
        self,
        roots: tuple[Any, ...],
        methods: tuple[str, ...] | None,
        deeply: bool = False,
        *,
        through: bool = False,
    ) -> None:
        """Add that some objects are read, with the containers in them.

        `methods` are the special methods that are called, None stands for any; `deeply` also reads
        the attributes of all objects that are met, and those of objects that are not published if
        it looks `through` them: the words of such an object are code under test.
        """
        todo: list[tuple[Any, tuple[str, ...] | None, bool]]
        todo = [(value, methods, False) for value in reversed(roots)]
        while todo:
            value, called, may_change = todo.pop()
            kind = type(value)
            if kind in ATOMS or id(value) in self._seen:
                continue
            table = self._published.get(id(value))
            if table is not None and self._runs_foreign(kind, table, called):
                self.write([value])
                continue
            self._seen.add(id(value))
            if isinstance(table, ContainerTable):
                self._add(table.whole_read())
                self._is_open = self._is_open or may_change
                may_change = True
            elif (type(table) is ObjectTable or table is None) and (
                issubclass(kind, SHOWING)
                or (deeply and (through or table is not None) and not issubclass(kind, _INERT))
            ):
                self._add(whole_read(table) if table is not None else ())
                todo += [(part, _ON_ELEMENTS, True) for part in shown_by(value)]
                self._is_open = True
            todo += [(part, _ON_ELEMENTS, may_change) for part in content(value)]

    def read_truths(self, root: Any) -> None:
        """Add that a container is gone through, and the truth of its elements asked for."""
        table = self._published.get(id(root))
        if table is not None and self._runs_foreign(type(root), table, ("__iter__",)):
            self.write([root])
            return
        if isinstance(table, ContainerTable):
            self._add(table.whole_read())
        for part in content(root):
            found = self._published.get(id(part))
            if found is None:
                continue
            if self._runs_foreign(type(part), found, ("__bool__",)):
                self.write([part])
            elif isinstance(found, ContainerTable):
                self._add(found.size())
                self._is_open = self._is_open or table is not None

    def _runs_foreign(self, kind: type, table: Table, methods: tuple[str, ...] | None) -> bool:
        if not is_foreign(kind):
            return False
        if methods is None:
            methods = _remembered((kind, None), _special_methods, kind)
        for method in methods:
            found = behind(kind, method)
            if found.name or (found.is_foreign and not isinstance(table, ContainerTable)):
                self.notes += [found.name] if found.name else []
                return True
        return False


_HEAP_TYPE = 1 << 9


def _is_under_test(value: Any) -> bool:
    """Tell whether a class, function or method is of code under test."""
    if issubclass(type(value), type):
        return module_of_class(value) in modules_under_test
    function = getattr(value, "__func__", value)
    return type(function) is types.FunctionType and id(function.__globals__) in instrumented


_STATE = "position"


def state_of(table: Table) -> int:
    """Return the code of changing what an object hides."""
    if table.kind not in UNDONE and is_for_good(table.key):
        notes.outlives(table.label)
    return table.at(_STATE, Mode.WRITE)


def look_at_state_of(table: Table) -> int:
    """Return the code of reading what an object hides."""
    return table.at(_STATE, Mode.READ)
