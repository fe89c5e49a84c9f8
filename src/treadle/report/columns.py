"""An execution as text: one column per process, or lane, in time order, from top to bottom.

Each step has its number and line on the left, and in its process's column the source text, what it
did, and the values. Where another process takes over, the column says why: the process was
preempted although it could go on, or it waits, or it has ended. If there are too many processes for
readable columns, the process's name comes in front instead. What arrives from outside stands across
all columns; what the library does that runs the program is left out unless it matters.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from treadle.core.records import StepRecord
from treadle.report.cast import Cast, lane_of
from treadle.report.folding import Fold, fold
from treadle.report.line import (
    UNICODE,
    WIDTH,
    Line,
    Marks,
    Span,
    cut,
    fitting,
    padded,
    printable,
    width_of,
    without_directories,
)

_NARROWEST = 18
"""Columns narrower than this cannot be read."""
_WIDEST = 44
"""Columns wider than this tear the rows apart."""
_WHERE = 26
"""Characters that the source line's column may take."""
_NAME = 24
_SHORTEST_NAME = 9
"""Characters that a process's name may take, and those that it gets in any case."""
_ACCESSES = 8
"""Accesses of one step that are shown."""
_INDENT = "  "
_BREAKABLE = re.compile(r"= \S+ ?|(?:[.\[]|\((?!\)))?(?:\(\)|[^\s.\[(])+ ?|\s|[.\[(]")
"""Parts of a text that stay on one line."""


@dataclass(frozen=True, slots=True)
class Emphasis:
    """Steps to be shown in a special way, by index."""

    failing: int = -1
    racing: Collection[int] = ()
    kept: Collection[int] = ()
    """Steps not to be folded besides those."""


_NONE = Emphasis()


def columns(
    records: Sequence[StepRecord],
    emphasis: Emphasis = _NONE,
    *,
    rows: int | None = None,
    width: int = WIDTH,
    marks: Marks = UNICODE,
) -> list[Line]:
    """Return the lines of a trace with their styles."""
    if not records:
        return []
    table = _Table(records, emphasis, width, marks)
    kept = {emphasis.failing, *emphasis.racing, *emphasis.kept}
    lines = table.header()
    before: int | Fold | None = None
    for item in fold(records, kept, rows):
        if isinstance(item, Fold):
            lines.append(table.fold(item))
        elif records[item].is_inner and item not in kept:
            continue
        elif records[item].arrival:
            lines.append(table.arrival(item))
        else:
            lines += table.row(item, is_next=before == item - 1)
        before = item
    return lines


