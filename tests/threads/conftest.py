"""Makes the helper modules of this folder, and the benchmark programs, importable."""

from __future__ import annotations

import sys
from pathlib import Path

# Behind `tests`: both have a `test_properties`, and others mean the one there.
sys.path += [str(Path(__file__).parent), str(Path(__file__).parents[2] / "benchmarks")]
