"""Compare a measured row with the exact count that the paper proves or prints."""

from __future__ import annotations

from treadle.bench.harness import Measurement
from treadle.bench.paper import Row

ONCE_PER_CLASS = frozenset(
    {"sleep", "classic", "source", "optimal", "eager", "eager-short", "eager-adaptive"}
)
"""Algorithms that complete exactly one execution of each class, whatever they block."""


def deviation(row: Row, measured: Measurement) -> str:
    """Say what a measurement has that no correct exploration can have; nothing if all is well."""
    expected = row.expected
    if measured.failures:
        return f"found {measured.failures} failures in a program that has none"
    if measured.algorithm == "optimal" and measured.blocked:
        return f"blocked {measured.blocked:,} executions, which optimal-DPOR never does"
    if _is_impossible(measured, expected):
        return f"completed {measured.executions:,} executions, the exact number is {expected:,}"
    return ""


def _is_impossible(measured: Measurement, expected: int) -> bool:
    if measured.complete and measured.executions < expected:
        return True
    return measured.algorithm in ONCE_PER_CLASS and measured.executions > expected
