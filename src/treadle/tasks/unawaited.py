"""Coroutines that were created and never run: the interpreter tells when they are dropped.

It does so at once, by counting references; what is in a cycle is not seen.
"""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING, Any

from treadle.core.frames import is_of_the_user
from treadle.core.words import place_in_words
from treadle.tasks.kinds import NeverAwaited
from treadle.threads.primitives.patches import Patches

if TYPE_CHECKING:
    from treadle.tasks.program import TaskProgram

_DEPTH = 3
"""Frames that are remembered of where a coroutine was created: functions of asyncio's are among
them that Treadle stands in for."""
_warn: Any = warnings._warn_unawaited_coroutine  # type: ignore[attr-defined]


def patches(program: TaskProgram) -> Patches:
    """Return what is replaced to be told."""

    def never_awaited(coroutine: Any) -> None:
        loop = program.loop
        place = _created_at(coroutine)
        if loop is None or loop.step is None:
            return  # it was left over when an execution was ended
        if place is None:
            _warn(coroutine)
            return
        loop.errors.append(
            (
                loop.step,
                NeverAwaited(
                    f"the coroutine {coroutine.__qualname__} that was created at "
                    f"{place_in_words(place)} was never awaited"
                ),
            )
        )

    return Patches(attributes=[(warnings, "_warn_unawaited_coroutine", never_awaited)])


def track() -> int:
    """Let coroutines know where they were created; return how deep they knew it before."""
    before = sys.get_coroutine_origin_tracking_depth()
    sys.set_coroutine_origin_tracking_depth(_DEPTH)
    return before


def _created_at(coroutine: Any) -> tuple[str, int] | None:
    """Return the innermost line of the user's that created a coroutine."""
    origin = getattr(coroutine, "cr_origin", None) or ()
    return next(((file, line) for file, line, _ in origin if is_of_the_user(file)), None)
