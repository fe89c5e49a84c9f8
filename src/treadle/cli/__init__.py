"""The command line: `treadle run`, `replay`, `compare`, `deadlocks`, `constraints` and so on.

Exit status: 0 verified, 1 a failure was found, 2 usage or input error, 3 stopped by a budget before
the space was covered, 70 a bug of Treadle, 130 interrupted.
"""

from __future__ import annotations

import io
import os
import sys
import traceback
from collections.abc import Sequence

import click

from treadle.cli.bench import bench
from treadle.cli.compare import compare
from treadle.cli.completion import completion
from treadle.cli.constraints import constraints
from treadle.cli.deadlocks import deadlocks
from treadle.cli.replay import replay
from treadle.cli.run import run
from treadle.cli.status import BUG, INTERRUPTED, MISUSE
from treadle.cli.translation import translation
from treadle.cli.web import web
from treadle.core.errors import TreadleBug, TreadleError
from treadle.core.version import __version__

_SEED = "PYTHONHASHSEED"
_REPORT_IT = "This is a bug of Treadle, not of your program: please report it."


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="treadle")
def cli() -> None:
    """Check every interleaving of a concurrent program that can make a difference.

    \b
    Examples:
      treadle run examples/peterson.py::correct
      treadle run model.py::transfer --keep-going
      treadle replay model.py::transfer t2_6zeYDADe904CBgEAAgABcAABcQIAAQ
      treadle compare model.py::transfer
      treadle deadlocks examples/actors/barber.py
      treadle bench --paper jacm17 --program readers

    Exit status: 0 verified, 1 a failure was found, 2 usage or input error, 3 stopped by a budget
    before the space was covered, 70 a bug of Treadle, 130 interrupted.
    """


for _command in (run, replay, compare, deadlocks, constraints, bench, translation, web, completion):
    cli.add_command(_command)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and exit with its status."""
    if arguments is None:
        _fix_hash_seed()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a pipe may not know the program's characters
            stream.reconfigure(errors="backslashreplace")
    sys.exit(_status_of(arguments))


def _fix_hash_seed() -> None:
    """Begin again with a hash seed that processes which import the test have as well.

    Shrinking and reports run the program here: it has to be the same one.
    """
    asked = {argument.partition("=")[0] for argument in sys.argv}
    if asked.isdisjoint(("--spawn", "--on")) or _SEED in os.environ:
        return
    os.execve(sys.executable, sys.orig_argv, {**os.environ, _SEED: "0"})


def _status_of(arguments: Sequence[str] | None) -> int:
    """Run a command; turn every way in which it can end into an exit status."""
    try:
        return int(cli.main(arguments, prog_name="treadle", standalone_mode=False) or 0)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
    except click.UsageError as error:
        _complain(error.format_message().removesuffix(".") + _where_to_look(error))
    except (click.ClickException, TreadleError) as error:
        _complain(str(error))
        for note in getattr(error, "__notes__", ()):
            click.echo(note, err=True)
    except (click.Abort, KeyboardInterrupt):
        _complain("interrupted")
        return INTERRUPTED
    except TreadleBug as bug:
        click.echo(f"treadle: bug: {bug}", err=True)
        return BUG
    except Exception:  # status 1 would say that the program under test failed
        click.echo(f"{traceback.format_exc()}\n{_REPORT_IT}", err=True)
        return BUG
    return MISUSE


def _complain(message: str) -> None:
    """Print an error as one line."""
    click.echo(f"treadle: error: {' '.join(message.split())}", err=True)


def _where_to_look(error: click.UsageError) -> str:
    command = error.ctx.command_path if error.ctx is not None else "treadle"
    return f" (see '{command} --help')"
