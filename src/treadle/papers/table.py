"""Print measured rows in the form of the paper's tables, ours beside theirs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from rich.table import Table
from rich.text import Text

from treadle.papers.guided import GuidedFigures
from treadle.papers.harness import Measurement
from treadle.papers.paper import PaperTable, Printed, Row

LONG = 5.0
"""Seconds from which on a row's last time is worth a note."""

_NOTHING = "–"


@dataclass(frozen=True, slots=True)
class MeasuredRow:
    """One cell group of a table: a row under one algorithm, measured."""

    row: Row
    measured: Measurement
    limit: float
    """Seconds after which the row was to be stopped."""
    last_time: float | None
    deviation: str

    @property
    def name(self) -> str:
        """The row and the algorithm in words."""
        return f"{self.row.name} under {self.measured.algorithm}"


@dataclass(frozen=True, slots=True)
class _Column:
    header: str
    ours: Callable[[MeasuredRow], str]
    theirs: Callable[[Row, Printed], str]


def build(table: PaperTable, cells: Sequence[MeasuredRow]) -> Table:
    """Return a table in the paper's form: two lines for each row, ours and the paper's."""
    algorithms = list(dict.fromkeys(cell.measured.algorithm for cell in cells))
    columns = [(_COLUMNS[name], algorithm) for name in table.columns for algorithm in algorithms]
    printed = Table(title=table.title, title_justify="left", title_style="bold")
    printed.add_column("Benchmark", no_wrap=True)
    printed.add_column("")
    for column, algorithm in columns:
        printed.add_column(f"{column.header}\n{algorithm}", justify="right", overflow="fold")
    for row in dict.fromkeys(cell.row.name for cell in cells):
        _add_row(printed, [cell for cell in cells if cell.row.name == row], columns)
    return printed


def build_lines(table: PaperTable, cells: Sequence[MeasuredRow]) -> Table:
    """Return a table with a line for each row and algorithm, ours beside the paper's."""
    columns = [_COLUMNS[name] for name in table.columns]
    printed = Table(title=table.title, title_justify="left", title_style="bold")
    printed.add_column("Benchmark", no_wrap=True)
    printed.add_column("Algorithm", no_wrap=True)
    for column in columns:
        printed.add_column(f"{column.header}\nours", justify="right", overflow="fold")
        printed.add_column("\npaper", justify="right", style="dim", overflow="fold")
    printed.add_column(f"Faster than\n{table.algorithms[0]}", justify="right")
    for number, cell in enumerate(cells):
        last = number + 1 == len(cells) or cells[number + 1].row.name != cell.row.name
        theirs = cell.row.printed.get(cell.measured.algorithm, Printed())
        values: list[Text | str] = []
        for column in columns:
            values.append(Text(column.ours(cell), style="bold red" if cell.deviation else ""))
            values.append(column.theirs(cell.row, theirs))
        name, faster = cell.row.name, _faster(cell, table.algorithms[0], cells)
        printed.add_row(name, cell.measured.algorithm, *values, faster, end_section=last)
    return printed


def _faster(cell: MeasuredRow, yardstick: str, cells: Iterable[MeasuredRow]) -> str:
    """Return how much less time a cell took than the yardstick of the same row."""
    for other in cells:
        if (other.row.name, other.measured.algorithm) == (cell.row.name, yardstick):
            if other is cell or not (other.measured.complete and cell.measured.complete):
                break
            return f"{1 - cell.measured.seconds / max(other.measured.seconds, 1e-9):.0%}"
    return _NOTHING


def _add_row(
    printed: Table, cells: Sequence[MeasuredRow], columns: Iterable[tuple[_Column, str]]
) -> None:
    row = cells[0].row
    by_algorithm = {cell.measured.algorithm: cell for cell in cells}
    ours, theirs = [], []
    for column, algorithm in columns:
        cell = by_algorithm.get(algorithm)
        if cell is None:
            ours.append(Text(_NOTHING))
        else:
            ours.append(Text(column.ours(cell), style="bold red" if cell.deviation else ""))
        theirs.append(column.theirs(row, row.printed.get(algorithm, Printed())))
    printed.add_row(row.name, "ours", *ours)
    printed.add_row("", "paper", *theirs, style="dim", end_section=True)


def notes(cells: Iterable[MeasuredRow]) -> list[Text]:
    """Return what is to be said below a table: deviations, stopped or long rows, other counts."""
    said = [note for cell in cells for note in (_note(cell), _difference(cell)) if note]
    deviations = [
        Text(f"DEVIATION: {cell.name} {cell.deviation}", style="bold white on red")
        for cell in cells
        if cell.deviation
    ]
    return deviations + [Text(note, style="dim") for note in said]


def _note(cell: MeasuredRow) -> str:
    last = f"last time it took {seconds(cell.last_time)}" if cell.last_time is not None else ""
    if not cell.measured.complete:
        return f"{cell.name}: {stopped(cell.limit)}" + (f"; {last} to finish" if last else "")
    if last and max(cell.last_time or 0, cell.measured.seconds) >= LONG:
        return f"{cell.name}: took {seconds(cell.measured.seconds)}; {last}"
    return ""


