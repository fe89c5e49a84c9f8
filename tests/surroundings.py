"""What the process that starts the tests may have set, and must not change what tests see."""

from __future__ import annotations

import os
import signal

_STEERING = (
    "BUILD_NUMBER",  # as CI: pytest no longer shortens what it prints
    "CI",
    "COLUMNS",
    "FORCE_COLOR",
    "GITHUB_ACTIONS",  # the plugin and `treadle run` annotate
    "GITHUB_STEP_SUMMARY",
    "LINES",
    "NO_COLOR",
    "PYTEST_ADDOPTS",
    "PY_COLORS",
    "TREADLE_PROFILE",
    "TREADLE_REPORT_URL",
    "TTY_COMPATIBLE",
    "TTY_INTERACTIVE",
)
"""Variables that change what pytest, Treadle and rich print."""


def forget_surroundings() -> None:
    """Begin as a user's terminal would; the tests set what they want to see."""
    for name in _STEERING:
        os.environ.pop(name, None)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as for a command in the background
        signal.signal(signal.SIGINT, signal.default_int_handler)
