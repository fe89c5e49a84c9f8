"""Functions of known effect: what stands for them announces what they touch, and calls them."""

from __future__ import annotations
import __future__

import bisect
import builtins
import enum
import functools
import heapq
import logging
import operator
import types
import warnings
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any

from treadle.core.events import Codes
from treadle.core.frames import callers_frame
from treadle.python.accesses import (
    callbacks,
    foreign_steps,
    iterate,
    kept_state,
    library_state,
    loggers,
    streams,
)
from treadle.python.accesses import instruction_hooks as hooks
from treadle.python.accesses.described import ANNOTATION_READERS
from treadle.python.accesses.taking import changes
from treadle.python.accesses.uninstrumented import PLAIN
from treadle.python.runtime import notes, slots
from treadle.python.runtime.deeds import PLAIN_ACCESS, Deed
from treadle.python.runtime.looking import mro_of
from treadle.python.runtime.spin import effects
from treadle.python.sharing.containers import (
    AttributesTable,
    ContainerTable,
    DictTable,
    ItemsTable,
    whole_read,
)
from treadle.python.sharing.identities import identities
from treadle.python.sharing.published import published, table_of_id
from treadle.python.sharing.tables import ClassTable, ObjectTable, Table

Function = Callable[..., Any]


def say(codes: Codes, deed: Deed = PLAIN_ACCESS, about: Any = None, detail: Any = None) -> None:
    """Announce an access, if there is one."""
    if codes:
        slots.announce(tuple(dict.fromkeys(codes)), deed, about, detail)


def published_among(values: Any) -> list[Any]:
    """Return the values that are published."""
    return [value for value in values if id(value) in published]


