"""What an object refers to, in a fixed order, each with its name for people.

Publication (`shared`) walks along these references. The quick variants return the same without
names, which are seldom needed.
"""

from __future__ import annotations

import contextvars
import decimal
import gc
import types
import weakref
from collections.abc import Iterator, Sequence
from typing import Any

from treadle.python.runtime.atoms import ATOMS
from treadle.python.runtime.looking import (
    bases_of,
    has_dict,
    members_of,
    module_of_class,
    mro_of,
    qualname_of,
)
from treadle.python.sharing.identities import stable_hash
from treadle.python.sharing.namespaces import executed
from treadle.python.sharing.naming import name_of

_TREE_BUILDER = ("xml.etree.ElementTree", "TreeBuilder")
_basicsize: Any = type.__dict__["__basicsize__"]
_weakrefoffset: Any = type.__dict__["__weakrefoffset__"]
_POINTER = object.__basicsize__ // 2
"""Bytes that a reference takes: an object without parts has a count and a class."""

Children = Iterator[tuple[Any, str]]
"""What an object refers to, each with its name for people."""


def no_children(value: Any, label: str) -> Children:
    """Return nothing."""
    del value, label
    return iter(())


def children_of_list(value: Any, label: str) -> Children:
    """Return the items of a list, whatever a subclass says."""
    return ((item, f"{label}[{index}]") for index, item in enumerate(list.__iter__(value)))


def children_of_sequence(value: Any, label: str) -> Children:
    """Return the items of a sequence."""
    return ((item, f"{label}[{index}]") for index, item in enumerate(value))


def children_of_dict(value: Any, label: str) -> Children:
    """Yield the values of a dictionary, and keys that are objects."""
    for key, item in list(dict.items(value)):
        yield item, f"{label}[{key!r}]" if type(key) in ATOMS else f"{label}[...]"
        if type(key) not in ATOMS:
            yield key, f"key of {label}"


def children_of_defaultdict(value: Any, label: str) -> Children:
    """Yield the content of a dictionary, and what makes missing values."""
    yield from children_of_dict(value, label)
    yield value.default_factory, f"default factory of {label}"


def children_of_set(value: Any, label: str) -> Children:
    """Return the elements of a set that are objects."""
    return ((item, f"element of {label}") for item in value if type(item) not in ATOMS)


def children_of_function(value: Any, _: str) -> Children:
    """Yield what a function closes over, its defaults and its attributes."""
    for name, cell in zip(value.__code__.co_freevars, value.__closure__ or (), strict=True):
        yield cell, name
    for index, default in enumerate(value.__defaults__ or ()):
        yield default, f"default {index} of {value.__name__}"
    for name, default in (value.__kwdefaults__ or {}).items():
        yield default, f"default {name} of {value.__name__}"
    for name, item in value.__dict__.items():
        yield item, f"{value.__name__}.{name}"
    if id(value.__globals__) in executed:
        yield value.__globals__, f"globals of {value.__name__}"


def children_of_cell(value: Any, label: str) -> Children:
    """Yield what a variable of an enclosing function holds, if anything."""
    try:
        yield value.cell_contents, label
    except ValueError:
        return


def children_of_method(value: Any, label: str) -> Children:
    """Yield the object that a method is bound to, and its function."""
    owner = value.__self__
    yield owner, name_of(owner, _short_name(owner)) if label.startswith("target") else label
    yield value.__func__, label


def children_of_builtin(value: Any, label: str) -> Children:
    """A method in C refers to the object that it belongs to: `x.append`."""
    yield value.__self__, label


def children_of_partial(value: Any, label: str) -> Children:
    """Yield the function and the arguments of a partial call."""
    yield value.func, label
    for index, item in enumerate(value.args):
        yield item, f"argument {index} of {label}"
    for name, item in value.keywords.items():
        yield item, name
    for name, item in value.__dict__.items():
        yield item, f"{label}.{name}"


