"""Code that stands for a function until it is called: a call of something else, made at once.

A stub has the parameters, names, constants, flags and lines of its function, and its instructions
as well, behind a beginning that never gets there: whoever looks at the code finds what there is to
find. The beginning calls a *hook* with the cells of the closure and with what was given for the
parameters, and returns what that returns. No `RETURN_GENERATOR` is run, so the flag of a generator
or coroutine has no effect: the hook returns one.
"""

from __future__ import annotations

import dis
import functools
import opcode
from collections.abc import Callable
from types import CodeType
from typing import Any, NamedTuple

from treadle.python.instrument.opcodes import CALLS_WITH_PRECALL, NULL_LAST

_VARARGS, _KEYWORDS = 4, 8
"""Flags of code that takes `*args`, and `**kwargs`."""
_ARGUMENTS = 5
"""What a hook is given: cells, positional arguments, `*args`, keyword-only ones, `**kwargs`."""
_ROOM = _ARGUMENTS + 2
_WIDE, _BYTE = 256, 8
_MOST_UNITS = 8
"""Code units that one entry of a table of lines covers."""
_WITHOUT_COLUMNS = 0x80 | 13 << 3
"""The first byte of an entry that says nothing but the line."""
_CACHES: Any = opcode._inline_cache_entries  # type: ignore[attr-defined]
"""Units behind an instruction: a list by opcode up to 3.12, a dictionary by name from then on."""

Hook = Callable[[Any, Any, Any, Any, Any], Any]


def stub_of(code: CodeType, hook: Hook) -> CodeType:
    """Return a code object that calls a hook instead of doing anything."""
    own_cells = sum(name not in code.co_varnames for name in code.co_cellvars)
    free = range(len(code.co_freevars))
    parameters = _Parameters(
        code.co_argcount,
        code.co_argcount + code.co_kwonlyargcount,
        bool(code.co_flags & _VARARGS),
        bool(code.co_flags & _KEYWORDS),
    )
    first_free = len(code.co_varnames) + own_cells if free else 0
    beginning = _beginning(parameters, first_free, len(free), len(code.co_consts))
    return code.replace(
        co_code=beginning + code.co_code,
        co_consts=(*code.co_consts, hook),
        co_linetable=_lines(len(beginning) // 2) + code.co_linetable,
        co_exceptiontable=b"",
        co_stacksize=max(code.co_stacksize, _ROOM + parameters.named + len(free)),
    )


def hook_of(code: CodeType) -> Any:
    """Return the hook of a stub; of any other code object whatever its last constant is."""
    return code.co_consts[-1] if code.co_consts else None


class _Parameters(NamedTuple):
    """What a function takes."""

    positional: int
    named: int
    """How many have names, with those that can be given by name only."""
    takes_more: bool
    takes_keywords: bool


@functools.lru_cache(4096)
def _beginning(parameters: _Parameters, first_free: int, free: int, hook: int) -> bytes:
    """Return what calls the constant at an index; most functions have few parameters alike."""
    positional, named, takes_more, takes_keywords = parameters
    load, null = _instruction("LOAD_CONST", hook), _instruction("PUSH_NULL", 0)
    parts = [
        _instruction("COPY_FREE_VARS", free) if free else b"",
        _instruction("RESUME", 0),
        load + null if NULL_LAST else null + load,
        _tuple(range(first_free, first_free + free)),
        _tuple(range(positional)),
        _variable(named) if takes_more else _tuple(range(0)),
        _tuple(range(positional, named)),
        _variable(named + takes_more) if takes_keywords else _instruction("BUILD_MAP", 0),
        _instruction("PRECALL", _ARGUMENTS) if CALLS_WITH_PRECALL else b"",
        _instruction("CALL", _ARGUMENTS),
        _instruction("RETURN_VALUE", 0),
    ]
    return b"".join(parts)


def _tuple(places: range) -> bytes:
    return b"".join(map(_variable, places)) + _instruction("BUILD_TUPLE", len(places))


def _variable(place: int) -> bytes:
    """Return what loads a parameter, or a cell as it is: both lie among the local variables."""
    return _instruction("LOAD_FAST", place)


def _instruction(name: str, argument: int) -> bytes:
    found = bytes((dis.opmap[name], argument % _WIDE))
    while argument := argument >> _BYTE:
        found = bytes((dis.opmap["EXTENDED_ARG"], argument % _WIDE)) + found
    is_by_name = isinstance(_CACHES, dict)
    units = _CACHES.get(name, 0) if is_by_name else _CACHES[dis.opmap[name]]
    return found + bytes(2 * units)


@functools.cache
def _lines(units: int) -> bytes:
    """Return entries of a table of lines: so many units belong to the line of the function."""
    found = b""
    while units > 0:
        found += bytes((_WITHOUT_COLUMNS | min(units, _MOST_UNITS) - 1, 0))
        units -= _MOST_UNITS
    return found
