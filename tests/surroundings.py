"""What changes what pytest, Treadle and rich print, and must not change what tests see."""

from __future__ import annotations

import os

STEERING = (
    "BUILD_NUMBER",  # as CI: pytest no longer shortens what it prints
    "CI",
    "COLUMNS",
    "FORCE_COLOR",
    "LINES",
    "NO_COLOR",
    "PYTEST_ADDOPTS",
    "PY_COLORS",
    "TREADLE_PROFILE",
    "TTY_COMPATIBLE",
    "TTY_INTERACTIVE",
)


def forget_surroundings() -> None:
    """Take from the environment what steers output; the tests set what they want to see."""
    for name in STEERING:
        os.environ.pop(name, None)
