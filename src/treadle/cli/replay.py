"""`treadle replay`: run one interleaving again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from treadle.cli.loading import Found, find
from treadle.cli.options import (
    database_options,
    given,
    json_option,
    locals_option,
    memory_of,
    replay_options,
    report_option,
    settings_for,
    target_argument,
)
from treadle.cli.post_mortem import debug
from treadle.cli.reporting import report_to
from treadle.cli.showing import replay_line, show_failure, width_of
from treadle.cli.status import FAILED, INCOMPLETE, VERIFIED
from treadle.findings.replay import Replayed
from treadle.report.as_json import replayed_as_dict
from treadle.report.colour import print_words, renderable
from treadle.report.columns import columns
from treadle.report.line import marks_of_output
from treadle.report.registry import report_for
from treadle.session.replaying import rerun


@click.command(short_help="Run one interleaving again, and show all its steps.")
@target_argument
@click.argument("schedule", metavar="TOKEN|SCHEDULE")
@replay_options
@click.option("--pdb", "with_debugger", is_flag=True, help="Start the debugger at the failure.")
@database_options
@json_option
@report_option
@locals_option
def replay(
    target: str,
    schedule: str,
    with_debugger: bool,
    database: str,
    no_database: bool,
    as_json: bool,
    report: Path | None,
    show_locals: bool,
    **options: Any,
) -> int:
    """Run one interleaving again, and show all its steps.

    TOKEN is printed with every failure, and knows the options that found it. A SCHEDULE names the
    process of each step, in order; `p*3` is three steps of p. With a schedule, give the options
    that found the failure again.

    If the program has changed since, it says which step is the first that differs. `breakpoint()`
    in the code works, in every thread.

    \b
    Examples:
      treadle replay test_bank.py::test_transfer t2_gMrB4gAezzwDBgQAAwECAQICBQMBCAQGwppdJ61s9Kq59RU
      treadle replay test_bank.py::test_transfer t2_6zeYDADe904CBgEAAgABcAABcQIAAQ --pdb
      treadle replay model.py::transfer 'p*2 q p'
      treadle replay model.py 'p*2 q p' --json

    Exit status: 0 no failure, 1 a failure showed, 2 the schedule does not fit the program,
    3 a written schedule ends before the program does.
    """
    if report is not None:
        report_for(report)  # a suffix that nobody knows is refused before the work
    found = find(target)
    settings = settings_for(found, None, given({"database": database}))
    memory = memory_of(found, settings, no_database=no_database)
    recorded = memory.steps(schedule.strip()) if memory is not None else []
    with found.running():
        replayed = rerun(found.test, schedule, recorded=recorded, explained=True, **given(options))
    _show(replayed, found, as_json=as_json, show_locals=show_locals)
    if report is not None:
        report_to(report, found, replayed.as_result(found.name))
    if replayed.failure is None:
        return INCOMPLETE if replayed.able and replayed.is_same is None else VERIFIED
    if with_debugger:
        debug(replayed.failure)
    return FAILED


def _show(replayed: Replayed, target: Found, *, as_json: bool, show_locals: bool) -> None:
    if as_json:
        shown = replayed_as_dict(replayed, target=str(target))
        if replayed.failure is not None:
            shown["failure"]["replay"] = replay_line(replayed.failure, target)
        click.echo(json.dumps(shown, indent=2))
        return
    console = Console()
    if replayed.failure is not None:
        show_failure(console, replayed.failure, target, show_locals=show_locals, rows=None)
        if str(replayed):
            print_words(console, f"\n{replayed}")
        return
    steps = columns(replayed.steps, width=width_of(console), marks=marks_of_output())
    console.print(renderable(steps))
    print_words(console, f"\n{_without_failure(replayed)}")


def _without_failure(replayed: Replayed) -> str:
    """Say that nothing failed, who could go on, and what was expected."""
    able = ", ".join(replayed.able)
    more = f"; the program can go on with {able}" if able else ""
    count = len(replayed.steps)
    steps = "this step" if count == 1 else f"these {count} steps"
    return f"No failure in {steps}{more}.\n{replayed}".rstrip()
