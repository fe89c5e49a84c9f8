"""Makes random programs of every front end importable."""

from __future__ import annotations

import sys
from pathlib import Path

for folder in ("actors", "tasks", "threads"):
    sys.path.append(str(Path(__file__).parent.parent / folder))  # behind `tests` itself
