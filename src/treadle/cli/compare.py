"""`treadle compare`: every algorithm on one program, side by side."""

from __future__ import annotations

import json
from typing import Any

import click
from rich.console import Console

from treadle.api import ALGORITHMS, SAMPLES, explore
from treadle.cli.loading import Target, load
from treadle.cli.options import (
    ALGORITHM,
    json_option,
    search_options,
    target_argument,
    thread_options,
)
from treadle.cli.status import BUG, FAILED, INCOMPLETE, INTERRUPTED, VERIFIED
from treadle.core.result import Result
from treadle.report.colour import print_words
from treadle.report.comparison import Comparison
from treadle.report.live import LiveLine

_SAMPLING = frozenset(name for name, algorithm in ALGORITHMS.items() if not algorithm.covers)
_DOUBT = (
    "algorithms must not contradict each other: either the program is not deterministic, or this "
    "is a bug of Treadle, which you should report with the program"
)


@click.command(short_help="Run every algorithm on one program.")
@target_argument
@click.option(
    "--algorithm", "algorithms", type=ALGORITHM, multiple=True, help="Only this one (repeatable)."
)
@search_options
@thread_options
@click.option(
    "--timeout",
    type=float,
    metavar="SECONDS",
    default=60.0,
    show_default=True,
    help="Time for each algorithm.",
)
@json_option
def compare(
    target: str,
    algorithms: tuple[str, ...],
    as_json: bool,
    granularity: str,
    instrument: tuple[str, ...],
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

    Exit status: 0 verified by all, 1 a failure was found, 2 usage or input error, 3 no algorithm
    covered the space, 70 they disagree.
    """
    chosen = load(
        target, granularity=granularity, instrument=instrument, max_rounds=options["max_rounds"]
    )
    results: list[Result] = []
    interrupted = False
    try:
        with chosen.running():
            for name in algorithms or ALGORITHMS:
                results.append(_explore(chosen, name, options))
    except KeyboardInterrupt:
        interrupted = True
    comparison = Comparison(str(chosen), results, _SAMPLING)
    _show(comparison, as_json=as_json)
    if interrupted:
        click.echo(f"INTERRUPTED: {name} and what comes after it did not finish", err=True)
        return INTERRUPTED
    return _status(comparison)


def _show(comparison: Comparison, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(comparison.as_dict(), indent=2))
    else:
        print_words(Console(), comparison.in_words())
    if comparison.disagreements():
        click.echo(f"treadle: bug: {_DOUBT}", err=True)


def _explore(target: Target, algorithm: str, options: dict[str, Any]) -> Result:
    """Explore with one algorithm; a sampling one need not use up its time."""
    if options["max_executions"] is None and algorithm in _SAMPLING:
        options = {**options, "max_executions": SAMPLES}
    return explore(
        target.program,
        algorithm,
        stop_on_failure=False,
        listener=LiveLine(Console(stderr=True), label=algorithm),
        **options,
    )


def _status(comparison: Comparison) -> int:
    if comparison.disagreements():
        return BUG
    if any(result.failures for result in comparison.results):
        return FAILED
    return VERIFIED if comparison.covering else INCOMPLETE
