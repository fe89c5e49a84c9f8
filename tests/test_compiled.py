"""What is compiled (setup.py): an algorithm and its traces, and all that they derive from."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from treadle.api import ALGORITHMS
from treadle.trace import Trace

TWO_BASES = "optimal-context-observers"
"""mypyc cannot compile it."""


@pytest.mark.parametrize("name", [name for name in ALGORITHMS if name != TWO_BASES])
def test_algorithms_are_compiled_with_what_they_derive_from(name: str) -> None:
    compiled = set(re.findall(r'"(\w+)"', (Path(__file__).parents[1] / "setup.py").read_text()))
    prefix = "treadle.explore."
    algorithm = ALGORITHMS[name]
    traces = [algorithm.trace_type, getattr(algorithm, "imagined_type", Trace)]
    modules = [base.__module__ for kind in [algorithm, *traces] for base in kind.__mro__]
    needed = {module.removeprefix(prefix) for module in modules if module.startswith(prefix)}
    assert "algorithm" in needed
    assert needed <= compiled
