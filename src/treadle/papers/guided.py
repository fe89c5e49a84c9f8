"""What a paper's programs take under deadlock-guided testing: one search for each cycle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from treadle.core.deadlocks import CONFIRMED, UNDECIDED, UNFEASIBLE
from treadle.session.deadlocks import Wish, look_for_deadlocks
from treadle.session.settings import Settings

if TYPE_CHECKING:
    from treadle.papers.paper import Benchmark

SENSITIVITY = 1
"""Allocation sites that tell actors apart: what the paper's implementation has."""


@dataclass(frozen=True, slots=True)
class GuidedFigures:
    """What the searches for the cycles of a program took."""

    guided_states: int = 0
    """States of the largest search, pruned leaves included."""
    pruned: int = 0
    """Pruned leaves of the largest search."""
    cycles: int = 0
    """Cycles that the static analysis found."""
    confirmed: int = 0
    unfeasible: int = 0
    guided_sum: int = 0
    """States of all searches without the pruned leaves, as the paper counts."""
    guided_seconds: float = 0.0
    """CPU time of all searches."""
    guided_longest: float = 0.0
    """CPU time of the longest search: what it takes with a processor for each."""
    guided_complete: bool = True

    @property
    def largest(self) -> int:
        """States of the largest search without the pruned leaves."""
        return self.guided_states - self.pruned


def guided_figures(benchmark: Benchmark, n: int, timeout: float) -> GuidedFigures:
    """Look for each cycle of a program, one after the other, newest task first as the paper."""
    settings = Settings().changed(
        {"algorithm": "exhaustive", "schedule": "newest", "timeout": timeout}
    )
    wish = Wish(benchmark.guided, SENSITIVITY)
    cycles = look_for_deadlocks(benchmark.make(n), settings, wish).cycles
    verdicts = [cycle.verdict for cycle in cycles]
    largest = max(cycles, key=lambda cycle: cycle.states or 0, default=None)
    if largest is None:
        return GuidedFigures()
    return GuidedFigures(
        largest.states or 0,
        largest.pruned,
        len(cycles),
        verdicts.count(CONFIRMED),
        verdicts.count(UNFEASIBLE),
        sum((cycle.states or 0) - cycle.pruned for cycle in cycles),
        round(sum(cycle.seconds for cycle in cycles), 4),
        round(max(cycle.seconds for cycle in cycles), 4),
        UNDECIDED not in verdicts,
    )
