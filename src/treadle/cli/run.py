"""`treadle run`: explore a program."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from treadle.api import explore
from treadle.cli.loading import Target, find
from treadle.cli.options import (
    ALGORITHM,
    database_options,
    given,
    json_option,
    locals_option,
    memory_of,
    profile_option,
    report_option,
    search_options,
    settings_for,
    target_argument,
    thread_options,
)
from treadle.cli.reporting import write_report
from treadle.cli.showing import show_failure
from treadle.cli.status import INTERRUPTED, status_of
from treadle.core.result import Result
from treadle.findings.memory import Memory
from treadle.findings.shrink.shrinking import ATTEMPTS, Shrunk, shrink
from treadle.report.colour import print_words
from treadle.report.json import result_as_dict
from treadle.report.live import LiveLine, progress_in_words
from treadle.report.text import result_in_words, verdict_in_words
from treadle.session.settings import Settings

_FEWEST_ATTEMPTS = 100
"""Replays for each of many failures."""


@click.command(short_help="Explore a program: find a failure or prove there is none.")
@target_argument
@profile_option
@click.option("--algorithm", type=ALGORITHM, default="optimal", show_default=True)
@search_options
@thread_options
@click.option("--timeout", type=float, metavar="SECONDS", help="Stop after this time.")
@click.option("--keep-going", is_flag=True, help="Find all failures, not only the first.")
@click.option(
    "--shrink/--no-shrink",
    default=True,
    help="Look for the same failure with fewer context switches.  [default: shrink]",
)
@database_options
@json_option
@report_option
@locals_option
@click.option("-q", "--quiet", is_flag=True, help="Print the verdict only.")
def run(
    target: str,
    as_json: bool,
    report: Path | None,
    quiet: bool,
    show_locals: bool,
    profile: str | None,
    database: Path,
    no_database: bool,
    keep_going: bool,
    **options: Any,
) -> int:
    """Explore a program: find a failing interleaving, or prove that there is none.

    NAME is a function of the file without parameters that uses threads, or a treadle.model.Program,
    or a function that returns one; it can be left out if the file has only one.

    Options that are not given are those of the test (`@treadle.check`), else those of
    [tool.treadle] in pyproject.toml, with those of the profile, if one is named.

    What failed in an earlier run is tried first; a failure is shrunk, and printed with a token that
    replays it.

    \b
    Examples:
      treadle run test_bank.py::test_transfer
      treadle run test_bank.py::test_transfer --instrument cachetools --races
      treadle run model.py
      treadle run model.py::transfer --keep-going
      treadle run model.py::transfer --algorithm source --schedule oldest
      treadle run model.py::large --algorithm pct --depth 3 --seed 7 --timeout 60
      treadle run model.py::transfer --report failure.md
      treadle run model.py::transfer --json | jq .failures[].message

    Exit status: 0 verified, 1 a failure was found, 2 usage or input error, 3 stopped by a budget
    before the space was covered.
    """
    found = find(target)
    settings = settings_for(found, profile, given(options))
    if keep_going:
        settings = replace(settings, stop_on_failure=False)
    chosen = found.opened(**settings.for_threads())
    memory = None if no_database else memory_of(chosen, database)
    live = LiveLine(Console(stderr=True, quiet=quiet))
    try:
        with chosen.running():
            checked = _check(chosen, memory, live, settings)
            _show(checked, chosen, as_json=as_json, quiet=quiet, show_locals=show_locals)
            if report is not None:
                write_report(report, chosen, checked.result)
    except KeyboardInterrupt:
        click.echo(f"INTERRUPTED: {chosen}, {interruption_in_words(live)}", err=True)
        return INTERRUPTED
    return status_of(checked.result)


def interruption_in_words(live: LiveLine) -> str:
    """Say how far an interrupted search came."""
    return f"after {progress_in_words(live.last)}" if live.last else "before it began"


@dataclass(slots=True)
class _Checked:
    """A result, and what shrinking made of its failures."""

    result: Result
    shrunk: list[Shrunk] = field(default_factory=list)


def _check(target: Target, memory: Memory | None, live: LiveLine, settings: Settings) -> _Checked:
    """Try what failed before, or explore; then shrink and keep what failed."""
    if memory is not None and settings.stop_on_failure:
        known = memory.result_of(target.program, settings.algorithm, races=settings.races)
        if known is not None:
            return _Checked(known)
    result = explore(target.program, listener=live, **settings.for_exploring())
    checked = _Checked(result)
    if settings.shrink:
        _shrink_all(checked)
    if memory is not None and not all(memory.keep(failure) for failure in result.failures):
        result.notes.append(f"{memory.database.directory} cannot be written: nothing was kept")
    return checked


def _shrink_all(checked: _Checked) -> None:
    """Put smaller failures in the place of those that were found, and note the saving."""
    result = checked.result
    attempts = max(_FEWEST_ATTEMPTS, ATTEMPTS // max(1, len(result.failures)))
    for at, failure in enumerate(result.failures):
        try:
            shrunk = shrink(failure, attempts=attempts)
        except KeyboardInterrupt:
            result.notes.append("shrinking was interrupted")
            return
        result.failures[at] = shrunk.failure
        checked.shrunk.append(shrunk)
        if shrunk.replays:
            number = f"failure {at + 1}: " if len(result.failures) > 1 else ""
            result.notes.append(f"{number}{shrunk}")


def _show(
    checked: _Checked, target: Target, *, as_json: bool, quiet: bool, show_locals: bool
) -> None:
    result = checked.result
    if as_json:
        shown = result_as_dict(result, target=str(target), shrunk=checked.shrunk)
        click.echo(json.dumps(shown, indent=2))
        return
    console = Console()
    if quiet:
        print_words(console, verdict_in_words(result, target=str(target)))
        return
    print_words(console, result_in_words(result, target=str(target)))
    for failure in result.failures:
        console.print()
        show_failure(console, failure, target, show_locals=show_locals)
