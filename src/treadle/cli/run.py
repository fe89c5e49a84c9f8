"""`treadle run`: explore a program."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from treadle.cli.loading import Found, find
from treadle.cli.options import (
    database_options,
    exploration_options,
    given,
    json_option,
    locals_option,
    memory_of,
    profile_option,
    report_option,
    settings_for,
    shrink_option,
    target_argument,
)
from treadle.cli.reporting import report_to, tell_github
from treadle.cli.showing import replay_line, show_failure
from treadle.cli.status import INTERRUPTED, status_of
from treadle.cli.translation import with_method
from treadle.core.result import Result
from treadle.findings.shrink.shrinking import ATTEMPTS, Shrunk
from treadle.report.as_json import report_as_dict
from treadle.report.colour import print_words
from treadle.report.live import LiveLine, progress_in_words
from treadle.report.registry import report_for
from treadle.report.text import result_in_words, verdict_in_words
from treadle.session.memory import Memory
from treadle.session.session import Session

_FEWEST_ATTEMPTS = 100
"""Replays for each of many failures."""


@click.command(short_help="Explore a program: find a failure or prove there is none.")
@target_argument
@profile_option
@exploration_options
@shrink_option
@database_options
@json_option
@report_option
@locals_option
@click.option(
    "--method", metavar="CLASS.M", help="The method of an ABS file to call, not its main."
)
@click.option("--args", metavar="ARGS", help="What the method is given: `1, list[2, 3]`.")
@click.option("-q", "--quiet", is_flag=True, help="Print the verdict only.")
def run(
    target: str,
    method: str | None,
    args: str | None,
    as_json: bool,
    report: Path | None,
    quiet: bool,
    show_locals: bool,
    profile: str | None,
    database: str,
    no_database: bool,
    **options: Any,
) -> int:
    """Explore a program: find a failing interleaving, or prove that there is none.

    NAME is a function of the file without parameters that uses threads, or a treadle.model.Program,
    or a function that returns one; it can be left out if the file has only one. Of an ABS file it
    is the main block, or a method: `--method Class.m --args 1,2`.

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
      treadle run model.py::large --workers auto --checkpoint large.json
      treadle run model.py::large --resume large.json
      treadle run model.abs --dependency field
      treadle run model.py::transfer --report failure.html
      treadle run model.py::transfer --report failure.md
      treadle run model.py::transfer --json | jq .failures[].message

    Exit status: 0 verified, 1 a failure was found, 2 usage or input error, 3 stopped by a budget
    before the space was covered, 130 interrupted.
    """
    if report is not None:
        report_for(report)  # a suffix that nobody knows is refused before the work
    found = find(with_method(target, method, args))
    settings = settings_for(found, profile, given({**options, "database": database}))
    memory = memory_of(found, settings, no_database=no_database)
    live = LiveLine(Console(stderr=True, quiet=quiet))
    try:
        with found.opened(settings) as session:
            checked = _check(session, memory, live, observe=report is not None)
        _show(checked, found, as_json=as_json, quiet=quiet, show_locals=show_locals)
        if report is not None:
            report_to(report, found, checked.result)
        tell_github(found, checked.result, report)
    except KeyboardInterrupt:
        click.echo(f"INTERRUPTED: {found}, {interruption_in_words(live)}", err=True)
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


def _check(session: Session, memory: Memory | None, live: LiveLine, *, observe: bool) -> _Checked:
    """Try what failed before, or explore; then shrink, record and keep what failed."""
    if memory is not None and session.settings.stop_on_failure:
        known = memory.result_of(session)
        if known is not None:
            return _Checked(known)
    result = session.explore(listener=live, observe=observe)
    checked = _Checked(result)
    if session.settings.shrink:
        _shrink_all(session, checked)
    session.record(*result.failures)
    if memory is not None and not all(memory.keep(failure) for failure in result.failures):
        result.notes.append(f"{memory.database.directory} cannot be written: nothing was kept")
    return checked


def _shrink_all(session: Session, checked: _Checked) -> None:
    """Put smaller failures in the place of those that were found, and note the saving."""
    result = checked.result
    attempts = max(_FEWEST_ATTEMPTS, ATTEMPTS // max(1, len(result.failures)))
    for at, failure in enumerate(result.failures):
        try:
            shrunk = session.shrink(failure, attempts=attempts)
        except KeyboardInterrupt:
            result.notes.append("shrinking was interrupted")
            return
        result.failures[at] = shrunk.failure
        checked.shrunk.append(shrunk)
        if shrunk.replays:
            number = f"failure {at + 1}: " if len(result.failures) > 1 else ""
            result.notes.append(f"{number}{shrunk}")


def _show(
    checked: _Checked, target: Found, *, as_json: bool, quiet: bool, show_locals: bool
) -> None:
    result = checked.result
    if as_json:
        replays = [replay_line(failure, target) for failure in result.failures]
        shown = report_as_dict(result, str(target), replays, shrunk=checked.shrunk)
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
