"""Modules that lie where the code of others does: no test's, and not instrumented."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def modules_of_others(where: Path, sources: Mapping[str, str]) -> Iterator[Any]:
    """Put modules there, by their names, and import the last of them, for a while."""
    folder = where / "site-packages"
    folder.mkdir()
    for name, source in sources.items():
        (folder / f"{name}.py").write_text(source)
    sys.path.insert(0, str(folder))
    yield importlib.import_module([*sources][-1])
    sys.path.remove(str(folder))
    for name in sources:
        del sys.modules[name]
