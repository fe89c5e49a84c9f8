"""`explore`, `replay`, `shrink` and `check`: what users call."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any, TypeVar, Unpack, overload

from treadle.core.deadlocks import SENSITIVITY, DeadlockCycle, Deadlocks
from treadle.core.decorated import ASKS_FOR, are_called_plainly
from treadle.core.errors import TreadleError
from treadle.core.failure import Failure
from treadle.core.options import Option
from treadle.core.program import Program
from treadle.core.result import Result
from treadle.explore.progress import Listener
from treadle.explore.registry import covers
from treadle.findings.recording import quietly
from treadle.findings.shrink.shrinking import ATTEMPTS, SECONDS, Shrunk
from treadle.session.deadlocks import GUIDED_BY_DEFAULT, Wish, look_for_deadlocks
from treadle.session.options import SURROUNDING, CheckOptions, Options, ProgramOptions, exploring
from treadle.session.replaying import rerun
from treadle.session.session import opened
from treadle.session.settings import Settings
from treadle.symbolic.limits import limits_of

Function = TypeVar("Function", bound=Callable[..., Any])


def _takes(options: Mapping[str, Option]) -> Callable[[Function], Function]:
    """Let `help` and editors show the options that a function takes by name, with defaults."""

    def decorate(function: Function) -> Function:
        signature = inspect.signature(function)
        named = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        known = {parameter.name for parameter in named}
        named += [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=option.default)
            for name, option in options.items()
            if name not in known
        ]
        function.__signature__ = signature.replace(parameters=named)  # type: ignore[attr-defined]
        return function

    return decorate


class _Unasked(str):
    """A default: what is not this very kind of text was asked for."""

    __slots__ = ()


_OPTIMAL = _Unasked("optimal")


@_takes(exploring())
def explore(
    test: Program | Callable[[], object],
    algorithm: str = _OPTIMAL,
    *,
    listener: Listener | None = None,
    guided: DeadlockCycle | None = None,
    observe: bool = False,
    **options: Unpack[Options],
) -> Result:
    """Run a concurrent program once per interleaving that can make a difference.

    `test` is an ordinary function without parameters that uses threads, or a
    `treadle.model.Program`, or a function that returns one. `algorithm` is a name from
    `treadle.ALGORITHMS`. With `stop_on_failure=False` the search goes on after a failure.

    Budgets: `max_executions` and `timeout` (seconds) end the search, and the result is then not
    complete; an execution of more than `max_steps` steps is a failure. Tests with threads have no
    such limit unless it is given, but that of a million steps, which is no failure.

    For threads:

    - `instrument` names packages whose code is under test besides the user's own;
    - `granularity` is `access` (every access of shared state is a step), `gil` (threads switch
      only where an interpreter with a global lock hands over) or `free-threaded` (as `access`, and
      what looks through a list reads item by item);
    - `races` makes a data race a failure;
    - `thread_exceptions=False` leaves exceptions that end a thread to `threading.excepthook`;
    - `max_rounds` leaves out what comes after a thread slept, or waited in vain, more often than
      that in a row at one line; such executions are counted in `Result.cut`;
    - `latency`: whatever threads do takes at most so many seconds, so a sleep or a timed wait
      beyond that ends only when nothing else can go on; `timeouts="explore"` lets all end at any
      moment, `"last"` none, and with `"never"` nothing times out;
    - `escapes="fail"` makes what leaves Treadle's sight a failure; else `Result.escapes` names it;
    - `clock="shared"` lets all threads look at one clock, each look a step;
    - `restore=False` leaves what executions change in modules and classes under test as it is;
    - `towards_deadlock=True` tries first what leads to cycles of locks that the source shows,
      leaves out nothing, and notes of each whether it was confirmed or refuted;
    - a step that does not end within `watchdog` seconds blocks outside of Treadle's control.

    `guided` is a cycle that `treadle.deadlocks` found: executions that cannot lead to it are cut
    (`Result.cut`). That is for `sleep`, the algorithm then, and for `exhaustive`.

    `workers` is how many processes explore (`"auto"`: one for each processor), with the counts of
    one; `on` an executor or an engine (`"ray://…"`, `"dask://…"`) whose machines explore;
    `checkpoint` a file that keeps how far it is, also with one worker, and `resume` one to go on
    with; `spawn=True` lets workers import the test by name, and not be copies of this process.

    The rest: `schedule` is who runs where the algorithm leaves it open (`stay`, `oldest`, `newest`
    or `round-robin`); `seed` and `depth` (the bug depth) are for `random` and `pct`; `learn=False`
    lets the eager algorithms try what was seen to be impossible, as in their paper; with
    `refined=False` the context-sensitive algorithms compare whole states and not only what a race
    can change; `constraints` says which independence constraints the constrained algorithms use
    (`declared`, `none`, or also those that a solver finds: `synthesised`), and `uniformity` how
    they know that one goes on to hold (nobody else may write what it reads, `static`; or others
    keep it true, `keeps`); `listener` is called with the progress of the search; with
    `observe=True` the result keeps the tree of executions, and which steps were reversed most
    often, for `Result.to_html`.

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
    asked: dict[str, object] = {"algorithm": algorithm, **options}
    if guided is not None:
        test, asked = _guided(test, guided, asked)
    with opened(test, _settings(asked)) as session:
        result = session.explore(listener=listener, observe=observe)
        session.record(*result.failures)
        return result