def children_of_generator(value: Any, _: str) -> Children:
    """Yield what a generator that has not ended works with: its variables, and what else."""
    frame = value.gi_frame
    if frame is None:
        return
    for name, item in frame.f_locals.items():
        yield item, name
    for item in gc.get_referents(value):  # cells, what it loops over, what it delegates to
        yield item, value.__name__


_ABOUT_CLASSES = frozenset(
    {"__annotations__", "__dataclass_fields__", "__dataclass_params__", "__orig_bases__",
     "__parameters__", "__type_params__", "__classcell__", "_abc_impl"}
)  # fmt: skip
"""What describes a class, or says what is known about others: nobody's data."""


def children_of_class(value: Any, _: str) -> Children:
    """Yield a class's attributes and methods, its bases and its metaclass."""
    for name, item in list(members_of(value).items()):
        if name not in _ABOUT_CLASSES and item is not stable_hash:
            yield item, f"{qualname_of(value)}.{name}"
    for base in bases_of(value):
        yield base, qualname_of(base)
    yield type(value), qualname_of(type(value))
    if "<locals>" in qualname_of(value):  # others may have some of earlier executions
        for made in type.__subclasses__(value):
            yield made, qualname_of(made)


def children_of_property(value: Any, label: str) -> Children:
    """Yield the functions behind a property."""
    yield value.fget, label
    yield value.fset, label
    yield value.fdel, label


def children_of_wrapped_method(value: Any, label: str) -> Children:
    """Yield the function behind a static method or a method of a class."""
    yield value.__func__, label


def children_of_module(value: Any, label: str) -> Children:
    """Yield what the variables of a module hold."""
    for name, item in list(attributes_of(value).items()):
        if not _is_special(name):
            yield item, f"{label}.{name}"


def has_plain_dict(kind: type) -> bool:
    """Tell whether `__dict__` of an instance runs nobody's code."""
    for owner in mro_of(kind):
        if "__dict__" in members_of(owner):
            return type(members_of(owner)["__dict__"]) in _PLAIN_ATTRIBUTES
    return True


_PLAIN_ATTRIBUTES = (types.GetSetDescriptorType, types.MemberDescriptorType)


def attributes_of(value: Any) -> dict[str, Any]:
    """Return the attributes that an object holds itself, whatever its class says."""
    if not has_plain_dict(type(value)):
        return {}
    try:
        found: dict[str, Any] = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return found


def children_of_instance(value: Any, label: str) -> Children:
    """Yield an instance's attributes, its slots and its class."""
    for name, item in list(attributes_of(value).items()):
        yield item, f"{label}.{name}"
    for owner in mro_of(type(value)):
        for name in _slots_of(owner):
            try:
                yield object.__getattribute__(value, _mangled(owner, name)), f"{label}.{name}"
            except AttributeError:
                continue
    yield type(value), qualname_of(type(value))


def _slots_of(owner: type) -> list[str]:
    """Return the slots that a class adds to its instances, but for those of every class."""
    slots = members_of(owner).get("__slots__", ())
    names = (slots,) if isinstance(slots, str) else slots
    return [name for name in names if name not in ("__dict__", "__weakref__")]


def children_of_exception(value: Any, label: str) -> Children:
    """Yield what an exception carries, and its attributes."""
    yield value.args, f"{label}.args"
    yield value.__cause__, f"{label}.__cause__"
    yield value.__context__, f"{label}.__context__"
    yield from children_of_instance(value, label)


def children_of_reference(value: Any, label: str) -> Children:
    """Yield what a weak reference leads to, and what is called when that dies."""
    yield weakref.ref.__call__(value), label
    yield value.__callback__, f"callback of {label}"


def children_of_proxy(value: Any, label: str) -> Children:
    """Yield what a proxy stands for, if it is still there."""
    try:
        yield value.__dir__.__self__, label  # a method that every object has
    except (ReferenceError, AttributeError):
        return


