"""What calls of functions that are not code under test touch: one event each.

A guided tour. `resolve` sees the callable of every call. Functions under test come back as they
are: they announce what they do themselves. For a function written in C, a method of a built-in
container or a function of a library, something comes back that announces ONE event with all that
the function touches, and then calls it. What functions touch is in tables: `known` for functions
and classes, `methods` for methods of containers. A function that is in no table and gets something
published is taken to write all of it (the safe default).
"""

from __future__ import annotations

import functools
import itertools
import operator
import sys
import types
from collections.abc import Callable
from typing import Any

from treadle.events import OPEN, Codes, Mode
from treadle.threads import control, hooks, iterate, known, locks
from treadle.threads.containers import (
    ContainerTable,
    ViewTable,
    instrumented,
    whole_read,
    whole_write,
)
from treadle.threads.hooks import published
from treadle.threads.known import (
    ATTRIBUTE_METHODS,
    CLASSES,
    FUNCTIONS,
    LIBRARY,
    PURE_METHODS,
    published_among,
    read_everything,
    say,
)
from treadle.threads.methods import READING_ARGUMENTS, codes_of_method, publish_arguments
from treadle.threads.shared import ATOMS, ObjectTable

Function = Callable[..., Any]

modules_under_test: set[str] = set()
"""Names of the modules whose classes are code under test."""
_SILENT = frozenset(
    {
        "threading", "_thread", "queue", "concurrent", "contextlib", "contextvars", "functools",
        "_weakrefset", "weakref", "enum", "abc", "_abc", "typing", "types", "dataclasses",
        "logging", "warnings", "re", "unittest", "pytest", "_pytest", "treadle", "inspect",
        "traceback", "linecache", "os", "posixpath", "genericpath", "pathlib", "importlib",
        "_frozen_importlib", "_frozen_importlib_external", "sched", "asyncio", "selectors", "time",
        "hypothesis", "greenlet", "collections.abc", "_collections_abc",
    }
)  # fmt: skip
"""Libraries that announce themselves, only call back, or keep no shared data of the test's."""
_DATA_LIBRARIES = frozenset({"collections.abc", "_collections_abc", "weakref", "_weakrefset"})
"""Of these, the libraries whose classes hold data."""
_IMMUTABLE = frozenset({"re", "datetime", "decimal", "_decimal", "uuid", "zoneinfo", "_struct"})
"""Modules in C whose objects do not change."""
_HARMLESS_MODULES = frozenset(
    {"math", "cmath", "time", "posix", "sys", "_thread", "gc", "_operator", "_abc", "_warnings",
     "faulthandler", "_signal", "_contextvars", "_weakref", "_imp", "errno", "_stat", "marshal"}
)  # fmt: skip
"""Modules in C whose functions look into no container."""


def _take_in_nothing(module: str) -> bool:
    """Stand in for `take_in` outside of an exploration."""
    del module
    return False


take_in: Callable[[str], bool] = _take_in_nothing
"""Asked, before code of a module is called, to instrument it; tells whether it just did so."""


def resolve(function: Any) -> Any:
    """Return what to call instead of a callable."""
    kind = function.__class__
    if kind is types.FunctionType:
        if id(function.__globals__) in instrumented:
            return function
        return _of_library(function, function)
    if kind is types.MethodType:
        inner = function.__func__
        if inner.__class__ is not types.FunctionType or id(inner.__globals__) in instrumented:
            return function
        return _of_library(function, inner)
    if kind is types.BuiltinFunctionType:
        owner = function.__self__
        if owner.__class__ is types.ModuleType:
            stand_in = FUNCTIONS.get(function)
            return _of_c_module(function, owner) if stand_in is None else stand_in
        return _of_object(function, owner)
    if isinstance(function, type):
        return _of_class(function)
    other = _CALLABLES.get(kind)
    return function if other is None else other(function)


def enter(manager: Any) -> Any:
    """Return what to enter instead of a context manager: locks made before have a model."""
    return locks.model_of(manager) if _is_real_lock(manager) else manager


def _is_real_lock(obj: Any) -> bool:
    """Tell whether something is a lock that would block all threads at once."""
    kind = obj.__class__
    return (kind is locks.REAL_LOCK or kind is locks.REAL_RLOCK) and control.current() is not None


def _revise(codes: Codes) -> None:
    """Add accesses to the current step; which ones, depended on what it read."""
    me = control.task()
    if isinstance(me.doing, tuple):
        me.doing = tuple(dict.fromkeys((*me.doing, *codes, OPEN)))


