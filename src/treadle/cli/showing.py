"""How the commands print a failure."""

from __future__ import annotations

import shlex

from rich.console import Console

from treadle.cli.loading import Found
from treadle.core.failure import Failure
from treadle.report.colour import print_words
from treadle.report.failure import ROWS, render
from treadle.report.line import WIDEST


def width_of(console: Console) -> int:
    """Return how wide a report may be."""
    return min(console.width, WIDEST)


def show_failure(
    console: Console,
    failure: Failure,
    target: Found,
    *,
    show_locals: bool = False,
    rows: int | None = ROWS,
) -> None:
    """Print a failure, and the command that replays it."""
    report = render(failure, width=width_of(console), locals=show_locals, rows=rows)
    console.print(report, highlight=False, soft_wrap=True)
    print_words(console, f"\nReplay: {replay_line(failure, target)}")


def replay_line(failure: Failure, target: Found) -> str:
    """Return the command that replays a failure."""
    return f"treadle replay {shlex.quote(str(target))} {failure.token}"
