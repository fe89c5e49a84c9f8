"""`treadle replay`: run one interleaving again."""

from __future__ import annotations

import json

import click
from rich.console import Console

from treadle import api
from treadle.cli.loading import Target, load
from treadle.cli.options import json_option, locals_option, target_argument, thread_options
from treadle.cli.showing import show_failure, width_of
from treadle.cli.status import FAILED, INCOMPLETE, VERIFIED
from treadle.program import StepRecord
from treadle.replay import follow
from treadle.report.colour import print_words, renderable
from treadle.report.columns import columns
from treadle.report.json import failure_as_dict
from treadle.report.line import marks_of_output
from treadle.result import Failure, Schedule


@click.command()
@target_argument
@click.argument("schedule")
@thread_options
@json_option
@locals_option
def replay(
    target: str,
    schedule: str,
    granularity: str,
    instrument: tuple[str, ...],
    races: bool,
    as_json: bool,
    show_locals: bool,
) -> int:
    """Run one interleaving again and show all its steps.

    SCHEDULE names the process of each step, in order; `p*3` is three steps of p. It is printed
    with every failure.

    \b
    Examples:
      treadle replay model.py::transfer 'p*2 q p'
      treadle replay model.py 'p*2 q p' --json

    Exit status: 0 no failure, 1 the failure showed again, 2 the schedule does not fit the program,
    3 the schedule ends before the program does.
    """
    chosen = load(target, granularity=granularity, instrument=instrument)
    with chosen.running():
        steps = Schedule.parse(schedule)
        failure = api.replay(chosen.program, steps, races=races)
        if failure is not None:
            _show_failure(failure, chosen, as_json=as_json, show_locals=show_locals)
            return FAILED
        return _show_success(chosen, steps, as_json=as_json)


def _show_failure(failure: Failure, target: Target, *, as_json: bool, show_locals: bool) -> None:
    if as_json:
        click.echo(json.dumps(failure_as_dict(failure), indent=2))
    else:
        show_failure(Console(), failure, target, show_locals=show_locals, rows=None)


def _show_success(target: Target, steps: Schedule, *, as_json: bool) -> int:
    """Show an execution without failure, which may have more steps to take."""
    records, able = _follow(target, steps)
    if as_json:
        click.echo("null")
    else:
        console = Console()
        console.print(
            renderable(columns(records, width=width_of(console), marks=marks_of_output()))
        )
        more = f"; the program can go on with {', '.join(able)}" if able else ""
        print_words(console, f"\nNo failure in these {len(steps)} steps{more}.")
    return INCOMPLETE if able else VERIFIED


def _follow(target: Target, steps: Schedule) -> tuple[list[StepRecord], list[str]]:
    """Return the steps in words, and the processes that could go on."""
    with target.program.controlled():
        run = follow(target.program, steps, detail=True)
        names = target.program.vocabulary.process_names
        able = [names[process] for process in run.enabled()]
        records = run.records()
        run.close()
    return records, able
