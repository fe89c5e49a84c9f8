"""`while` loops as Python up to 3.13 compiles them, with a second test at the end.

    while test:        if test:
        body               while True:
                               body
                               if not test: break

From Python 3.14 on the end of a body jumps to the one test before it. A loop that waits is asked
where it jumps back whether it goes on like that; before its test it would be asked one read
earlier, and executions would differ from those of an older Python. So the copy is put back.
`continue` jumps to the first test on every Python.

Where a test ends and the body begins no instruction says: the source does, by positions. Without a
source, a test is what is in the line in which it begins, up to the last jump out of the loop.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bytecode import Instr, Label
from bytecode.instr import TryBegin, TryEnd

from treadle.analyses.ir import Span
from treadle.analyses.sources import tests_of_loops
from treadle.python.instrument.loops import BACK, HANDLER, NEVER_GO_ON, ends_of_rounds

_CONTINUE = len("continue")
_NO_TEST = ("NOP", "FOR_ITER", "SEND")
"""What a loop begins with that has no test: `while True` leaves a NOP in a line of its own."""


def test_again_at_the_end(source: list[Any], file: str) -> list[Any]:
    """Return instructions in which the body of a `while` loop is followed by its test, again."""
    if not any(_name(one) in BACK for one in source):
        return source
    code = _Code(source, file)
    heads = [one for one in code.items if isinstance(one, Label)]
    for head in reversed(heads):  # the inner loops first: they may end where an outer one does
        code.test_again(head)
    return list(code.with_tries())


class _Code:
    """Instructions and labels; what handles the exceptions of each is kept apart."""

    def __init__(self, source: list[Any], file: str) -> None:
        self.items: list[Any] = [one for one in source if isinstance(one, Instr | Label)]
        self._spans = tests_of_loops(file)
        self._places = _places(self.items)
        self._kept = list(self.items)
        """All that ever was, so that an identity stays that of one."""
        self._handlers: dict[int, TryBegin | None] = {}
        current: TryBegin | None = None
        for item in source:
            if isinstance(item, TryBegin | TryEnd):
                current = item if isinstance(item, TryBegin) else None
            else:
                self._handlers[id(item)] = current

    def with_tries(self) -> Iterator[Any]:
        """Yield all instructions, with where a `try` begins and ends."""
        current: TryBegin | None = None
        for item in self.items:
            raises = isinstance(item, Instr) and item.name != "NOT_TAKEN"
            wanted = self._handlers[id(item)] if raises else current
            if _target(wanted) != _target(current):
                if current is not None:
                    yield TryEnd(current)
                current = wanted and TryBegin(wanted.target, wanted.push_lasti, wanted.stack_depth)
                if current is not None:
                    yield current
            yield item
        if current is not None:
            yield TryEnd(current)

    def test_again(self, head: Label) -> None:
        """Put a copy of the test of the loop that begins at a label after its body."""
        back = self._ends_of_body(head)
        if not back:
            return
        first = self._after_labels(self._places[id(head)])
        end = self._end_of_part(first)
        last = max((at for at in back if at < end), default=back[-1])
        test = self._test(first, end, last)
        if not test:
            return
        copy, ways_out = Label(), self._ways_out(test)
        instead: dict[int, list[Any]] = {}
        for at in back:
            name = "JUMP_FORWARD" if at < last else self.items[at].name
            instead[at] = [self._made(name, copy, self.items[at])]
        instead[last] = [copy, *self._copied(test, last, ways_out)]
        self.items = [
            one
            for at, item in enumerate(self.items)
            for one in ([ways_out[at]] if at in ways_out else []) + instead.get(at, [item])
        ]
        self._places = _places(self.items)

    def _ends_of_body(self, head: Label) -> list[int]:
        """Return where a body ends that is not left by `continue`."""
        jumps = [at for at, one in enumerate(self.items) if _name(one) in BACK and one.arg is head]
        if not jumps:
            return []
        rounds = ends_of_rounds(list(self.with_tries()))
        return [at for at in jumps if id(self.items[at]) in rounds and not self._is_continue(at)]

    def _is_continue(self, at: int) -> bool:
        """Tell whether a jump was written: others have the place of what is before them."""
        place = self.items[at].location
        if place is None or place.col_offset is None or place.end_col_offset is None:
            return False
        before = next((one for one in reversed(self.items[:at]) if isinstance(one, Instr)), None)
        is_as_long = bool(place.end_col_offset - place.col_offset == _CONTINUE)
        return is_as_long and (before is None or before.location != place)

    def _end_of_part(self, at: int) -> int:
        """Return where the handlers begin: each part is in the order of the source."""
        names = map(_name, self.items)
        handlers = next((at for at, name in enumerate(names) if name == HANDLER), len(self.items))
        return handlers if at < handlers else len(self.items)

    def _after_labels(self, at: int) -> int:
        while at < len(self.items) and isinstance(self.items[at], Label):
            at += 1
        return at

    def _target(self, i: Any) -> int:
        """Return where the instruction is that another jumps to; -1 if it does not jump."""
        return self._after_labels(self._places[id(i.arg)]) if isinstance(i.arg, Label) else -1

    def _test(self, first: int, end: int, last: int) -> list[int]:
        """Return where the instructions of the test are that begins somewhere."""
        beginning = self.items[first]
        if beginning.name in _NO_TEST:
            return []
        span = next((one for one in self._spans if _is_in(one, beginning)), None)
        if span is None or _line(beginning) is None:
            return self._test_in_line(first, last)
        inside = [at for at in range(first, end) if _is_in(span, self.items[at])]
        return [at for at in range(first, inside[-1] + 1) if at in inside or self._is_nowhere(at)]

    def _is_nowhere(self, at: int) -> bool:
        """Tell whether an instruction has no place in the source, as jumps in a test may."""
        return bool(_name(self.items[at])) and _line(self.items[at]) is None

    def _test_in_line(self, first: int, last: int) -> list[int]:
        """Return the instructions up to the last jump out of the loop in the line of the test."""
        end = farthest = first
        for at in range(first, last):
            item = self.items[at]
            if isinstance(item, Label):
                continue
            if _line(item) != _line(self.items[first]) or item.name in (*_NO_TEST, *BACK):
                break
            target = self._target(item)
            if item.name.startswith("POP_JUMP_IF") and target >= max(farthest, last):
                end, farthest = at + 1, target
        return [at for at in range(first, end) if _name(self.items[at])]

    def _ways_out(self, test: list[int]) -> dict[int, Label]:
        """Return labels for what comes after a test by no jump: a body, or where a loop ends."""
        going_on = (at for at in test if self.items[at].name not in NEVER_GO_ON)
        after = {self._after_labels(at + 1) for at in going_on}
        return {at: Label() for at in after.difference(test)}

    def _copied(self, test: list[int], last: int, ways_out: dict[int, Label]) -> Iterator[Any]:
        """Yield a test as it is at the end of a body."""
        labels = {at: Label() for at in map(self._target, map(self.items.__getitem__, test))}
        for at in test:
            item = self.items[at]
            if at in labels:
                yield labels[at]
            target = self._target(item)
            if target in test:
                yield self._made(item.name, labels[target], item)
            elif item.name in ("JUMP_FORWARD", *BACK):
                yield self._made(_jump(target, last), item.arg, item)
            else:
                yield self._made(item.name, item.arg, item)
            after = self._after_labels(at + 1)
            if item.name not in NEVER_GO_ON and after in ways_out:
                yield self._made(_jump(after, last), ways_out[after], item)

    def _made(self, name: str, arg: Any, like: Any) -> Instr:
        """Return a new instruction with the place and the handler of another."""
        new = Instr(name, arg, location=like.location)
        self._handlers[id(new)] = self._handlers[id(like)]
        self._kept.append(new)
        return new


def _places(items: list[Any]) -> dict[int, int]:
    return {id(item): at for at, item in enumerate(items) if isinstance(item, Label)}


def _jump(target: int, at: int) -> str:
    return "JUMP_FORWARD" if target > at else "JUMP_BACKWARD"


def _target(begin: TryBegin | None) -> tuple[int, bool] | None:
    return None if begin is None else (id(begin.target), begin.push_lasti)


def _name(item: Any) -> str:
    return item.name if isinstance(item, Instr) else ""


def _line(i: Any) -> int | None:
    return None if i.location is None else i.location.lineno


def _is_in(span: Span, i: Any) -> bool:
    """Tell whether an instruction belongs to an expression."""
    place = i.location if isinstance(i, Instr) else None
    if place is None or place.lineno is None or place.col_offset is None:
        return False
    return bool(
        (span.line, span.column) <= (place.lineno, place.col_offset)
        and (place.end_lineno, place.end_col_offset) <= (span.end_line, span.end_column)
    )
