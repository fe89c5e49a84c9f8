"""The garbage collector while a test is explored.

It runs between executions, never within one: finalizers would otherwise run wherever garbage
happened to pile up. What was there before the exploration is frozen, so that collecting what an
execution left costs next to nothing.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable
from typing import Any

_FROZEN_BY_PYTHON = 1000
"""Python 3.12 freezes a few hundred objects when it starts; who freezes, freezes thousands."""


def is_frozen() -> bool:
    """Tell whether somebody told the collector to leave alone what there is."""
    return gc.get_freeze_count() > _FROZEN_BY_PYTHON


def take_over() -> Callable[[], None]:
    """Stop collecting; return what begins it anew."""
    was_enabled = gc.isenabled()
    freezes = not is_frozen()
    gc.disable()
    if freezes:
        gc.freeze()

    def put_back() -> None:
        if freezes:
            gc.unfreeze()
        if was_enabled:
            gc.enable()

    return put_back


def referrers(targets: Iterable[Any]) -> list[Any]:
    """Return what refers directly to one of some objects, also if it is frozen.

    Functions refer to their global variables, instances to their class. Looking at all objects one
    by one would take several times as long.
    """
    if not is_frozen():
        return gc.get_referrers(*targets)
    gc.unfreeze()
    found = gc.get_referrers(*targets)
    gc.freeze()
    return found
