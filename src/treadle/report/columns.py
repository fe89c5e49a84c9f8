"""An execution as text: one column per process, in time order, from top to bottom.

Each row is one step: its number, its source line, and in its process's column what it did. If
there are too many processes for readable columns, the process's name comes in front instead.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from treadle.program import StepRecord

WIDTH = 80
_NARROWEST = 14
"""Columns narrower than this cannot be read."""
_WIDEST = 34
"""Columns wider than this tear the rows apart."""
_WHERE = 22
"""Characters that the source line's column may take."""
_NAME = 20
_ACCESSES = 8
"""Accesses of one step that are shown."""
_GAP = "  "


def trace_in_columns(
    records: Sequence[StepRecord], marked: int = -1, *, rows: int | None = None
) -> list[str]:
    """Return the lines of a trace; `marked` is the failing step, `rows` how many steps to show."""
    if not records:
        return []
    layout = _Layout.of(records)
    runs = _runs_of_equal_steps(records)
    left_out = range(0)
    if rows is not None and len(runs) > rows:
        left_out = range(rows // 4, len(runs) - (rows - rows // 4))
    lines = layout.header()
    for at, (start, count) in enumerate(runs):
        if left_out and at == left_out.start:
            steps = sum(count for _, count in runs[left_out.start : left_out.stop])
            lines.append(f"   ... {steps:,} steps left out ...")
        if at not in left_out:
            lines += layout.row(start, records[start], is_marked=start == marked)
            if count > 1:
                lines.append(f"   ... {count - 1:,} more steps like this one ...")
    return lines


def _runs_of_equal_steps(records: Sequence[StepRecord]) -> list[tuple[int, int]]:
    """Return index and number of the steps in a row that are the same, as in a spinning loop."""
    runs: list[tuple[int, int]] = []
    for index, record in enumerate(records):
        if runs and record == records[index - 1]:
            runs[-1] = (runs[-1][0], runs[-1][1] + 1)
        else:
            runs.append((index, 1))
    return runs


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where things stand in a row."""

    digits: int
    where: int
    column: int
    processes: list[str]
    is_list: bool

    @classmethod
    def of(cls, records: Sequence[StepRecord]) -> _Layout:
        """Choose between columns and a list, and how wide everything is."""
        processes = list(dict.fromkeys(record.process for record in records))
        digits = len(str(len(records)))
        where = max(len(_brief_place(record.where)) for record in records)
        left = 1 + digits + len(_GAP) + where + len(_GAP)
        share = (WIDTH - left) // len(processes) - len(_GAP)
        if share >= _NARROWEST:
            column = _widest_line(records, processes, limit=min(share, _WIDEST))
            return cls(digits, where, column, processes, is_list=False)
        names = min(_NAME, max(map(len, processes)))
        rest = WIDTH - left - names - len(_GAP)
        return cls(digits, where, rest, processes, is_list=True)

    def header(self) -> list[str]:
        """Return the line that names the columns."""
        left = " " * (1 + self.digits) + _GAP + " " * self.where + _GAP
        if self.is_list:
            return []
        names = [_cut(name, self.column).ljust(self.column) for name in self.processes]
        return [(left + _GAP.join(names)).rstrip()]

    def row(self, index: int, record: StepRecord, *, is_marked: bool) -> list[str]:
        """Return the lines of one step."""
        where = _brief_place(record.where).ljust(self.where)
        first = f"{'>' if is_marked else ' '}{index + 1:>{self.digits}}{_GAP}{where}{_GAP}"
        more = (">" if is_marked else " ").ljust(len(first))
        if self.is_list:
            name = min(_NAME, max(map(len, self.processes)))
            first += _cut(record.process, name).ljust(name) + _GAP
            more += " " * (name + len(_GAP))
            indent = ""
        else:
            indent = " " * (self.processes.index(record.process) * (self.column + len(_GAP)))
        cell = _cell(record, self.column)
        return [
            ((first if at == 0 else more) + indent + line).rstrip() for at, line in enumerate(cell)
        ]


def _widest_line(records: Sequence[StepRecord], processes: list[str], limit: int) -> int:
    """Return how wide the columns have to be, `limit` at most."""
    cells = max(len(line) for record in records for line in _cell(record, limit))
    return min(limit, max(cells, *map(len, processes)))


def _cell(record: StepRecord, width: int) -> list[str]:
    """Return what a step did, in lines of at most `width` characters."""
    accesses = [printable(str(access)) for access in record.accesses]
    parts = [text for at, text in enumerate(accesses) if at == 0 or accesses[at - 1] != text]
    if len(parts) > _ACCESSES:
        parts[_ACCESSES - 1 :] = [f"... and {len(parts) - _ACCESSES + 1} more"]
    if sum(len(part) + 2 for part in parts) - 2 <= width:
        parts = ["; ".join(parts)] if parts else []
    if record.error:
        error = printable(record.error)  # its message is in the headline, if there is no room here
        parts.append(f"! {error if len(error) + 2 <= width else error.partition(':')[0]}")
    if not parts:
        parts = [printable(f"({record.source or 'no access'})")]
    return [line for part in parts for line in textwrap.wrap(part, width, subsequent_indent="  ")]


def _brief_place(where: str) -> str:
    """Return `file:line`, without directories if they make it too long."""
    if len(where) > _WHERE:
        where = PurePath(where).name
    return where if len(where) <= _WHERE else "..." + where[3 - _WHERE :]


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."


def printable(text: str) -> str:
    """Return one line of text without control characters.

    >>> printable("a\\nb\\x1b[1m")
    'a b [1m'
    """
    return "".join(character if character.isprintable() else " " for character in text)
