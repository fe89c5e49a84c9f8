"""The garbage collector while a test is explored.

It runs between executions, never within one: finalizers would otherwise run wherever garbage
happened to pile up. What was there before the exploration is frozen, so that collecting what an
execution left costs next to nothing.
"""

from __future__ import annotations

import gc
import itertools
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

_FROZEN_BY_PYTHON = 1000
"""Python 3.12 freezes a few hundred objects when it starts; who freezes, freezes thousands."""
_FEW = 30
"""Targets up to which it is faster to ask who refers to them than to look at all objects."""


_OFTEN = 32
"""Explorations after which what they left is collected."""
_begun = itertools.count(1)


def sweep_now_and_then() -> None:
    """Collect what explorations left: what was frozen meanwhile, Python itself never collects.

    Each leaves some thousand objects that refer to each other. Ten thousand would leave gigabytes,
    and each would look at all that the ones before it left.
    """
    if next(_begun) % _OFTEN == 0 and gc.isenabled():
        gc.collect()


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


def functions_and_instances(namespaces: Sequence[Any], kinds: Sequence[type]) -> list[Any]:
    """Return functions with one of some dictionaries of globals, and instances of some classes.

    One look at all objects, also at frozen ones. For a few targets the collector does it itself,
    several times as fast; it compares each reference with each of them, so not for many.
    """
    was_frozen = is_frozen()
    if was_frozen:
        gc.unfreeze()
    spaces, classes = set(map(id, namespaces)), set(map(id, kinds))
    if len(spaces) + len(classes) <= _FEW:
        objects = gc.get_referrers(*namespaces, *kinds)
    else:
        objects = gc.get_objects()
    found = [
        one
        for one in objects
        if (type(one) is FunctionType and id(one.__globals__) in spaces) or id(type(one)) in classes
    ]
    if was_frozen:
        gc.freeze()
    return found
