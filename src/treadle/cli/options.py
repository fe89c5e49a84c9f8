"""Options that more than one command takes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from treadle.api import ALGORITHMS
from treadle.cli.completion import complete_target
from treadle.cli.loading import Found, Target
from treadle.explore.budget import MAX_STEPS
from treadle.explore.choosers import SCHEDULES
from treadle.findings.database import DIRECTORY, Database
from treadle.findings.memory import Memory
from treadle.session.settings import Settings, for_command_line

Command = TypeVar("Command", bound=Callable[..., Any])

_DEFAULT = click.core.ParameterSource.DEFAULT

ALGORITHM = click.Choice(list(ALGORITHMS))

target_argument = click.argument(
    "target", metavar="FILE.py[::NAME]", shell_complete=complete_target
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
report_option = click.option(
    "--report",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE.md",
    help="Write a report in Markdown, to paste into an issue.",
)
locals_option = click.option(
    "--locals",
    "show_locals",
    is_flag=True,
    help="Show the local variables at the point of failure.",
)

profile_option = click.option(
    "--profile", metavar="NAME", help="Settings to use: dev (quick), ci (exhaustive), or your own."
)

_SEARCH_OPTIONS = (
    click.option(
        "--schedule",
        type=click.Choice(list(SCHEDULES)),
        default="stay",
        show_default=True,
        help="Which process runs where the algorithm leaves it open.",
    ),
    click.option("--max-executions", type=int, metavar="N", help="Stop after N executions."),
    click.option(
        "--max-steps",
        type=int,
        metavar="N",
        default=MAX_STEPS,
        show_default=True,
        help="Steps that one execution may take.",
    ),
    click.option(
        "--seed", type=int, default=0, show_default=True, help="Seed of `random` and `pct`."
    ),
    click.option(
        "--depth", type=int, default=3, show_default=True, help="Bug depth that `pct` aims at."
    ),
)


_THREAD_OPTIONS = (
    click.option(
        "--granularity",
        type=click.Choice(["access", "gil"]),
        default="access",
        show_default=True,
        help="Where threads may switch: between any two accesses, or only where a global "
        "interpreter lock is handed over.",
    ),
    click.option(
        "--instrument",
        multiple=True,
        metavar="PACKAGE",
        help="A package whose code is under test too; may be given more than once.",
    ),
    click.option(
        "--max-rounds",
        type=int,
        metavar="N",
        help="Leave out executions in which a thread sleeps, or waits in vain, more than N times "
        "in a row at one line.",
    ),
    click.option("--races", is_flag=True, help="Report data races of threads as failures."),
)


_DATABASE_OPTIONS = (
    click.option(
        "--database",
        type=click.Path(path_type=Path),
        default=DIRECTORY,
        show_default=True,
        metavar="DIRECTORY",
        help="Where failing schedules are kept from run to run.",
    ),
    click.option("--no-database", is_flag=True, help="Keep no failing schedules, and try none."),
)


def given(options: dict[str, Any]) -> dict[str, Any]:
    """Return those options of the present command that were given, not left at their default."""
    source = click.get_current_context().get_parameter_source
    return {name: value for name, value in options.items() if source(name) != _DEFAULT}


def settings_for(found: Found, profile: str | None, options: dict[str, Any]) -> Settings:
    """Return how to explore something: the command line wins, then the test, then the project."""
    asked = found.asks_for
    profile = profile or asked.pop("profile", None)
    settings = for_command_line(found.path.resolve().parent, profile)
    settings = settings.changed(asked, f"{found.path}::{found.name}")
    return settings.changed(options)


def database_options(command: Command) -> Command:
    """Add the options that say where failing schedules are kept."""
    for option in reversed(_DATABASE_OPTIONS):
        command = option(command)
    return command


def memory_of(target: Target, directory: Path) -> Memory:
    """Return what is known of a target; its name does not depend on how the file is written."""
    path = target.path.resolve()
    base = directory.resolve().parent
    file = path.relative_to(base) if path.is_relative_to(base) else path
    return Memory(Database(directory), f"{file.as_posix()}::{target.name}")


def thread_options(command: Command) -> Command:
    """Add the options for tests that use threads."""
    for option in reversed(_THREAD_OPTIONS):
        command = option(command)
    return command


def search_options(command: Command) -> Command:
    """Add the options that an exploration takes."""
    for option in reversed(_SEARCH_OPTIONS):
        command = option(command)
    return command
