"""What calls of functions that are not code under test touch: one event each.

A guided tour. `resolve` sees the callable of every call. Functions under test come back as they
are: they announce what they do themselves. For a function written in C, a method of a built-in
container or a function of a library, something comes back that announces ONE event with all that
the function touches, and then calls it. What a function touches is in tables: of functions
(`_FUNCTIONS`), classes (`_CLASSES`), methods of containers (`methods`) and library functions
(`_LIBRARY`). A function that is in no table and gets something published is taken to write all of
it (the safe default).
"""

from __future__ import annotations

import bisect
import builtins
import functools
import heapq
import itertools
import operator
import sys
import types
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any

from treadle.events import OPEN, Codes, Mode
from treadle.threads import hooks, iterate, locks
from treadle.threads.containers import (
    AttributesTable,
    ContainerTable,
    ViewTable,
    instrumented,
    is_overridden,
    whole_read,
    whole_write,
)
from treadle.threads.hooks import published
from treadle.threads.methods import READING_ARGUMENTS, codes_of_method, publish_arguments
from treadle.threads.shared import ATOMS, ObjectTable

Function = Callable[..., Any]

modules_under_test: set[str] = set()
"""Names of the modules whose classes are code under test."""
_SILENT = frozenset(
    {
        "threading", "_thread", "queue", "concurrent", "contextlib", "contextvars", "functools",
        "_weakrefset", "weakref", "enum", "abc", "_abc", "typing", "types", "dataclasses", "logging",
        "warnings", "re", "unittest", "pytest", "_pytest", "treadle", "inspect", "traceback",
        "linecache", "os", "posixpath", "genericpath", "pathlib", "importlib", "_frozen_importlib",
        "_frozen_importlib_external", "sched", "asyncio", "selectors", "time", "random", "hypothesis",
        "greenlet", "collections.abc", "_collections_abc",
    }
)  # fmt: skip
"""Libraries that announce themselves, only call back, or keep no shared data of the test's."""
_IMMUTABLE = frozenset({"re", "datetime", "decimal", "_decimal", "uuid", "zoneinfo", "_struct"})
"""Modules in C whose objects do not change."""
_HARMLESS_MODULES = frozenset(
    {"math", "cmath", "time", "posix", "sys", "_thread", "gc", "_operator", "_abc", "_warnings",
     "faulthandler", "_signal", "_contextvars", "_weakref", "_imp", "errno", "_stat", "marshal"}
)  # fmt: skip
"""Modules in C whose functions look into no container."""


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
            known = _FUNCTIONS.get(function)
            return _of_c_module(function, owner) if known is None else known
        return _of_object(function, owner)
    if isinstance(function, type):
        return _of_class(function)
    other = _CALLABLES.get(kind)
    return function if other is None else other(function)


def enter(manager: Any) -> Any:
    """Return what to enter instead of a context manager: locks made before have a model."""
    if manager.__class__ is locks.REAL_LOCK or manager.__class__ is locks.REAL_RLOCK:
        return locks.model_of(manager)
    return manager


# What is called


def _of_object(function: Any, owner: Any) -> Any:
    """Return what to call instead of a method in C that is bound to an object."""
    kind = owner.__class__
    table = published.get(id(owner))
    if table is None:
        if kind is locks.REAL_LOCK or kind is locks.REAL_RLOCK:
            return getattr(locks.model_of(owner), function.__name__)
        if published and function.__name__ in READING_ARGUMENTS:
            return functools.partial(_read_arguments, function)
        return function
    if isinstance(table, ContainerTable):
        if is_overridden(kind, function.__name__):  # code under test calls the original
            pass
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
    if not published or kind.__module__ in modules_under_test:
        return kind
    known = _CLASSES.get(kind)
    if known is not None:
        return known
    if kind.__module__ == "builtins" or _is_silent(kind.__module__):
        return kind
    return functools.partial(_call_unknown, kind)


def _of_library(function: Any, inner: types.FunctionType) -> Any:
    """Return what to call instead of a function in Python that is not under test."""
    if not published or _is_silent(inner.__module__):
        return function
    known = _LIBRARY.get((inner.__module__, inner.__qualname__))
    if known is not None:
        return functools.partial(known, function)
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
    return functools.partial(_read_everything, function)


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


def _say(codes: Codes) -> None:
    if codes:
        hooks.announce(tuple(dict.fromkeys(codes)))


