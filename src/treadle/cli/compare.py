"""`treadle compare`: every algorithm on one program, side by side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from treadle.cli.loading import find
from treadle.cli.options import (
    comparison_options,
    given,
    in_a_directory,
    json_option,
    target_argument,
)
from treadle.cli.status import BUG, FAILED, INCOMPLETE, INTERRUPTED, VERIFIED
from treadle.core.result import Result
from treadle.explore.registry import ALGORITHMS
from treadle.report.colour import print_words
from treadle.report.comparison import Comparison
from treadle.report.live import LiveLine
from treadle.report.registry import COMPARISONS, comparison_for, write
from treadle.session.session import SAMPLES, Session, is_sensible
from treadle.session.settings import Settings
from treadle.session.workers.spaces import can_divide

_SAMPLING = frozenset(name for name, algorithm in ALGORITHMS.items() if not algorithm.covers)
_DOUBT = (
    "algorithms must not contradict each other: either the program is not deterministic, or this "
    "is a bug of Treadle, which you should report with the program"
)


@click.command(short_help="Run every algorithm on one program.")
@target_argument
@click.option(
    "--algorithm",
    "algorithms",
    type=click.Choice(list(ALGORITHMS)),
    multiple=True,
    help="Only this one (repeatable).",
)
@comparison_options
@json_option
@click.option(
    "--report",
    type=click.Path(dir_okay=False, path_type=Path),
    callback=in_a_directory,
    metavar="FILE",
    help=f"Write a report; the suffix says how: {', '.join(COMPARISONS)}.",
)
def compare(
    target: str,
    algorithms: tuple[str, ...],
    as_json: bool,
    report: Path | None,
    **options: Any,
) -> int:
    """Run every algorithm on one program and check that they find the same failures.

    Algorithms that cover the space must agree; `random` and `pct` may miss failures, but must not
    find others.

    \b
    Examples:
      treadle compare model.py::transfer
      treadle compare model.py::transfer --algorithm source --algorithm optimal
      treadle compare model.py::transfer --timeout 10 --json
      treadle compare model.py::transfer --report trees.html

    Exit status: 0 verified by all, 1 a failure was found, 2 usage or input error, 3 no algorithm
    covered the space, 70 they disagree.
    """
    if report is not None:
        comparison_for(report)  # a suffix that nobody knows is refused before the work
    found = find(target)
    settings = Settings().changed(given(options), for_this_test=True)
    settings = settings.changed({"timeout": options["timeout"], "stop_on_failure": False})
    results: list[Result] = []
    interrupted = False
    try:
        with found.opened(settings) as session:
            for name in algorithms or _sensible(settings):
                results.append(_explore(session, name, observe=report is not None))
                if as_json or report is not None:
                    session.record(*results[-1].failures, explained=False)
    except KeyboardInterrupt:
        interrupted = True
    comparison = Comparison(str(found), results, _SAMPLING)
    _show(comparison, as_json=as_json)
    if report is not None:
        write(report, comparison_for(report)(comparison))
    if interrupted:
        click.echo(f"INTERRUPTED: {name} and what comes after it did not finish", err=True)
        return INTERRUPTED
    return _status(comparison)


def _sensible(settings: Settings) -> list[str]:
    """Return the algorithms that can be compared; say which cannot, and why."""
    left_out = [name for name in ALGORITHMS if not is_sensible(ALGORITHMS[name], settings)]
    if left_out:
        names = ", ".join(left_out)
        click.echo(f"left out, as --races needs every order of steps: {names}", err=True)
    return [name for name in ALGORITHMS if name not in left_out]


def _show(comparison: Comparison, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(comparison.as_dict(), indent=2))
    else:
        print_words(Console(), comparison.in_words())
    if comparison.disagreements():
        click.echo(f"treadle: bug: {_DOUBT}", err=True)


def _explore(session: Session, algorithm: str, *, observe: bool) -> Result:
    """Explore with one algorithm; a sampling one need not use up its time."""
    settings = session.settings
    if settings.max_executions is None and algorithm in _SAMPLING:
        settings = settings.changed({"max_executions": SAMPLES})
    live = LiveLine(Console(stderr=True), label=algorithm)
    if settings.workers != 1 and not can_divide(ALGORITHMS[algorithm]):
        settings = settings.changed({"workers": 1})  # the others are compared all the same
    return session.with_settings(settings).explore(algorithm, live, observe=observe)


def _status(comparison: Comparison) -> int:
    if comparison.disagreements():
        return BUG
    if any(result.failures for result in comparison.results):
        return FAILED
    return VERIFIED if comparison.covering else INCOMPLETE
