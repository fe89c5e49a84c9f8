"""`explore`, `replay` and `check`: what users call."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from treadle.errors import TreadleError
from treadle.explore.algorithm import Algorithm
from treadle.explore.budget import MAX_STEPS, Budget
from treadle.explore.classic import Classic
from treadle.explore.eager import Eager, EagerAdaptive, EagerShort
from treadle.explore.exhaustive import Exhaustive
from treadle.explore.optimal import Optimal
from treadle.explore.progress import Listener
from treadle.explore.races import data_races
from treadle.explore.sampling import Pct, RandomWalk
from treadle.explore.schedule import SCHEDULES
from treadle.explore.search import Search
from treadle.explore.sleep import SleepSets
from treadle.explore.source import Source
from treadle.model import Program as ModelProgram
from treadle.program import Program, Restart
from treadle.replay import follow
from treadle.result import Failure, Result, Schedule
from treadle.threads.host import WATCHDOG
from treadle.threads.program import ThreadProgram
from treadle.trace import Trace

ALGORITHMS: dict[str, type[Algorithm]] = {
    "exhaustive": Exhaustive,
    "sleep": SleepSets,
    "classic": Classic,
    "source": Source,
    "optimal": Optimal,
    "eager": Eager,
    "eager-short": EagerShort,
    "eager-adaptive": EagerAdaptive,
    "random": RandomWalk,
    "pct": Pct,
}
"""Every algorithm by name, from the plainest to the strongest, then the sampling ones."""

_Known = TypeVar("_Known")

SAMPLES = 1000
"""Executions of a sampling algorithm that was given no budget."""


def explore(
    test: Program | Callable[[], object],
    algorithm: str = "optimal",
    *,
    stop_on_failure: bool = True,
    max_executions: int | None = None,
    max_steps: int = MAX_STEPS,
    timeout: float | None = None,
    granularity: str = "access",
    instrument: Iterable[str] = (),
    races: bool = False,
    thread_exceptions: bool = True,
    watchdog: float | None = WATCHDOG,
    schedule: str = "stay",
    seed: int = 0,
    depth: int = 3,
    learn: bool = True,
    listener: Listener | None = None,
) -> Result:
    """Run a concurrent program once per interleaving that can make a difference.

    `test` is an ordinary function without parameters that uses threads, or a
    `treadle.model.Program`, or a function that returns one. `schedule` is the default schedule:
    `stay`, `oldest`, `newest` or `round-robin`. `seed` and `depth` (the bug depth) are for `random`
    and `pct`; `learn=False` lets the eager algorithms try what was seen to be impossible, as in
    their paper.

    For threads: `instrument` names packages whose code is under test besides the user's own;
    `granularity` is `access` (every access of shared state is a step) or `gil` (threads switch only
    where an interpreter with a global lock hands over); `races` makes a data race a failure;
    `thread_exceptions=False` leaves exceptions that end a thread to `threading.excepthook`;
    a step that does not end within `watchdog` seconds blocks outside of Treadle's control.

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
    chosen = _lookup("algorithm", algorithm, ALGORITHMS)
    choose = _lookup("schedule", schedule, SCHEDULES)
    if not isinstance(depth, int) or depth < 1:
        raise TreadleError(f"depth must be 1 or more, not {depth!r}")
    if not chosen.covers and max_executions is None and timeout is None:
        max_executions = SAMPLES
    budget = Budget(max_executions, max_steps, timeout)
    with _opened(
        test,
        granularity=granularity,
        instrument=instrument,
        thread_exceptions=thread_exceptions,
        watchdog=watchdog,
    ) as program:
        while True:
            search = Search(
                program,
                chosen,
                algorithm,
                budget=budget,
                choose=choose,
                stop_on_failure=stop_on_failure,
                seed=seed,
                depth=depth,
                races=races,
                learn=learn,
                listener=listener,
            )
            try:
                result = search.explore()
            except Restart:
                continue
            break
    if isinstance(search.algorithm, Optimal):
        result.peak_nodes = search.algorithm.peak_nodes
    return result


def replay(
    test: Program | Callable[[], object],
    schedule: Sequence[str] | str,
    *,
    granularity: str = "access",
    instrument: Iterable[str] = (),
    races: bool = False,
) -> Failure | None:
    """Run exactly one interleaving; return the failure it shows, or None.

    The options are those that found the failure (see `explore`).

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
    if isinstance(schedule, str):
        schedule = Schedule.parse(schedule)
    steps = schedule if isinstance(schedule, Schedule) else Schedule(schedule)
    with _opened(test, granularity=granularity, instrument=instrument) as program:
        trace = Trace(program.vocabulary)
        run = follow(program, steps, detail=False, trace=trace)
        found = _failure_of(program, run, steps)
        run.close()
    if found is None and races:
        found = _race_of(program, trace, steps)
    if found is not None:
        found.granularity, found.options = program.granularity, program.options
    return found


def _race_of(program: Program, trace: Trace, schedule: Schedule) -> Failure | None:
    pair = next(data_races(trace), None)
    return None if pair is None else Failure.of_race(program, trace, pair, schedule)


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


def as_program(test: object, **options: Any) -> Program:
    """Return the program that `test` is, or that it returns, or that runs it with its threads."""
    with _opened(test, **options) as program:
        return program


@contextmanager
def _opened(
    test: object,
    *,
    granularity: str = "access",
    instrument: Iterable[str] = (),
    thread_exceptions: bool = True,
    watchdog: float | None = WATCHDOG,
) -> Iterator[Program]:
    """Make a program of `test` and take control of it, once for trying it out and exploring it."""
    if isinstance(test, ModelProgram | ThreadProgram):
        with test.controlled():
            yield test
        return
    if not callable(test):
        raise TreadleError(
            f"cannot explore {type(test).__name__} objects: give a function without parameters "
            f"that uses threads, or a treadle.model.Program"
        )
    _refuse_other_functions(test)
    threads = ThreadProgram(
        test,
        getattr(test, "__name__", "test"),
        instrument=tuple(instrument),
        is_coarse=_lookup("granularity", granularity, {"access": False, "gil": True}),
        thread_exceptions=thread_exceptions,
        patience=watchdog,
    )
    with threads.controlled():
        if not isinstance(threads.try_out(), ModelProgram):
            yield threads
            return
    model = test()  # not under control this time
    assert isinstance(model, ModelProgram)
    yield model


def _refuse_other_functions(test: Callable[..., object]) -> None:
    """Refuse functions that are no test, saying why."""
    if inspect.iscoroutinefunction(test):
        raise TreadleError(
            "coroutine functions are not supported yet: asyncio will be; give a plain function"
        )
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


def _lookup(what: str, name: str, known: dict[str, _Known]) -> _Known:
    if name not in known:
        raise TreadleError(f"unknown {what} {name!r}: choose one of {', '.join(known)}")
    return known[name]
