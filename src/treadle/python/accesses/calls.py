"""What calls of functions that are not code under test touch: one event each.

A guided tour. `resolve` sees the callable of every call. Functions under test come back as they
are: they announce what they do themselves. For a function written in C, a method of a built-in
container or a function of a library, something comes back that announces ONE event with all that
the function touches, and then calls it. What functions touch is in tables: `known_functions` for
functions and classes, `container_methods` for methods of containers. A function that is in no table
and gets something published is taken to write all of it (the safe default).
"""

from __future__ import annotations

import builtins
import contextvars
import decimal
import enum
import functools
import itertools
import operator
import re
import sys
import types
import weakref
from array import array
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any

from treadle.core.events import Codes
from treadle.python.accesses import (
    applied,
    callbacks,
    class_making,
    contexts,
    exceptions,
    foreign_code,
    foreign_steps,
    generators,
    given_to_c,
    in_sight,
    kept_state,
    known_functions,
    lazy_calls,
    library_state,
    lru_caches,
    stand_ins,
    uninstrumented,
    weak_calls,
)
from treadle.python.accesses import instruction_hooks as hooks
from treadle.python.accesses.checked_owners import check_caller
from treadle.python.accesses.container_calls import call_method
from treadle.python.accesses.container_methods import LOOKING, READING_ARGUMENTS
from treadle.python.accesses.known_functions import (
    ATTRIBUTE_METHODS,
    CLASS_METHODS,
    CLASSES,
    DESCRIPTOR_METHODS,
    DESCRIPTORS,
    FUNCTIONS,
    LIBRARY,
    PURE_METHODS,
    read_everything,
    say,
    standing_in_library,
)
from treadle.python.accesses.outside_modules import (
    look_outside,
    meet_extension,
    meet_memory,
    note_change,
    note_changing_method,
    note_hidden,
    note_method,
    pass_extension,
    why_outside,
)
from treadle.python.accesses.uninstrumented import (
    CALLBACKS,
    OWN,
    PLAIN,
    Behind,
    behind,
    is_foreign,
    is_immutable,
    is_reader,
    is_set_by_attributes,
    is_silent,
    module_of,
    state_of,
)
from treadle.python.runtime import slots
from treadle.python.runtime.looking import module_of_class, qualname_of, set_module_of_class
from treadle.python.sharing.containers import ContainerTable, whole_read
from treadle.python.sharing.identities import identities
from treadle.python.sharing.lives import WEAK_MODULES
from treadle.python.sharing.namespaces import instrumented
from treadle.python.sharing.nested import CONTAINERS
from treadle.python.sharing.published import published, table_of_id
from treadle.python.sharing.tables import Table

Function = Callable[..., Any]

_resolved = instrumented.resolved
modules_under_test = uninstrumented.modules_under_test

_HARMLESS_MODULES = frozenset(
    {"math", "cmath", "time", "posix", "sys", "_thread", "gc", "_operator", "_abc", "_warnings",
     "faulthandler", "_signal", "_contextvars", "_weakref", "_imp", "errno", "_stat", "marshal"}
)  # fmt: skip
"""Modules in C whose functions look into no container."""


_KEEPING = (
    *CONTAINERS, bytearray, array, str, bytes, int, float, complex, types.GeneratorType,
    types.CoroutineType, types.AsyncGeneratorType, BaseException,
)  # fmt: skip
"""Classes whose methods, but for those in tables, look into no argument."""


_HASH: Any = type.__hash__
_EQUALS: Any = type.__eq__
"""How classes are looked up, if their metaclass does not say otherwise."""
_CONSTANT = (str, bytes, int, float, complex, tuple, frozenset)
"""Classes whose methods change nothing."""
_ASKS_FOR_CALLER = frozenset(
    [("inspect", "currentframe"), ("inspect", "stack"), ("traceback", "print_stack"),
     ("traceback", "format_stack"), ("traceback", "extract_stack")]
)  # fmt: skip
"""Functions that look at the frame that calls them, as a debugger's `set_trace` does."""