def _published_among(values: Any) -> list[Any]:
    return [value for value in values if id(value) in published]


def _call_unbound(function: Any, *args: Any, **kwargs: Any) -> Any:
    """Call `list.append(x, 1)` as `x.append(1)`."""
    if not args or id(args[0]) not in published:
        for argument in _published_among(args):
            _say(whole_read(published[id(argument)]))
        return function(*args, **kwargs)
    return resolve(function.__get__(args[0]))(*args[1:], **kwargs)


def _on_container(
    function: Any, owner: Any, table: ContainerTable, *args: Any, **kwargs: Any
) -> Any:
    """Call a method of a published container."""
    name = function.__name__
    if name in _ATTRIBUTE_METHODS:
        return _ATTRIBUTE_METHODS[name](owner, *args)
    if name == "__iter__":
        return iterate.iterator_of(owner)
    arguments = [*args, *kwargs.values()]
    publish_arguments(table, name, args, kwargs)
    read = [code for value in _published_among(arguments) for code in _content(value)]
    _say((*codes_of_method(table, name, args, kwargs), *read))
    result = function(*args, **kwargs)
    if name in ("keys", "values", "items") and not isinstance(result, list):
        ViewTable(table, result.__class__).stand_for(result)
    return result


def _content(value: Any) -> Codes:
    table = published.get(id(value))
    return table.whole_read() if isinstance(table, ContainerTable) else ()


def _on_state(function: Any, owner: Any, *args: Any, **kwargs: Any) -> Any:
    """Call something whose state is unknown: it is one location."""
    name = getattr(function, "__name__", "")
    if name in _ATTRIBUTE_METHODS:
        return _ATTRIBUTE_METHODS[name](owner, *args)
    if name in _PURE_METHODS:
        return function(*args, **kwargs)
    table = published.get(id(owner))
    if table is None:
        return function(*args, **kwargs)
    _hand_out_all(args, table.label)
    _say((table.at("position", Mode.WRITE, " position"),))
    result = function(*args, **kwargs)
    if owner is function:  # a cache keeps what it returned
        hooks.hand_out(result, f"{table.label}()")
    return result


