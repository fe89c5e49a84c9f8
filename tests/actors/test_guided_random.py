"""Guided searches on random programs: together they find the deadlocks that there are, no other.

A deadlock is its chain: who waits for whom, and whose group is held. Executions end where their
deadlock is inevitable, guided or not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from random_actors import program_of
from random_deadlocks import source

from treadle.actors import Program
from treadle.actors.deadlocks import candidates_of
from treadle.actors.run import ActorRun
from treadle.core.deadlocks import SENSITIVITY, DeadlockCycle
from treadle.core.program import Run
from treadle.core.result import Result
from treadle.core.schedule import Schedule
from treadle.session.session import opened
from treadle.session.settings import Settings

LIMIT = 400
"""Executions of a program that is small enough."""

Chain = frozenset[tuple[str, str, bool]]


def explored(program: Program, algorithm: str) -> tuple[Result, set[Chain]]:
    """Explore a program; return the deadlock chains of its executions, too."""
    chains: set[Chain] = set()

    def note(run: Run, schedule: Callable[[], Schedule]) -> bool:
        del schedule
        assert isinstance(run, ActorRun)
        if run.chain:
            chains.add(frozenset((a.source.name, a.target.name, a.is_held) for a in run.chain))
        return False

    settings = Settings().changed(
        {"algorithm": algorithm, "stop_on_failure": False, "max_executions": LIMIT}
    )
    with opened(program, settings) as session:
        return session.explore(is_enough=note), chains


def guided(program: Program, cycle: DeadlockCycle, algorithm: str) -> tuple[Result, set[Chain]]:
    assert cycle.aim is not None
    made: Any = cycle.aim.guided(program)
    return explored(made, algorithm)


def check(seed: int, *, conditions: bool) -> str:
    """Compare guided searches of a program with all its interleavings."""
    program = program_of(source(seed, conditions=conditions))
    early = program.with_options({"early_stop": True})
    everything, expected = explored(early, "exhaustive")
    if not everything.complete:
        return "too large"
    cycles = candidates_of(program, SENSITIVITY).cycles
    for algorithm in ("exhaustive", "sleep"):
        found: set[Chain] = set()
        for cycle in cycles:
            result, chains = guided(program, cycle, algorithm)
            assert result.complete, (seed, algorithm)
            assert (result.states or 0) <= (everything.states or 0), (seed, algorithm)
            found |= chains
        assert found == expected, (seed, algorithm)
    return "deadlock" if expected else "free"


def test_guided_searches_find_all_deadlocks() -> None:
    outcomes = [check(seed, conditions=True) for seed in range(60)]
    assert outcomes.count("deadlock") >= 5
    assert outcomes.count("free") >= 20


@pytest.mark.slow
@pytest.mark.minutes
@pytest.mark.parametrize("first", range(1000, 1500, 100))
def test_guided_searches_find_all_deadlocks_of_many(first: int) -> None:
    outcomes = [check(seed, conditions=bool(seed % 2)) for seed in range(first, first + 100)]
    assert outcomes.count("deadlock") >= 10
