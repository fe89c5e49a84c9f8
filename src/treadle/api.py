"""`explore`, `replay` and `check`: what users call."""

from __future__ import annotations

import difflib
import functools
import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeVar, overload

from treadle.core.errors import ScheduleMismatch, TreadleError
from treadle.core.program import Program, Restart
from treadle.core.result import Failure, Result, Schedule
from treadle.explore.budget import MAX_STEPS, Budget
from treadle.explore.choosers import SCHEDULES
from treadle.explore.progress import Listener
from treadle.explore.registry import ALGORITHMS as ALGORITHMS
from treadle.explore.search import Search
from treadle.findings.database import RecordedStep
from treadle.findings.replay import Replayed, run_again
from treadle.findings.tokens import Recipe, is_token, read_token
from treadle.model import Program as ModelProgram
from treadle.python.host.host import WATCHDOG
from treadle.python.runtime.control import is_exploring
from treadle.threads.program import ThreadProgram

_Known = TypeVar("_Known")

DECORATED = "__treadle__"
"""The attribute of tests decorated with `check` that holds what they ask for."""

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
    max_rounds: int | None = None,
    watchdog: float | None = WATCHDOG,
    schedule: str = "stay",
    seed: int = 0,
    depth: int = 3,
    learn: bool = True,
    refined: bool = True,
    listener: Listener | None = None,
) -> Result:
    """Run a concurrent program once per interleaving that can make a difference.

    `test` is an ordinary function without parameters that uses threads, or a
    `treadle.model.Program`, or a function that returns one. `algorithm` is a name from
    `treadle.ALGORITHMS`. With `stop_on_failure=False` the search goes on after a failure.

    Budgets: `max_executions` and `timeout` (seconds) end the search, and the result is then not
    complete; an execution of more than `max_steps` steps is a failure.

    For threads:

    - `instrument` names packages whose code is under test besides the user's own;
    - `granularity` is `access` (every access of shared state is a step) or `gil` (threads switch
      only where an interpreter with a global lock hands over);
    - `races` makes a data race a failure;
    - `thread_exceptions=False` leaves exceptions that end a thread to `threading.excepthook`;
    - `max_rounds` leaves out what comes after a thread slept, or waited in vain, more often than
      that in a row at one line; such executions are counted in `Result.cut`;
    - a step that does not end within `watchdog` seconds blocks outside of Treadle's control.

    The rest: `schedule` is who runs where the algorithm leaves it open (`stay`, `oldest`, `newest`
    or `round-robin`); `seed` and `depth` (the bug depth) are for `random` and `pct`; `learn=False`
    lets the eager algorithms try what was seen to be impossible, as in their paper; with
    `refined=False` the context-sensitive algorithms compare whole states and not only what a race
    can change; `listener` is called with the progress of the search.

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
    chosen = ALGORITHMS[algorithm]
    choose = _lookup("schedule", schedule, SCHEDULES)
    if races and not chosen.sees_every_order:
        raise TreadleError(
            f"races=True needs an algorithm that sees every order, which {algorithm} leaves out "
            f"where nobody can tell: use optimal"
        )
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
        max_rounds=max_rounds,
        watchdog=watchdog,
    ) as program:
        begin = functools.partial(
            Search,
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
            refined=refined,
            listener=listener,
        )
        return _searched(begin)


def _searched(begin: Callable[[], Search]) -> Result:
    """Search, and begin anew as often as the program learns something about itself."""
    while True:
        with suppress(Restart):
            return begin().explore()


def replay(
    test: Program | Callable[[], object],
    schedule: Sequence[str] | str,
    *,
    granularity: str | None = None,
    instrument: Iterable[str] | None = None,
    races: bool | None = None,
    thread_exceptions: bool | None = None,
    max_rounds: int | None = None,
) -> Failure | None:
    """Run exactly one interleaving; return the failure it shows, or None.

    `schedule` is that of a failure, or its token. A token knows the options that found the failure;
    with a schedule, give them again (see `explore`).

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
    return rerun(
        test,
        schedule,
        granularity=granularity,
        instrument=instrument,
        races=races,
        thread_exceptions=thread_exceptions,
        max_rounds=max_rounds,
    ).failure


