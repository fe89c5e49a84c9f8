"""`treadle deadlocks`: the deadlock cycles of programs, and which of them can happen."""

from __future__ import annotations

import json
import os
from pathlib import Path

import click
from rich.console import Console

from treadle.cli.completion import complete_target
from treadle.cli.loading import Found, find
from treadle.cli.showing import show_failure
from treadle.cli.status import FAILED, INCOMPLETE, VERIFIED
from treadle.core.deadlocks import CRITERIA, SENSITIVITIES, SENSITIVITY, Deadlocks
from treadle.core.errors import TreadleError
from treadle.explore.choosers import SCHEDULES
from treadle.explore.guided.guided import GUIDED
from treadle.report.colour import print_words
from treadle.report.deadlocks import deadlocks_as_dict
from treadle.report.live import LiveLine
from treadle.session.deadlocks import GUIDED_BY_DEFAULT, Wish, look_for_deadlocks
from treadle.session.settings import Settings

_CORES = os.cpu_count() or 1


@click.command(short_help="List deadlock cycles, and find out which can happen.")
@click.argument(
    "targets",
    metavar="TARGET...",
    nargs=-1,
    required=True,
    shell_complete=complete_target,
)
@click.option(
    "--criterion",
    type=click.Choice(CRITERIA),
    default="cycle",
    show_default=True,
    help="When to stop: at the first deadlock, with one for each cycle, or with all.",
)
@click.option(
    "--contexts",
    type=click.IntRange(min=0),
    default=0,
    metavar="M",
    help="Generate initial contexts with up to M tasks of each method (not built yet).",
)
@click.option(
    "--sensitivity",
    type=click.IntRange(SENSITIVITIES[0], SENSITIVITIES[-1]),
    default=SENSITIVITY,
    show_default=True,
    metavar="K",
    help="How many allocation sites tell actors apart in the analysis.",
)
@click.option(
    "--algorithm",
    type=click.Choice(list(GUIDED)),
    default=GUIDED_BY_DEFAULT["algorithm"],
    show_default=True,
    help="How executions are looked for.",
)
@click.option(
    "--schedule",
    type=click.Choice(list(SCHEDULES)),
    default=GUIDED_BY_DEFAULT["schedule"],
    show_default=True,
    help="Which task runs where the algorithm leaves it open.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Time for each cycle; one that takes longer is not decided.",
)
@click.option(
    "--max-executions",
    type=click.IntRange(min=1),
    metavar="N",
    help="Executions for each cycle.",
)
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    default=_CORES,
    metavar="N",
    help="Cycles that are looked for side by side.  [default: one for each core]",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per target and line.")
@click.option("-q", "--quiet", is_flag=True, help="Print the verdicts only.")
@click.pass_context
def deadlocks(
    context: click.Context,
    targets: tuple[str, ...],
    criterion: str,
    contexts: int,
    sensitivity: int,
    algorithm: str,
    schedule: str,
    timeout: float | None,
    max_executions: int | None,
    workers: int,
    as_json: bool,
    quiet: bool,
) -> None:
    """List the deadlock cycles of programs of actors, and find out which can happen.

    TARGET is FILE.py::NAME, FILE.py::NAME(3) or FILE.abs. A static analysis lists the cycles of
    waits that may happen; if there is none, the program is free of deadlocks whatever its main
    function is given. For each cycle, executions that cannot lead to it are left out until one ends
    in it (confirmed), or none is left (unfeasible).

    Packages and tests with threads cannot be given yet.

    \b
    Examples:
      treadle deadlocks examples/actors/barber.py
      treadle deadlocks model.abs --criterion all
      treadle deadlocks "pairing.py::pairing(4)" --timeout 60 --json

    Exit status: 0 free of deadlock, 1 a deadlock was confirmed, 2 usage or input error, 3 something
    was not decided.
    """
    if contexts:
        raise TreadleError("--contexts is not built yet: give a target with a main program")
    values = {
        "algorithm": algorithm,
        "schedule": schedule,
        "timeout": timeout,
        "max_executions": max_executions,
    }
    settings = Settings().changed(values)
    wish = Wish(criterion, sensitivity, workers)
    statuses = []
    for target in targets:
        found = _found(target)
        live = LiveLine(Console(stderr=True, quiet=quiet or as_json))
        with found.running():
            outcome = look_for_deadlocks(
                found.test, settings, wish, target=str(found), listener=live
            )
        _show(outcome, found, as_json=as_json, quiet=quiet)
        statuses.append(_status(outcome))
    context.exit(FAILED if FAILED in statuses else max(statuses))


def _found(target: str) -> Found:
    path = Path(target.partition("::")[0])
    if path.is_dir():
        raise TreadleError(
            f"{path} is a directory: lock-order cycles of Python packages are not built yet; give "
            f"a program of actors, FILE.py::NAME or FILE.abs"
        )
    return find(target)


def _status(found: Deadlocks) -> int:
    if found.confirmed:
        return FAILED
    return VERIFIED if found.free else INCOMPLETE


def _show(found: Deadlocks, target: Found, *, as_json: bool, quiet: bool) -> None:
    if as_json:
        click.echo(json.dumps(deadlocks_as_dict(found)))
        return
    console = Console()
    if quiet:
        print_words(console, str(found).partition("\n")[0])
        return
    print_words(console, str(found))
    shown = set()
    for cycle in found.confirmed:
        for failure in cycle.failures:
            if failure.message not in shown:
                shown.add(failure.message)
                console.print()
                show_failure(console, failure, target)
