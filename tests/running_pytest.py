"""Running pytest in pytest: what a test file begins with, and how to read what comes out."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable

import pytest

PREAMBLE = """
import threading
import unittest

import pytest
import treadle


class Counter:
    def __init__(self):
        self.value = 0

    def increment(self):
        value = self.value
        self.value = value + 1


def run(*targets):
    threads = [threading.Thread(target=target) for target in targets]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""
"""What every test file begins with; two increments have 4 interleavings that differ."""

WITHOUT_HYPOTHESIS = "-p no:hypothesispytest"
"""Hypothesis' own plugin imports all of it when a run ends: half of what a short run takes."""

Run = Callable[..., pytest.RunResult]


def write(pytester: pytest.Pytester, source: str) -> None:
    pytester.makepyfile(test_it=PREAMBLE + textwrap.dedent(source))


def summary_of(result: pytest.RunResult) -> list[str]:
    """Return Treadle's lines at the end of a run."""
    lines = result.outlines
    start = next(at for at, line in enumerate(lines) if re.fullmatch("=+ treadle =+", line))
    rest = lines[start + 1 :]
    end = next(at for at, line in enumerate(rest) if " explored: " in line)
    return rest[: end + 1]


def verdict_of(result: pytest.RunResult) -> str:
    """Return what the summary says of the only test."""
    return summary_of(result)[0].partition(": ")[2]


def section_of(result: pytest.RunResult, title: str) -> list[str]:
    """Return the lines of a section that `---- title ----` begins."""
    lines = result.outlines
    start = next(at for at, line in enumerate(lines) if re.fullmatch(f"-+ {title} -+", line))
    rest = lines[start + 1 :]
    end = next(at for at, line in enumerate(rest) if re.match("[-=_]{3,}", line))
    return rest[:end]


def token_of(result: pytest.RunResult) -> str:
    """Return the token that a failure was printed with."""
    found = re.search(r"--treadle-replay (t2_\S+)", result.stdout.str())
    assert found is not None
    return found[1]
