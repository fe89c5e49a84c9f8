"""How results look: a registry, so that data can be printed without knowing who lays it out.

Whoever can put a result or a failure into text registers here; what stands for the text in a
terminal is loaded when something is printed for the first time. Files of other formats are found
by their suffix (`treadle.report.registry`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from treadle.core.registry import Registry

TEXT: Registry[Callable[[Any], str]] = Registry("text")
"""What turns data into plain text, by what it is: `failure`, `result`."""

HTML: Registry[Callable[[Any], str]] = Registry("page")
"""What turns a result into HTML: a whole page (`result`), or a part of one (`notebook`)."""
