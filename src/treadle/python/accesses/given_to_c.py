"""What functions and methods in C do with what they are given: they look into it, or call it.

`math.fsum(numbers)`, `tuple.__new__(cls, items)` and `b"abc".find(buffer)` change nothing, and
belong to nobody; yet they look into what others change. `operator.call(items.append, 1)` calls what
it is given, which may be in C as well and says nothing of itself.
"""

from __future__ import annotations

import enum
import functools
import gc
import marshal
import math
import operator
import re
import string
import sys
import types
import weakref
from _operator import _compare_digest
from collections.abc import Callable
from typing import Any

from treadle.core.events import Codes
from treadle.python.accesses import callbacks, iterate
from treadle.python.accesses import instruction_hooks as hooks
from treadle.python.accesses.container_calls import contents
from treadle.python.accesses.known_builtins import ASKING_ONE
from treadle.python.accesses.known_functions import (
    FUNCTIONS,
    LIBRARY,
    read_everything,
    resolve_key,
    say,
)
from treadle.python.accesses.uninstrumented import is_immutable
from treadle.python.runtime import slots
from treadle.python.runtime.atoms import ATOMS
from treadle.python.runtime.spin import effects
from treadle.python.sharing.children import parts_in_c
from treadle.python.sharing.lives import lives
from treadle.python.sharing.nested import CALLED_IN_C
from treadle.python.sharing.published import published, table_of_id

_LOOKING: tuple[Any, ...] = (
    math.fsum, math.prod, math.dist, getattr(math, "sumprod", math.fsum), marshal.dump,
    marshal.dumps, sys.getsizeof, gc.get_referents, _compare_digest,
)  # fmt: skip
"""Functions in C that go through what they are given, of modules whose others do not."""
_INERT = (type, types.FunctionType, types.ModuleType)
COMBINING = frozenset(
    f"__{prefix}{name}__"
    for prefix in ("", "r", "i")
    for name in ("add", "sub", "mul", "mod", "and", "or", "xor")
) | {"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"}
"""Special methods that look into their owner and their argument."""
_READING_TO_BEGIN = frozenset({tuple, frozenset, str, bytes, int, float, complex})
"""Classes whose `__new__` looks into what it is given."""


