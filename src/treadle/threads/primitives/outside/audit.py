"""What the interpreter itself says about leaving it: audit events, wherever they come from.

Patches and rewritten code see what they know. Audit events also tell of what a library does inside,
or a module that is imported while a test runs: a connection, a database, memory that is mapped.
"""

from __future__ import annotations

import sys
from typing import Any

from treadle.python.accesses.outside_modules import NOT_SEEN, why_outside
from treadle.python.runtime import control, slots
from treadle.python.runtime.escapes import escapes
from treadle.threads.primitives.outside.os_functions import BUSY, OPENING
from treadle.threads.primitives.outside.world import concerns_program

_PROCESS = "settings of the whole process are not modelled"
_CONNECT = "sqlite3.connect"
_OPEN = "open"
_EVENTS = {
    _OPEN: NOT_SEEN.format("a file that is opened like this"),
    _CONNECT: NOT_SEEN.format("a database"),
    "builtins.input": NOT_SEEN.format("standard input"),
    "os.kill": NOT_SEEN.format("signals"),
    "os.killpg": NOT_SEEN.format("signals"),
    "os.lockf": NOT_SEEN.format("locks of files"),
    "pty.spawn": NOT_SEEN.format("processes"),
    "sys.settrace": "a trace function sees steps that are not the program's own",
    "sys.setprofile": "a trace function sees steps that are not the program's own",
    "resource.setrlimit": _PROCESS,
    "resource.prlimit": _PROCESS,
}
"""Events of modules of which others are modelled, or harmless."""
_IN_MEMORY = (":memory:", "", b":memory:", b"")
"""Databases that belong to one connection."""
_why: dict[str, str] = {}
"""What is not seen when an event comes, if anything: found out once for each."""


def _why_of(event: str) -> str:
    found = _why.get(event)
    if found is None:
        module = event.rpartition(".")[0]
        found = _why[event] = _EVENTS.get(event) or why_outside(module)
    return found


def _hear(event: str, args: tuple[Any, ...]) -> None:
    """Take note of an event, if it leaves what is seen."""
    if slots.program is None:
        return
    why = _why_of(event)
    if not why or (event == _CONNECT and args[0] in _IN_MEMORY):
        return
    if event == _OPEN and _is_modelled():
        return
    if concerns_program():
        escapes.add(why, event)


def _is_modelled() -> bool:
    """Tell whether it is the model of files that opens one."""
    me = control.current()
    return me is None or BUSY in me.scratch or OPENING in me.scratch


_is_listening = False


def listen() -> None:
    """Hear of audit events from now on; there is no way to stop that, only not to care."""
    global _is_listening
    if not _is_listening:
        _is_listening = True
        sys.addaudithook(_hear)