def resolve(function: Any) -> Any:
    """Return what to call instead of a callable."""
    kind = type(function)
    if kind is FunctionType:
        if id(function.__globals__) in instrumented:
            return function
        return _of_library(function, function)
    if kind is MethodType:
        inner = function.__func__
        if type(inner) is not FunctionType:
            return _of_bound(function, inner)
        if id(inner.__globals__) in instrumented:
            return function
        return _of_library(function, inner)
    if kind is type and function in _resolved:
        return _resolved[function]
    if kind is types.BuiltinFunctionType:
        owner = function.__self__
        if type(owner) is types.ModuleType:
            stand_in = FUNCTIONS.get(function)
            return _of_c_module(function, owner) if stand_in is None else stand_in
        return _of_object(function, owner)
    if issubclass(type(function), type):
        return _of_class(function)
    other = _CALLABLES.get(kind)
    return _of_instance(function) if other is None else other(function)


slots.resolve = resolve


# What is called


def _of_object(function: Any, owner: Any) -> Any:
    """Return what to call instead of a method in C that is bound to an object."""
    if stand_ins.has_stand_in(owner):
        return getattr(stand_ins.stand_in_for(owner), function.__name__)
    kind = type(owner)
    table = table_of_id(id(owner))
    lru_caches.note_whole(function, owner)
    if issubclass(kind, type):
        if function.__name__ == class_making.SUBCLASSES:
            return functools.partial(class_making.subclasses_of, owner)
        return _of_class_method(function)
    if table is None:
        return _of_private(function, kind)
    if isinstance(table, ContainerTable):
        return functools.partial(call_method, function, owner, table)
    if is_immutable(kind) or (
        issubclass(kind, _CONSTANT) and function.__name__ not in ATTRIBUTE_METHODS
    ):
        return _of_private(function, kind)
    if issubclass(kind, BaseException):
        return exceptions.method_of(function, owner)
    if function.__name__ in generators.RESUMING and generators.is_under_test(owner):
        return functools.partial(generators.run, owner, function)
    note_hidden(module_of_class(kind))
    return stand_ins.HELD.get(id(function)) or functools.partial(_on_state, function, owner)


def _of_method_wrapper(function: Any, owner: Any) -> Any:
    """Return what to call instead of a special method in C that is bound to an object."""
    if issubclass(type(owner), type):
        of_class = CLASS_METHODS.get(function.__name__)
        return function if of_class is None else functools.partial(of_class, owner)
    if issubclass(type(owner), DESCRIPTORS) and function.__name__ in DESCRIPTOR_METHODS:
        return functools.partial(DESCRIPTOR_METHODS[function.__name__], owner)
    return _of_object(function, owner)


def _of_private(function: Any, kind: type) -> Any:
    """Return what to call instead of a method in C of something that nobody else changes."""
    if not published:
        return function
    name = function.__name__
    note_changing_method(kind, name)
    if name in given_to_c.COMBINING:
        return functools.partial(given_to_c.look_into_owner, function)
    if kind is re.Match:
        return given_to_c.of_match(function)
    if kind is contextvars.Context and name == "run":
        return functools.partial(given_to_c.run_late, function)
    if name in LOOKING and not issubclass(kind, hooks.HASHED):
        return functools.partial(given_to_c.look_into_owner, function)
    if name in READING_ARGUMENTS:
        return functools.partial(given_to_c.read_arguments, function)
    if issubclass(kind, (bytes, bytearray)):
        return functools.partial(given_to_c.look_into, function)
    if (
        name.startswith("__")
        or issubclass(kind, _KEEPING)
        or module_of_class(kind) in _HARMLESS_MODULES
    ):
        return function
    if id(function) in stand_ins.HELD:
        return stand_ins.HELD[id(function)]
    note_method(kind, name)
    is_of_library = module_of_class(kind).partition(".")[0] not in sys.stdlib_module_names
    held = given_to_c.held_in_c(function.__self__)
    if name.endswith("into") or is_of_library or held:
        return functools.partial(_call_with, held, function)
    return functools.partial(given_to_c.look_into, function)


def _of_class_method(function: Any) -> Any:
    """Return what to call instead of a method in C of a class, like `dict.fromkeys`."""
    if not published:
        return function
    if function.__name__ == "__new__":
        return given_to_c.of_new(function)
    if function.__name__.startswith("__"):
        return function
    if function == itertools.chain.from_iterable:
        return lazy_calls.chained_from
    if (held := stand_ins.in_place_of_class_method(function)) is not None:
        return held
    owner = function.__self__
    look_outside(module_of_class(owner), f"{qualname_of(owner)}.{function.__name__}")
    return functools.partial(given_to_c.look_into, function)