hooks.revise = _revise


def _special(obj: Any, method: str) -> None:
    """Announce a special method of a published object, unless it is code under test.

    A method in Python announces itself if it is under test; else it may do anything with the
    object. Of methods in C, only those of iterators change something.
    """
    kind = obj.__class__
    found = next((vars(one)[method] for one in kind.__mro__ if method in vars(one)), None)
    if found.__class__ is types.FunctionType:
        if id(found.__globals__) in instrumented or take_in(found.__module__):
            return
        holds_data = not _is_silent(found.__module__) or found.__module__ in _DATA_LIBRARIES
        if holds_data and _announce_unknown((obj,)):
            _note_unobserved(found, sys._getframe(3))
    elif method == "__iter__" and iterate.is_shared_iterator(obj):
        say(iterate.next_codes(obj))


hooks.on_special = _special


known.resolve = resolve


# What is called


def _of_object(function: Any, owner: Any) -> Any:
    """Return what to call instead of a method in C that is bound to an object."""
    if _is_real_lock(owner):
        return getattr(locks.model_of(owner), function.__name__)
    kind = owner.__class__
    table = published.get(id(owner))
    if table is None:
        if published and function.__name__ in READING_ARGUMENTS:
            return functools.partial(_read_arguments, function)
        return function
    if isinstance(table, ContainerTable):
        return functools.partial(_on_container, function, owner, table)
    if kind.__module__ in _IMMUTABLE or isinstance(owner, type):
        return function
    if isinstance(owner, BaseException):
        return function
    return functools.partial(_on_state, function, owner)


def _of_c_module(function: Any, module: types.ModuleType) -> Any:
    """Return what to call instead of a function of a module in C."""
    if not published or module.__name__ in _HARMLESS_MODULES:
        return function
    return functools.partial(_call_unknown, function)


def _of_class(kind: Any) -> Any:
    """Return what to call instead of a class."""
    if kind.__module__ in modules_under_test or take_in(kind.__module__) or not published:
        return kind
    stand_in = CLASSES.get(kind)
    if stand_in is not None:
        return stand_in
    if kind.__module__ == "builtins" or _is_silent(kind.__module__):
        return kind
    return functools.partial(_call_unknown, kind)


def _of_library(function: Any, inner: types.FunctionType) -> Any:
    """Return what to call instead of a function in Python that is not under test."""
    if take_in(inner.__module__) or not published:
        return function
    stand_in = LIBRARY.get((inner.__module__, inner.__qualname__))
    if stand_in is not None:
        return functools.partial(stand_in, function)
    if _is_silent(inner.__module__):
        return function
    return functools.partial(_call_unobserved, function)


def _is_silent(module: str | None) -> bool:
    return module is None or module in _SILENT or module.partition(".")[0] in _SILENT


def _of_partial(function: Any) -> Any:
    inner = resolve(function.func)
    if inner is function.func:
        return function
    return functools.partial(inner, *function.args, **function.keywords)


def _of_descriptor(function: Any) -> Any:
    return functools.partial(_call_unbound, function)


def _of_reader(function: Any) -> Any:
    return functools.partial(read_everything, function)


def _of_cache(function: Any) -> Any:
    """A cache in C: its content is a location, and its function is called back."""
    return functools.partial(_on_state, function, function)


_CALLABLES: dict[type, Callable[[Any], Any]] = {
    functools.partial: _of_partial,
    types.MethodDescriptorType: _of_descriptor,
    types.WrapperDescriptorType: _of_descriptor,
    types.ClassMethodDescriptorType: lambda function: function,
    types.MethodWrapperType: lambda function: _of_object(function, function.__self__),
    operator.itemgetter: _of_reader,
    operator.attrgetter: _of_reader,
    operator.methodcaller: lambda function: functools.partial(_call_unknown, function),
    type(functools.lru_cache(int)): _of_cache,
}


# Calls that announce themselves


def _call_unbound(function: Any, *args: Any, **kwargs: Any) -> Any:
    """Call `list.append(x, 1)` as `x.append(1)`."""
    if not args or id(args[0]) not in published:
        for argument in published_among(args):
            say(whole_read(published[id(argument)]))
        return function(*args, **kwargs)
    return resolve(function.__get__(args[0]))(*args[1:], **kwargs)


