"""What tasks print: kept from the output, which thousands of executions would flood."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from treadle.actors import control

_DEBUGGERS = frozenset({"pdb", "bdb", "cmd"})


class _Silencer(io.TextIOBase):
    """Writes what a task does not: a debugger's words, and whatever is printed between steps."""

    def __init__(self, output: Any) -> None:
        self._output = output

    def write(self, text: str) -> int:
        """Write a text, unless a task prints it."""
        speaker = sys._getframe(1).f_globals.get("__name__")
        if control.current is None or speaker in _DEBUGGERS:
            self._output.write(text)
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._output, name)


@contextmanager
def silenced() -> Iterator[None]:
    """Let tasks print nothing."""
    before = sys.stdout
    sys.stdout = _Silencer(before)
    try:
        yield
    finally:
        sys.stdout = before


@contextmanager
def kept() -> Iterator[io.StringIO]:
    """Keep what is printed."""
    before, text = sys.stdout, io.StringIO()
    sys.stdout = text
    try:
        yield text
    finally:
        sys.stdout = before
