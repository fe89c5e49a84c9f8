"""`explore`, `replay` and `check`: what users call."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from treadle.errors import TreadleError
from treadle.explore.algorithm import Algorithm
from treadle.explore.budget import MAX_STEPS, Budget
from treadle.explore.classic import Classic
from treadle.explore.exhaustive import Exhaustive
from treadle.explore.optimal import Optimal
from treadle.explore.progress import Listener
from treadle.explore.sampling import Pct, RandomWalk
from treadle.explore.schedule import SCHEDULES
from treadle.explore.search import Search
from treadle.explore.sleep import SleepSets
from treadle.explore.source import Source
from treadle.model import Program as ModelProgram
from treadle.program import Program
from treadle.replay import follow
from treadle.result import Failure, Result, Schedule

ALGORITHMS: dict[str, type[Algorithm]] = {
    "exhaustive": Exhaustive,
    "sleep": SleepSets,
    "classic": Classic,
    "source": Source,
    "optimal": Optimal,
    "random": RandomWalk,
    "pct": Pct,
}
"""Every algorithm by name, from the plainest to the strongest, then the sampling ones."""

_Known = TypeVar("_Known")

SAMPLES = 1000
"""Executions of a sampling algorithm that was given no budget."""


def explore(
    test: Program | Callable[[], Program],
    algorithm: str = "optimal",
    *,
    stop_on_failure: bool = True,
    max_executions: int | None = None,
    max_steps: int = MAX_STEPS,
    timeout: float | None = None,
    schedule: str = "stay",
    seed: int = 0,
    depth: int = 3,
    listener: Listener | None = None,
) -> Result:
    """Run a concurrent program once per interleaving that can make a difference.

    `test` is a `treadle.model.Program`, or a function that returns one. `schedule` is the default
    schedule: `stay`, `oldest`, `newest` or `round-robin`. `seed` and `depth` (the bug depth) are
    for `random` and `pct`.

    >>> import treadle
    >>> program = treadle.model.Program(x=0)
    >>> @program.process
    ... def p(s):
    ...     value = s.x
    ...     yield
    ...     s.x = value + 1
    >>> @program.process
    ... def q(s):
    ...     value = s.x
    ...     yield
    ...     s.x = value + 1
    >>> result = treadle.explore(program)
    >>> result.executions, result.complete, result.failures
    (4, True, [])
    """
    program = as_program(test)
    chosen = _lookup("algorithm", algorithm, ALGORITHMS)
    choose = _lookup("schedule", schedule, SCHEDULES)
    if not isinstance(depth, int) or depth < 1:
        raise TreadleError(f"depth must be 1 or more, not {depth!r}")
    if not chosen.covers and max_executions is None and timeout is None:
        max_executions = SAMPLES
    search = Search(
        program,
        chosen,
        algorithm,
        budget=Budget(max_executions, max_steps, timeout),
        choose=choose,
        stop_on_failure=stop_on_failure,
        seed=seed,
        depth=depth,
        listener=listener,
    )
    result = search.explore()
    if isinstance(search.algorithm, Optimal):
        result.peak_nodes = search.algorithm.peak_nodes
    return result


def replay(test: Program | Callable[[], Program], schedule: Sequence[str] | str) -> Failure | None:
    """Run exactly one interleaving; return the failure it shows, or None.

    >>> import treadle
    >>> program = treadle.model.Program(x=0)
    >>> @program.process
    ... def p(s):
    ...     yield
    ...     s.x = 1
    >>> @program.process
    ... def q(s):
    ...     yield
    ...     assert s.x == 0
    >>> failure = treadle.explore(program).failures[0]
    >>> str(failure.schedule)
    'p q'
    >>> treadle.replay(program, failure.schedule).kind
    'assertion'
    >>> treadle.replay(program, "q p") is None
    True
    """
    program = as_program(test)
    steps = Schedule.parse(schedule) if isinstance(schedule, str) else Schedule(schedule)
    run = follow(program, steps, detail=False)
    found = _failure_of(program, run, steps)
    run.close()
    return found


def _failure_of(program: Program, run: Any, schedule: Schedule) -> Failure | None:
    if run.crashes:
        return Failure.of_crash(program, run.crashes[0], schedule)
    if not run.enabled() and (waits := run.ending().waits):
        return Failure.of_deadlock(program, waits, schedule)
    return None


def check(**options: Any) -> Callable[[Callable[[], Any]], Callable[[], Result]]:
    """Decorate a function that returns a program: calling it explores, and raises on a failure.

    It raises too if a budget ended the search before the space was covered: that is no pass.

    >>> import treadle
    >>> @treadle.check(algorithm="source")
    ... def nothing_shared():
    ...     program = treadle.model.Program()
    ...     @program.process
    ...     def p(s):
    ...         yield
    ...     return program
    >>> nothing_shared().complete
    True
    """

    def decorate(test: Callable[[], Any]) -> Callable[[], Result]:
        @functools.wraps(test)
        def explored() -> Result:
            result = explore(test, **options)
            covers = ALGORITHMS[result.algorithm].covers
            if result.failures or (covers and not result.complete):
                raise CheckFailed(result)
            return result

        return explored

    return decorate


class CheckFailed(AssertionError):
    """Raised by a test decorated with `check`; carries the whole result."""

    def __init__(self, result: Result) -> None:
        super().__init__("\n\n".join(map(str, [result, *result.failures[:1]])))
        self.result = result


def as_program(test: object) -> Program:
    """Return the program that `test` is, or that it returns."""
    if callable(test) and not hasattr(test, "start"):
        if inspect.iscoroutinefunction(test):
            raise TreadleError("coroutine functions are not supported yet")
        if inspect.isgeneratorfunction(test):
            name = getattr(test, "__name__", "it")
            raise TreadleError(
                f"{name!r} is a process, not a program: add it to a treadle.model.Program"
            )
        try:
            inspect.signature(test).bind()
        except TypeError:
            raise TreadleError(
                "the test must take no arguments: give a function without parameters"
            ) from None
        test = test()
    if not isinstance(test, ModelProgram):
        raise TreadleError(
            f"cannot explore {type(test).__name__} objects: give a treadle.model.Program, or a "
            f"function that returns one"
        )
    return test


def _lookup(what: str, name: str, known: dict[str, _Known]) -> _Known:
    if name not in known:
        raise TreadleError(f"unknown {what} {name!r}: choose one of {', '.join(known)}")
    return known[name]