def _on_container(
    function: Any, owner: Any, table: ContainerTable, *args: Any, **kwargs: Any
) -> Any:
    """Call a method of a published container."""
    name = function.__name__
    if name in ATTRIBUTE_METHODS:
        return ATTRIBUTE_METHODS[name](owner, *args)
    if name == "__iter__":
        return iterate.iterator_of(owner)
    known.resolve_key(kwargs)
    arguments = [*args, *kwargs.values()]
    publish_arguments(table, name, args, kwargs)
    read = [code for value in published_among(arguments) for code in _content(value)]
    say((*codes_of_method(table, name, args, kwargs), *read))
    result = function(*args, **kwargs)
    if name in ("keys", "values", "items") and not isinstance(result, list):
        ViewTable(table, result.__class__).stand_for(result)
    return result


def _content(value: Any) -> Codes:
    table = published.get(id(value))
    if isinstance(table, ContainerTable):
        return table.whole_read()
    return iterate.next_codes(value) if iterate.is_shared_iterator(value) else ()


def _on_state(function: Any, owner: Any, *args: Any, **kwargs: Any) -> Any:
    """Call something whose state is unknown: it is one location."""
    name = getattr(function, "__name__", "")
    if name in ATTRIBUTE_METHODS:
        return ATTRIBUTE_METHODS[name](owner, *args)
    if name in PURE_METHODS:
        return function(*args, **kwargs)
    table = published.get(id(owner))
    if table is None:
        return function(*args, **kwargs)
    _hand_out_all(args, table.label)
    say((table.at("position", Mode.WRITE, " position"),))
    result = function(*args, **kwargs)
    if owner is function:  # a cache keeps what its function returned, in that function's last step
        hooks.hand_out(result, f"{table.label}()")
        _revise((table.at("position", Mode.WRITE, " position"),))
    return result


def _read_arguments(function: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a method of somebody's own container that reads its arguments, or calls one."""
    known.resolve_key(kwargs)
    say(tuple(code for value in published_among(args) for code in _content(value)))
    if "update" in function.__name__ or function.__name__ in ("extend", "extendleft"):
        hooks.effects[0] = True
    return function(*args, **kwargs)


def _call_unknown(function: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a function that may do anything with what it gets."""
    _announce_unknown((*args, *kwargs.values()))
    return function(*args, **kwargs)


def _call_unobserved(function: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a function of a library with published objects, and note that."""
    owner = getattr(function, "__self__", None)
    if _announce_unknown((owner, *args, *kwargs.values())):
        _note_unobserved(getattr(function, "__func__", function), sys._getframe(1))
    return function(*args, **kwargs)


def _note_unobserved(function: Any, caller: types.FrameType) -> None:
    """Note that a function of a library ran on published objects, once for each."""
    name = f"{function.__module__}.{function.__qualname__}"
    if all(name != noted for noted, _ in hooks.unobserved):
        hooks.unobserved.append((name, f"{caller.f_code.co_filename}:{caller.f_lineno}"))


def _announce_unknown(values: tuple[Any, ...]) -> bool:
    """Announce that everything of some values may be written; tell if something is published."""
    mutable = [value for value in values if _is_mutable(value)]
    if not mutable:
        return False
    label = published[id(mutable[0])].label
    _hand_out_all(values, label)
    codes: list[int] = []
    for value in mutable:
        table = published[id(value)]
        attributes = getattr(value, "__dict__", ()) if isinstance(table, ObjectTable) else ()
        codes += whole_write(table, attributes)
    if codes:
        say((*codes, OPEN))
    return True


def _is_mutable(value: Any) -> bool:
    """Tell whether something is published that a function might change."""
    return id(value) in published and not isinstance(
        value, type | types.FunctionType | types.CellType
    )


def _hand_out_all(values: tuple[Any, ...], label: str) -> None:
    for value in values:
        if value.__class__ not in ATOMS:
            hooks.hand_out(value, f"{label}[...]")


# What goes through its arguments one by one, and may call C functions


def _lazy(function: Any) -> Function:
    """Stand for something that goes through its arguments one by one."""

    def call(*args: Any, **kwargs: Any) -> Any:
        ready = [iterate.iterate(value) if id(value) in published else value for value in args]
        if ready and function in (map, filter, itertools.starmap, functools.reduce):
            ready[0] = resolve(args[0])
        return function(*ready, **kwargs)

    return call


FUNCTIONS[functools.reduce] = _lazy(functools.reduce)
for _kind in (enumerate, zip, map, filter, *vars(itertools).values()):
    if isinstance(_kind, type) and _kind.__module__ in ("builtins", "itertools"):
        CLASSES[_kind] = _lazy(_kind)
