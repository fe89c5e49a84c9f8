"""What the static deadlock analysis says of a program, against what exploring it shows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from random_actors import program_of
from random_deadlocks import source

import treadle
from treadle.actors.deadlocks import candidates_of
from treadle.core.deadlocks import SENSITIVITY

LIMIT = 500
"""Executions of a program that is explored completely."""


@dataclass(slots=True)
class Judgement:
    """Programs by what came of them."""

    counts: Counter[str] = field(default_factory=Counter)
    missed: list[int] = field(default_factory=list)
    """Seeds of programs with a deadlock that the analysis does not know."""
    not_understood: list[int] = field(default_factory=list)

    @property
    def programs(self) -> int:
        """Programs of which all is known."""
        return sum(self.counts.values()) - self.counts["too large"]

    def share(self, outcome: str) -> float:
        """Return how many of the programs without a deadlock had an outcome."""
        return self.counts[outcome] / max(1, self.programs - self.counts["deadlock"])


def judge(seeds: range, *, plain: bool = False) -> Judgement:
    """Analyse random programs, and explore them: every deadlock has to be among the cycles."""
    judgement = Judgement()
    for seed in seeds:
        judgement.counts[_outcome(seed, judgement, plain=plain)] += 1
    return judgement


def _outcome(seed: int, judgement: Judgement, *, plain: bool) -> str:
    program = program_of(source(seed, plain=plain))
    found = candidates_of(program, SENSITIVITY)
    if found.unknown:
        judgement.not_understood.append(seed)
    result = treadle.explore(program, stop_on_failure=False, max_executions=LIMIT)
    kinds = set(result.failure_kinds)
    cycles = [cycle for cycle in found.cycles if cycle.kind == "deadlock"]
    if "deadlock" in kinds:
        if not cycles:
            judgement.missed.append(seed)
        return "deadlock"
    if "stuck" in kinds and not found.conditions:
        judgement.missed.append(seed)
    if not result.complete:
        return "too large"
    if not found.cycles:
        return "proved"
    return "false alarm" if cycles else "condition"
