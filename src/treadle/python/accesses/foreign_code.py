"""Code that is not looked into, and what it may touch: all that hangs on what it has hold of.

That is a function of a library from its call to its return, and a coroutine or asynchronous
generator of a library whenever it goes on.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterable, Iterator
from types import FrameType
from typing import Any

from treadle.core.events import Codes
from treadle.python.accesses import foreign_steps, in_sight, kept_state
from treadle.python.accesses.reach import Reach
from treadle.python.accesses.uninstrumented import is_immutable, is_reader, is_silent
from treadle.python.runtime import notes, slots
from treadle.python.runtime.atoms import ATOMS
from treadle.python.runtime.deeds import PLAIN_ACCESS
from treadle.python.sharing.namespaces import instrumented
from treadle.python.sharing.nested import held_by
from treadle.python.sharing.published import published


def reaching(
    values: tuple[Any, ...], name: str, kept: Callable[[], Codes]
) -> Callable[[], Reach] | None:
    """Return what finds all that code may touch which has hold of some values; None for nothing.

    `kept` tells what it touches besides them.
    """
    mutable = [value for value in values if _is_mutable(value)]
    if not mutable and not held_by(values, published) and not kept():
        return None
    if mutable:
        hand_out_all(values, published[id(mutable[0])].label)

    def find() -> Reach:
        reach = Reach(published)
        reach.touch(kept())
        held = held_by(values, published)
        if mutable or held:
            reach.write(mutable, (*values, *held))
        for value in mutable:
            reach.touch(in_sight.codes_of(value))
        reach.notes += [name] if name else []
        return reach

    return find


def _is_mutable(value: Any) -> bool:
    """Tell whether something is published that code might change."""
    kind = type(value)
    return (
        id(value) in published
        and not issubclass(kind, type | types.FunctionType | types.CellType | types.ModuleType)
        and not is_immutable(kind)
    )


def hand_out_all(values: Iterable[Any], label: str) -> None:
    """Publish what code gets that keeps it, perhaps, in something with this label."""
    for value in values:
        if type(value) not in ATOMS:
            slots.hand_out(value, f"{label}[...]")


def goes_on(frames: Iterable[FrameType]) -> None:
    """Announce what coroutines and asynchronous generators may touch that go on now.

    It is announced before they do so, and once more when they wait again: by then they may have got
    hold of something else.
    """
    if published:
        for frame in _not_looked_into(frames):
            _announce(frame)


def _not_looked_into(frames: Iterable[FrameType]) -> Iterator[FrameType]:
    for frame in frames:
        if id(frame.f_globals) in instrumented:
            continue
        module = str(frame.f_globals.get("__name__"))
        if not _is_harmless(module) and not slots.take_in(module):
            yield frame


@functools.cache
def _is_harmless(module: str) -> bool:
    return is_silent(module) or is_reader(module)


def _announce(frame: FrameType) -> None:
    code = frame.f_code
    cells = tuple(types.CellType() for _ in code.co_freevars)
    function = types.FunctionType(code, frame.f_globals, closure=cells)
    held = frame.f_locals
    owner = held.get(code.co_varnames[0]) if code.co_argcount else None
    values = (*held.values(), *kept_state.named_by(function, owner))
    name = f"{function.__module__}.{code.co_qualname}"
    find = reaching(values, name, kept_state.touching(function, owner))
    if find is not None:
        slots.announce(foreign_steps.reached(find), PLAIN_ACCESS)
        notes.note(name, "as a task goes on in it")
