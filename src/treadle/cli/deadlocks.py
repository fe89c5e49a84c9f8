"""`treadle deadlocks`: the deadlock cycles of programs, and which of them can happen."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

import click
from rich.console import Console

from treadle.cli.completion import complete_target
from treadle.cli.loading import Found, find, find_code
from treadle.cli.packages import files_of_package
from treadle.cli.showing import show_failure
from treadle.cli.status import FAILED, INCOMPLETE, VERIFIED
from treadle.core.deadlocks import CRITERIA, OUTPUTS, SENSITIVITIES, SENSITIVITY, Deadlocks
from treadle.core.errors import TreadleError
from treadle.explore.choosers import SCHEDULES
from treadle.explore.guided.guided import GUIDED
from treadle.explore.progress import Listener
from treadle.report.colour import print_words
from treadle.report.deadlocks import deadlocks_as_dict
from treadle.report.live import LiveLine
from treadle.session.deadlocks import (
    GUIDED_BY_DEFAULT,
    Stop,
    Wish,
    look_for_deadlocks,
    never,
)
from treadle.session.front_ends import front_end_of
from treadle.session.settings import Settings
from treadle.symbolic.limits import Limits, limits_of
from treadle.threads.front_end import THREADS

if TYPE_CHECKING:
    from treadle.session.contexts import ContextWish


class _Told(TypedDict):
    """What every search for deadlocks is given."""

    target: str
    listener: Listener
    is_stopped: Stop


_FOR_THREADS = {"algorithm": "optimal", "schedule": "stay"}
"""Threads are guided by the order of choices alone, so any algorithm will do."""
_CORES = os.cpu_count() or 1
_LIMITS = [each.name for each in dataclasses.fields(Limits)]


def _read_limits(
    context: click.Context, parameter: click.Parameter, given: tuple[str, ...]
) -> Limits:
    """Read `seconds=30` and the like."""
    del context, parameter
    read = {}
    for each in given:
        name, _, value = each.partition("=")
        try:
            read[name] = float(value)
        except ValueError:
            raise TreadleError(f"cannot read the limit {each!r}: write NAME=NUMBER") from None
    return limits_of(read)


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
    help="Use no main program: generate initial contexts with up to M tasks of each method.",
)
@click.option(
    "--limit",
    "limits",
    multiple=True,
    metavar="NAME=N",
    callback=_read_limits,
    help=f"A limit of symbolic execution in contexts; repeatable. Names: {', '.join(_LIMITS)}.",
)
@click.option(
    "--output",
    type=click.Choice(OUTPUTS),
    default=OUTPUTS[0],
    show_default=True,
    help="What is given of each deadlock in a context: a concrete test, the path's constraints.",
)
@click.option(
    "--write-tests",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Write the test cases of contexts into a directory, a file for pytest each.",
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
    limits: Limits,
    output: str,
    write_tests: Path | None,
    sensitivity: int,
    algorithm: str,
    schedule: str,
    timeout: float | None,
    max_executions: int | None,
    workers: int,
    as_json: bool,
    quiet: bool,
) -> None:
    """List deadlock cycles, and find out which can happen.

    TARGET is a program of actors, FILE.py::NAME, FILE.py::NAME(3) or FILE.abs. A static analysis
    lists the cycles of waits that may happen; if there is none, the program is free of deadlocks
    whatever its main function is given. For each cycle, executions that cannot lead to it are left
    out until one ends in it (confirmed), or none is left (unfeasible).

    Or it is code with threads. A package, a directory or a file is only read: the cycles of its
    locks are candidates, and what was not understood is listed. A test with threads, FILE.py::NAME,
    is explored, towards the candidates of its code first (by optimal): it confirms them, or refutes
    them as far as this test goes.

    With --contexts M, no main program is needed, and none is used: TARGET may be FILE.py with
    classes. Initial contexts are generated for each cycle, and executed symbolically, whatever
    fields and arguments are. Each deadlock becomes a test case with its interleaving. That needs
    z3: pip install 'treadle[smt]'.

    \b
    Examples:
      treadle deadlocks examples/actors/barber.py
      treadle deadlocks model.abs --criterion all
      treadle deadlocks "pairing.py::pairing(4)" --timeout 60 --json
      treadle deadlocks my_package
      treadle deadlocks test_bank.py::test_transfer
      treadle deadlocks service.py --contexts 2 --write-tests tests

    Exit status: 0 free of deadlock, 1 a deadlock was confirmed, 2 usage or input error, 3 something
    was not decided. With --contexts, 0 also if there is no deadlock up to M.
    """
    values = {
        "algorithm": algorithm,
        "schedule": schedule,
        "timeout": timeout,
        "max_executions": max_executions,
    }
    settings = Settings().changed(values)
    wish = Wish(criterion, sensitivity, workers)
    in_contexts = None
    if contexts:
        from treadle.session.contexts import ContextWish  # which loads the actors' runtime

        in_contexts = ContextWish(
            contexts, criterion, sensitivity, workers, timeout, output, limits
        )
    elif write_tests is not None:
        raise TreadleError(
            "--write-tests writes the test cases of contexts: give --contexts M, too"
        )
    statuses = []
    for target in targets:
        outcome, found = _outcome(target, settings, wish, in_contexts, quiet=quiet or as_json)
        _show(outcome, found, as_json=as_json, quiet=quiet)
        if in_contexts is not None:
            prefix = f"{Path(target.partition('::')[0]).stem}_" if len(targets) > 1 else ""
            _give_tests(outcome, output, write_tests, prefix, quiet=quiet or as_json)
        statuses.append(_status(outcome))
    context.exit(FAILED if FAILED in statuses else max(statuses))


def _outcome(
    target: str, settings: Settings, wish: Wish, in_contexts: ContextWish | None, *, quiet: bool
) -> tuple[Deadlocks, Found | None]:
    """Look for the deadlocks of a target; return them, and the program if there is one to run."""
    files = [] if in_contexts is not None else files_of_package(target)
    if files:
        from treadle.session.lock_orders import lock_orders  # greenlet comes with it

        return lock_orders(files, target=target), None
    found = find(target) if in_contexts is None else find_code(target)
    with found.running():
        if in_contexts is not None:
            return _in_contexts(found, in_contexts, quiet=quiet), found
        return look(found, settings, wish, LiveLine(Console(stderr=True, quiet=quiet))), found


def look(
    found: Found,
    settings: Settings,
    wish: Wish,
    listener: Listener,
    is_stopped: Stop = never,
) -> Deadlocks:
    """Look for the deadlocks of a program of actors, or of a test with threads."""
    told: _Told = {"target": str(found), "listener": listener, "is_stopped": is_stopped}
    if front_end_of(found.test).name == THREADS.name:
        from treadle.session.lock_orders import lock_orders_of_test  # greenlet comes with it

        return lock_orders_of_test(found.test, settings.changed(_FOR_THREADS), **told)
    return look_for_deadlocks(found.test, settings, wish, **told)


def _in_contexts(found: Found, wish: ContextWish, *, quiet: bool) -> Deadlocks:
    """Look for deadlocks in contexts; a terminal shows meanwhile how far it is."""
    from treadle.session.contexts import look_in_contexts

    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        return look_in_contexts(found.test, wish, name=str(found))
    with console.status("contexts") as status:
        return look_in_contexts(found.test, wish, name=str(found), progress=status.update)


def _give_tests(
    found: Deadlocks, output: str, directory: Path | None, prefix: str, *, quiet: bool
) -> None:
    """Write test cases into files, or show the first of each cycle; files have the prefix."""
    cases = {case.name: case for cycle in found.cycles for case in cycle.cases}
    if directory is not None:
        directory.mkdir(parents=True, exist_ok=True)
        suffix = "txt" if output == "constraints" else "py"
        for name, case in cases.items():
            path = directory / f"test_{prefix}{name}.{suffix}"
            path.write_text(case.shown(output, directory.resolve()), encoding="utf-8")
            if not quiet:
                click.echo(f"wrote {path}")
    elif not quiet:
        for cycle in found.cycles:
            for test in cycle.tests[:1]:
                click.echo(f"\n{test}", nl=False)


def _status(found: Deadlocks) -> int:
    if found.confirmed:
        return FAILED
    return VERIFIED if found.is_settled else INCOMPLETE


def _show(found: Deadlocks, target: Found | None, *, as_json: bool, quiet: bool) -> None:
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
                assert target is not None, "the source alone confirms nothing"
                show_failure(console, failure, target)