def _of_c_module(function: Any, module: types.ModuleType) -> Any:
    """Return what to call instead of a function of a module in C."""
    if id(function) in stand_ins.HELD:
        return stand_ins.HELD[id(function)]
    look_outside(module.__name__, function.__name__)
    note_change(module.__name__)
    if function is weakref.proxy:
        return weak_calls.of_weak("weakref.proxy", given_to_c.weak_proxy, has_threads=True)
    if not published or module.__name__ in _HARMLESS_MODULES:
        return function
    return functools.partial(_call_unknown, function)


def _is_compared_by_identity(kind: Any) -> bool:
    """Tell whether looking a class up runs no code of its metaclass.

    If only classes without one were looked up, filesystem(16), which makes locks, would take 1.08
    times as long.
    """
    metaclass: Any = type(kind)
    return metaclass.__hash__ is _HASH and metaclass.__eq__ is _EQUALS


def _of_class(kind: Any) -> Any:
    """Return what to call instead of a class."""
    if kind is weakref.ref:
        return given_to_c.weak_reference
    is_looked_up = _is_compared_by_identity(kind)
    if is_looked_up and kind in _resolved:
        return _resolved[kind]
    if id(kind) in stand_ins.HELD:
        return stand_ins.HELD[id(kind)]
    module = module_of_class(kind)
    is_weak = module in WEAK_MODULES
    if is_weak:
        weak_calls.of_weak(
            f"weakref.{kind.__name__}", kind, has_threads=True
        )  # they may come later
    if module in modules_under_test or slots.take_in(module) or not published:
        identities.meet(kind)
        meet_memory(kind)
        return in_sight.class_in_sight(kind)
    identities.meet_library(kind)
    if not issubclass(kind, BaseException | enum.Enum):
        look_outside(module, qualname_of(kind))
    stand_in = CLASSES.get(kind)
    if stand_in is None:
        if module == "builtins" or is_silent(module) or is_immutable(kind):
            stand_in = kind
        else:
            stand_in = functools.partial(_make_object, kind)
    if kind in weak_calls.REFERRING:
        stand_in = functools.partial(weak_calls.refer_weakly, stand_in)
    # Else it may be one of this execution only, or has to be looked at each time.
    is_looked_at = why_outside(module) or is_weak
    if is_looked_up and "<locals>" not in qualname_of(kind) and not is_looked_at:
        _resolved[kind] = stand_in
    return stand_in


def _of_bound(function: Any, inner: Any) -> Any:
    """Return what to call instead of a method that is no function: one with a cache, say."""
    found = resolve(inner)
    return function if found is inner else functools.partial(found, function.__self__)


def _of_library(function: Any, inner: FunctionType) -> Any:
    """Return what to call instead of a function in Python that is not under test."""
    say(library_state.dispatching(inner, getattr(function, "__self__", None)))
    if slots.take_in(inner.__module__) or not published:
        return function
    if (held := stand_ins.instead_of(function, inner)) is not None:
        return resolve(held)
    if inner.__name__ == "set_trace" or (inner.__module__, inner.__name__) in _ASKS_FOR_CALLER:
        return function
    if (stand_in := standing_in_library(function, inner)) is not None:
        return stand_in
    module = module_of(inner)
    if module in WEAK_MODULES:
        weak_calls.of_weak(f"{module}.{inner.__qualname__}", function)
    owner = getattr(function, "__self__", None)
    look_outside(module, inner.__qualname__, owner if id(owner) in published else None)
    note_change(module)
    if kept_state.is_met_by(inner, owner):
        return functools.partial(_call_unobserved, function)
    wrapped = getattr(inner, "__wrapped__", None)
    decorates = issubclass(type(wrapped), FunctionType)
    is_kept = module == "contextlib" and id(owner) in published  # a stack of exits, say
    if is_silent(module) and (decorates or not is_kept):
        if not decorates:
            return function
        found = resolve(wrapped)  # a decorator calls what it was given
        return function if found is wrapped else functools.partial(_call_unobserved, function)
    if is_reader(module):
        return functools.partial(_read_all, function)
    if module in CALLBACKS and not behind(type(owner), inner.__name__).is_foreign:
        return function
    return functools.partial(_call_unobserved, function)


def _of_instance(function: Any) -> Any:
    """Return what to call instead of an object with a method `__call__`."""
    found = behind(type(function), "__call__") if published else PLAIN
    if found is not OWN:
        note_change(module_of_class(type(function)))
    if found is OWN or not found.is_foreign:
        return function
    return functools.partial(_call_instance, found, function)


