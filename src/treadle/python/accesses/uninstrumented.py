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
from collections.abc import Callable, MappingView
from dataclasses import dataclass, replace
from typing import Any

from treadle.core.events import Mode
from treadle.python.accesses import callbacks
from treadle.python.runtime import notes, slots
from treadle.python.runtime.atoms import ATOMS
from treadle.python.runtime.looking import flags_of, members_of, module_of_class, mro_of
from treadle.python.sharing.identities import is_for_good, stable_hash
from treadle.python.sharing.key_kinds import AnyKey, kinds_in
from treadle.python.sharing.namespaces import instrumented
from treadle.python.sharing.nested import CONTAINERS
from treadle.python.sharing.restoring import UNDONE
from treadle.python.sharing.tables import Table

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
    function: Any = None
    """The foreign function in Python, if it is one."""
    descriptor: Any = None
    """What has the function as its method, unless that is the object."""


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


def is_set_by_attributes(kind: type) -> bool:
    """Tell whether methods of a class that at most reads depend on what its object is set to."""
    return module_of_class(kind).partition(".")[0] in ("logging", "traceback", "string")


def is_immutable(kind: type) -> bool:
    """Tell whether instances of a class, written in C or Python, do not change."""
    is_known = module_of_class(kind) in _IMMUTABLE and kind not in _OF_CONTEXTS
    return is_known and not hasattr(kind, "__next__")


def module_of(function: types.FunctionType) -> str | None:
    """Return the module that a function was written in, whatever it says of itself, if any."""
    name: str | None = function.__globals__.get("__name__")
    return name


# Whose code it is


def behind(kind: type, method: str) -> Behind:
    """Return whose code a special method of a class is."""
    if kind in _PLAIN:
        return PLAIN
    found: Behind = remembered((kind, method), _method, kind, method)
    return found


def behind_attribute(kind: type, name: str, access: str) -> Behind:
    """Return whose code is run by reading, assigning or deleting an attribute."""
    found: Behind = remembered((kind, name, access), _attribute, kind, name, access)
    return found


def has_plain_attributes(kind: type) -> bool:
    """Tell whether no attribute of a class runs code that is not instrumented."""
    names = {name for owner in mro_of(kind)[:-1] for name in members_of(owner)} | {"_"}
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
    found: bool = remembered((kind, "calls back"), _calls_back, kind)
    return found


def _calls_back(kind: type) -> bool:
    return kind is AnyKey or any(_method(kind, name) is OWN for name in _COMPARING)


def hashes_visibly(kind: type) -> bool:
    """Tell whether `__hash__` of a class is certain to be code under test that says it returns."""
    if kind in ATOMS or kind in _PLAIN:
        return False
    found: bool = remembered((kind, "hashes"), _hashes_visibly, kind)
    return found


def _hashes_visibly(kind: type) -> bool:
    function: Any = (_lookup(kind, "__hash__") or (None, None))[1]
    if not issubclass(type(function), types.FunctionType):
        return False
    slots.settle(function)
    return any(const is callbacks.leave for const in function.__code__.co_consts)


def is_foreign(kind: type) -> bool:
    """Tell whether a class has operations that are not instrumented, and may have hidden state."""
    if kind in _PLAIN or kind in ATOMS:
        return False
    found: bool = remembered((kind,), _has_foreign_base, kind)
    return found


_OPERATORS = (
    "__add__", "__sub__", "__mul__", "__mod__", "__truediv__", "__floordiv__", "__pow__",
    "__and__", "__or__", "__xor__", "__lshift__", "__rshift__", "__eq__", "__lt__",
)  # fmt: skip


def has_foreign_operators(kind: type) -> bool:
    """Tell whether operators run code for a class that is not instrumented."""
    return is_foreign(kind) and any(behind(kind, method).is_foreign for method in _OPERATORS)


def special_methods(kind: type) -> tuple[str, ...]:
    """Return the special methods that a class has."""
    found: tuple[str, ...] = remembered((kind, None), _special_methods, kind)
    return found


def called_unasked(kind: type) -> tuple[Behind, ...]:
    """Return the functions of libraries that a class calls without being asked by their names.

    Special methods, but for those that make instances, properties and descriptors.
    """
    found: tuple[Behind, ...] = remembered((kind, "unasked"), _unasked, kind)
    return found


def _unasked(kind: type) -> tuple[Behind, ...]:
    names = dict.fromkeys(name for owner in mro_of(kind)[:-1] for name in members_of(owner))
    found = [_method(kind, name) for name in special_methods(kind)]
    found += [_attribute(kind, name, access) for name in names for access in _GENERAL]
    return tuple({one.function: one for one in found if one.function is not None}.values())


def remembered(key: Any, find: Callable[..., Any], *args: Any) -> Any:
    """Return what was found out about a class, or find it out."""
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
        for owner in mro_of(kind)
    ) or issubclass(kind, MappingView)


def _special_methods(kind: type) -> tuple[str, ...]:
    """Return the special methods that a class has, but for those that make instances."""
    found = dict.fromkeys(name for owner in mro_of(kind)[:-1] for name in members_of(owner))
    return tuple(name for name in found if name.startswith("__") and name not in _MAKING)


def _is_harmless(owner: type) -> bool:
    module = module_of_class(owner)
    if owner in _OF_CONTEXTS:
        return False
    if is_immutable(owner) or is_silent(module) or is_reader(module):
        return True
    frozen = getattr(members_of(owner).get("__dataclass_params__"), "frozen", False)
    return bool(frozen) or issubclass(owner, BaseException)


def _lookup(kind: type, name: str) -> tuple[type, Any] | None:
    """Return an attribute of a class, other than those of `object`, and the class that has it."""
    for owner in mro_of(kind)[:-1]:
        if name in members_of(owner):
            return owner, members_of(owner)[name]
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
        return Behind(True, f"{module_of(found)}.{found.__qualname__}", function=found)
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
        return replace(found, unless_stored=True) if found.name else PLAIN
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
    return replace(found, unless_stored=is_weak, descriptor=descriptor) if found.name else PLAIN


_HEAP_TYPE = 1 << 9


def _shows_state(owner: type, descriptor: Any) -> bool:
    """Tell whether an attribute is what an object in C says of itself, such as `closed`."""
    is_in_c = not flags_of(owner) & _HEAP_TYPE or module_of_class(owner) not in modules_under_test
    return (
        isinstance(descriptor, types.GetSetDescriptorType | types.MemberDescriptorType)
        and is_in_c
        and owner not in _PLAIN
        and not _is_harmless(owner)
        and "__slots__" not in members_of(owner)
        and descriptor.__name__ not in ("__dict__", "__weakref__")
    )


_STATE = "position"


def state_of(table: Table) -> int:
    """Return the code of changing what an object hides."""
    if table.kind not in UNDONE and is_for_good(table.key):
        notes.outlives(table.label)
    return table.at(_STATE, Mode.WRITE)


def look_at_state_of(table: Table) -> int:
    """Return the code of reading what an object hides."""
    return table.at(_STATE, Mode.READ)
