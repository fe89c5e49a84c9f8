"""Where what a solver found is kept; apart from the rest, which needs the solver."""

from __future__ import annotations

import os
from pathlib import Path

_directory: Path | None = None


def keep_in(directory: str | os.PathLike[str] | None) -> None:
    """Keep what is found in a directory from now on, beside failing schedules; None: nowhere."""
    global _directory
    _directory = None if directory is None else Path(directory) / "constraints"


def directory() -> Path | None:
    """Return where it is kept, None if nowhere."""
    return _directory
