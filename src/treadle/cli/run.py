"""`treadle run`: explore a program."""

from __future__ import annotations

import json
from typing import Any

import click
from rich.console import Console

from treadle.api import explore
from treadle.cli.loading import Target, load
from treadle.cli.options import (
    ALGORITHM,
    json_option,
    locals_option,
    search_options,
    target_argument,
    thread_options,
)
from treadle.cli.showing import show_failure
from treadle.cli.status import INTERRUPTED, status_of
from treadle.report.colour import print_words
from treadle.report.json import result_as_dict
from treadle.report.live import LiveLine, progress_in_words
from treadle.report.text import result_in_words, verdict_in_words
from treadle.result import Result


@click.command()
@target_argument
@click.option("--algorithm", type=ALGORITHM, default="optimal", show_default=True)
@search_options
@thread_options
@click.option("--timeout", type=float, metavar="SECONDS", help="Stop after this time.")
@click.option("--keep-going", is_flag=True, help="Find all failures, not only the first.")
@json_option
@locals_option
@click.option("--quiet", is_flag=True, help="Print the verdict only.")
def run(
    target: str,
    keep_going: bool,
    as_json: bool,
    quiet: bool,
    show_locals: bool,
    granularity: str,
    instrument: tuple[str, ...],
    **options: Any,
) -> int:
    """Explore a program: find a failing interleaving, or prove that there is none.

    NAME is a function of the file without parameters that uses threads, or a treadle.model.Program,
    or a function that returns one; it can be left out if the file has only one.

    \b
    Examples:
      treadle run test_bank.py::test_transfer
      treadle run test_bank.py::test_transfer --instrument cachetools --races
      treadle run model.py
      treadle run model.py::transfer --keep-going
      treadle run model.py::transfer --algorithm source --schedule oldest
      treadle run model.py::large --algorithm pct --depth 3 --seed 7 --timeout 60
      treadle run model.py::transfer --json | jq .failures[].message

    Exit status: 0 verified, 1 a failure was found, 2 usage or input error, 3 stopped by a budget
    before the space was covered.
    """
    chosen = load(target, granularity=granularity, instrument=instrument)
    live = LiveLine(Console(stderr=True, quiet=quiet))
    try:
        with chosen.running():
            result = explore(
                chosen.program, stop_on_failure=not keep_going, listener=live, **options
            )
            _show(result, chosen, as_json=as_json, quiet=quiet, show_locals=show_locals)
    except KeyboardInterrupt:
        click.echo(f"INTERRUPTED: {chosen}, {interruption_in_words(live)}", err=True)
        return INTERRUPTED
    return status_of(result)


def interruption_in_words(live: LiveLine) -> str:
    """Say how far an interrupted search came."""
    return f"after {progress_in_words(live.last)}" if live.last else "before it began"


def _show(result: Result, target: Target, *, as_json: bool, quiet: bool, show_locals: bool) -> None:
    if as_json:
        click.echo(json.dumps(result_as_dict(result, target=str(target)), indent=2))
        return
    console = Console()
    if quiet:
        print_words(console, verdict_in_words(result, target=str(target)))
        return
    print_words(console, result_in_words(result, target=str(target)))
    for failure in result.failures:
        console.print()
        show_failure(console, failure, target, show_locals=show_locals)
