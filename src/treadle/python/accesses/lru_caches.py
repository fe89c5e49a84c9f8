"""`functools.lru_cache`: looking a result up is one step, keeping it belongs to a later one.

The cache is in C and calls its function in between, where threads may switch. Code under test takes
steps only where it touches something shared; so a function that has a cache gets one more, without
an access, where it begins. What the cache keeps, it keeps in a step of its own.

Each key is a location of its own, as long as the cache has room: who asks for one key cannot tell
who asked for another. What asks for the whole (`cache_info`, `cache_clear`) conflicts with all
calls. A cache that got full throws away what was asked for longest ago; so the order counts then.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Hashable
from types import CodeType, FunctionType
from typing import Any

from treadle.core.events import Codes, Mode, code, location_of
from treadle.python.accesses import callbacks
from treadle.python.accesses import instruction_hooks as hooks
from treadle.python.accesses.uninstrumented import state_of
from treadle.python.runtime import control, notes, slots
from treadle.python.sharing.keys import name_of_key
from treadle.python.sharing.namespaces import instrumented
from treadle.python.sharing.tables import Table

KIND: Any = type(functools.lru_cache(int))
_ASKED = "a cache was asked"
_FULL = "a cache was full"
_beginning: dict[int, tuple[CodeType, CodeType]] = {}
"""Code of functions, and the same with the step at its beginning, by `id` of the former."""
_with_steps: set[int] = set()
"""`id`s of the latter."""
_swapped: list[tuple[FunctionType, CodeType]] = []
"""Functions that outlive an execution, and the code that they had."""


def call(cache: Any, table: Table, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function with a cache that others can reach."""
    me = control.current()
    if me is None:
        return cache(*args, **kwargs)
    _take_a_step_at_first(getattr(cache, "__wrapped__", None))
    hooks.say(_asking(table, args, kwargs))
    me.scratch[_ASKED] = True
    try:
        result = callbacks.call(
            lambda: hooks.say(_asking(table, args, kwargs)), tuple, cache, args, kwargs
        )
    finally:
        me.scratch[_ASKED] = False
    slots.hand_out(result, f"{table.label}()")
    info = cache.cache_info()
    if info.maxsize is not None and info.currsize >= info.maxsize:
        table.shared.note(table.sort, _FULL)
    control.revise(_asking(table, args, kwargs))
    return result


def _asking(table: Table, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Codes:
    """Return the codes of asking for a key: that key, and an addition to the whole."""
    key = _key(table, args, kwargs)
    if key is None or table.shared.happens(table.sort, _FULL):
        return (state_of(table),)
    whole = location_of(state_of(table))
    return (table.at(("key", key), Mode.WRITE, f"{key}"), code(whole, Mode.ADD))


def _key(
    table: Table, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Hashable, ...] | None:
    """Return a name for what is asked for; None if it may be equal to anything."""
    names = [name_of_key(table, value) for value in (*args, *kwargs.values())]
    if any(name is None or name[0] == "other" for name in names):
        return None
    return (*(name[0] for name in names if name is not None), *sorted(kwargs))


def note_whole(method: Any, cache: Any) -> None:
    """Note that a cache is asked, or emptied, whose function is not looked into."""
    if type(cache) is not KIND or method.__name__ not in ("cache_info", "cache_clear"):
        return
    if id(getattr(cache.__wrapped__, "__globals__", None)) in instrumented:
        return
    notes.remark(
        "caches of libraries",
        f"{cache.__module__}.{cache.__qualname__}.{method.__name__}",
        "what {} tells or forgets is a library's: calls that fill its cache come in one order only",
    )


def undo() -> None:
    """Put the code of functions back."""
    while _swapped:
        function, code = _swapped.pop()
        function.__code__ = code


def _begin() -> None:
    """Take a step if a cache that was asked knows nothing and has called its function."""
    me = control.current()
    if me is not None and me.scratch.get(_ASKED):
        me.scratch[_ASKED] = False
        if slots.announce is not slots.nothing:
            slots.announce(())


def _take_a_step_at_first(function: Any) -> None:
    """See to it that a function under test takes a step where it begins."""
    if (
        type(function) is not FunctionType
        or id(function.__globals__) not in instrumented
        or id(function.__code__) in _with_steps
        or inspect.isgeneratorfunction(function)
    ):
        return
    slots.settle(function)
    code = function.__code__
    known = _beginning.get(id(code))
    if known is None:
        known = _beginning[id(code)] = code, slots.with_hook_at_first(code, _begin)
        _with_steps.add(id(known[1]))
    if "<locals>" not in function.__qualname__:
        _swapped.append((function, code))
    function.__code__ = known[1]