def _difference(cell: MeasuredRow) -> str:
    """Say why a count is not the paper's, if it is not and may be so."""
    theirs = cell.row.printed.get(cell.measured.algorithm, Printed()).executions
    ours = cell.measured.executions
    if theirs in (None, ours) or not cell.measured.complete or not cell.row.benchmark.remark:
        return ""
    return f"{cell.name}: {ours:,}, the paper has {theirs:,}: {cell.row.benchmark.remark}"


def stopped(limit: float) -> str:
    """Say that a row was stopped."""
    return f"stopped after {limit:g} s"


def seconds(value: float) -> str:
    """Return a time as the paper writes it."""
    if value < 60:
        return f"{value:.2f}s"
    return f"{int(value) // 60}m{int(value) % 60:02}s"


def _explored(cell: MeasuredRow) -> str:
    measured = cell.measured
    total = f"{'' if measured.complete else '> '}{measured.explored:,}"
    return total + (f"\n{measured.executions:,}+{measured.blocked:,}" if measured.blocked else "")


def _time(cell: MeasuredRow) -> str:
    return seconds(cell.measured.seconds) if cell.measured.complete else stopped(cell.limit)


def _nodes(cell: MeasuredRow) -> str:
    return f"{cell.measured.nodes:,}" if cell.measured.nodes else _NOTHING


def _number(value: int | None) -> str:
    return _NOTHING if value is None else f"{value:,}"


def _complete(executions: str, blocked: int | None) -> str:
    return f"{executions}\n+{blocked:,}" if blocked else executions


def _executions(cell: MeasuredRow) -> str:
    measured = cell.measured
    complete = f"{'' if measured.complete else '> '}{measured.executions:,}"
    return _complete(complete, measured.blocked)


def _their_blocked(row: Row, printed: Printed) -> str:
    if printed.explored is None or row.expected is None:
        return _number(None)
    return _number(printed.explored - row.expected)


def _guided_column(header: str, ours: Callable[[MeasuredRow, GuidedFigures], str]) -> _Column:
    """Return a column on deadlock-guided testing."""

    def own(cell: MeasuredRow) -> str:
        figures = cell.measured.guided
        return _NOTHING if figures is None or not figures.cycles else ours(cell, figures)

    key = header.replace("\n", " ")
    return _Column(header, own, lambda _, printed: printed.guided.get(key, _NOTHING))


def _largest(cell: MeasuredRow, figures: GuidedFigures) -> str:
    del cell
    pruned = f"\n+{figures.pruned:,} pruned" if figures.pruned else ""
    return f"{figures.largest:,}{pruned}"


def _gain(cell: MeasuredRow, before: float | None, after: float) -> str:
    """Return how many times less it took than systematic testing, which may not have ended."""
    if not before or not after:
        return _NOTHING
    return f"{'' if cell.measured.complete else '> '}{before / after:,.2f}"


_COLUMNS = {
    "explored": _Column("Explored", _explored, lambda _, printed: _number(printed.explored)),
    "executions": _Column(
        "Complete\n+ blocked",
        _executions,
        lambda _, printed: _complete(_number(printed.executions), printed.blocked),
    ),
    "blocked": _Column("Blocked", lambda cell: f"{cell.measured.blocked:,}", _their_blocked),
    "time": _Column("Time", _time, lambda _, printed: printed.time or _NOTHING),
    "nodes": _Column("Nodes", _nodes, lambda _, printed: _number(printed.nodes)),
    "dependencies": _Column(
        "Dep. checks",
        lambda cell: f"{cell.measured.dependency_checks:,}",
        lambda _, printed: _number(printed.dependency_checks),
    ),
    "race checks": _Column(
        "Race checks",
        lambda cell: f"{cell.measured.race_checks:,}",
        lambda _, printed: _number(printed.race_checks),
    ),
    "unsatisfiable": _Column(
        "Unsat. TCS",
        lambda cell: f"{cell.measured.unsatisfiable:,}",
        lambda _, printed: _number(printed.unsatisfiable),
    ),
    "states": _Column(
        "States",
        lambda cell: _number(cell.measured.states),
        lambda _, printed: _number(printed.states),
    ),
    "steps": _Column(
        "Steps",
        lambda cell: f"{cell.measured.events:,}",
        lambda _, printed: _number(printed.states),
    ),
    "D/U/C": _guided_column("D/U/C", lambda _, g: f"{g.confirmed}/{g.unfeasible}/{g.cycles}"),
    "guided": _guided_column("Guided\nstates", lambda _, g: f"{g.guided_sum:,}"),
    "largest": _guided_column("Largest", _largest),
    "gain": _guided_column("Gain\nstates", lambda c, g: _gain(c, c.measured.states, g.guided_sum)),
    "largest gain": _guided_column(
        "Gain\nlargest", lambda c, g: _gain(c, c.measured.states, g.largest)
    ),
    "time gain": _guided_column(
        "Gain\ntime", lambda c, g: _gain(c, c.measured.seconds, g.guided_seconds)
    ),
    "longest gain": _guided_column(
        "Gain\nlongest", lambda c, g: _gain(c, c.measured.seconds, g.guided_longest)
    ),
    "memory": _Column(
        "Memory",
        lambda cell: f"{cell.measured.peak_mb:.0f}MB",
        lambda _, printed: printed.memory or _NOTHING,
    ),
}
"""The groups of columns that a `PaperTable` names."""
