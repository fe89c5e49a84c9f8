"""Code that stands for a function until it is called: a call of something else, made at once.

A stub has the parameters, names, constants, flags and lines of its function, and its instructions
as well, behind a beginning that never gets there: whoever looks at the code finds what there is to
find. The beginning calls a *hook* with the cells of the closure and with what was given for the
parameters, and returns what that returns. No `RETURN_GENERATOR` is run, so the flag of a generator
or coroutine has no effect: the hook returns one.
"""

from __future__ import annotations

import dis
import opcode
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

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
    beginning = b"".join(_beginning(code))
    return code.replace(
        co_code=beginning + code.co_code,
        co_consts=(*code.co_consts, hook),
        co_linetable=_lines(len(beginning) // 2) + code.co_linetable,
        co_exceptiontable=b"",
        co_stacksize=max(code.co_stacksize, _ROOM + _given(code) + len(code.co_freevars)),
    )


def hook_of(code: CodeType) -> Any:
    """Return the hook of a stub; of any other code object whatever its last constant is."""
    return code.co_consts[-1] if code.co_consts else None


def _given(code: CodeType) -> int:
    return code.co_argcount + code.co_kwonlyargcount


def _beginning(code: CodeType) -> Iterator[bytes]:
    free, given = len(code.co_freevars), _given(code)
    own_cells = sum(name not in code.co_varnames for name in code.co_cellvars)
    first_free = len(code.co_varnames) + own_cells
    extra = iter(range(given, given + 2))
    if free:
        yield _instruction("COPY_FREE_VARS", free)
    yield _instruction("RESUME", 0)
    load = _instruction("LOAD_CONST", len(code.co_consts))
    null = _instruction("PUSH_NULL", 0)
    yield load + null if NULL_LAST else null + load
    yield _tuple(range(first_free, first_free + free))
    yield _tuple(range(code.co_argcount))
    yield _variable(next(extra)) if code.co_flags & _VARARGS else _tuple(range(0))
    yield _tuple(range(code.co_argcount, given))
    takes_keywords = code.co_flags & _KEYWORDS
    yield _variable(next(extra)) if takes_keywords else _instruction("BUILD_MAP", 0)
    if CALLS_WITH_PRECALL:
        yield _instruction("PRECALL", _ARGUMENTS)
    yield _instruction("CALL", _ARGUMENTS)
    yield _instruction("RETURN_VALUE", 0)


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


def _lines(units: int) -> bytes:
    """Return entries of a table of lines: so many units belong to the line of the function."""
    found = b""
    while units > 0:
        found += bytes((_WITHOUT_COLUMNS | min(units, _MOST_UNITS) - 1, 0))
        units -= _MOST_UNITS
    return found
