"""How long each row took last time, remembered in the user's cache directory."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path

from treadle.papers.harness import Task


def default_path() -> Path:
    """Return the file in the user's cache directory."""
    root = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(root) / "treadle" / "bench.json"


class History:
    """CPU seconds of rows that finished; a file that cannot be read or written does no harm."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seconds = _read(path)

    def last(self, task: Task) -> float | None:
        """Return how long a row took last time, if it ever finished."""
        return self._seconds.get(_key(task))

    def note(self, task: Task, seconds: float) -> None:
        """Remember how long a row took."""
        self._seconds[_key(task)] = seconds
        with suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            new = self._path.with_suffix(f".{os.getpid()}")
            new.write_text(json.dumps(self._seconds, indent=1, sort_keys=True))
            new.replace(self._path)


def _read(path: Path) -> dict[str, float]:
    try:
        known = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    if not isinstance(known, dict):
        return {}
    return {key: float(value) for key, value in known.items() if isinstance(value, int | float)}


def _key(task: Task) -> str:
    learning = "" if task.learn else " without learning"
    return f"{task.paper} {task.program}({task.n}) {task.label} {task.schedule}{learning}"
