"""`print`: where the text goes, and in what order, if anybody may look.

A test that redirects `sys.stdout` looks at what was printed, and so does one that asks pytest for
it: then each call is a step on one location. What goes to a terminal or a log, nobody reads.
"""

from __future__ import annotations

import builtins
import io
import sys
from collections.abc import Callable
from typing import Any

from treadle.core.events import OPEN, Codes
from treadle.python.accesses.known_functions import LIBRARY
from treadle.python.accesses.library_state import changing, looking, looking_at_sys
from treadle.python.accesses.uninstrumented import state_of
from treadle.python.runtime import control
from treadle.python.runtime.spin import effects
from treadle.python.runtime.task import Task
from treadle.python.sharing.published import published
from treadle.threads.primitives.outside.world import has_threads, step
from treadle.threads.primitives.patches import Patches

_TEXT = "printed text"
_ASKED = "asked for"


class Output:
    """Remembers where text is printed to unless a test says otherwise."""

    def __init__(self) -> None:
        self.usual: Any = None

    def take(self) -> Callable[[], None]:
        """Have nothing to put back: a test does that itself."""
        return lambda: None

    def begin(self, main: Task) -> None:
        """Remember where text goes as an execution begins."""
        del main
        self.usual = sys.stdout


output = Output()


def _codes(file: Any) -> Codes:
    if file is not None:
        table = published.get(id(file))
        return () if table is None or hasattr(file, "buffer") else (state_of(table),)
    where = looking_at_sys("stdout")  # if it changes meanwhile, somebody may read what is printed
    is_redirected = sys.stdout is not output.usual and isinstance(sys.stdout, io.StringIO)
    is_read = where or is_redirected or control.the_program().shared.happens(_TEXT, _ASKED)
    table = published.get(id(sys.stdout)) if is_redirected else None  # others may write to it, too
    held = () if table is None else (state_of(table),)
    is_open = (OPEN,) if where else ()
    return (*where, *held, *(changing(_TEXT) if is_read else ()), *is_open)


def _print(*args: Any, file: Any = None, **kwargs: Any) -> None:
    """Stand for `print`; a loop that fills a stream of its own is at its end some day."""
    if not (file is None or file is sys.stdout or file is sys.stderr):
        effects[0] = True
    if control.current() is not None and has_threads():
        step(lambda: _codes(file))
    _original(*args, file=file, **kwargs)


def _ask(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call what returns the text that was printed."""
    if control.current() is not None and has_threads():
        control.the_program().shared.note(_TEXT, _ASKED)
        step(lambda: looking(_TEXT))
    return function(*args, **kwargs)


_original: Any = builtins.print
LIBRARY["_pytest.capture", "CaptureFixture.readouterr"] = _ask

PATCHES: Patches = Patches(attributes=[(builtins, "print", _print)])
