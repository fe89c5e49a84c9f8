"""Which jumps end a round of a loop, whatever a Python makes of it.

A loop that waits is asked where it jumps back whether it goes on like that. Not every jump back is
one of a loop: handlers come after everything, and jump back to where a `try` or `with` ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bytecode import Instr, Label
from bytecode.instr import TryBegin, TryEnd

BACK = ("JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT")
HANDLER = "PUSH_EXC_INFO"
"""What a handler begins with."""
_LOOP_HEADS = frozenset({"FOR_ITER", "GET_ANEXT", "SEND"})
NEVER_GO_ON = frozenset(
    {"RETURN_VALUE", "RETURN_CONST", "RERAISE", "RAISE_VARARGS", "JUMP_FORWARD", *BACK}
)


def ends_of_rounds(source: list[Any]) -> set[int]:
    """Return the jumps, by their identity, at which a round of a `while` loop ends."""
    places = {id(item): at for at, item in enumerate(source) if isinstance(item, Label)}
    others = _heads_of_other_loops(source)
    found: set[int] = set()
    for at, item in enumerate(source):
        head = places.get(id(item.arg), at) if isinstance(item, Instr) else at
        is_back = head < at and id(item.arg) not in others
        if is_back and not _can_be_reached(source, at, head, places):
            found.add(id(item))
    return found


def _heads_of_other_loops(source: list[Any]) -> set[int]:
    """Return the labels that the backward jumps of `for` loops and the like go to."""
    found: set[int] = set()
    pending: list[Label] = []
    for item in source:
        if isinstance(item, Label):
            pending.append(item)
        elif isinstance(item, Instr):
            if item.name in _LOOP_HEADS:
                found.update(id(label) for label in pending)
            pending = []
    return found


def _can_be_reached(source: list[Any], goal: int, without: int, places: dict[int, int]) -> bool:
    """Tell whether there is a way to an instruction that does not lead through another."""
    handlers: list[int | None] = [None]
    for item in source:
        if isinstance(item, TryBegin):
            handlers.append(places[id(item.target)])
        else:
            handlers.append(None if isinstance(item, TryEnd) else handlers[-1])
    seen: set[int] = set()
    pending = [0]
    while pending:
        at = pending.pop()
        if at == goal:
            return True
        if at not in seen and at != without:
            seen.add(at)
            pending += _next(source, at, places)
            handler = handlers[at]
            pending += [] if handler is None else [handler]
    return False


def _next(source: list[Any], at: int, places: dict[int, int]) -> Iterator[int]:
    item = source[at]
    name = item.name if isinstance(item, Instr) else ""
    if name not in NEVER_GO_ON and at + 1 < len(source):
        yield at + 1
    if name and id(item.arg) in places:
        yield places[id(item.arg)]
