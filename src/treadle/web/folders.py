"""Folders in which programs run: each has the server's process in its name.

A server that is killed cannot remove them, so the next one that starts does.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path
from tempfile import TemporaryDirectory

_PREFIX = "treadle-web-"
_NAME = re.compile(rf"{_PREFIX}(\d+)-\w+")


def new_folder() -> TemporaryDirectory[str]:
    """Return a new folder of this server."""
    return TemporaryDirectory(prefix=f"{_PREFIX}{os.getpid()}-", ignore_cleanup_errors=True)


def remove_abandoned() -> None:
    """Remove the folders of servers that are dead; what is somebody else's stays."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        named = _NAME.fullmatch(folder.name)
        if named is not None and _is_dead(int(named[1])):
            shutil.rmtree(folder, ignore_errors=True)


def _is_dead(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):
        return False
    return False
