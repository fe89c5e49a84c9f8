"""`treadle bench --paper lopstr17`: contexts, ours beside the paper's."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator

import click
from rich.console import Console
from rich.table import Table

from treadle.cli.status import FAILED, INCOMPLETE, VERIFIED
from treadle.papers import lopstr17
from treadle.papers.lopstr17 import Measured, Row, deviation, measure

_WIDTH = 130
"""Columns of a table that is not printed on a terminal."""


def bench_contexts(
    programs: tuple[str, ...], sizes: tuple[int, ...], row_timeout: float, *, as_json: bool
) -> int:
    """Measure the rows that were asked for; return the exit status."""
    rows = lopstr17.rows(programs, sizes)
    console = Console(width=None if sys.stdout.isatty() else _WIDTH, highlight=False)
    measured = []
    for row, each in _measured(rows, row_timeout):
        measured.append((row, each))
        if as_json:
            click.echo(json.dumps(each.as_dict()))
    if not as_json:
        console.print(f"{lopstr17.TITLE}\nSeconds are wall time, 5 s at most for a context.")
        console.print(_table(measured))
        for note in _notes(measured):
            console.print(note, soft_wrap=True)
    wrong = [(row, deviation(row, each)) for row, each in measured]
    for row, words in wrong:
        if words:
            click.secho(f"DEVIATION: {row.program}, M = {row.m}: {words}", fg="red", err=True)
    if any(words for _, words in wrong):
        return FAILED
    return VERIFIED if all(each.complete for _, each in measured) else INCOMPLETE


def _measured(rows: list[Row], row_timeout: float) -> Iterator[tuple[Row, Measured]]:
    """Measure row by row; a terminal shows meanwhile which one, and how far it is."""
    console = Console(stderr=True)
    workers = os.cpu_count() or 1
    for number, row in enumerate(rows, 1):
        if not console.is_terminal:
            yield row, measure(row, row_timeout, workers)
            continue
        what = f"row {number} of {len(rows)}: {row.program}, M = {row.m}"
        started = time.monotonic()
        with console.status(what) as status:
            found = measure(
                row,
                row_timeout,
                workers,
                lambda now, what=what, started=started, status=status: status.update(  # type: ignore[misc]
                    f"{what}; {now.deadlocking} of {now.guided} contexts with a deadlock; "
                    f"running for {time.monotonic() - started:.0f} s"
                ),
            )
        yield row, found


def _table(measured: list[tuple[Row, Measured]]) -> Table:
    table = Table(title="Contexts", title_justify="left", title_style="bold")
    table.add_column("Benchmark", no_wrap=True)
    for head in ("M", "Syst.", "paper", "G", "paper", "D", "paper", "limit met", "time", "paper"):
        table.add_column(head, justify="right", style="dim" if head == "paper" else "")
    for row, each in measured:
        theirs = row.printed
        table.add_row(
            row.program,
            str(row.m),
            f"{each.systematic:,}".replace(",", " "),
            "–" if theirs is None else theirs.systematic,
            str(each.guided),
            "–" if theirs is None else str(theirs.guided),
            f"{each.deadlocking}{'' if each.complete else ' so far'}",
            "–" if theirs is None else str(theirs.deadlocking),
            str(each.limited),
            f"{each.seconds:.1f} s{'' if each.complete else ', stopped'}",
            "–" if theirs is None else theirs.time,
            end_section=row.m == lopstr17.SIZES[-1],
        )
    return table


def _notes(measured: list[tuple[Row, Measured]]) -> list[str]:
    notes = [
        f"{row.program}, M = {row.m}: {each.limited} contexts without a deadlock met a limit, "
        f"{each.timed_out} of them that of their time"
        for row, each in measured
        if each.limited
    ]
    remarks = {row.program: row.benchmark.remark for row, _ in measured if row.benchmark.remark}
    notes += [f"{name}: {remark}." for name, remark in remarks.items()]
    if any(row.program == "DBProt" and row.m == lopstr17.SIZES[-1] for row, _ in measured):
        notes.append(
            "DBProt, M = 3: 360 of the 576 contexts have register and connect on one database, and "
            "each of these has a deadlock; how many are found depends on the time of a context."
        )
    return notes
