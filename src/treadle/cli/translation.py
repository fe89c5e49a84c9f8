"""`treadle abs`: print an ABS file as Python; and the method of one that is to be tested."""

from __future__ import annotations

from pathlib import Path

import click

from treadle.core.errors import TreadleError

_SUFFIX = ".abs"


@click.command("abs", short_help="Print an ABS file as Python actors.")
@click.argument(
    "file", metavar="FILE.abs", type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
def translation(file: Path) -> int:
    """Print what an ABS file is in Python: the actors that `treadle run FILE.abs` explores.

    The text runs as it is.

    \b
    Examples:
      treadle abs model.abs > model.py
      treadle run model.py
    """
    from treadle.actors.abs.loading import read

    click.echo(read(file).python_text(), nl=False)
    return 0


def with_method(target: str, method: str | None, args: str | None) -> str:
    """Return a target that names the method of an ABS file which is to be tested, if one is."""
    if method is None:
        if args is not None:
            raise TreadleError("--args are those of a method: name it with --method Class.m")
        return target
    file, _, name = target.partition("::")
    if name or not file.endswith(_SUFFIX):
        raise TreadleError(f"--method is for {_SUFFIX} files without a name: give FILE{_SUFFIX}")
    return f"{file}::{method}({args or ''})"