def children_of_finalizer(value: Any, label: str) -> Children:
    """Yield what a finalizer calls, if it is still to happen, and its arguments."""
    entry = weakref.finalize._registry.get(value)  # type: ignore[attr-defined]
    if entry is not None:
        yield entry.func, label
        yield entry.args, f"argument of {label}"
        yield entry.kwargs, f"argument of {label}"


def children_of_c_object(value: Any, label: str) -> Children:
    """Walk an object that has no attributes of its own, such as an iterator: what it holds."""
    for item in parts_in_c(value):
        yield item, label


def parts_in_c(value: Any) -> list[Any]:
    """Return what an object in C holds; some do not tell, or depend on addresses for it."""
    if isinstance(value, decimal.Context):
        context: Any = value  # these are no dictionaries, whatever type checkers are told
        return [context.flags, context.traps]
    if type(value) is contextvars.Context:
        pairs = sorted(value.items(), key=lambda pair: pair[0].name)
        return [part for pair in pairs for part in pair]
    parts = gc.get_referents(value)
    kind = type(value)
    has_gaps = (module_of_class(kind), qualname_of(kind)) == _TREE_BUILDER
    return _without_gaps(parts) if has_gaps else parts


def _without_gaps(parts: list[Any]) -> list[Any]:
    """Return parts with what is in lists instead of these: ends of one may hold no object at all.

    A `TreeBuilder` keeps its open elements in such a list; who reads its items ends the process.
    """
    found = []
    for part in parts:
        found += gc.get_referents(part) if type(part) is list else [part]
    return found


def hides_parts(kind: type) -> bool:
    """Tell whether instances hold more than attributes and slots: their class is written in C."""
    slots = sum(len(_slots_of(owner)) for owner in mro_of(kind))
    tables = has_dict(kind) + bool(_weakrefoffset.__get__(kind))
    size: int = _basicsize.__get__(kind)
    return size > object.__basicsize__ + _POINTER * (slots + tables)


def children_of_hiding(value: Any, label: str) -> Children:
    """Yield what an instance of a class in C holds, such as the function behind a wrapper in C."""
    yield from children_of_instance(value, label)
    for item in hidden_parts(value):
        yield item, label


def hidden_parts(value: Any) -> list[Any]:
    """Return what an instance refers to otherwise than by an attribute."""
    if not hides_parts(type(value)):
        return []
    attributes = attributes_of(value)
    return [item for item in parts_in_c(value) if item is not attributes]


def _is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _mangled(owner: type, name: str) -> str:
    if name.startswith("__") and not _is_special(name):
        return f"_{owner.__name__.lstrip('_')}{name}"
    return name


def _short_name(value: Any) -> str:
    """Return a name for an object that has no better one."""
    name: str = qualname_of(type(value)).rpartition(".")[2]
    return name[:1].lower() + name[1:]


# Without names


def attributes_and_class(value: Any) -> Sequence[Any]:
    """Return what an instance without slots refers to."""
    return [*value.__dict__.values(), type(value)]


def values_and_keys(value: Any) -> Sequence[Any]:
    """Return the values of a dictionary, and keys that are objects."""
    found = []
    for key, item in list(dict.items(value)):
        found.append(item)
        if type(key) not in ATOMS:
            found.append(key)
    return found


def content_of_cell(value: Any) -> Sequence[Any]:
    """Return what a variable of an enclosing function holds, if anything."""
    try:
        return (value.cell_contents,)
    except ValueError:
        return ()


def cells_and_more(value: Any) -> Sequence[Any]:
    """Return what a function refers to, in the usual case without a detour."""
    if value.__defaults__ or value.__kwdefaults__ or value.__dict__ or executed:
        return [child for child, _ in children_of_function(value, "")]
    return value.__closure__ or ()


def parts_of_partial(value: Any) -> Sequence[Any]:
    """Return what a partial call refers to."""
    found = (value.func, *value.args)
    if value.keywords or value.__dict__:
        return (*found, *value.keywords.values(), *value.__dict__.values())
    return found
