"""What the code under test calls something that it hands to another thread."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

from treadle.core.frames import is_own


def name_of(value: Any, otherwise: str) -> str:
    """Return the innermost variable of the code under test that holds a value now, if any does."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if not _is_between(frame):
            for name, local in frame.f_locals.items():
                if local is value:
                    return name
        frame = frame.f_back
    return otherwise


def _is_between(frame: FrameType) -> bool:
    """Tell whether a frame stands between a primitive and the code that uses it."""
    module: str = frame.f_globals.get("__name__", "")
    return is_own(frame.f_code.co_filename) or module.startswith("concurrent.")
