"""Which code is the user's own: neither the standard library, nor an installed package."""

from __future__ import annotations

import functools
import sysconfig
from pathlib import Path

_LIBRARIES = tuple(
    f"{Path(sysconfig.get_paths()[name]).resolve()}/"
    for name in ("stdlib", "platstdlib", "purelib", "platlib")
)
_PACKAGE_FOLDERS = {"site-packages", "dist-packages"}
_OWN = f"{Path(__file__).resolve().parent}/"
COMPILED_FILES = "src/treadle/"
"""What names of Treadle's own files begin with in tracebacks, if they were compiled."""


@functools.cache
def is_of_the_user(file: str) -> bool:
    """Tell whether a file belongs to no library; asking the disk about each is dear."""
    path = Path(file).resolve()
    if _PACKAGE_FOLDERS.intersection(path.parts):
        return False
    return not str(path).startswith((*_LIBRARIES, _OWN))