def rerun(
    test: Program | Callable[[], object],
    schedule: Sequence[str] | str,
    *,
    recorded: Sequence[RecordedStep] = (),
    watchdog: float | None = WATCHDOG,
    **given: Any,
) -> Replayed:
    """Run exactly one interleaving, once, and say how it differs from what was recorded.

    `given` are the options of `replay`; `recorded` is what the database knows of the schedule.
    """
    recipe = None
    if isinstance(schedule, str) and is_token(schedule):
        recipe = read_token(schedule)
        steps, given = recipe.schedule, options_of(recipe, **given)
    elif isinstance(schedule, str):
        steps = Schedule.parse(schedule)
    else:
        steps = schedule if isinstance(schedule, Schedule) else Schedule(schedule)
    options = {name: value for name, value in given.items() if value is not None}
    races = bool(options.pop("races", False))
    with _opened(test, watchdog=watchdog, **options) as program:
        if recipe is not None and (differing := differing_options(program, recipe)):
            raise ScheduleMismatch(differing)
        return run_again(program, steps, races=races, recipe=recipe, recorded=recorded)


def options_of(recipe: Recipe, **given: Any) -> dict[str, Any]:
    """Return the options that a recipe asks for; refuse others that were given."""
    asked: dict[str, Any] = {"granularity": recipe.granularity or None, **recipe.options}
    for name, value in given.items():
        if value is None:
            continue
        value = _packages(value) if name == "instrument" else value
        if value != asked.get(name, _DEFAULTS[name]):
            raise TreadleError(
                f"{name}={value!r} is not what the token was recorded with "
                f"({asked.get(name, _DEFAULTS[name])!r}): leave it out, the token knows it"
            )
    return asked


_DEFAULTS: dict[str, Any] = {
    "granularity": "access",
    "instrument": (),
    "races": False,
    "thread_exceptions": True,
    "max_rounds": None,
}


def differing_options(program: Program, recipe: Recipe) -> str:
    """Return why a program runs in another way than when a token was recorded; empty if not."""
    wanted = _in_words(recipe.granularity, recipe.options)
    has = _in_words(program.granularity, program.options)
    if wanted == has:
        return ""
    return (
        f"the token was recorded with {wanted}, and this program has {has}: replay it with the "
        f"same options"
    )


def _in_words(granularity: str, options: dict[str, object]) -> str:
    """Return the options that decide how a program runs."""
    if not granularity:
        return "a model"
    said = {"granularity": granularity, **options}
    return ", ".join(f"{name}={value!r}" for name, value in said.items() if name != "races")


@overload
def check(test: Callable[..., Any], /) -> Callable[..., Any]: ...


@overload
def check(
    *,
    strict: bool | None = None,
    shrink: bool | None = None,
    profile: str | None = None,
    **options: Any,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]: ...


