"""How a task stands: where, with which variables, and how far its `for` loops have come.

What a `for` loop iterates over is in no variable, but on the stack of its frame. So
`for delay in (0.1, 0.1, 5): await asyncio.sleep(delay)` stands elsewhere in the second round,
although all of its variables are as they were.
"""

from __future__ import annotations

import dis
import gc
from collections.abc import Hashable
from types import CodeType, FrameType, FunctionType
from typing import Any

from treadle.core.frames import awaiting_frames, is_of_the_user
from treadle.python.accesses.iterate import SharedIterator
from treadle.python.runtime.atoms import ATOMS
from treadle.tasks.waiting import is_asyncio

_DELAYS = ("__await__", "__sleep0", "_pausing", "arriving", "pause", "sleep")
"""Functions whose frames are new in each round."""
_ITERATES = dis.opmap["FOR_ITER"]
_OF_OTHERS = (enumerate, zip)
"""Iterators that have come as far as those that they are made of."""

Standing = list[tuple[FrameType, int, dict[str, Any], list[Hashable]]]
"""Frames of a task, each with its place, its variables and how far its iterators have come."""


def standing_of(task: Any) -> Standing:
    """Return how a task stands, outermost first."""
    holders: list[tuple[Any, Any]] = []
    frames = awaiting_frames(task._coro, holders)
    return [
        (frame, frame.f_lasti, dict(frame.f_locals), _progress_in(frame.f_code, *holder))
        for frame, holder in zip(frames, holders, strict=True)
        if not (frame.f_code.co_name in _DELAYS and is_asyncio(frame.f_code.co_filename))
    ]


def is_same(before: Standing, after: Standing) -> bool:
    """Tell whether a task stands where it stood, with the same variables."""
    return len(before) == len(after) and all(
        one[0] is other[0]
        and one[1] == other[1]
        and one[3] == other[3]
        and one[2].keys() == other[2].keys()
        and all(_is_same_value(value, other[2][name]) for name, value in one[2].items())
        for one, other in zip(before, after, strict=True)
    )


def _is_same_value(one: Any, other: Any) -> bool:
    return one is other or (type(one) in ATOMS and type(one) is type(other) and one == other)


def _progress_in(code: CodeType, holder: Any, awaited: Any) -> list[Hashable]:
    """Return how far the loops of one frame have come."""
    if not _has_loops(code):
        return []
    found = gc.get_referents(holder)
    return [_progress(one) for one in found if _is_iterator(one) and one is not awaited]


_with_loops: dict[int, tuple[CodeType, bool]] = {}
"""By `id`, since rewritten code has constants that cannot be hashed."""


def _has_loops(code: CodeType) -> bool:
    known = _with_loops.get(id(code))
    if known is None:
        has = any(one.opcode == _ITERATES for one in dis.get_instructions(code))
        known = _with_loops[id(code)] = (code, has)
    return known[1]


def _is_iterator(found: Any) -> bool:
    return hasattr(type(found), "__next__")


def _progress(iterator: Any) -> Hashable:
    """Return how far an iterator has come; what never equals anything if nobody knows."""
    kind: Any = type(iterator)
    if kind is SharedIterator:
        return _progress(iterator.native)
    if isinstance(iterator, _OF_OTHERS):
        return tuple(map(_progress, _parts_of(iterator)))
    method = kind.__next__
    if isinstance(method, FunctionType) and is_of_the_user(method.__code__.co_filename):
        return id(iterator)  # what it changes is seen
    try:
        return int(kind.__length_hint__(iterator))
    except AttributeError:
        return object()
    except TypeError:
        return "endless"


def _parts_of(iterator: Any) -> list[Any]:
    """Return what an iterator iterates over."""
    found = gc.get_referents(iterator)
    parts = [one for each in found for one in (each if type(each) is tuple else (each,))]
    return [one for one in parts if _is_iterator(one)]