def read_everything(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call a function that only reads its arguments, with all that is in them.

    One in Python takes many steps of which this makes one: that is noted, if anything is shared.
    """
    values = (getattr(function, "__self__", None), *args, *kwargs.values())
    hooks.read_deeply(values, None, deeply=True, name=name_in_python(function))
    return function(*args, **kwargs)


def name_in_python(function: Any) -> str:
    """Return the name of a function of a library in Python; nothing for one in C."""
    inner = getattr(function, "__func__", function)
    if not issubclass(type(inner), types.FunctionType):
        return ""
    return f"{inner.__module__}.{inner.__qualname__}"


def write_log(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call a method of a logger; the record is to name the line that calls this function."""
    hooks.read_deeply((*args, *kwargs.values()), ())
    loggers.look_at_logger(getattr(function, "__self__", logging.root))
    stacklevel = kwargs.pop("stacklevel", 1) + 1
    return function(*args, stacklevel=stacklevel, **kwargs)


def write_owner(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call a method that changes the container that it belongs to, like `Counter.update`."""
    table = table_of_id(id(function.__self__))
    if isinstance(table, ContainerTable):
        args = tuple(streams.handed_on(table, value) for value in args)
        read = [
            code for value in published_among(args) for code in whole_read(published[id(value)])
        ]
        codes = (*table.whole_write(), *read)
        hooks.say_again_and_again(codes, PLAIN_ACCESS, None, None)
        if codes:
            notes.note(name_in_python(function))
    else:
        hooks.read_deeply(args, (), name=name_in_python(function))
    return function(*args, **kwargs)


def write_first(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call a function that changes its first argument: `heappush`, `insort`, `shuffle`."""
    resolve_key(kwargs)
    given = (*args, *kwargs.values()) if "a" not in kwargs else (kwargs["a"], *kwargs.values())
    table = table_of_id(id(given[0])) if given else None
    if not isinstance(table, ContainerTable):
        effects[0] = True
        return function(*args, **kwargs)
    for value in given[1:]:
        table.hand_out(value, slots.hand_out)
    codes = tuple(dict.fromkeys(table.whole_write()))
    say(codes)
    changes(function, given[0], codes)
    return callbacks.call(functools.partial(say, codes), lambda: codes, function, args, kwargs)


def dict_of(obj: Any) -> Any:
    """Stand for `obj.__dict__` and `vars(obj)`: the same locations as the attributes."""
    table = table_of_id(id(obj))
    if table is None:
        return obj.__dict__
    if isinstance(table, ObjectTable):
        say(table["__dict__"])  # it may be replaced
    found = obj.__dict__
    is_of_object = isinstance(table, ObjectTable) or type(obj) is types.ModuleType
    if (is_of_object and type(found) is dict) or (
        isinstance(table, ClassTable) and type(found) is types.MappingProxyType
    ):
        AttributesTable(table, type(found)).stand_for(found)
    return found


_KEYWORDS = "functools.partial", "keywords are taken"
"""Only then may somebody change them."""


def keywords_of(obj: Any) -> Any:
    """Stand for `obj.keywords`: a partial call has a dictionary of its own."""
    hooks.load_class_attr(obj, "keywords")
    table = table_of_id(id(obj))
    if type(obj) is functools.partial and table is not None:
        table.shared.note(*_KEYWORDS)
        _enter_keywords(obj, table)
    return obj.keywords


def members_of(obj: Any) -> Any:
    """Stand for `obj.__members__`: of an enumeration, a look into a dictionary of the class."""
    hooks.load_class_attr(obj, "__members__")
    found = obj.__members__
    if issubclass(type(obj), enum.EnumType) and id(obj) in published:
        slots.hand_out(found, f"{obj.__name__}.__members__")
    return found


DICTIONARIES: dict[str, Function] = {
    "__dict__": dict_of,
    "keywords": keywords_of,
    "__members__": members_of,
}


def keywords_read(function: Any) -> Codes:
    """Return the codes of reading what a partial call has for keywords."""
    table = table_of_id(id(function))
    if table is None or not table.shared.happens(*_KEYWORDS):
        return ()
    _enter_keywords(function, table)
    return hooks.whole(function.keywords)


def note_partial(function: Any, method: str) -> None:
    """Note that what a partial call calls, and with what, is replaced as a whole."""
    if method == "__setstate__" and issubclass(type(function), functools.partial):
        notes.remark(
            "partial calls",
            "functools.partial.__setstate__",
            "what {} sets of a partial call is seen in one order only by who calls or looks at it",
        )


def _enter_keywords(function: Any, table: Table) -> None:
    """Enter the keywords of a partial call: their name follows from that of the call."""
    found = function.keywords
    if id(found) not in published:
        label = f"keywords of {table.label}"
        made = table.shared.new_table(DictTable, (table.key, "keywords"), found, label)
        made.begin(found)
        table.shared.enter(found, made)


def store_dict(value: Any, obj: Any) -> None:
    """Before `obj.__dict__ = value`: from now on its attributes are the items of that dictionary.

    Others may have that too, as in classes whose instances share their state.
    """
    if slots.hand_out is slots.nobody or type(value) is not dict:
        return
    hooks.store_attr(value, obj, "__dict__")
    slots.hand_out(value, f"{type(obj).__name__}.__dict__")
    of = table_of_id(id(value))
    if isinstance(of, ContainerTable) and not isinstance(of, AttributesTable):
        ItemsTable(of, type(obj)).stand_for(obj)


def _vars(*args: Any) -> Any:
    return dict_of(args[0]) if args else callers_frame().f_locals


def _dir(*args: Any) -> Any:
    if not args:
        return sorted(callers_frame().f_locals)
    obj = args[0]
    owners = mro_of(obj if issubclass(type(obj), type) else type(obj))
    tables = (published.get(id(owner)) for owner in owners)
    whole = [whole_read(table) for table in tables if isinstance(table, ClassTable)]
    say(tuple(code for codes in whole for code in codes))
    return read_everything(dir, *args)


def _getattr(obj: Any, name: str, *default: Any) -> Any:
    if name == "__dict__":
        return dict_of(obj)
    hooks.load_class_attr(obj, name)
    return getattr(obj, name, *default)


def _hasattr(obj: Any, name: str) -> bool:
    hooks.load_class_attr(obj, name)
    return hasattr(obj, name)


def _setattr(obj: Any, name: str, value: Any) -> None:
    effects[0] = True
    hooks.store_attr(value, obj, name)
    setattr(obj, name, value)


def _delattr(obj: Any, name: str) -> None:
    effects[0] = True
    hooks.delete_attr(obj, name)
    delattr(obj, name)


def _stored(obj: Any, name: str) -> None:
    table: Any = table_of_id(id(obj))
    say(table.stored(name) if hasattr(table, "stored") else table.writes[name])


def _raw_setattr(obj: Any, name: str, value: Any) -> None:
    slots.hand_out(value, f"{published[id(obj)].label}.{name}")
    _stored(obj, name)
    object.__setattr__(obj, name, value)


def _raw_delattr(obj: Any, name: str) -> None:
    _stored(obj, name)
    object.__delattr__(obj, name)


def _raw_getattribute(obj: Any, name: str) -> Any:
    hooks.load_attr(obj, name)
    return object.__getattribute__(obj, name)


def _set_of_class(owner: type, name: str, value: Any) -> None:
    effects[0] = True
    hooks.store_attr(value, owner, name)
    type.__setattr__(owner, name, value)


def _delete_of_class(owner: type, name: str) -> None:
    effects[0] = True
    hooks.delete_attr(owner, name)
    type.__delattr__(owner, name)


def _get_of_class(owner: type, name: str) -> Any:
    hooks.load_attr(owner, name)
    return type.__getattribute__(owner, name)


CLASS_METHODS: dict[str, Function] = {
    "__setattr__": _set_of_class,
    "__delattr__": _delete_of_class,
    "__getattribute__": _get_of_class,
}
"""What stands for methods of `type` that are bound to a class."""


def _set_by(descriptor: Any, obj: Any, value: Any) -> None:
    effects[0] = True
    if id(obj) in published:
        slots.hand_out(value, f"{published[id(obj)].label}.{descriptor.__name__}")
        _stored(obj, descriptor.__name__)
    descriptor.__set__(obj, value)


def _delete_by(descriptor: Any, obj: Any) -> None:
    effects[0] = True
    if id(obj) in published:
        _stored(obj, descriptor.__name__)
    descriptor.__delete__(obj)


def _get_by(descriptor: Any, obj: Any, *kind: Any) -> Any:
    hooks.load_attr(obj, descriptor.__name__)
    return descriptor.__get__(obj, *kind)


DESCRIPTORS = (types.MemberDescriptorType, types.GetSetDescriptorType)
"""Slots, and what else holds an attribute of an instance."""
DESCRIPTOR_METHODS: dict[str, Function] = {
    "__set__": _set_by,
    "__delete__": _delete_by,
    "__get__": _get_by,
}


ATTRIBUTE_METHODS: dict[str, Function] = {
    "__setattr__": _raw_setattr,
    "__delattr__": _raw_delattr,
    "__getattribute__": _raw_getattribute,
}
PURE_METHODS = frozenset(
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


def _length_hint(obj: Any, *default: int) -> int:
    if iterate.is_shared_iterator(obj):
        foreign_steps.run_foreign(PLAIN, obj)  # it asks what it goes through
    else:
        hooks.read_size(obj)
    return operator.length_hint(obj, *default)


def _exec(source: Any, *scopes: Any, **kwargs: Any) -> Any:
    return _run(exec, source, callers_frame(), scopes, kwargs)


def _eval(source: Any, *scopes: Any, **kwargs: Any) -> Any:
    return _run(eval, source, callers_frame(), scopes, kwargs)


_FUTURE_FLAGS = functools.reduce(
    operator.or_, (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)
)


def _run(function: Any, source: Any, caller: types.FrameType, scopes: Any, kwargs: Any) -> Any:
    """Run `exec` or `eval` on rewritten code, in the namespaces of the caller if none are given."""
    given = list(scopes)
    given += [kwargs.pop(name) for name in ("globals", "locals") if name in kwargs]
    if not given or given[0] is None:
        is_function = caller.f_code.co_flags & 1
        given = [caller.f_globals, dict(caller.f_locals) if is_function else caller.f_locals]
    flags = caller.f_code.co_flags & _FUTURE_FLAGS
    name = caller.f_globals.get("__name__", "")
    return function(
        slots.compiled(source, function.__name__, given[0], flags, name), *given, **kwargs
    )


def resolve_key(kwargs: dict[str, Any]) -> None:
    """See to it that what is called for each element announces itself."""
    if kwargs.get("key") is not None:
        kwargs["key"] = slots.resolve(kwargs["key"])


def _reading(function: Any) -> Function:
    """Stand for something that reads its arguments, all at once."""

    def call(*args: Any, **kwargs: Any) -> Any:
        resolve_key(kwargs)
        for value in args:
            if id(value) in published:
                return read_everything(function, *iterate.one_by_one(args), **kwargs)
        return function(*args, **kwargs)

    return call


def _going_through(function: Any, prepare: Function) -> Function:
    """Stand for something that looks into each element of its argument, or into its arguments."""

    def call(*args: Any, **kwargs: Any) -> Any:
        resolve_key(kwargs)
        if len(args) == 1:
            return function(prepare(args[0]), **kwargs)
        hooks.look_into(args)
        return function(*args, **kwargs)

    return call


def _sum(values: Any, start: Any = 0) -> Any:
    """Stand for `sum`."""
    prepared = iterate.to_compare(values)
    hooks.look_into((start,))
    return sum(prepared, start)


def _proxy(mapping: Any) -> Any:
    """Stand for `MappingProxyType`."""
    table = table_of_id(id(mapping))
    found = types.MappingProxyType(mapping)
    if table is not None:
        slots.hand_out(found, table.label)
    return found


def truth(*args: Any) -> bool:
    """Stand for `bool`."""
    if args and id(args[0]) in published:
        hooks.read_truth(args[0])
    return bool(*args)


def _deep(function: Any) -> Function:
    """Stand for something that reads its arguments and what is in them."""
    return functools.partial(read_everything, function)


def _before(hook: Function, function: Any, order: tuple[int, ...]) -> Function:
    """Stand for an operator as a function: call the operator's hook first."""

    def call(*args: Any) -> Any:
        hook(*(args[place] for place in order))
        return function(*args)

    return call


def _in_place(function: Any, method: str) -> Function:
    """Stand for an operator as a function that changes its first operand."""
    return lambda obj, value: function(obj, streams.update_in_place(obj, value, method))


def _setitem(obj: Any, key: Any, value: Any) -> None:
    effects[0] = True
    operator.setitem(obj, key, streams.store_item(value, obj, key))


def _build_functions() -> dict[Any, Function]:
    table: dict[Any, Function] = {
        len: _len,
        iter: iterate.iterator_of,
        next: iterate.take,
        getattr: _getattr,
        hasattr: _hasattr,
        setattr: _setattr,
        delattr: _delattr,
        vars: _vars,
        dir: _dir,
        exec: _exec,
        eval: _eval,
        warnings.warn: library_state.warn,
        operator.getitem: _before(hooks.load_item, operator.getitem, (0, 1)),
        operator.setitem: _setitem,
        operator.delitem: _before(hooks.delete_item, operator.delitem, (0, 1)),
        operator.contains: _before(hooks.contains, operator.contains, (1, 0)),
    }
    for name in ("min", "max"):
        table[getattr(builtins, name)] = _going_through(getattr(builtins, name), iterate.to_compare)
    table[sorted] = _going_through(sorted, iterate.to_sort)
    for name in ("any", "all"):
        builtin = getattr(builtins, name)
        table[builtin] = _going_through(builtin, iterate.to_ask_for_truth)
    for name in ("repr", "ascii", "format", "print"):
        table[getattr(builtins, name)] = _deep(getattr(builtins, name))
    for name in (
        "isinstance", "issubclass", "callable", "chr", "ord", "pow", "bin", "hex", "oct", "open",
        "input", "globals", "locals", "__build_class__", "compile", "__import__", "breakpoint",
    ):  # fmt: skip
        table[getattr(builtins, name)] = getattr(builtins, name)
    _add_operators(table)
    function: Any
    for function in (heapq.heappush, heapq.heappop, heapq.heapify, heapq.heapreplace,
                     heapq.heappushpop, bisect.insort_left, bisect.insort_right):  # fmt: skip
        table[function] = functools.partial(write_first, function)
    for function in (bisect.bisect_left, bisect.bisect_right):
        table[function] = _reading(function)
    return table


_NOT_IN_PLACE = ("is", "is_not", "index", "indexOf", "inv", "invert")


def _add_operators(table: dict[Any, Function]) -> None:
    """Add the functions of `operator` that are not there yet."""
    table[operator.length_hint] = _length_hint
    for special in dir(operator):
        name = special.strip("_")
        function = getattr(operator, special)
        if not callable(function) or function in table or issubclass(type(function), type):
            continue
        if name.startswith("i") and name not in _NOT_IN_PLACE:
            table[function] = _in_place(function, f"__{name}__")
        elif name not in ("is", "is_not", "length_hint", "call"):
            table[function] = _reading(function)


def _build_classes() -> dict[Any, Function]:
    table: dict[Any, Function] = {
        kind: _reading(kind)
        for kind in (list, tuple, dict, set, frozenset, deque, bytearray, bytes, OrderedDict,
                     defaultdict, Counter, int, float, complex)
    }  # fmt: skip
    table[bool] = truth
    table[types.MappingProxyType] = _proxy
    table[str] = _deep(str)
    table[reversed] = iterate.backwards
    return table


FUNCTIONS: dict[Any, Function] = {
    **_build_functions(),
    id: identities.number_of,
    hash: hooks.hash_of,
    sum: _sum,
}
CLASSES: dict[Any, Function] = _build_classes()
LIBRARY: dict[tuple[str, str], Function] = {
    **dict.fromkeys(
        [
            ("dataclasses", "asdict"), ("dataclasses", "astuple"), ("dataclasses", "replace"),
            ("copy", "copy"), ("copy", "deepcopy"), ("json", "dumps"), ("json", "dump"),
            ("pprint", "pprint"), ("pprint", "pformat"), ("heapq", "nlargest"),
            ("heapq", "nsmallest"), ("heapq", "merge"), ("collections", "Counter.most_common"),
            ("collections", "Counter.elements"), ("collections", "Counter.total"),
            ("collections", "Counter.copy"), ("collections", "Counter.__eq__"),
            ("collections", "Counter.__le__"), ("collections", "Counter.__add__"),
            ("collections", "Counter.__repr__"), ("random", "Random.choice"),
            ("random", "Random.sample"), ("random", "Random.choices"), ("statistics", "mean"),
            ("inspect", "getmembers"), ("inspect", "getattr_static"),
        ],
        read_everything,
    ),
    **dict.fromkeys([("random", "Random.shuffle")], write_first),
    **{
        ("logging", f"{owner}{level}"): write_log
        for owner in ("", "Logger.", "LoggerAdapter.")
        for level in ("debug", "info", "warning", "error", "exception", "critical", "log")
    },
    **dict.fromkeys(
        [
            ("collections", "Counter.update"), ("collections", "Counter.subtract"),
            ("collections", "Counter.__delitem__"),
        ],
        write_owner,
    ),
    **library_state.LIBRARY_STATE,
    **loggers.LOGGING,
    **ANNOTATION_READERS,
}  # fmt: skip
"""Functions of the standard library written in Python."""


def standing_in_library(function: Any, inner: types.FunctionType) -> Function | None:
    """Return what stands for a function of the standard library in Python, if something does.

    Of one that only reads its arguments, nothing does if it meets by name what the test changes.
    """
    stand_in = LIBRARY.get((inner.__module__, inner.__qualname__))
    if stand_in is None:
        return None
    if stand_in is read_everything:
        owner = getattr(function, "__self__", None)
        return None if kept_state.is_met_by(inner, owner) else functools.partial(stand_in, function)
    if function is inner and "." in inner.__qualname__.rpartition("<locals>.")[2]:
        return functools.partial(_call_of_class, stand_in, function)
    return functools.partial(stand_in, function)


def _call_of_class(call: Function, function: Any, owner: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call a method as an attribute of its class: `Counter.update(counter, "a")`."""
    return call(types.MethodType(function, owner), *args, **kwargs)