def deadlocks(
    program: Program | ModuleType | Iterable[type],
    criterion: str = "cycle",
    contexts: int = 0,
    *,
    limits: Mapping[str, float] | None = None,
    output: str = "tests",
    sensitivity: int = SENSITIVITY,
    workers: int = 1,
    algorithm: str = GUIDED_BY_DEFAULT["algorithm"],
    schedule: str = GUIDED_BY_DEFAULT["schedule"],
    timeout: float | None = None,
    max_executions: int | None = None,
    listener: Listener | None = None,
) -> Deadlocks:
    """Look for the deadlocks of a program of actors: analyse it, and look for each cycle.

    The static analysis lists the cycles of waits that may happen; `sensitivity` is how many
    allocation sites tell actors apart. If it finds none, no execution ends in a deadlock, whatever
    the main function is given. Else each cycle is looked for: executions that cannot lead to it are
    cut. `criterion` says when that is over: at the `first` deadlock, with one for each `cycle`, or
    with `all`. `timeout` (seconds) and `max_executions` are for each cycle; `workers` is how many
    are looked for side by side, in processes of their own.

    With `contexts=M`, no main function is needed, and none is used: a program, a module or classes
    will do. For each cycle, initial contexts are generated with up to M tasks of each method that
    matters, and executed symbolically; fields and arguments may be anything. Each deadlock is a
    test case (`cycle.tests`): its source for pytest, the constraints of its path, or both, which
    `output` says. `limits` are those of symbolic execution, by name: `iterations` of a loop,
    macro-`steps`, `switches` of tasks in an actor, `fresh` actors beside the context's, `length` of
    lists, `seconds` for each context, and others of `treadle.symbolic.limits.Limits`.

    >>> import treadle
    >>> from treadle.actors import Actor, program
    >>> class Impatient(Actor):
    ...     async def ask(self):
    ...         return self.answer.send().get()
    ...     async def answer(self):
    ...         return 42
    >>> @program
    ... def main():
    ...     Impatient().ask.send()
    >>> found = treadle.deadlocks(main)
    >>> found.free, [cycle.verdict for cycle in found.cycles]
    (False, ['confirmed'])
    >>> treadle.explore(main, guided=found.cycles[0]).failures[0].kind
    'deadlock'
    >>> found = treadle.deadlocks([Impatient], contexts=1)
    >>> [cycle.verdict for cycle in found.cycles], len(found.cycles[0].tests)
    (['confirmed'], 1)
    """
    if contexts:
        from treadle.session.contexts import ContextWish, look_in_contexts

        asked = ContextWish(
            contexts, criterion, sensitivity, workers, timeout, output, limits_of(limits or {})
        )
        return look_in_contexts(program, asked)
    if isinstance(program, ModuleType | Iterable):
        raise TreadleError("without a main program, give the size of contexts: contexts=2")
    wish = Wish(criterion, sensitivity, workers)
    values = {"algorithm": algorithm, "schedule": schedule, "timeout": timeout}
    settings = Settings().changed({**values, "max_executions": max_executions})
    return look_for_deadlocks(program, settings, wish, listener=listener)


def _guided(
    test: object, cycle: DeadlockCycle, options: dict[str, object]
) -> tuple[Program, dict[str, object]]:
    """Return a program that is guided to a cycle, and how it is explored unless told otherwise."""
    aim = cycle.aim if isinstance(cycle, DeadlockCycle) else None
    if aim is None or not isinstance(test, Program):
        raise TreadleError("guided takes a cycle that treadle.deadlocks found, and its program")
    if isinstance(options["algorithm"], _Unasked):
        options = {**options, "algorithm": GUIDED_BY_DEFAULT["algorithm"]}
    return aim.guided(test), options


def _settings(options: dict[str, object]) -> Settings:
    """Return the settings of a call; refuse options that are not for exploring."""
    for name in options:
        if name in SURROUNDING:
            raise TreadleError(f"{name} is an option of `treadle.check`, settings and commands")
    if isinstance(options.get("algorithm"), _Unasked):
        del options["algorithm"]
    return Settings.asked_for(options)


