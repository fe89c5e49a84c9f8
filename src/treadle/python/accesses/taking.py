"""Methods that take something out of a container, if there is anything to take.

`while True: try: x = items.pop() except IndexError: sleep(0.1)` polls: a round that found nothing
changed nothing. What such a call touches is announced before anybody knows that, as a change; only
the loops that wait (`runtime.spin`) are told.
"""

from __future__ import annotations

import heapq
import types
from collections import OrderedDict, defaultdict, deque
from typing import Any

from treadle.core.events import Codes
from treadle.python.runtime import slots
from treadle.python.runtime.spin import effects, found_nothing
from treadle.python.sharing.containers import ContainerTable
from treadle.python.sharing.namespaces import instrumented
from treadle.python.sharing.published import table_of_id

TAKING = frozenset({"pop", "popleft", "popitem", "remove", "discard", "clear"})
"""Names of methods that change nothing if they find nothing."""
_HELD = (list, dict, set, deque, OrderedDict, defaultdict)
"""Classes whose instances are as they were if a method that takes leaves as many in them."""


def resolve(function: Any) -> Any:
    """Return what to call instead of a callable with one of these names.

    Nobody knows what it does, but where it says so itself.
    """
    if not _speaks_for_itself(function):
        effects[0] = True
    return slots.resolve(function)


def _speaks_for_itself(function: Any) -> bool:
    """Tell whether a function is under test, or a method of a container that others can reach."""
    if type(function) is types.BuiltinFunctionType:
        return isinstance(table_of_id(id(function.__self__)), ContainerTable)
    inner = function.__func__ if type(function) is types.MethodType else function
    return type(inner) is types.FunctionType and id(inner.__globals__) in instrumented


def may_take(name: str) -> None:
    """Take note of a call that may take something, if it is one, whatever it finds."""
    if name in TAKING:
        effects[0] = True


def called(
    function: Any, name: str, codes: Codes, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Call a method of a published container, which was announced to touch this."""
    if name not in TAKING:
        return function(*args, **kwargs)
    owner = function.__self__
    if not codes or type(owner) not in _HELD:
        effects[0] = True
        return function(*args, **kwargs)
    before = len(owner)
    try:
        return function(*args, **kwargs)
    finally:
        if len(owner) == before:
            found_nothing(tuple(dict.fromkeys(codes)))


def changes(function: Any, items: Any, codes: Codes) -> None:
    """Take note of a function that changes what it is given, which was announced to touch this."""
    if function is heapq.heappop and not items:
        found_nothing(codes)
    else:
        effects[0] = True
