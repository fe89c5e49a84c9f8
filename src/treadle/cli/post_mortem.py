"""`--pdb`: the debugger, where a failure was raised."""

from __future__ import annotations

import pdb
from types import TracebackType

import click

from treadle.core.failure import Failure
from treadle.core.frames import is_machinery


def debug(failure: Failure) -> None:
    """Start the debugger in the user's function that raised a failure's exception."""
    if failure.exception is None:
        click.echo(
            f"treadle: a {failure.kind} raises nothing to look at: put breakpoint() into the "
            f"code and replay it again",
            err=True,
        )
        return
    pdb.post_mortem(_cut(failure.exception.__traceback__))


def _cut(traceback: TracebackType | None) -> TracebackType | None:
    """Cut a traceback after the last frame of the user's: the debugger begins at its end."""
    last, at = None, traceback
    while at is not None:
        if not is_machinery(at.tb_frame.f_code.co_filename):
            last = at
        at = at.tb_next
    if last is not None:
        last.tb_next = None
    return traceback
