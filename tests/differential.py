"""Small programs explored, against the same by real threads.

What real threads show is among what an exploration reaches: with switches only where a global lock
is handed over, at both granularities; with switches before any instruction, at `access`. What
happens inside of a library that ran as one step is missed, and the verdict names it. And all
algorithms reach the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import real_threads
import treadle
from differential_programs import Program

REDUCTIONS = ("sleep", "source", "optimal", "observers", "optimal-context-observers")


@dataclass
class Comparison:
    """What was found out about a program."""

    program: Program
    wrong: list[str] = field(default_factory=list)
    named: list[str] = field(default_factory=list)
    """What an exploration misses whose verdict says which library ran as one step."""
    complete: bool = True
    """Whether everything was explored to the end."""
    shown: int = 0
    """Outcomes that real threads showed."""


def reached(
    program: Program, algorithm: str, granularity: str, limit: int
) -> tuple[set[str], treadle.Result]:
    """Return the outcomes that an algorithm reaches."""
    namespace = program.module()
    namespace["see"] = _tell
    result = treadle.explore(
        namespace["test"],
        algorithm,
        granularity=granularity,
        max_executions=limit,
        restore=False,
        stop_on_failure=False,
    )
    told = [one for one in result.failures if isinstance(one.exception, _Told)]
    result.failures = [one for one in result.failures if one not in told]
    return {str(one.exception) for one in told}, result


class _Told(Exception):
    """What an execution has shown; those in which Treadle learns what matters are not counted."""


def _tell(outcome: str) -> None:
    raise _Told(outcome)


def compare(
    program: Program, *, algorithms: Iterable[str] = ("optimal",), limit: int = 3000, twice: int = 0
) -> Comparison:
    """Compare a program by real threads with its exploration, at both granularities."""
    found = Comparison(program)
    gil = real_threads.outcomes(program, is_gil=True, twice=twice)
    every = {**real_threads.outcomes(program, is_gil=False, twice=twice), **gil}
    found.shown = len(every)
    for granularity, shown in (("gil", gil), ("access", every)):
        _compare_with(found, granularity, shown, algorithms, limit)
    return found


def _compare_with(
    found: Comparison,
    granularity: str,
    shown: dict[str, list[tuple[int, int]]],
    algorithms: Iterable[str],
    limit: int,
) -> None:
    everything: dict[str, set[str]] = {}
    for algorithm in algorithms:
        outcomes, result = reached(found.program, algorithm, granularity, limit)
        if result.failures:
            found.wrong.append(f"{granularity} {algorithm}: {result.failures[0].message[:200]}")
        elif not result.complete:
            found.complete = False
        else:
            everything[algorithm] = outcomes
            told = found.named if result.notes else found.wrong
            told += [
                f"{granularity} {algorithm}: misses {one}, by {by}"
                for one, by in shown.items()
                if one not in outcomes
            ]
    if len({frozenset(outcomes) for outcomes in everything.values()}) > 1:
        found.wrong.append(f"{granularity}: algorithms differ: {everything}")