def replay(
    test: Program | Callable[[], object],
    schedule: Sequence[str] | str,
    **options: Unpack[ProgramOptions],
) -> Failure | None:
    """Run exactly one interleaving, once; return the failure it shows, or None.

    `schedule` is that of a failure, or its token. A token knows the options that found the failure;
    with a schedule, give them again (see `explore`). Nothing else is run, so the failure's `cause`
    is not looked for.

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
    >>> treadle.replay(program, failure.token).kind
    'assertion'
    >>> treadle.replay(program, "q p") is None
    True
    """
    return rerun(test, schedule, **options).failure


def shrink(failure: Failure, *, seconds: float = SECONDS, attempts: int = ATTEMPTS) -> Shrunk:
    """Look for the same failure with fewer context switches, then with fewer steps.

    It is the same if it is of the same kind and in the same process, with the same message from the
    same line; a deadlock, if the same processes wait for the same things; a data race, if it is
    between the same accesses. `attempts` bounds the replays; `seconds` is only for programs
    whose replays take very long.

    >>> import treadle
    >>> program = treadle.model.Program(x=0, y=0)
    >>> @program.process
    ... def p(s):
    ...     s.y = 1
    ...     yield
    ...     s.x = 1
    >>> @program.process
    ... def q(s):
    ...     s.y = 2
    ...     yield
    ...     assert s.x == 0
    >>> failure = treadle.replay(program, "p q p q")
    >>> shrunk = treadle.shrink(failure)
    >>> print(shrunk)
    shrunk from 3 switches and 4 steps to 1 and 4, 17 replays
    >>> str(shrunk.failure.schedule), shrunk.is_smallest
    ('p*2 q*2', True)
    """
    if failure.test is None:
        raise TreadleError("only a failure that an exploration or a replay found can be shrunk")
    settings = _settings(dict(failure.options))
    with quietly(), opened(failure.test, settings) as session:
        shrunk = session.shrink(failure, seconds=seconds, attempts=attempts)
        if shrunk.failure is not failure:
            session.record(shrunk.failure)
        return shrunk


@overload
def check(test: Callable[..., Any], /) -> Callable[..., Any]: ...


@overload
def check(
    **options: Unpack[CheckOptions],
) -> Callable[[Callable[..., Any]], Callable[..., Any]]: ...


def check(test: Callable[..., Any] | None = None, /, **options: Any) -> Callable[..., Any]:
    """Decorate a test: calling it explores it, and raises `CheckFailed` on a failure.

    Without options, `@treadle.check` and `@treadle.check()` are the same.
    The options are those of `explore`; unless `shrink` is False, the first failure is made as
    simple as it gets. If a budget ended the search before the space was covered,
    that is no pass, and it raises too, unless `strict` is False.

    Under pytest, the plugin explores the test, with its fixtures and with the project's settings;
    there `strict` is off unless the settings say otherwise, and `profile` names the settings.

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
    if test is not None:
        if not callable(test):
            raise TreadleError(f"check takes options by name, and was given {test!r}")
        return check()(test)
    asked = {name: value for name, value in options.items() if value is not None}

    def decorate(test: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(test)
        def explored(*args: Any, **kwargs: Any) -> Any:
            if are_called_plainly():
                return test(*args, **kwargs)
            return _checked(_bound(test, args, kwargs), asked)

        setattr(explored, ASKS_FOR, asked)
        return explored

    return decorate


def _checked(test: Callable[[], Any], asked: dict[str, Any]) -> Result:
    """Explore a test; shrink the failure that is shown; raise unless it is verified."""
    options = {name: value for name, value in asked.items() if name != "profile"}
    settings = Settings().changed({"strict": True, **options}, for_this_test=True)
    with opened(test, settings) as session:
        result = session.explore()
        if result.failures and settings.shrink:
            result.failures[0] = session.shrink(result.failures[0]).failure
        session.record(*result.failures)
    is_left_open = covers(result.algorithm) and not result.complete
    if result.failures or (is_left_open and settings.strict):
        raise CheckFailed(result)
    return result


def _bound(
    test: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Callable[[], Any]:
    """Return a test that needs no arguments any more."""
    if not args and not kwargs:
        return test
    bound = functools.partial(test, *args, **kwargs)
    bound.__name__ = test.__name__  # type: ignore[attr-defined]
    return bound


class CheckFailed(AssertionError):
    """Raised by a test decorated with `check`; prints as a report of its first failure."""

    result: Result
    """What the exploration did and found."""

    def __init__(self, result: Result) -> None:
        super().__init__("\n\n".join(map(str, [result, *result.failures[:1]])))
        self.result = result