def _read_arguments(function: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a method of somebody's own container that reads its arguments."""
    _say(tuple(code for value in _published_among(args) for code in _content(value)))
    if "update" in function.__name__ or function.__name__ in ("extend", "extendleft"):
        hooks.effects[0] = True
    return function(*args, **kwargs)


def _read_everything(function: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a function that only reads its arguments, with all that is in them."""
    codes: list[int] = []
    for value in (*args, *kwargs.values()):
        codes += hooks.everything(value)
        codes += hooks.deep_codes(value)
    _say(tuple(codes))
    return function(*args, **kwargs)


def _write_first(function: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a function that changes its first argument: `heappush`, `insort`, `shuffle`."""
    table = published.get(id(args[0])) if args else None
    if isinstance(table, ContainerTable):
        for value in args[1:]:
            table.hand_out(value, hooks.hand_out)
        _say(table.whole_write())
    return function(*args, **kwargs)


def _call_unknown(function: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a function that may do anything with what it gets."""
    _announce_unknown((*args, *kwargs.values()))
    return function(*args, **kwargs)


def _call_unobserved(function: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a function of a library with published objects, and note that."""
    owner = getattr(function, "__self__", None)
    if _announce_unknown((owner, *args, *kwargs.values())):
        inner = getattr(function, "__func__", function)
        name = f"{inner.__module__}.{inner.__qualname__}"
        if all(name != known for known, _ in hooks.unobserved):
            caller = sys._getframe(1)
            hooks.unobserved.append((name, f"{caller.f_code.co_filename}:{caller.f_lineno}"))
    return function(*args, **kwargs)


def _announce_unknown(values: tuple[Any, ...]) -> bool:
    """Announce that everything of some values may be written; tell if something is published."""
    known = [value for value in values if _is_mutable(value)]
    if not known:
        return False
    label = published[id(known[0])].label
    _hand_out_all(values, label)
    codes: list[int] = []
    for value in known:
        table = published[id(value)]
        attributes = getattr(value, "__dict__", ()) if isinstance(table, ObjectTable) else ()
        codes += whole_write(table, attributes)
    if codes:
        _say((*codes, OPEN))
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


# Functions of known effect


def dict_of(obj: Any) -> Any:
    """Stand for `obj.__dict__` and `vars(obj)`: the same locations as the attributes."""
    found = obj.__dict__
    table = published.get(id(obj))
    if isinstance(table, ObjectTable) and found.__class__ is dict:
        AttributesTable(table, dict).stand_for(found)
    return found


def _vars(*args: Any) -> Any:
    return dict_of(args[0]) if args else sys._getframe(1).f_locals


def _getattr(obj: Any, name: str, *default: Any) -> Any:
    if name == "__dict__":
        return dict_of(obj)
    hooks.load_class_attr(obj, name)
    return getattr(obj, name, *default)


def _hasattr(obj: Any, name: str) -> bool:
    hooks.load_class_attr(obj, name)
    return hasattr(obj, name)


def _setattr(obj: Any, name: str, value: Any) -> None:
    hooks.effects[0] = True
    hooks.store_attr(value, obj, name)
    setattr(obj, name, value)


def _delattr(obj: Any, name: str) -> None:
    hooks.effects[0] = True
    hooks.delete_attr(obj, name)
    delattr(obj, name)


def _stored(obj: Any, name: str) -> None:
    table: Any = published.get(id(obj))
    _say(table.stored(name) if hasattr(table, "stored") else table.writes[name])


def _raw_setattr(obj: Any, name: str, value: Any) -> None:
    hooks.hand_out(value, f"{published[id(obj)].label}.{name}")
    _stored(obj, name)
    object.__setattr__(obj, name, value)


def _raw_delattr(obj: Any, name: str) -> None:
    _stored(obj, name)
    object.__delattr__(obj, name)


def _raw_getattribute(obj: Any, name: str) -> Any:
    hooks.load_attr(obj, name)
    return object.__getattribute__(obj, name)


_ATTRIBUTE_METHODS: dict[str, Function] = {
    "__setattr__": _raw_setattr,
    "__delattr__": _raw_delattr,
    "__getattribute__": _raw_getattribute,
}
_PURE_METHODS = frozenset(
    {
        "__init__", "__new__", "__reduce__", "__reduce_ex__", "__hash__", "__eq__", "__ne__",
        "__repr__", "__str__", "__format__", "__dir__", "__sizeof__", "__init_subclass__",
        "__subclasshook__", "__class_getitem__", "__iter__", "__get__", "__enter__",
    }
)  # fmt: skip
"""Methods of `object` and the like that change nothing by themselves."""


def _len(obj: Any) -> int:
    if id(obj) in published:
        hooks.read_size(obj)
    return len(obj)


def _next(iterator: Any, *default: Any) -> Any:
    if iterate.is_shared_iterator(iterator) or isinstance(iterator, iterate.SharedIterator):
        _say(iterate.next_codes(iterator))
    return next(iterator, *default)


def _exec(source: Any, *scopes: Any, **kwargs: Any) -> Any:
    return _run(exec, source, sys._getframe(1), scopes, kwargs)


def _eval(source: Any, *scopes: Any, **kwargs: Any) -> Any:
    return _run(eval, source, sys._getframe(1), scopes, kwargs)


compile_hook: Callable[[Any, str, dict[str, Any]], Any] = lambda source, mode, namespace: source
"""Rewrites source or code that is about to be run in a namespace."""


def _run(
    function: Any, source: Any, caller: types.FrameType, scopes: Any, kwargs: Any
) -> Any:
    """Run `exec` or `eval` on rewritten code, in the namespaces of the caller if none are given."""
    given = list(scopes)
    for name in ("globals", "locals"):
        if name in kwargs:
            given.append(kwargs.pop(name))
    if not given or given[0] is None:
        local = caller.f_locals
        given = [caller.f_globals, local if local is caller.f_globals else dict(local)]
        if caller.f_code.co_flags & 1 == 0:  # a class or module body: its real namespace
            given[1] = local
    return function(compile_hook(source, function.__name__, given[0]), *given, **kwargs)


def _lazy(function: Any) -> Function:
    """Stand for something that goes through its arguments one by one."""

    def call(*args: Any, **kwargs: Any) -> Any:
        ready = [iterate.iterate(value) if id(value) in published else value for value in args]
        if ready and function in (map, filter, itertools.starmap, functools.reduce):
            ready[0] = resolve(args[0])
        return function(*ready, **kwargs)

    return call


def _reading(function: Any) -> Function:
    """Stand for something that reads its arguments, all at once."""

    def call(*args: Any, **kwargs: Any) -> Any:
        for value in args:
            if id(value) in published:
                return _read_everything(function, *args, **kwargs)
        return function(*args, **kwargs)

    return call


def _deep(function: Any) -> Function:
    """Stand for something that reads its arguments and what is in them."""
    return functools.partial(_read_everything, function)


def _harmless(function: Any) -> Function:
    found: Function = function
    return found


def _make(kind: Any) -> Function:
    """Stand for the class of a container, which copies its argument."""
    return _reading(kind)


def _before(hook: Function, function: Any, order: tuple[int, ...]) -> Function:
    """Stand for an operator as a function: call the operator's hook first."""

    def call(*args: Any) -> Any:
        hook(*(args[place] for place in order))
        return function(*args)

    return call


def _build_functions() -> dict[Any, Function]:
    table: dict[Any, Function] = {
        len: _len,
        iter: iterate.iterator_of,
        next: _next,
        getattr: _getattr,
        hasattr: _hasattr,
        setattr: _setattr,
        delattr: _delattr,
        vars: _vars,
        exec: _exec,
        eval: _eval,
        functools.reduce: _lazy(functools.reduce),
        operator.getitem: _before(hooks.load_item, operator.getitem, (0, 1)),
        operator.setitem: _before(hooks.store_item, operator.setitem, (2, 0, 1)),
        operator.delitem: _before(hooks.delete_item, operator.delitem, (0, 1)),
        operator.contains: _before(hooks.contains, operator.contains, (1, 0)),
    }
    for name in ("sorted", "sum", "min", "max", "any", "all"):
        table[getattr(builtins, name)] = _reading(getattr(builtins, name))
    for name in ("repr", "ascii", "format", "print"):
        table[getattr(builtins, name)] = _deep(getattr(builtins, name))
    for name in ("isinstance issubclass id hash callable abs chr ord round divmod pow bin hex oct "
                 "open input globals locals __build_class__ compile __import__ dir").split():  # fmt: skip
        table[getattr(builtins, name)] = getattr(builtins, name)
    for name in dir(operator):
        function = getattr(operator, name)
        if not callable(function) or function in table or isinstance(function, type):
            continue
        if name.startswith("i") and name not in ("is_", "is_not", "index", "inv", "invert"):
            table.setdefault(function, _before(hooks.update_in_place, function, (0, 1)))
        elif name not in ("is_", "is_not", "length_hint", "call"):
            table.setdefault(function, _reading(function))
    for function in (heapq.heappush, heapq.heappop, heapq.heapify, heapq.heapreplace,
                     heapq.heappushpop, bisect.insort_left, bisect.insort_right):  # fmt: skip
        table[function] = functools.partial(_write_first, function)
    for function in (bisect.bisect_left, bisect.bisect_right):
        table[function] = _reading(function)
    return table


def _build_classes() -> dict[Any, Function]:
    table: dict[Any, Function] = {
        kind: _make(kind)
        for kind in (list, tuple, dict, set, frozenset, deque, bytearray, bytes, OrderedDict,
                     defaultdict)
    }  # fmt: skip
    table[str] = _deep(str)
    table[reversed] = iterate.backwards
    for kind in (enumerate, zip, map, filter):
        table[kind] = _lazy(kind)
    for name in dir(itertools):
        kind = getattr(itertools, name)
        if isinstance(kind, type) and not name.startswith("_"):
            table[kind] = _lazy(kind)
    return table


_FUNCTIONS: dict[Any, Function] = _build_functions()
_CLASSES: dict[Any, Function] = _build_classes()
_LIBRARY: dict[tuple[str, str], Function] = {
    **{
        place: _read_everything
        for place in (
            ("copy", "copy"), ("copy", "deepcopy"), ("json", "dumps"), ("json", "dump"),
            ("pprint", "pprint"), ("pprint", "pformat"), ("heapq", "nlargest"),
            ("heapq", "nsmallest"), ("heapq", "merge"), ("collections", "Counter.most_common"),
            ("collections", "Counter.elements"), ("collections", "Counter.total"),
            ("collections", "Counter.copy"), ("collections", "Counter.__init__"),
            ("random", "Random.choice"), ("random", "Random.sample"), ("random", "Random.choices"),
            ("statistics", "mean"), ("textwrap", "dedent"),
        )
    },
    **{
        place: _write_first
        for place in (("random", "Random.shuffle"), ("heapq", "heappush"), ("heapq", "heappop"))
    },
}  # fmt: skip
"""Functions of the standard library written in Python."""