def _of_partial(function: Any) -> Any:
    say(known_functions.keywords_read(function))
    inner = resolve(function.func)
    if inner is function.func:
        return function
    return functools.partial(inner, *function.args, **function.keywords)


def _of_descriptor(function: Any) -> Any:
    return functools.partial(_call_unbound, function)


def _of_cache(function: Any) -> Any:
    """A cache in C: its content is a location, and its function is called back."""
    table = table_of_id(id(function))
    return function if table is None else functools.partial(_ask_cache, function, table)


_CALLABLES: dict[type, Callable[[Any], Any]] = {
    functools.partial: _of_partial,
    types.MethodDescriptorType: _of_descriptor,
    types.WrapperDescriptorType: _of_descriptor,
    types.ClassMethodDescriptorType: lambda function: function,
    types.MethodWrapperType: lambda function: _of_method_wrapper(function, function.__self__),
    type(re.compile("").match): lambda function: _of_object(function, function.__self__),
    weakref.ref: lambda function: functools.partial(weak_calls.follow, function),
    weakref.WeakMethod: lambda function: functools.partial(weak_calls.follow, function),
    operator.itemgetter: lambda function: functools.partial(given_to_c.get_items, function),
    operator.attrgetter: lambda function: functools.partial(read_everything, function),
    operator.methodcaller: lambda function: functools.partial(_call_unknown, function),
    lru_caches.KIND: _of_cache,
}


# Calls that announce themselves


