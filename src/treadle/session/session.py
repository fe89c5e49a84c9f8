"""A session: one test under control, from its first execution to the last word of its report.

A guided tour. `opened` finds the front end for a test, takes control once, and yields a `Session`.
That explores (`explore`), makes failures simpler (`shrink`), runs recorded ones again (`rerun`),
and adds to a failure what only another run can tell (`record`): all under the same control. What
comes out is data; control is given back when the session is left, whatever happens.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from treadle.core import deadline
from treadle.core.decorated import called_plainly
from treadle.core.errors import ScheduleMismatch, TreadleError
from treadle.core.failure import Failure
from treadle.core.program import Program, Restart, Run
from treadle.core.result import Result
from treadle.core.schedule import Schedule
from treadle.explore.budget import Budget
from treadle.explore.choosers import SCHEDULES
from treadle.explore.guided.guided import GUIDED
from treadle.explore.observing import Observer
from treadle.explore.progress import Listener
from treadle.explore.registry import ALGORITHMS
from treadle.explore.search import GIVEN_UP, Search
from treadle.explore.strategy import Algorithm
from treadle.findings import recording
from treadle.findings.database import RecordedStep
from treadle.findings.observed import exploration_of
from treadle.findings.replay import Replayed, run_again
from treadle.findings.shrink import shrinking
from treadle.findings.shrink.shrinking import ATTEMPTS, SECONDS, Shrunk
from treadle.findings.tokens import Recipe
from treadle.session.front_ends import front_end_of, made_by_a_function
from treadle.session.recipes import differing_options
from treadle.session.settings import Settings
from treadle.session.workers.checkpoint import Checkpoint, identity_of, resumed
from treadle.session.workers.engines import on_engine, refuse_missing, threads
from treadle.session.workers.exploring import (
    Beginning,
    Quiet,
    Wish,
    explore_in_parts,
    interrupts_noted,
)
from treadle.session.workers.forked import ForkedHands, Scout, can_fork
from treadle.session.workers.hands import Hands
from treadle.session.workers.handshake import facts_of
from treadle.session.workers.naming import HasNoName, Name, name_of
from treadle.session.workers.place import is_hand
from treadle.session.workers.sources import digest_of
from treadle.session.workers.spaces import can_divide
from treadle.session.workers.spawned import HandRefused, Hello
from treadle.session.workers.task import Tasks, as_data
from treadle.session.workers.wanted import how_many, refusal, what_was_asked
from treadle.session.workers.work import Work

clock = time.perf_counter
"""Taken before any program is under control."""
SAMPLES = 1000
"""Executions of a sampling algorithm that was given no budget."""


class opened:  # noqa: N801 - said as `open` is
    """Make a program of a test and take control of it; a function may return a program instead.

    Control can be given back for a while. With contexts around generators instead, an exploration
    of 10 events takes 1.05 times as long.
    """

    __slots__ = ("_control", "_settings", "_test")

    def __init__(self, test: object, settings: Settings) -> None:
        self._test = test
        self._settings = settings
        self._control: AbstractContextManager[object] | None = None

    def __enter__(self) -> Session:
        session = self._entered()
        session.control = self
        return session

    def __exit__(self, *error: Any) -> bool | None:
        control, self._control = self._control, None
        return None if control is None else control.__exit__(*error)

    def give_back(self) -> None:
        """Give control back."""
        self.__exit__(None, None, None)

    def reopen(self) -> Program:
        """Take control again; return the program."""
        return self._entered().program

    def _entered(self) -> Session:
        test, settings = self._test, self._settings
        _refuse_combination(settings.algorithm, ALGORITHMS[settings.algorithm], settings)
        if isinstance(test, Program):
            program = settings.given_to(test)
            control = program.controlled()
            control.__enter__()
            session = Session(program, settings, test)
        else:
            control = _under_front_end(test, settings)
            session = control.__enter__()
        self._control = control
        return session


@contextmanager
def _under_front_end(test: object, settings: Settings) -> Iterator[Session]:
    """Let a front end make a program of a test, and take control."""
    front_end = front_end_of(test)
    if not front_end.takes_any_function:
        settings.refuse_others(front_end)
    with ExitStack() as stack:
        with deadline.within(settings.timeout):
            program = stack.enter_context(front_end.opened(test, settings.values_for(front_end)))
            is_late = deadline.is_over()
        if not made_by_a_function(program.returned):
            settings.refuse_others(front_end)  # now that nothing else is meant
            session = Session(program, settings, test)
            session.is_late = is_late
            yield session
            return
    assert callable(test)
    with called_plainly():
        made = test()  # not under control this time
    with opened(made, settings) as session:
        yield session


def is_sensible(strategy: type[Algorithm], settings: Settings) -> bool:
    """Tell whether an algorithm can do what is asked for: races are seen in every order or not."""
    return strategy.sees_every_order or not settings.races


def _refuse_combination(name: str, strategy: type[Algorithm], settings: Settings) -> None:
    """Refuse options that make no sense together."""
    if not is_sensible(strategy, settings):
        raise TreadleError(
            f"races=True needs an algorithm that sees every order, which {name} leaves out where "
            f"nobody can tell: use optimal"
        )


def _guided(algorithm: str) -> type[Algorithm]:
    """Return what explores as an algorithm does, and lets executions be cut."""
    if algorithm not in GUIDED:
        raise TreadleError(
            f"guided is for exhaustive or sleep: {algorithm} finds other executions from the races "
            f"of those that it has executed, and would lose deadlocks where one is cut"
        )
    return GUIDED[algorithm]


def _refuse_without_solver(settings: Settings) -> None:
    """Refuse what takes a solver if there is none."""
    from treadle.smt import require_solver

    if settings.constraints == "synthesised":
        require_solver("constraints='synthesised'")
    if settings.uniformity == "keeps":
        require_solver("uniformity='keeps'")


class Session:
    """One test under control."""

    def __init__(self, program: Program, settings: Settings, test: object) -> None:
        self.program = program
        self.settings = settings
        self.test = test
        """What is explored, as it was given."""
        self.is_late = False
        """Whether trying the test out has taken all the time that there was."""
        self.name: Name | None = None
        """What others can find the test by, if somebody knows it."""
        self.control: opened
        """Gives control back, and takes it again."""

    def with_settings(self, settings: Settings) -> Session:
        """Return the same test under the same control, explored in another way."""
        session = copy.copy(self)
        session.settings = settings
        return session

    def explore(
        self,
        algorithm: str = "",
        listener: Listener | None = None,
        is_enough: Callable[[Run, Callable[[], Schedule]], bool] | None = None,
        *,
        observe: bool = False,
    ) -> Result:
        """Explore, with the algorithm of the settings unless another one is named.

        `is_enough` is asked after each execution whether the search may end with it. Begin anew as
        often as the program learns something about itself. Failures are not recorded yet: whoever
        shows them asks for that. To `observe` is to keep the tree of executions.
        """
        name = algorithm or self.settings.algorithm
        strategy = self._strategy(name)
        name = strategy.name or name
        _refuse_combination(name, strategy, self.settings)
        if self.program.stops_early and not strategy.survives_cuts:
            raise TreadleError(
                f"early_stop is for exhaustive or sleep: {name} finds other executions from the "
                f"steps that would be left out; deadlocks are seen early anyway"
            )
        if self.program.declarations is not None:
            self.program.declarations.distrusted.clear()
        divided = None if is_enough else self._divided(strategy, name)
        if divided is None:
            result = self._explore_here(strategy, name, listener, is_enough, observe=observe)
        else:
            result = self._explore_in_parts(strategy, name, listener, divided, observe=observe)
        for failure in result.failures:
            failure.test = self.test
        return result

    def _explore_here(
        self,
        strategy: type[Algorithm],
        name: str,
        listener: Listener | None,
        is_enough: Callable[[Run, Callable[[], Schedule]], bool] | None = None,
        *,
        observe: bool,
        beginning: Beginning | None = None,
    ) -> Result:
        """Explore in this process; a beginning may be given up."""
        begun = clock()
        while True:
            try:
                search = self._search(strategy, name, listener)
                search.spent = clock() - begun
                search.is_enough = is_enough
                if beginning is not None:
                    beginning.watch(search)
                observer = Observer(search) if observe else None
                with deadline.within(0.0 if self.is_late else search.budget.timeout):
                    result = search.explore()
            except Restart:
                continue
            if observer is not None:
                result.exploration = exploration_of(self.program, observer)
            return result

    # In parts

    def _divided(self, strategy: type[Algorithm], name: str) -> Wish | None:
        """Return how the space is handed out; None if this process explores it in one go."""
        settings = self.settings
        is_kept = settings.checkpoint is not None or settings.resume is not None
        workers = how_many(settings)
        if is_hand() or (workers == 1 and not is_kept and settings.on is None):
            return None
        if self.program.is_guided or not can_divide(strategy):
            if not is_kept and settings.asked.isdisjoint(("workers", "on")):
                return None  # a project's settings are for what they make sense for
            raise TreadleError(refusal(settings, name, is_guided=self.program.is_guided))
        return self._wish(workers)

    def _wish(self, workers: int) -> Wish:
        settings = self.settings
        wish = Wish(workers, by_executions=settings.split_by == "executions")
        if settings.checkpoint is not None or settings.resume is not None:
            identity = identity_of(self._known_as(), self._sources(), self.kept())
            if settings.resume is not None:
                wish.resumed = resumed(Path(settings.resume), identity)
            if settings.checkpoint is not None:
                wish.checkpoint = Checkpoint(Path(settings.checkpoint), identity)
        return wish

    def _known_as(self) -> str:
        return self.program.name if self.name is None else self.name.text

    def _sources(self) -> str:
        return digest_of(self.test, self.program)

    def kept(self) -> dict[str, object]:
        """Return the options that a part of the space rests on."""
        chosen = {"algorithm": self.settings.algorithm, "max_steps": self.settings.max_steps}
        chosen |= {name: getattr(self.settings, name) for name in ("schedule", "races", "seed")}
        return {**chosen, "depth": self.settings.depth, **self.program.options}

    def _explore_in_parts(
        self,
        strategy: type[Algorithm],
        name: str,
        listener: Listener | None,
        wish: Wish,
        *,
        observe: bool,
    ) -> Result:
        """Explore for half a second here; if more is left, let others explore parts of it."""
        began = clock()
        self._refuse_early()
        is_new = wish.checkpoint is None and wish.resumed is None
        if is_new and self._is_worth_a_try(strategy, name, wish):
            quiet = None if listener is None else Quiet(listener)
            beginning = Beginning(wish.policy)
            result = self._explore_here(strategy, name, quiet, observe=observe, beginning=beginning)
            if result.stopped_by != GIVEN_UP:
                return result
        work = self.work(strategy, name)
        if self._needs_name(wish):
            result = self._explore_by_name(work, wish, listener, began)
        else:
            forked = functools.partial(ForkedHands, count=wish.workers)
            start = forked if wish.workers > 1 else None
            result = explore_in_parts(work, wish, listener, start, began)
        if observe:
            result.notes.append("the tree of executions is kept by one worker only")
        return result

    def _refuse_early(self) -> None:
        """Refuse what could not be done elsewhere, also if half a second here will do."""
        settings = self.settings
        refuse_missing(settings.on)
        if self.name is None and not settings.asked.isdisjoint(("on", "spawn")):
            name_of(self.test, what_was_asked(settings))

    def _is_worth_a_try(self, strategy: type[Algorithm], name: str, wish: Wish) -> bool:
        """Tell whether to explore the beginning in this process.

        A test may kill the process that it is run in. So if somebody asks for a number of workers,
        a copy goes ahead: this process follows if the copy has survived and come to an end.
        """
        if self.settings.workers == "auto" or wish.workers == 1 or not self._can_be_copied():
            return True
        with interrupts_noted() as is_interrupted:
            scout = Scout(self.test, self.program, lambda: self._ahead(strategy, name, wish))
            found = scout.found(is_interrupted)
        if is_interrupted():
            signal.raise_signal(signal.SIGINT)
        if found is None:
            return False
        is_over, knowledge = found
        if not is_over:
            self.program.know(knowledge)
        return bool(is_over)

    def _ahead(
        self, strategy: type[Algorithm], name: str, wish: Wish
    ) -> tuple[bool, tuple[str, ...]]:
        """Explore the beginning; tell whether it came to an end, and what was learned."""
        try:
            beginning = Beginning(wish.policy)
            result = self._explore_here(strategy, name, None, observe=False, beginning=beginning)
        except Exception:
            return True, ()  # whoever follows will see it
        for failure in result.failures:
            as_data(failure)  # one who ran out of memory has not survived
        return result.stopped_by != GIVEN_UP, self.program.knowledge()

    def _needs_name(self, wish: Wish) -> bool:
        """Tell whether hands have to import the test; copies of the process need not."""
        settings = self.settings
        if settings.on is not None or settings.spawn:
            return True
        return wish.workers > 1 and not self._can_be_copied()

    def _can_be_copied(self) -> bool:
        """Tell whether copies of this process could explore."""
        self.program.rest()
        try:
            return can_fork()
        finally:
            self.program.go_on()

    def _explore_by_name(
        self, work: Work, wish: Wish, listener: Listener | None, began: float
    ) -> Result:
        """Explore with hands that import the test; alone, if it has no name and nobody insists."""
        settings = self.settings
        try:
            hello = self._hello(wish, work)
            start = functools.partial(self._by_name, wish=wish, hello=hello)
            return explore_in_parts(work, wish, listener, start, began, self._released)
        except (HasNoName, HandRefused) as error:
            insists = settings.workers != "auto" and "workers" in settings.asked
            if insists or settings.on is not None or settings.spawn:
                raise
            work = self.work(work.strategy, work.algorithm)  # control may have been given back
            result = explore_in_parts(work, replace(wish, workers=1), listener, None, began)
            result.notes.append(
                f"explored by one worker: this process has threads of its own and cannot be "
                f"copied, and in other processes: {error}"
            )
            return result

    def _hello(self, wish: Wish, work: Work) -> Hello:
        """Return what a process needs to find the test, and to agree with this one."""
        asked = what_was_asked(self.settings)
        name = self.name or name_of(self.test, asked)
        return Hello(
            name,
            str(Path.cwd()),
            tuple(sys.path),
            self.settings.pickled(without=("on", "checkpoint", "resume", "workers", "spawn")),
            wish.workers,
            wish.by_executions,
            facts_of(work.program, self.test, self.kept()),
        )

    def _by_name(self, tasks: Tasks, *, wish: Wish, hello: Hello) -> Hands:
        del tasks
        if self.settings.on is None:
            return threads(wish.workers, hello)
        wanted = wish.workers if "workers" in self.settings.asked else None
        return on_engine(self.settings.on, wanted, hello)

    @contextmanager
    def _released(self) -> Iterator[None]:
        """Give control back for a while: threads of engines need the process as it is."""
        self.control.give_back()
        try:
            yield
        finally:
            self.program = self.control.reopen()

    def work(self, strategy: type[Algorithm] | None = None, name: str = "") -> Work:
        """Return what tasks and coordinators want to know."""
        settings = self.settings
        strategy = strategy or self._strategy(settings.algorithm)
        name = name or strategy.name or settings.algorithm
        budget = self._budget(strategy)

        def search(
            program: Program,
            *,
            max_executions: int | None,
            timeout: float | None,
            samples: range | None = None,
            listener: Listener | None = None,
        ) -> Search:
            limited = replace(budget, max_executions=max_executions, timeout=timeout)
            return self._search(
                strategy, name, listener, program=program, budget=limited, samples=samples
            )

        def rerun(failure: Failure) -> Failure | None:
            with contextlib.suppress(ScheduleMismatch):
                return self.rerun(failure.schedule, races=failure.kind == "race").failure
            return None

        return Work(
            self.program,
            strategy,
            name,
            search,
            rerun,
            budget.max_steps,
            budget.max_executions,
            budget.timeout,
            settings.stop_on_failure,
            self.test,
            lambda: self.program,
        )

    @property
    def algorithm(self) -> str:
        """The name of the algorithm that explores."""
        return self._strategy(self.settings.algorithm).name or self.settings.algorithm

    def _strategy(self, algorithm: str) -> type[Algorithm]:
        """Return the algorithm of a name, or the one that the program brings along."""
        own: type[Algorithm] | None = self.program.strategy
        if self.program.is_guided:
            return _guided(algorithm)
        if own is None:
            return ALGORITHMS[algorithm]
        if "algorithm" in self.settings.asked and algorithm != own.name:
            return own.instead(algorithm)
        return own

    def _budget(self, chosen: type[Algorithm]) -> Budget:
        settings = self.settings
        budget = Budget(
            settings.max_executions,
            settings.max_steps,
            settings.timeout,
            goes_on=not settings.sets("max_steps"),
        )
        if not chosen.covers and budget.max_executions is None and budget.timeout is None:
            budget = replace(budget, max_executions=SAMPLES)
        return budget

    def _search(
        self,
        chosen: type[Algorithm],
        algorithm: str,
        listener: Listener | None,
        *,
        program: Program | None = None,
        budget: Budget | None = None,
        samples: range | None = None,
    ) -> Search:
        settings = self.settings
        if chosen.without_constraints is not None:
            _refuse_without_solver(settings)
        return Search(
            program or self.program,
            chosen,
            algorithm,
            budget=budget or self._budget(chosen),
            choose=SCHEDULES[settings.schedule],
            stop_on_failure=settings.stop_on_failure,
            seed=settings.seed,
            depth=settings.depth,
            races=settings.races,
            learn=settings.learn,
            refined=settings.refined,
            constraints=settings.constraints,
            uniformity=settings.uniformity,
            listener=listener,
            samples=samples,
        )

    def shrink(
        self, failure: Failure, *, seconds: float = SECONDS, attempts: int = ATTEMPTS
    ) -> Shrunk:
        """Make a failure as simple as it gets; it has to be recorded afterwards."""
        own: type[Algorithm] | None = self.program.strategy
        if own is not None and (simpler := own.shrink(self.program, failure)) is not None:
            shrunk = shrinking.shrunk_by_strategy(failure, simpler)
        else:
            shrunk = shrinking.shrink(self.program, failure, seconds=seconds, attempts=attempts)
        shrunk.failure.test = self.test
        return shrunk

    def record(self, *failures: Failure, explained: bool = True) -> None:
        """Add to failures what only other runs can tell: their cause, only if it is asked for."""
        for failure in failures:
            if not failure.token:  # else a replay found it, and took it down
                recording.record(self.program, failure)
            if explained:
                recording.explain(self.program, failure)

    def rerun(
        self,
        what: Schedule | Recipe,
        *,
        races: bool = False,
        recorded: Sequence[RecordedStep] = (),
    ) -> Replayed:
        """Run exactly one interleaving, once, and say how it differs from what was recorded."""
        recipe = what if isinstance(what, Recipe) else None
        if recipe is not None and (differing := differing_options(self.program, recipe)):
            raise ScheduleMismatch(differing)
        schedule = what.schedule if isinstance(what, Recipe) else what
        races = races or (recipe is not None and bool(recipe.options.get("races")))
        replayed = run_again(self.program, schedule, races=races, recipe=recipe, recorded=recorded)
        if replayed.failure is not None:
            replayed.failure.test = self.test
        return replayed
