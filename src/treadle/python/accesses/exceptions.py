"""What raising an exception that threads share sets in it, and what its methods change.

`raise error from cause` sets `__cause__` and `__suppress_context__`; inside of a handler any
`raise` sets `__context__`; and each adds to `__traceback__`.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable
from typing import Any

from treadle.core.events import Codes
from treadle.python.accesses import foreign_steps
from treadle.python.accesses import instruction_hooks as hooks
from treadle.python.accesses.reach import Reach
from treadle.python.runtime import control, slots
from treadle.python.sharing.containers import ContainerTable, whole_read
from treadle.python.sharing.published import published, table_of_id
from treadle.python.sharing.tables import ObjectTable, Table

_NOTES = "__notes__"
_CAUSE = ("__cause__", "__suppress_context__")
_CONTEXT = "__context__"
_TRACEBACK = "__traceback__"
_LOOKING = frozenset({*_CAUSE, _CONTEXT, _TRACEBACK, "traceback"})
"""Names of which code under test has one if somebody looks at what raising sets."""


def before_raise(error: Any) -> None:
    """Before `raise error`."""
    _set(error, ())


def before_raise_from(error: Any, cause: Any) -> None:
    """Before `raise error from cause`."""
    table = table_of_id(id(error))
    if table is not None and issubclass(type(cause), BaseException):
        slots.hand_out(cause, f"{table.label}.{_CAUSE[0]}")
    _set(error, _CAUSE)


def _set(error: Any, names: tuple[str, ...]) -> None:
    table = published.get(id(error))
    if type(table) is not ObjectTable or _LOOKING.isdisjoint(control.the_program().shared.names):
        return
    handled = sys.exc_info()[1]
    if handled is not None and handled is not error:
        slots.hand_out(handled, f"{table.label}.{_CONTEXT}")
        names = (*names, _CONTEXT)
    hooks.say(_written(table, (*names, _TRACEBACK)))


def _written(table: Table, names: Iterable[str]) -> Codes:
    return tuple(dict.fromkeys(code for name in names for code in table.writes[name]))


def method_of(function: Any, owner: Any) -> Any:
    """Return what to call instead of a method in C of an exception that threads share."""
    stand_in = _METHODS.get(function.__name__)
    return function if stand_in is None else functools.partial(stand_in, function, owner)


def _add_note(function: Any, error: Any, note: Any) -> None:
    """Stand for `add_note`: it makes a list of notes if there is none, and adds."""
    table = published[id(error)]

    def find() -> Reach:
        reach = Reach(published)
        reach.touch(table.writes[_NOTES])
        held = table_of_id(id(getattr(error, _NOTES, None)))
        reach.touch(held.whole_write() if isinstance(held, ContainerTable) else ())
        return reach

    foreign_steps.perform(find)
    function(note)
    slots.hand_out(error.__notes__, f"{table.label}.{_NOTES}")


def _with_traceback(function: Any, error: Any, trace: Any) -> Any:
    hooks.say(_written(published[id(error)], (_TRACEBACK,)))
    return function(trace)


def _begin_anew(function: Any, error: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Stand for `__init__`, which sets the arguments."""
    table = published[id(error)]
    for value in args:
        slots.hand_out(value, f"{table.label}.args")
    hooks.say(_written(table, ("args",)))
    return function(*args, **kwargs)


def _set_state(function: Any, error: Any, state: Any) -> Any:
    table = published[id(error)]
    held = state if issubclass(type(state), dict) else {}
    for name, value in held.items():
        slots.hand_out(value, f"{table.label}.{name}")
    hooks.say(_written(table, held))
    return function(state)


def _reduce(function: Any, error: Any, /, *args: Any) -> Any:
    hooks.say(whole_read(published[id(error)]))
    return function(*args)


_METHODS: dict[str, Callable[..., Any]] = {
    "add_note": _add_note,
    "with_traceback": _with_traceback,
    "__init__": _begin_anew,
    "__setstate__": _set_state,
    **dict.fromkeys(["__reduce__", "__reduce_ex__"], _reduce),
}