def _call_unbound(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call `list.append(x, 1)` as `x.append(1)`."""
    if not args or not issubclass(type(args[0]), function.__objclass__):
        return _at_home(function(*args, **kwargs))
    return _at_home(resolve(function.__get__(args[0]))(*args[1:], **kwargs))


def _on_state(function: Any, owner: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call something whose state is unknown: it is one location."""
    name = getattr(function, "__name__", "")
    if name in ATTRIBUTE_METHODS:
        return ATTRIBUTE_METHODS[name](owner, *args)
    is_pure = name != "__init__" or type(owner).__init__ is object.__init__
    if name in PURE_METHODS and is_pure:
        return function(*args, **kwargs)
    table = table_of_id(id(owner))
    if table is None:
        return function(*args, **kwargs)
    check_caller(owner, name)
    known_functions.note_partial(owner, name)
    look_outside(module_of_class(type(owner)), f"{qualname_of(type(owner))}.{name}")
    if is_foreign(type(owner)) or not is_pure:
        kept = functools.partial(contexts.changed_with, owner)
        values = (owner, *args, *kwargs.values())
        call = functools.partial(_call_announced, values, "", function, args, kwargs, kept)
        return contexts.entered(owner, call) if contexts.is_entered_by(function, owner) else call()
    foreign_code.hand_out_all(args, table.label)
    codes = (state_of(table),)
    say(codes)
    return callbacks.call(functools.partial(say, codes), lambda: codes, function, args, kwargs)


def _ask_cache(cache: Any, table: Table, /, *args: Any, **kwargs: Any) -> Any:
    """Call a function with a cache."""
    foreign_code.hand_out_all(args, table.label)
    return lru_caches.call(cache, table, args, kwargs)


def _read_all(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call a function of a library that at most reads what it is given."""
    name = known_functions.name_in_python(function)
    name = "" if name.startswith(kept_state.SHOWS_ASSERTIONS) else name
    owner = getattr(function, "__self__", None)
    if is_set_by_attributes(type(owner)):
        hooks.read_deeply((owner,), (), deeply=True)
    hooks.read_deeply((*args, *kwargs.values()), (), name=name)
    return in_sight.keep_in_sight(_at_home(function(*args, **kwargs)))


def _call_unknown(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call a function that may do anything with what it gets."""
    return _call_announced((*args, *kwargs.values()), "", function, args, kwargs)


def _make_object(kind: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call a class of a library, which may do anything with what it gets, and what it keeps."""
    kept = kept_state.touching_by_making(kind)
    name = f"{module_of_class(kind)}.{qualname_of(kind)}" if kept() else ""
    return _call_announced((*args, *kwargs.values()), name, kind, args, kwargs, kept)


def _call_with(held: tuple[Any, ...], function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call a method that may do anything with what its object holds, and what it gets."""
    return _call_announced((*held, *args, *kwargs.values()), "", function, args, kwargs)


def _call_unobserved(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call a function of a library with published objects, and note that."""
    inner = getattr(function, "__func__", function)
    owner = getattr(function, "__self__", None)
    name = f"{module_of(inner)}.{inner.__qualname__}"
    values = (owner, *args, *kwargs.values(), *kept_state.named_by(inner, owner))
    kept = kept_state.touching(inner, owner)
    return _call_announced(values, name, function, args, kwargs, kept)


def _copy_deeply(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Stand for `copy.deepcopy`, which adds to the memo that it is given."""
    memo = args[1] if len(args) > 1 else kwargs.get("memo")
    only_reads = id(memo) not in published and not kept_state.is_met_by(function, None)
    return (read_everything if only_reads else _call_unobserved)(function, *args, **kwargs)


def _keep_on_stack(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Stand for `callback` of a stack of context managers."""
    is_shared = id(function.__self__) in published
    keeping = functools.partial(_call_unobserved, function) if is_shared else function
    return given_to_c.keep_late(0)(keeping, *args, **kwargs)


def _call_instance(found: Behind, function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call an object of a class that is not instrumented."""
    values = (function, *args, *kwargs.values())
    kept: Callable[[], Codes] = tuple
    if found.function is not None:
        kept = kept_state.touching(found.function, function)
        values = (*values, *kept_state.named_by(found.function, function))
    return _call_announced(values, found.name, function, args, kwargs, kept)


def _at_home(result: Any) -> Any:
    """Return what a function returned; a new class belongs to the caller's module, not to this."""
    if issubclass(type(result), type) and module_of_class(result) in (__name__, callbacks.__name__):
        caller = sys._getframe(1)
        while caller.f_globals is globals() and caller.f_back is not None:
            caller = caller.f_back
        set_module_of_class(result, caller.f_globals.get("__name__", ""))
    return result


def _call_announced(
    values: tuple[Any, ...],
    name: str,
    function: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    kept: Callable[[], Codes] = tuple,
) -> Any:
    """Call a function that may change everything of some values, if some are published.

    `kept` tells what it touches besides them.
    """
    find = foreign_code.reaching(values, name, kept)
    if find is None:
        if not name:
            pass_extension(function)
        return in_sight.keep_in_sight(_at_home(function(*args, **kwargs)))
    if not name:
        meet_extension(function)
    foreign_steps.perform(find)
    again, touched = (
        functools.partial(foreign_steps.perform, find),
        functools.partial(foreign_steps.reached, find),
    )
    result = _at_home(callbacks.call(again, touched, function, args, kwargs))
    if is_foreign(type(result)):  # it may refer to what is hidden in a published object
        slots.hand_out(result, "result")
    return in_sight.keep_in_sight(result)


def _make_enumeration(kind: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Stand for `Enum`, which goes through the names that it is given."""
    hooks.look_into((*args, *kwargs.values()))
    return _at_home(kind(*args, **kwargs))


def _look_at_default_context() -> None:
    table = table_of_id(id(decimal.DefaultContext))
    if table is not None:
        say(whole_read(table))


def _make_context(*args: Any, **kwargs: Any) -> Any:
    """Stand for `decimal.Context`, which copies what it is not told from the default."""
    _look_at_default_context()
    return _call_unknown(decimal.Context, *args, **kwargs)


def _ask_for_context(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call a function that copies the default context if a thread has none yet."""
    _look_at_default_context()
    return function(*args, **kwargs)


FUNCTIONS[builtins.__build_class__] = class_making.build_class
CLASSES[type] = class_making.make_class
LIBRARY["abc", "ABCMeta.register"] = class_making.register
LIBRARY.update(applied.LIBRARY)
LIBRARY["copy", "deepcopy"] = _copy_deeply
LIBRARY["contextlib", "_BaseExitStack.callback"] = _keep_on_stack
LIBRARY["unittest.case", "TestCase.addCleanup"] = _call_unobserved
LIBRARY["unittest.case", "TestCase.doCleanups"] = _call_unobserved
LIBRARY["inspect", "BoundArguments.apply_defaults"] = _call_unobserved
CLASSES[decimal.Context] = _make_context
FUNCTIONS[decimal.getcontext] = functools.partial(_ask_for_context, decimal.getcontext)
FUNCTIONS[decimal.localcontext] = functools.partial(_ask_for_context, decimal.localcontext)
CLASSES[memoryview] = functools.partial(_call_unknown, memoryview)
FUNCTIONS.update(lazy_calls.FUNCTIONS)
CLASSES.update(lazy_calls.CLASSES)
for _kind in given_to_c.ENUMERATIONS:
    CLASSES[_kind] = functools.partial(_make_enumeration, _kind)
