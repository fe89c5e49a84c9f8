"""`treadle bench`: a paper's tables again, ours beside theirs."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import click
from rich.console import Console

from treadle.cli.status import FAILED, INCOMPLETE, VERIFIED
from treadle.explore.choosers import SCHEDULES
from treadle.explore.constrained.states import check_recovery
from treadle.explore.registry import ALGORITHMS
from treadle.papers import PAPERS
from treadle.papers.check import COMPARING_STATES, deviation
from treadle.papers.harness import Measurement, Task, measure
from treadle.papers.history import History, default_path
from treadle.papers.paper import WHOLE_STATES, Paper, PaperTable, Row
from treadle.papers.table import MeasuredRow, build, build_lines, notes, seconds

_COVERING = [name for name, algorithm in ALGORITHMS.items() if algorithm.covers]
_PIPE_WIDTH = 180
"""Columns of a table that is not printed on a terminal."""
_REMARK_WIDTH = 100


@click.command(short_help="Measure a paper's tables again.")
@click.option("--paper", required=True, type=click.Choice(list(PAPERS)), help="Whose tables.")
@click.option("--program", "programs", multiple=True, help="Only this program; repeatable.")
@click.option(
    "--n",
    "sizes",
    multiple=True,
    type=click.IntRange(min=1),
    help="Only this size; repeatable. With --program, any size; without, one that the paper has.",
)
@click.option(
    "--algorithm",
    "algorithms",
    multiple=True,
    type=click.Choice(_COVERING),
    help="Only this algorithm; repeatable.  [default: those of the paper's table]",
)
@click.option(
    "--schedule",
    type=click.Choice(list(SCHEDULES)),
    help="Which process runs where the algorithm leaves it open.  [default: stay, or the one with "
    "which the paper's counts come out]",
)
@click.option(
    "--row-timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=60,
    show_default=True,
    metavar="SECONDS",
    help="Stop a row after this long, and say so.",
)
@click.option(
    "--learn/--no-learn",
    default=True,
    help="Whether the eager algorithms learn from unsatisfiable constraint systems; "
    "their paper's do not.",
)
@click.option(
    "--refined/--no-refined",
    default=True,
    help="Whether the context-sensitive algorithms compare only what a race can change, or whole "
    "states.",
)
@click.option(
    "--states",
    default="",
    metavar="recompute|store|cache:K",
    help="How the constrained algorithms get back to a state in which a constraint is asked; says "
    "how many steps were run again for that, and how many states were kept.  [default: recompute]",
)
@click.option(
    "--all",
    "on_demand",
    is_flag=True,
    help="Also the rows that take minutes or hours; give them a longer --row-timeout.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per row and line.")
@click.pass_context
def bench(
    context: click.Context,
    paper: str,
    programs: tuple[str, ...],
    sizes: tuple[int, ...],
    algorithms: tuple[str, ...],
    schedule: str | None,
    row_timeout: float,
    learn: bool,
    refined: bool,
    states: str,
    on_demand: bool,
    as_json: bool,
) -> None:
    """Measure a paper's tables again and print them, ours beside theirs.

    Times are CPU time, and each row has a process of its own. Counts that must be exact are
    checked.

    \b
    Examples:
      treadle bench --paper jacm17
      treadle bench --paper jacm17 --program readers --n 8 --n 10
      treadle bench --paper jacm17 --algorithm optimal --row-timeout 10 --json

    Exit status: 0 all as it must be, 1 a count deviates, 2 usage error, 3 a row was stopped.
    """
    if states:
        check_recovery(states)
    session = _Session(PAPERS[paper], algorithms, schedule, row_timeout, learn, refined, states)
    tables = session.paper.select(programs, sizes, on_demand=on_demand)
    cells = list(session.print_json(tables) if as_json else session.print_tables(tables))
    context.exit(_status(cells))


def _recovered(cells: Sequence[MeasuredRow]) -> Iterator[str]:
    """Yield what it took to get back to states, of rows of which that was measured."""
    for cell in cells:
        found = cell.measured
        if found.steps_rerun is not None:
            yield (
                f"{cell.row.name} under {found.algorithm}: {found.steps_rerun:,} steps re-run, "
                f"{found.states_kept:,} states kept, {seconds(found.seconds)}"
            )


def _status(cells: Sequence[MeasuredRow]) -> int:
    if any(cell.deviation for cell in cells):
        return FAILED
    return VERIFIED if all(cell.measured.complete for cell in cells) else INCOMPLETE


@dataclass(slots=True)
class _Session:
    """One call of the command: what to measure, and how."""

    paper: Paper
    algorithms: tuple[str, ...]
    schedule: str | None
    row_timeout: float
    learn: bool
    refined: bool
    states: str = ""
    history: History = field(default_factory=lambda: History(default_path()))
    known: dict[Task, Measurement] = field(default_factory=dict)
    """What was measured already: some rows are in several tables."""

    def print_json(self, tables: Sequence[PaperTable]) -> Iterator[MeasuredRow]:
        """Measure all rows; print each as a line of JSON as soon as it is there."""
        for _, cells in self._measured(tables):
            for cell in cells:
                click.echo(cell.measured.as_json())
                if cell.deviation:
                    click.secho(f"DEVIATION: {cell.name} {cell.deviation}", fg="red", err=True)
                yield cell

    def print_tables(self, tables: Sequence[PaperTable]) -> Iterator[MeasuredRow]:
        """Measure all rows; print each table as soon as its rows are there."""
        console = Console(width=None if sys.stdout.isatty() else _PIPE_WIDTH, highlight=False)
        console.print(
            f"{self.paper.title}\nExplored = complete + blocked; one number alone: none was "
            f"blocked. Time is CPU time, schedule {self.schedule or 'stay'!r}{self._exceptions()}.",
            soft_wrap=True,
        )
        for table, measured in self._measured(tables):
            cells = list(measured)
            console.print("", (build_lines if table.has_lines else build)(table, cells))
            for note in (*notes(cells), *_recovered(cells)):
                console.print(note, soft_wrap=True)
            yield from cells
        for remark in self.paper.remarks:
            console.print(f"\n{remark}", width=_REMARK_WIDTH)

    def _measured(
        self, tables: Sequence[PaperTable]
    ) -> Iterator[tuple[PaperTable, Iterator[MeasuredRow]]]:
        total = sum(len(self._algorithms_of(table, row)) for table in tables for row in table.rows)
        numbers = (f"row {number} of {total}" for number in range(1, total + 1))
        for table in tables:
            yield table, self._measured_rows(table, numbers)

    def _measured_rows(self, table: PaperTable, numbers: Iterator[str]) -> Iterator[MeasuredRow]:
        for row in table.rows:
            for algorithm in self._algorithms_of(table, row):
                yield self._measured_row(row, algorithm, next(numbers))

    def _algorithms_of(self, table: PaperTable, row: Row) -> list[str]:
        if self.algorithms:
            return list(dict.fromkeys(self.algorithms))
        return [name for name in table.algorithms if name not in row.unfinished]

    def _exceptions(self) -> str:
        """Name the programs that are run with another schedule."""
        known = self.paper.benchmarks.values()
        named = [f"{b.schedule!r} for {b.name}" for b in known if b.schedule and not self.schedule]
        return f" ({', '.join(named)})" if named else ""

    def _measured_row(self, row: Row, algorithm: str, number: str) -> MeasuredRow:
        schedule = self.schedule or row.benchmark.schedule or "stay"
        name = algorithm.removesuffix(WHOLE_STATES)
        compares_states = name in COMPARING_STATES
        task = Task(
            self.paper.name,
            row.benchmark.name,
            row.n,
            name,
            schedule,
            self.row_timeout,
            self.learn,
            refined=name == algorithm and (self.refined or not compares_states),
            states=self.states,
        )
        last = self.history.last(task)
        measured = self.known.get(task)
        if measured is None:
            measured = self.known[task] = _measure_visibly(task, number, last)
            if measured.complete:
                self.history.note(task, measured.seconds)
        return MeasuredRow(row, measured, self.row_timeout, last, deviation(row, measured))


def _measure_visibly(task: Task, number: str, last: float | None) -> Measurement:
    """Measure a row; a terminal shows meanwhile which one, and for how long.

    The line is gone before anything else is printed, for it takes standard output over.
    """
    console = Console(stderr=True)
    if not console.is_terminal:
        return measure(task)
    what = f"{number}: {task}" + ("" if last is None else f", last time {seconds(last)}")
    started = time.monotonic()
    with console.status(what) as status:
        return measure(
            task, lambda: status.update(f"{what}; running for {time.monotonic() - started:.0f} s")
        )
