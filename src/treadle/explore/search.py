"""The search: run, analyse, backtrack, run again.

A guided tour. `Search.explore` loops over executions. `_execute` starts the program anew, replays
the steps that this execution shares with the previous one, comparing each with the record, takes
those that the algorithm foretells, and then asks it for one process after the other until none is
enabled; or the schedule `stay` decides to the end, if the algorithm leaves it to that. The
algorithm looks at the finished execution (`analyse`) and says how many steps the next one shares
with it (`backtrack`). Whatever happened, findings and counters end up in the `Result`.

The paper's `E` is `self.trace`; everything else that the papers keep per prefix of `E` belongs to
the algorithm.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable

from treadle.core.deadline import OutOfTime
from treadle.core.errors import TreadleBug
from treadle.core.program import CannotStepError, FindingError, Program, Run
from treadle.core.result import Result
from treadle.core.schedule import Schedule
from treadle.explore.accounts import Accounts
from treadle.explore.budget import MOST_STEPS, Budget, used_up
from treadle.explore.choosers import Chooser, Only, stay
from treadle.explore.probing import Probes
from treadle.explore.progress import Listener, Meter
from treadle.explore.strategy import (
    ASLEEP,
    BLOCKED,
    DIFFERS,
    ENDED,
    LENGTH,
    STEPS,
    TIME,
    Algorithm,
)

FOUND = "what was looked for"
"""Why a search ended that was to end there."""
GIVEN_UP = "giving up"
"""Why a search ended whose part of the space is to be divided further."""


class Search:
    """One exploration of one program by one algorithm."""

    on_end: Callable[[Run, int], None] | None = None
    """Told of each execution and its outcome, before it is analysed."""
    on_counted: Callable[[int], None] | None = None
    """Told of the outcome of each execution once it is analysed and counted."""
    on_left_out: Callable[[int, int, str], None] | None = None
    """Told what is not explored: after how many steps, which process's step, and why."""
    is_enough: Callable[[Run, Callable[[], Schedule]], bool] | None = None
    """Asked after each execution whether what was looked for is found; told its schedule."""
    gives_up: Callable[[], bool] | None = None
    """Asked after each execution whether this is enough of a part of the space."""
    repeats_first: bool = True
    """Whether the first execution is run twice, to see whether it does the same."""
    has_ended: bool = False
    """Whether nothing was left to explore."""
    left_out: str = ""
    """Why an execution was cut although the search went on, if one was."""
    has_counted_last: bool = False
    """Whether the execution that ended it was analysed and counted, as others are."""
    is_validating: bool = False
    """Whether the algorithm's invariants are checked at every update, and between phases."""

    def __init__(
        self,
        program: Program,
        algorithm: type[Algorithm],
        name: str,
        *,
        budget: Budget,
        choose: Chooser,
        stop_on_failure: bool = True,
        seed: int = 0,
        depth: int = 3,
        races: bool = False,
        learn: bool = True,
        refined: bool = True,
        constraints: str = "declared",
        uniformity: str = "static",
        listener: Listener | None = None,
        samples: range | None = None,
    ) -> None:
        self.program = program
        without = algorithm.without_constraints
        if without is not None:
            program.choose_constraints(constraints, uniformity)
            if not program.has_constraints:
                algorithm = without
        program.use_constraints(without is not None)
        program.name_values(algorithm.knows_values)
        self.trace = algorithm.trace_type(program.vocabulary)
        self.trace.edges = program.edges
        self.choose: Chooser = program.preferring(choose)
        self.budget = budget
        self.seed = seed
        self.depth = depth
        self.learn = learn
        self.refined = refined
        self._begun = 0
        self.spent = 0.0
        """Seconds that went into searches which began anew since."""
        self.samples = samples
        """Which samples are taken, by number, if only some are."""
        self._stop_on_failure = stop_on_failure
        self.shared = 0
        """How many steps the current execution shares with the one before."""
        self.result = Result(program.name, name, scope=program.scope)
        self.probes = Probes(program, self.result)
        self._accounts = Accounts(program, self.trace, self.result, races=races)
        self._meter = Meter(self.result, self.trace, listener)
        self._has_listener = listener is not None
        self._first_look = budget.next_look(0)
        self.algorithm = algorithm(self)
        if algorithm.covers:
            self._meter.estimate_by(self.algorithm.todo)

    # The loop

    def explore(self) -> Result:
        """Run executions until the space is covered, a failure stops it or a budget is used up."""
        result = self.explore_part()
        try:
            self._accounts.conclude(is_guided=self.algorithm.is_guided)
        except OutOfTime:  # whether something is left of the first execution is not known then
            result.complete = False
            result.stopped_by = result.stopped_by or self._timeout()
        return result

    def explore_part(self) -> Result:
        """Explore what may be a part of a space only: nothing is said about the whole."""
        self._meter.start()
        result = self.result
        try:
            result.complete = self._loop() and self.algorithm.covers
        except OutOfTime:
            result.stopped_by = self._timeout()
        except FindingError as error:
            self._accounts.finding(error)
        except CannotStepError as error:
            self._accounts.cannot_step(error.process)
        finally:
            result.seconds = self._meter.seconds
            self._meter.tell(final=True)
        self.algorithm.report(result)
        return result

    def _loop(self) -> bool:
        """Return whether the space was covered."""
        result, algorithm, estimator = self.result, self.algorithm, self._meter.estimator
        while True:
            run = self.program.start()
            outcome = self._execute(run)
            if outcome in (TIME, LENGTH):
                return self._cut_short(run, outcome)
            # One that was cut has failed; another run would take away where it stands.
            is_first = not result.events and outcome != STEPS
            if outcome == DIFFERS or (is_first and not self._repeats(run)):
                run.close()
                return False
            if self._has_found_enough(run, outcome):
                self.has_counted_last = True
                return False
            over = self._is_over()
            # Estimate now: the path is that of an execution explored to its end.
            estimate = self._meter.estimate() if over else None
            if (shared := algorithm.backtrack()) < 0:
                self.has_ended = True
                return not result.stopped_by
            if over:
                result.stopped_by = over
                result.estimate = estimate.executions if estimate else None
                return False
            if estimator is not None:
                estimator.branched(shared)
            self.trace.truncate(shared)
            if self.is_validating:
                self.validate(algorithm.violations())

    def _has_found_enough(self, run: Run, outcome: int) -> bool:
        """Analyse, count and end an execution; tell whether what it shows ends the search."""
        result, algorithm = self.result, self.algorithm
        if self.on_end is not None:
            self.on_end(run, outcome)
        try:
            algorithm.analyse(run, outcome)
        except OutOfTime:  # what it showed counts, though not all that it asks for is known
            self._accounts.add(run, outcome, self.shared)
            raise
        if self.is_validating:
            self.validate(algorithm.violations())
        self._accounts.add(run, outcome, self.shared)
        if self.on_counted is not None:
            self.on_counted(outcome)
        found = self.is_enough is not None and self.is_enough(run, self._accounts.schedule)
        run.close()
        if found:
            result.stopped_by = FOUND
            return True
        if outcome == STEPS:
            result.stopped_by = self.left_out = used_up("max_steps", self.budget.max_steps)
        if result.failures and self._stop_on_failure:
            result.stopped_by = result.stopped_by or "the first failure"
            return True
        return False

    def _execute(self, run: Run) -> int:
        """Run one execution to its end; return its outcome."""
        trace, algorithm = self.trace, self.algorithm
        self._begun += 1
        self.shared = len(trace)
        if algorithm.foretell() and self.choose is stay:
            steps, look = len(trace.processes), self._first_look
            if steps >= look:  # mostly not: a call less
                look = self.budget.next_look(steps)
            differing = run.execute(trace.processes, trace.codes, look)
            if differing < 0:
                return self._finish(run, is_over=not run.enabled())
        else:
            differing = run.replay(trace.processes, trace.codes, len(trace))
        if differing < 0 or self._is_end_of_plan(differing):
            differing = algorithm.follow(run)
        if differing >= 0:
            return self._accounts.differs(run, differing)
        return self._go_on(run)

    def _is_end_of_plan(self, index: int) -> bool:
        """Tell whether a step that is not as foretold is the second event of a reversed race.

        It reads other values there. But it is to touch the same locations in the same way.
        """
        is_last = index == len(self.trace) - 1
        return is_last and index >= self.shared and self.trace.happened_otherwise(index)

    def _go_on(self, run: Run) -> int:
        """Take one step after the other where none is planned; return the execution's outcome."""
        trace, algorithm = self.trace, self.algorithm
        steps = len(trace)
        limit = self.budget.next_look(steps)
        last = trace.processes[-1] if steps else -1
        stays = self.choose is stay
        append = trace.append
        while not (stays and algorithm.is_free):
            process = algorithm.decide(run, last)
            if process < 0:
                return process
            if steps >= limit:
                cut = self._cut(run, steps)
                if cut:
                    return cut
                limit = self.budget.next_look(steps)
            algorithm.executed(process, append(process, run.step(process)))
            last = process
            steps += 1
        return self._finish(run, run.finish(last, limit, trace.processes, trace.codes))

    def _finish(self, run: Run, is_over: bool) -> int:
        """Let the schedule `stay` decide to the end, if it is not over; return the outcome."""
        trace, cut = self.trace, 0
        while not is_over and not cut:
            steps = len(trace)
            cut = self._cut(run, steps)
            if not cut:
                look = self.budget.next_look(steps)
                is_over = run.finish(trace.processes[-1], look, trace.processes, trace.codes)
        self.algorithm.left_alone(trace.complete())
        return cut or ENDED

    def _cut(self, run: Run, steps: int) -> int:
        """Return why an execution of so many steps does not go on; 0 if it does.

        How many steps a test takes says nothing about it: what counts is time, unless somebody
        asked for a limit or it is seen to do the same again and again.
        """
        if steps >= self.budget.max_steps and (not self.budget.goes_on or run.is_endless()):
            return STEPS
        if self.is_out_of_time():
            return TIME
        return LENGTH if steps >= MOST_STEPS and self.budget.goes_on else 0

    def _cut_short(self, run: Run, outcome: int) -> bool:
        """Report what an execution showed that was cut; return that the space is not covered."""
        self._accounts.add_part(run, self.shared)
        is_late = outcome == TIME
        self.result.stopped_by = self._timeout() if is_late else used_up("max_steps", MOST_STEPS)
        run.drop()
        return False

    def _timeout(self) -> str:
        return used_up("timeout", self.budget.timeout)

    def _repeats(self, first: Run) -> bool:
        """Run the first execution once more: a program that differs now is not deterministic.

        If it fails, what was run to learn what matters is repeated as well.
        """
        trace = self.trace
        if not self.repeats_first:
            return True
        if first.crashes and self._accounts.passed_before():
            return False
        state = first.fingerprint()
        run = self.program.start()
        differing = run.replay(trace.processes, trace.codes, len(trace))
        if differing < 0 and len(trace) and _is_in_another_state(run, state):
            differing = len(trace) - 1
        if differing >= 0:
            self._accounts.differs(first if first.crashes else run, differing)
        run.close()
        return differing < 0

    def _is_over(self) -> str:
        """Tell which budget is used up, if one is, and listeners how far the search is."""
        budget = self.budget
        if self._has_listener:
            self._meter.tell_if_due()
        if budget.max_executions is not None and self._begun >= budget.max_executions:
            return used_up("max_executions", budget.max_executions)
        if budget.timeout is not None and self.is_out_of_time():
            return self._timeout()
        if self.gives_up is not None and self.gives_up():
            return GIVEN_UP
        return ""

    def share_done(self) -> float:
        """Estimate which share of the tree is explored; 0 if that cannot be told."""
        estimate = self._meter.estimate()
        return estimate.done if estimate else 0.0

    def is_out_of_time(self) -> bool:
        """Tell whether the budget of time is used up; for work that takes long between runs."""
        timeout = self.budget.timeout
        return timeout is not None and self._meter.seconds + self.spent >= timeout

    # What algorithms ask for

    def choose_awake(self, run: Run, last: int, asleep: Container[int]) -> int:
        """Choose by the default schedule among the enabled processes that are not asleep."""
        process = self.choose(run, last)
        if process < 0 or process not in asleep:
            return process
        enabled = run.enabled()
        awake = [process for process in enabled if process not in asleep]
        if awake:
            return self.choose(Only(awake), last)
        if self.on_left_out is not None:
            for process in enabled:
                self.on_left_out(len(self.trace), process, ASLEEP)
        return BLOCKED

    def count_checks(self) -> None:
        """Count the pairs of events that the next extension of the trace asks about."""
        analysed, length = len(self.trace.before), len(self.trace)
        pairs = (length * (length - 1) - analysed * (analysed - 1)) // 2
        pairs -= self.algorithm.known_pairs(analysed)
        self.result.race_checks += pairs
        self.result.dependency_checks += pairs

    def validate(self, violations: Iterable[str]) -> None:
        """Refuse to go on with sets and trees that are not what the papers say."""
        for violation in violations:
            raise TreadleBug(f"{self.result.algorithm}: {violation}")


def _is_in_another_state(run: Run, state: object) -> bool:
    """Tell whether a run is not in a state, as far as states can be compared."""
    own = run.fingerprint()
    return own != state and own == run.fingerprint()
