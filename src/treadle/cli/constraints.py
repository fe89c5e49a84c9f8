"""`treadle constraints`: where the blocks of a program commute, declared or found by a solver."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict

import click
from rich.console import Console

from treadle.cli.loading import find
from treadle.cli.options import json_option, settings_for, target_argument
from treadle.cli.status import VERIFIED
from treadle.core.listed import Constrained, Untranslated
from treadle.report.colour import print_words


@click.command(short_help="Print where steps of a program commute.")
@target_argument
@click.option(
    "--constraints",
    type=click.Choice(["declared", "synthesised"]),
    default="synthesised",
    show_default=True,
    help="Only what is declared, or also what a solver finds.",
)
@json_option
def constraints(target: str, constraints: str, as_json: bool) -> int:
    """Print where the blocks of a program are independent, although their accesses conflict.

    A block is the code from one `yield` to the next. For each two of them that conflict: what is
    declared, or else what a solver finds in their source (`pip install treadle[smt]`). A constraint
    is Python over the shared state `s` and the local names of both steps, `first` and `second`;
    several are alternatives. Blocks that are not understood are listed with line and reason: they
    are dependent.

    \b
    Examples:
      treadle constraints model.py::bank
      treadle constraints model.py::bank --constraints declared
      treadle constraints model.py::bank --json

    Exit status: 0 if they could be printed, 2 usage or input error.
    """
    from treadle.smt import require_solver
    from treadle.smt.place import keep_in

    found = find(target)
    if constraints == "synthesised":
        require_solver("`treadle constraints` without --constraints declared")
    settings = settings_for(found, None, {})
    keep_in(settings.database)
    with found.opened(settings) as session:
        listed = session.program.list_constraints(constraints)
        if as_json:
            for entry in listed:
                click.echo(json.dumps(asdict(entry)))
        else:
            nothing = "no two blocks conflict"
            if constraints == "declared":
                nothing = "nothing is declared"
            print_words(Console(), _in_words(listed, nothing))
    return VERIFIED


def _in_words(listed: Iterable[Constrained | Untranslated], nothing: str) -> str:
    """Return what is known as a table, and what is not understood below."""
    lines, unknown = [], []
    for entry in listed:
        if isinstance(entry, Untranslated):
            unknown.append(f"  {entry.block}, line {entry.line}: {entry.reason}")
        else:
            lines += _pair_in_words(entry)
    if unknown:
        lines += ["not understood, and dependent:", *unknown]
    return "\n".join(lines or [nothing])


def _pair_in_words(entry: Constrained) -> list[str]:
    about = [entry.source, "exact" if entry.exact else "sufficient"]
    if entry.source == "synthesised":
        about.append(f"{entry.seconds:.2f} s")
    heading = f"{entry.first} / {entry.second}  ({', '.join(about)})"
    return [heading, *(f"  {text}" for text in entry.constraints or ("nowhere",))]