def look_into(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call something that at most looks into what it is given."""
    hooks.look_into((*args, *kwargs.values()))
    return function(*iterate.one_by_one(args), **kwargs)


def look_into_owner(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call a method of somebody's own container that compares its elements."""
    if kwargs.get("key") is None:
        hooks.look_into((function.__self__, *args))
    else:
        resolve_key(kwargs)
    return function(*args, **kwargs)


_PART_OF_FIELD = re.compile(r"\{\w*[.\[]")
"""The beginning of `{0.name}` and the like."""


def read_arguments(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call a method of somebody's own container that reads its arguments, or calls one."""
    resolve_key(kwargs)
    name = function.__name__
    codes: Codes = ()
    if name in ("format", "format_map"):
        if name == "format_map":
            fields = (field for _, field, *_ in string.Formatter().parse(function.__self__))
            for obj in args:
                hooks.make_defaults(obj, filter(None, fields))
        names_parts = name == "format" and _PART_OF_FIELD.search(function.__self__) is not None
        values = (*args, *kwargs.values())
        hooks.read_deeply(values, ("__format__",), names_parts, through=names_parts)
    elif name == "join":
        hooks.look_into(args)
    else:
        codes = contents(args, goes_through=True)
        again = functools.partial(say, codes)
        again()
    if "update" in name or name in ("extend", "extendleft"):
        effects[0] = True
    if codes:  # what stands before or in what is read may be code under test
        return callbacks.call(again, lambda: codes, function, args, kwargs)
    return function(*args, **kwargs)


def of_match(function: Any) -> Any:
    """Return what to call instead of a method of a match, whose text others may change."""
    text = function.__self__.string
    return function if type(text) in ATOMS else functools.partial(_look_at_text, function, text)


def _look_at_text(function: Any, text: Any, /, *args: Any, **kwargs: Any) -> Any:
    hooks.look_into((text, *args))
    return function(*args, **kwargs)


def of_new(function: Any) -> Any:
    """Return what to call instead of `__new__` of a class in C."""
    is_reading = function.__self__ in _READING_TO_BEGIN
    return functools.partial(_make, function) if is_reading else function


def _make(function: Any, kind: Any, /, *args: Any, **kwargs: Any) -> Any:
    if any(id(value) in published for value in args):
        return read_everything(function, kind, *iterate.one_by_one(args), **kwargs)
    return function(kind, *args, **kwargs)


def held_in_c(owner: Any) -> tuple[Any, ...]:
    """Return what an object in C that nobody else has refers to, of what others have.

    A writer of `csv` has a method of the file that it writes to.
    """
    if is_immutable(type(owner)):
        return ()
    parts = (part.__self__ if type(part) in CALLED_IN_C else part for part in parts_in_c(owner))
    return tuple(
        part for part in parts if id(part) in published and not issubclass(type(part), _INERT)
    )


def get_items(getter: Any, /, *args: Any) -> Any:
    """Call an `itemgetter`; a `defaultdict` may have to make what it asks for."""
    for obj in args:
        hooks.make_defaults(obj, getter.__reduce__()[1])
    return read_everything(getter, *args)


def run_late(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call something that calls its first argument."""
    return function(iterate.called_late(args[0]), *args[1:], **kwargs) if args else function()


def _ask(hook: Callable[[Any], None], function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call a built-in that asks its first argument by a special method."""
    if args:
        hook(args[0])
    return function(*args, **kwargs)


def _call(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Stand for `operator.call`."""
    return slots.resolve(function)(*args, **kwargs)


def weak_reference(obj: Any, *callback: Any) -> Any:
    """Stand for `weakref.ref`, which neither reads nor changes what it leads to."""
    found = weakref.ref(obj, *callback)
    lives.refer_to(obj)
    return found


def weak_proxy(obj: Any, *callback: Any) -> Any:
    """Stand for `weakref.proxy`: attributes of what others have are those of the proxy."""
    table = table_of_id(id(obj))
    found = weakref.proxy(obj, *callback)
    if table is not None:
        slots.hand_out(found, table.label)
    return found


def keep_late(place: int) -> Callable[..., Any]:
    """Stand for a method that keeps one of its arguments, to call it one day."""

    def keep(function: Any, /, *args: Any, **kwargs: Any) -> Any:
        if len(args) <= place:
            return function(*args, **kwargs)
        late = iterate.called_late(args[place])
        result = function(*args[:place], late, *args[place + 1 :], **kwargs)
        return args[place] if result is late else result

    return keep


FUNCTIONS.update({function: functools.partial(look_into, function) for function in _LOOKING})
FUNCTIONS[operator.call] = _call
FUNCTIONS.update({one: functools.partial(_ask, hook, one) for one, hook in ASKING_ONE.items()})
ENUMERATIONS = [
    kind for kind in vars(enum).values() if issubclass(type(kind), enum.EnumMeta) and not len(kind)
]
"""Classes that make one if they are called: `Enum("Colour", names)`."""
LIBRARY.update(
    dict.fromkeys([("genericpath", "commonprefix"), ("posixpath", "commonpath")], look_into)
)
LIBRARY["sched", "scheduler.enter"] = keep_late(2)
LIBRARY["sched", "scheduler.enterabs"] = keep_late(2)
LIBRARY["functools", "singledispatch"] = iterate.calling_back(operator.call)
_REGISTER = ("functools", "singledispatch.<locals>.register")
LIBRARY[_REGISTER] = iterate.calling_back(LIBRARY[_REGISTER])
LIBRARY["functools", f"{_REGISTER[1]}.<locals>.<lambda>"] = iterate.calling_back(operator.call)
