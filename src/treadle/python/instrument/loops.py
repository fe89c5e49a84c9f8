"""Loops; and `while` loops as Python up to 3.13 compiles them, with a second test at the end.

    while test:        if test:
        body               while True:
                               body
                               if not test: break

From Python 3.14 on the end of a body jumps to the one test before it. A loop that waits is asked
where it jumps back whether it goes on like that; before its test it would be asked one read
earlier, and executions would differ from those of an older Python. So the copy is put back.
`continue` jumps to the first test on every Python.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from bytecode import Instr, Label

_CONTINUE = len("continue")
_BACK = ("JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT")
_LOOP_HEADS = frozenset({"FOR_ITER", "GET_ANEXT", "SEND"})
_NO_TEST = ("NOP", "FOR_ITER", "SEND")
"""What a loop begins with that has no test: `while True` leaves a NOP in a line of its own."""


def for_labels(source: list[Any]) -> set[int]:
    """Return the labels that the backward jumps of `for` loops go to."""
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


def test_again_at_the_end(items: list[Any]) -> list[Any]:
    """Return instructions in which the body of a `while` loop is followed by its test, again."""
    places = {id(item): at for at, item in enumerate(items) if isinstance(item, Label)}
    jumps: defaultdict[int, list[int]] = defaultdict(list)
    for at, item in enumerate(items):
        if isinstance(item, Instr) and item.name in _BACK and not _is_continue(items, at):
            jumps[places[id(item.arg)]].append(at)
    instead: dict[int, list[Any]] = {}
    for head, back in jumps.items():
        test = _Test(items, head, places)
        if test.is_left_after(back):
            instead |= test.again(back)
    return [one for at, item in enumerate(items) for one in instead.get(at, [item])]


def _is_continue(items: list[Any], at: int) -> bool:
    """Tell whether a jump was written by the user: others have the place of what is before them."""
    place = items[at].location
    if place is None or place.col_offset is None or place.end_col_offset is None:
        return False
    before = next((one for one in reversed(items[:at]) if isinstance(one, Instr)), None)
    is_as_long = bool(place.end_col_offset - place.col_offset == _CONTINUE)
    return is_as_long and (before is None or before.location != place)


def _line(i: Any) -> int | None:
    return None if i.location is None else i.location.lineno


class _Test:
    """What stands between the head of a loop and its body, in the line in which it begins."""

    def __init__(self, items: list[Any], head: int, places: dict[int, int]) -> None:
        self._items = items
        self._head = head
        self._line: int | None = None
        self._end = self._exit = head
        """The last jump out of the loop, and where it goes to."""
        for at in range(head, len(items)):
            item = items[at]
            if isinstance(item, Instr):
                self._line = _line(item) if self._line is None else self._line
                if _line(item) != self._line or item.name in _NO_TEST or item.name in _BACK:
                    break
                if item.name.startswith("POP_JUMP_IF") and places[id(item.arg)] >= self._exit:
                    self._end, self._exit = at, places[id(item.arg)]
            elif not isinstance(item, Label):  # a `try` begins or ends
                break

    def is_left_after(self, back: list[int]) -> bool:
        """Tell whether there is a test, and its jumps lead out of the loop."""
        same_line = [at for at in back if _line(self._items[at]) == self._line]
        return back[0] < self._exit and all(at < self._exit for at in same_line)

    def again(self, back: list[int]) -> dict[int, list[Any]]:
        """Return what stands instead of some instructions: a copy before the last jump back."""
        body, copy = Label(), Label()
        last = max(at for at in back if at < self._exit)
        instead: dict[int, list[Any]] = {self._end: [self._items[self._end], body]}
        for at in back:
            name = "JUMP_FORWARD" if at < last else self._items[at].name
            instead[at] = [Instr(name, copy, location=self._items[at].location)]
        end = Instr("JUMP_BACKWARD", body, location=self._items[last].location)
        instead[last] = [copy, *_copied(self._items[self._head + 1 : self._end + 1]), end]
        return instead


def _copied(test: list[Any]) -> list[Any]:
    labels = {id(item): Label() for item in test if isinstance(item, Label)}
    return [labels[id(one)] if isinstance(one, Label) else _copy(one, labels) for one in test]


def _copy(i: Any, labels: dict[int, Label]) -> Instr:
    arg = labels.get(id(i.arg), i.arg)
    return i.copy() if arg is i.arg else Instr(i.name, arg, location=i.location)
