"""Actors: concurrent objects that send each other messages, explored at macro-steps.

Nothing is loaded before it is used: who asks for the options alone needs no greenlets.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from treadle.actors.actor import Actor, method
    from treadle.actors.future import Future
    from treadle.actors.programs import Program, program
    from treadle.actors.restoring import ANY, follow, load, restore
    from treadle.actors.waiting import pause, until

__all__ = [
    "ANY",
    "Actor",
    "Future",
    "Program",
    "follow",
    "load",
    "method",
    "pause",
    "program",
    "restore",
    "until",
]

_HOMES = {
    "ANY": "restoring",
    "Actor": "actor",
    "Future": "future",
    "Program": "programs",
    "follow": "restoring",
    "load": "restoring",
    "method": "actor",
    "pause": "waiting",
    "program": "programs",
    "restore": "restoring",
    "until": "waiting",
}


def __getattr__(name: str) -> Any:
    """Load a public name when it is first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module 'treadle.actors' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"treadle.actors.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