def check(
    test: Callable[..., Any] | None = None,
    /,
    *,
    strict: bool | None = None,
    shrink: bool | None = None,
    profile: str | None = None,
    **options: Any,
) -> Callable[..., Any]:
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
    asked_for = {"strict": strict, "shrink": shrink, "profile": profile}
    for_plugin = {name: value for name, value in asked_for.items() if value is not None} | options

    def decorate(test: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(test)
        def explored(*args: Any, **kwargs: Any) -> Any:
            if _plain or is_exploring():
                return test(*args, **kwargs)
            result = explore(_bound(test, args, kwargs), **options)
            if shrink is not False:
                _shrink_first(result)
            covers = ALGORITHMS[result.algorithm].covers
            if result.failures or (covers and not result.complete and strict is not False):
                raise CheckFailed(result)
            return result

        setattr(explored, DECORATED, for_plugin)
        return explored

    return decorate


def _shrink_first(result: Result) -> None:
    """Make the failure that is shown as simple as it gets."""
    from treadle.findings.shrink.shrinking import shrink

    if result.failures:
        result.failures[0] = shrink(result.failures[0]).failure


def _bound(
    test: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Callable[[], Any]:
    """Return a test that needs no arguments any more."""
    if not args and not kwargs:
        return test
    bound = functools.partial(test, *args, **kwargs)
    bound.__name__ = test.__name__  # type: ignore[attr-defined]
    return bound


_plain = 0
"""How many callers want decorated tests to run as they are."""


@contextmanager
def called_plainly() -> Iterator[None]:
    """Make tests that are decorated with `check` run as they are: somebody else explores them."""
    global _plain
    _plain += 1
    try:
        yield
    finally:
        _plain -= 1


class CheckFailed(AssertionError):
    """Raised by a test decorated with `check`; prints as a report of its first failure."""

    result: Result
    """What the exploration did and found."""

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
    max_rounds: int | None = None,
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
    refuse_other_functions(test)
    if max_rounds is not None and (type(max_rounds) is not int or max_rounds < 1):
        raise TreadleError(f"max_rounds must be 1 or more, or None, not {max_rounds!r}")
    threads = ThreadProgram(
        test,
        getattr(test, "__name__", "test"),
        instrument=_packages(instrument),
        is_coarse=_lookup("granularity", granularity, {"access": False, "gil": True}),
        thread_exceptions=thread_exceptions,
        watchdog=watchdog,
        max_rounds=max_rounds,
    )
    with threads.controlled():
        returned = threads.try_out()
        _refuse_what_was_not_run(returned)
        if not isinstance(returned, ModelProgram):
            yield threads
            return
    with called_plainly():
        model = test()  # not under control this time
    assert isinstance(model, ModelProgram)
    yield model


def _packages(names: Iterable[str]) -> tuple[str, ...]:
    """Return the packages to instrument; refuse what names none."""
    listed = names if isinstance(names, str) or not isinstance(names, Iterable) else tuple(names)
    if not isinstance(listed, tuple) or not all(isinstance(name, str) for name in listed):
        raise TreadleError(f'instrument must be a list of packages, like ["json"], not {listed!r}')
    for name in listed:
        if not _can_be_found(name):
            close = difflib.get_close_matches(name, sys.modules, 1)
            hint = f"did you mean {close[0]!r}?" if close else "give the name to import it by"
            raise TreadleError(f"instrument: there is no module or package {name!r}: {hint}")
    return listed


def _can_be_found(name: str) -> bool:
    """Tell whether a module is there, or could be imported."""
    if name in sys.modules:
        return True
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):  # of the package that it is in, or an empty name
        return False


def refuse_other_functions(test: Callable[..., object]) -> None:
    """Refuse functions that are no test, saying why."""
    refuse_what_does_not_run(test)
    try:
        inspect.signature(test).bind()
    except TypeError:
        raise TreadleError(
            "the test must take no arguments: give a function without parameters; pytest runs "
            "tests with fixtures"
        ) from None


def refuse_what_does_not_run(test: Callable[..., object]) -> None:
    """Refuse what only makes an object when it is called: its code would never run."""
    name = getattr(test, "__name__", "it")
    function = inspect.unwrap(test)
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise TreadleError(
            "coroutine functions are not supported yet: asyncio will be; give a plain function"
        )
    if inspect.isgeneratorfunction(function):
        raise TreadleError(
            f"{name!r} is a process, not a program: add it to a treadle.model.Program"
        )
    if isinstance(function, type):
        raise TreadleError(
            f"{name!r} is a class: give a function; pytest runs the methods of classes"
        )


def _refuse_what_was_not_run(returned: object) -> None:
    """Refuse a test that returned something that has yet to be run."""
    if inspect.iscoroutine(returned):
        returned.close()
    elif not inspect.isgenerator(returned) and not inspect.isasyncgen(returned):
        return
    raise TreadleError(
        f"the test returned a {type(returned).__name__}, which nobody ran: run it in the test"
    )


def _lookup(what: str, name: str, known: dict[str, _Known]) -> _Known:
    if name not in known:
        raise TreadleError(f"unknown {what} {name!r}: choose one of {', '.join(known)}")
    return known[name]
