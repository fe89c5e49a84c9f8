"""Compare a measured row with the exact count that the paper proves or prints."""

from __future__ import annotations

from treadle.papers.harness import Measurement
from treadle.papers.paper import WHOLE_STATES, Row

ONCE_PER_CLASS = frozenset(
    {"sleep", "classic", "source", "optimal", "eager", "eager-short", "eager-adaptive"}
)
"""Algorithms that complete exactly one execution of each class, whatever they block."""
COMPARING_STATES = frozenset({"context", "optimal-context", "optimal-context-observers"})
"""Algorithms that do not explore both orders to the end if these lead to the same state."""
FEWER = COMPARING_STATES | {"observers", "constrained", "optimal-constrained"}
"""Algorithms that need not complete an execution of each class."""
NEVER_BLOCKED = frozenset({"optimal", "observers", "optimal-constrained"})


def deviation(row: Row, measured: Measurement) -> str:
    """Say what a measurement has that no correct exploration can have; nothing if all is well."""
    algorithm = measured.algorithm.removesuffix(WHOLE_STATES)
    if measured.failures and not row.benchmark.fails:
        return f"found {measured.failures} failures in a program that has none"
    if algorithm in NEVER_BLOCKED and measured.blocked:
        return f"blocked {measured.blocked:,} executions, which {algorithm} never does"
    if algorithm == "exhaustive" and measured.complete:
        exact = row.benchmark.interleavings.get(row.n)
        if exact not in (None, (measured.executions, measured.states)):
            return f"saw {measured.executions:,} interleavings, {measured.states:,} states"
    guided = measured.guided
    if guided is not None and guided.guided_complete:
        exact = row.benchmark.guided_states.get(row.n)
        if exact not in (None, (guided.guided_states, guided.pruned)):
            return f"saw {guided.guided_states:,} states guided, {guided.pruned:,} of them pruned"
    expected = row.fewer(algorithm) if algorithm in FEWER else row.expected
    if expected is not None and _is_impossible(measured, algorithm, expected):
        return f"completed {measured.executions:,} executions, the exact number is {expected:,}"
    return ""


def _is_impossible(measured: Measurement, algorithm: str, expected: int) -> bool:
    if measured.complete and measured.executions < expected:
        return True
    return algorithm in ONCE_PER_CLASS | FEWER and measured.executions > expected