class _Table:
    """Where things stand in a row."""

    def __init__(
        self, records: Sequence[StepRecord], emphasis: Emphasis, width: int, marks: Marks
    ) -> None:
        self._records = records
        self._emphasis = emphasis
        self._marks = marks
        self._cast = cast = Cast(records)
        files = {record.where.rpartition(":")[0] for record in records if record.where}
        self._file = files.pop() if len(files) == 1 else ""
        self._where = max(len(self._place(record)) for record in records)
        self._digits = max(len(str(len(records))), 2)
        left = 1 + self._digits + 2 + self._where + 2
        share = (width - left - 3 * (len(cast.lanes) - 1)) // len(cast.lanes)
        self._is_list = share < _NARROWEST
        if self._is_list:
            longest = max(width_of(cast.name(process)) for process in cast.lanes)
            room = width - left - 2
            self._name = min(_NAME, longest, max(room - _NARROWEST, _SHORTEST_NAME))
            self._column = max(room - self._name, _NARROWEST)
        else:
            self._column = self._widest(min(share, _WIDEST))

    def _place(self, record: StepRecord) -> str:
        """Return the line of a step, with the file if there is more than one."""
        return record.where.rpartition(":")[2] if self._file else _brief_place(record.where)

    def _widest(self, limit: int) -> int:
        """Return how wide the columns have to be, `limit` at most."""
        widest = max(
            [0]
            + [
                width_of(text)
                for index, record in enumerate(self._records)
                if not record.arrival and not record.is_inner
                for text, _ in self._cell(index, limit, is_next=False)
            ]
        )
        names = max(
            max(width_of(process), width_of(self._cast.label(process)))
            for process in self._cast.lanes
        )
        return min(limit, max(widest, names))

    # Lines

    def header(self) -> list[Line]:
        """Return the lines that name the file and the columns."""
        lines: list[Line] = [((f"In {self._file}:", ""),)] if self._file else []
        if self._is_list:
            return lines
        cast = self._cast
        names = [cast.label(process) or process for process in cast.lanes]
        paths = [process if cast.label(process) else "" for process in cast.lanes]
        lines.append(self._across(names, "bold "))
        if any(paths):
            lines.append(self._across(paths, ""))
        return lines

    def _across(self, texts: list[str], style: str) -> Line:
        """Return a line with a text in every column."""
        cells: list[Span] = [(" " * (1 + self._digits + 2 + self._where + 2), "")]
        for index, (process, text) in enumerate(zip(self._cast.lanes, texts, strict=True)):
            if index:
                cells.append((f" {self._marks.rule} ", "dim"))
            shown = padded(cut(printable(text), self._column), self._column)
            cells.append((shown, style + self._cast.colour(process)))
        return tuple(cells)

    def row(self, index: int, *, is_next: bool) -> list[Line]:
        """Return the lines of one step; `is_next` tells whether the row above is the step before.

        A source line is not repeated for every step that it takes.
        """
        record = self._records[index]
        mark, style = self._mark(index)
        place = self._place(record)
        place = place.rjust(self._where) if self._file else place.ljust(self._where)
        number = f"{mark}{index + 1:>{self._digits}}  {place}  "
        lines: list[Line] = []
        for at, (text, cell_style) in enumerate(self._cell(index, self._column, is_next=is_next)):
            left = number if at == 0 else mark.ljust(len(number))
            lines.append(self._line(left, style, lane_of(record), (text, cell_style), at == 0))
        return lines

    def arrival(self, index: int) -> Line:
        """Return the line of what came from outside: it is in nobody's column."""
        mark, style = self._mark(index)
        left = f"{mark}{index + 1:>{self._digits}}  {'':{self._where}}  "
        dash = self._marks.dash * 2
        room = WIDTH - width_of(left) - 6
        words = cut(printable(self._records[index].arrival), room)
        return ((left, style), (f"{dash} {words} {dash}", style if mark.strip() else "italic"))

    def fold(self, item: Fold) -> Line:
        """Return the line that stands for steps that are not shown."""
        left = " " * (1 + self._digits + 2)
        return ((f"{left}... {item.count:,} more {item.words} ...", "dim"),)

    def _line(self, left: str, style: str, process: str, cell: Span, is_first: bool) -> Line:
        if self._is_list:
            name = cut(self._cast.name(process), self._name) if is_first else ""
            return (
                (left, style),
                (f"{padded(name, self._name)}  ", self._cast.colour(process)),
                cell,
            )
        spans: list[Span] = [(left, style)]
        for at, other in enumerate(self._cast.lanes):
            if at:
                spans.append((f" {self._marks.rule} ", "dim"))
            text, cell_style = cell if other == process else ("", "")
            spans.append((padded(text, self._column), cell_style))
        return tuple(spans)

    def _mark(self, index: int) -> Span:
        if index == self._emphasis.failing:
            return ">", "bold red"
        return ("*", "bold") if index in self._emphasis.racing else (" ", "dim")

    # Cells

    def _cell(self, index: int, width: int, *, is_next: bool) -> list[Span]:
        """Return the lines in the column of a step: source, what it did, why it stopped."""
        record = self._records[index]
        colour = self._cast.colour(record.process)
        before = self._records[index - 1] if is_next else None
        is_known = before is not None and (before.process, before.where) == (
            record.process,
            record.where,
        )
        lines: list[Span] = []
        is_other = before is None or before.process != record.process
        if record.lane and record.lane != record.label and is_other:
            lines.append((cut(printable(f"{record.label or record.process}:"), width), colour))
        source = printable(record.source)
        if source and not is_known:
            lines.append((cut(source, width), colour))
        style = {"*": "bold", ">": "bold red"}.get(self._mark(index)[0], "")
        indent = _INDENT if source else ""
        deeds = _deeds(record, width - len(indent))
        lines += [(indent + text, style) for text in deeds]
        if not lines:
            lines.append(("(no access)", "dim"))
        return lines + [(indent + text, "dim") for text in self._turn(index)]

    def _turn(self, index: int) -> list[str]:
        """Say why another process takes over after a step, if one does."""
        record, dash = self._records[index], self._marks.dash
        is_last = index + 1 == len(self._records)
        if not is_last and self._records[index + 1].process == record.process:
            return []
        if record.then == "over":
            return []
        if record.then:
            return [f"({record.then})"] if not record.error else []
        return [] if is_last else [f"{dash * 2} preempted {dash * 2}"]


def _deeds(record: StepRecord, width: int) -> list[str]:
    """Return what a step did, in lines of at most `width` characters."""
    accesses = [printable(str(access)) for access in record.accesses]
    parts = [text for at, text in enumerate(accesses) if at == 0 or accesses[at - 1] != text]
    if len(parts) > _ACCESSES:
        parts[_ACCESSES - 1 :] = [f"... and {len(parts) - _ACCESSES + 1} more"]
    if record.error:
        error = printable(record.error)  # its message is in the headline, if there is no room here
        parts.append(f"! {error if width_of(error) + 2 <= width else error.partition(':')[0]}")
    return [line for part in parts for line in _wrapped(part, width)]


def _wrapped(text: str, width: int) -> list[str]:
    """Wrap what a step did: between words, before a value, at the dots of a name."""
    if width_of(text) <= width:
        return [text]
    lines = [""]
    for part in _BREAKABLE.findall(text):
        rest = part
        while width_of(lines[-1] + rest.rstrip()) > width:
            is_long = width_of(_INDENT + rest.rstrip()) > width
            taken = fitting(rest, width - width_of(lines[-1])) if is_long else 0
            lines[-1] = (lines[-1] + rest[:taken]).rstrip()
            lines.append(_INDENT)
            rest = rest[taken:].lstrip()
        lines[-1] += rest
    return [line.rstrip() for line in lines]


def _brief_place(where: str) -> str:
    """Return `file:line`, without directories if they make it too long."""
    if len(where) > _WHERE:
        where = without_directories(where)
    return where if len(where) <= _WHERE else "..." + where[3 - _WHERE :]
