"""Prints measurements: dataclasses with a `measurement` and columns that may be None."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, fields
from typing import Any

from rich.console import Console
from rich.table import Table


def print_measurements(measurements: Iterable[Iterable[Any]], *, as_json: bool) -> None:
    """Print each measurement as a table, or one JSON object per line."""
    console = Console(width=None if Console().is_terminal else 140)
    for lines in measurements:
        if as_json:
            for line in lines:
                print(json.dumps({k: v for k, v in asdict(line).items() if v is not None}))
        else:
            _print_table(console, list(lines))


def _print_table(console: Console, lines: Sequence[Any]) -> None:
    """Print the lines of one measurement, without the columns that it does not have."""
    names = [field.name for field in fields(lines[0]) if field.name != "measurement"]
    shown = [name for name in names if any(getattr(line, name) is not None for line in lines)]
    table = Table(title=lines[0].measurement, title_justify="left")
    for name in shown:
        table.add_column(name.replace("_", " "), justify="right")
    for line in lines:
        table.add_row(*(_in_words(getattr(line, name)) for name in shown))
    console.print(table)


def _in_words(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
    return "" if value is None else f"{value:,}" if isinstance(value, int) else str(value)
