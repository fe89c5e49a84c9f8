"""Options of commands: those of explorations as they are declared, and the commands' own."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import click

from treadle.cli.completion import complete_target
from treadle.cli.loading import Found
from treadle.core.arguments import Argument, Takes, argument
from treadle.core.errors import TreadleError
from treadle.core.options import NONE, Option
from treadle.findings.database import Database
from treadle.report.registry import REPORTS
from treadle.session.memory import Memory
from treadle.session.options import everything, exploring, front_end_options
from treadle.session.settings import Settings, for_command_line

Command = TypeVar("Command", bound=Callable[..., Any])

_DEFAULT = click.core.ParameterSource.DEFAULT


def in_a_directory(_: click.Context, __: click.Parameter, file: Path | None) -> Path | None:
    """Refuse a file that cannot be written since its directory is missing, before the work."""
    if file is not None and not file.parent.is_dir():
        raise TreadleError(f"cannot write {file}: {os.strerror(errno.ENOENT)}")
    return file


target_argument = click.argument(
    "target", metavar="FILE.py[::NAME]", shell_complete=complete_target
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
report_option = click.option(
    "--report",
    type=click.Path(dir_okay=False, path_type=Path),
    callback=in_a_directory,
    metavar="FILE",
    help=f"Write a report; the suffix says how: {', '.join(REPORTS)}.",
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


_NUMBERS: dict[type, click.ParamType[Any]] = {int: click.INT, float: click.FLOAT}


class _NumberOrNone(click.ParamType[Any]):
    """A number, or `none` for a limit that is lifted."""

    def __init__(self, number: click.ParamType[Any]) -> None:
        self._number = number
        self.name = number.name

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> object:
        """Return what a word means, as settings have it: `False` for none."""
        return False if value == NONE else self._number.convert(value, param, ctx)


class _Meant(click.ParamType[Any]):
    """Whatever a word means to one of several front ends."""

    name = "text"

    def __init__(self, option: Option) -> None:
        self._option = option

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> object:
        """Return what a word means; settings refuse it if it means nothing."""
        return self._option.meant(value) if isinstance(value, str) else value


def _type_of(written: Argument) -> click.ParamType[Any]:
    """Return what a word is on the command line."""
    if written.is_meant:
        return _Meant(written.option)
    if written.choices:
        return click.Choice(written.choices)
    if written.number is None:
        return click.STRING
    number = _NUMBERS[written.number]
    return _NumberOrNone(number) if written.option.values.can_be_none else number


def _as_click(option: Option) -> Callable[[Command], Command]:
    """Return an option of explorations as one of a command."""
    written = argument(option)
    shown: dict[str, Any] = {"help": option.help, "default": option.default}
    if written.takes is Takes.NOTHING:
        flags = f"--{option.flag}/--{written.off_flag}"  # a project may have set either
        return click.option(flags, option.name, is_flag=True, show_default=True, **shown)
    shown["show_default"] = option.default is not None and option.default != ()
    if written.metavar:
        shown["metavar"] = written.metavar
    if written.takes is Takes.ONE_WORD_EACH_TIME:
        shown["help"] += " May be given more than once."
        shown["multiple"] = True
    return click.option(f"--{option.flag}", option.name, type=_type_of(written), **shown)


def takes(*options: Option) -> Callable[[Command], Command]:
    """Return what gives a command options of explorations."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = _as_click(option)(command)
        return command

    return decorate


_OPTIONS = everything()
_NOT_SHARED = ("algorithm", "timeout", "stop_on_failure", "on", "checkpoint", "resume")

exploration_options = takes(*(option for name, option in _OPTIONS.items() if name in exploring()))
"""All options of `treadle.explore`."""
comparison_options = takes(
    *(option for option in exploring().values() if option.name not in _NOT_SHARED),
    replace(_OPTIONS["timeout"], default=60.0, help="Time for each algorithm."),
)
"""Those that all algorithms share."""
replay_options = takes(
    *(
        replace(_OPTIONS[name], default=None, help=f"{_OPTIONS[name].help}  [token]")
        for name in front_end_options()
        if _OPTIONS[name].in_tokens
    )
)
"""Those that decide how a program runs, which tokens know."""
shrink_option = takes(_OPTIONS["shrink"])


def database_options(command: Command) -> Command:
    """Add the options that say where failing schedules are kept."""
    option = _OPTIONS["database"]
    without = f"--{argument(option).off_flag}"
    command = click.option(
        without, "no_database", is_flag=True, help="Keep no failing schedules, and try none."
    )(command)
    return takes(option)(command)


def given(options: dict[str, Any]) -> dict[str, Any]:
    """Return those options of the present command that were given, not left at their default."""
    source = click.get_current_context().get_parameter_source
    return {name: value for name, value in options.items() if source(name) != _DEFAULT}


def settings_for(found: Found, profile: str | None, options: dict[str, Any]) -> Settings:
    """Return how to explore something: the command line wins, then the test, then the project."""
    asked = found.asks_for
    profile = profile or asked.pop("profile", None)
    settings = for_command_line(found.path.resolve().parent, profile)
    settings = settings.changed(asked, f"{found.path}::{found.name}", for_this_test=True)
    return settings.changed(options, for_this_test=True)


def memory_of(found: Found, settings: Settings, *, no_database: bool) -> Memory | None:
    """Return what is known of a test, unless nobody wants to know it.

    The test's name does not depend on how the file is written.
    """
    directory = settings.database
    if no_database or directory is None:
        return None
    from treadle.smt.place import keep_in

    keep_in(directory)
    path = found.path.resolve()
    base = Path(directory).resolve().parent
    file = path.relative_to(base) if path.is_relative_to(base) else path
    return Memory(Database(directory), f"{file.as_posix()}::{found.name}")
