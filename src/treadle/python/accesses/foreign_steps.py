"""Operators and attributes that run code which is not instrumented: one step, looked at again.

What such code reaches may be something else when the step is made than when it was announced, and
once more when the code is over.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from treadle.core.events import OPEN, Codes
from treadle.python.accesses import callbacks
from treadle.python.accesses.access_deeds import ATTRIBUTE
from treadle.python.accesses.outside_modules import meet_extension
from treadle.python.accesses.reach import Reach
from treadle.python.accesses.uninstrumented import Behind
from treadle.python.runtime import control, notes, slots
from treadle.python.runtime.atoms import ATOMS
from treadle.python.runtime.deeds import PLAIN_ACCESS, Deed
from treadle.python.runtime.escapes import escapes
from treadle.python.sharing.published import published


def perform(
    find: Callable[[], Reach], deed: Deed = PLAIN_ACCESS, about: Any = None, detail: Any = None
) -> None:
    """Announce what an operation reaches; that may be something else when it happens.

    If it calls back, or a library may make what is not there yet, it is looked at again.
    """
    codes = find().codes
    if not codes:
        return
    slots.announce(codes, deed, about, detail)
    reach = _found(find)
    if reach.codes != codes:
        control.revise(reach.codes)
    _expect(functools.partial(perform, find, deed, about, detail), find, reach.notes)


def _expect(again: Callable[[], None], find: Callable[[], Reach], names: list[str]) -> None:
    """Note what is called, which may call back, and then is announced again."""
    for function in names:
        notes.note(function)
    callbacks.expect(again, functools.partial(reached, find), is_told=not names)


def reached(find: Callable[[], Reach]) -> Codes:
    """Return what an operation reaches now that it goes on, or is over."""
    with escapes.told():
        return _found(find).codes


def _found(find: Callable[[], Reach]) -> Reach:
    """Find what an operation reaches; what it finds that was put there unseen is published."""
    reach = find()
    if reach.missing:
        for value, label in reach.missing:
            slots.hand_out(value, label)
        reach = find()
    return reach


def run_foreign(
    found: Behind,
    obj: Any,
    others: tuple[Any, ...] = (),
    name: str = "",
    deed: Deed = PLAIN_ACCESS,
    detail: Any = None,
) -> None:
    """Before code that is not instrumented does something with an object, by an operator."""
    perform(_finding_foreign(found, obj, others, name), deed, obj, detail)


def _finding_foreign(
    found: Behind, obj: Any, others: tuple[Any, ...], name: str
) -> Callable[[], Reach]:
    """Return what finds what such code reaches; it is given the other operands."""
    label = published[id(obj)].label
    if not found.name:
        meet_extension(type(obj))
    for other in others:
        if type(other) not in ATOMS:
            slots.hand_out(other, f"{label}[...]")
    owner = obj if found.descriptor is None else found.descriptor

    def find() -> Reach:
        reach = Reach(published)
        met, values = slots.met_by(found.function, owner) if found.function else ((), [])
        reach.write([obj], (*others, *values), name)
        reach.touch(met)
        reach.notes += [found.name] if found.name else []
        return reach

    return find


def load_unless_stored(found: Behind, obj: Any, name: str) -> None:
    """Before an attribute is read that foreign code is asked for if the object does not hold it.

    Whether it does is decided when the step is made, not when it is announced: threads may store
    the attribute in between.
    """
    find, table = _finding_foreign(found, obj, (), name), published[id(obj)]

    def touched(foreign: Callable[[], Reach]) -> Codes:
        if name not in getattr(obj, "__dict__", ()):
            return foreign().codes
        return (*table[name], OPEN) if table[name] else ()

    announced = touched(find)
    if not announced:
        return
    slots.announce(announced, ATTRIBUTE, obj, name)
    decided = touched(functools.partial(_found, find))
    if decided != announced:
        control.decide(announced, decided)
    if name not in getattr(obj, "__dict__", ()):
        _expect(functools.partial(load_unless_stored, found, obj, name), find, [found.name])
