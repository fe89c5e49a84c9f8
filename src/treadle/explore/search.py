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

from collections.abc import Callable, Container, Iterator, Sequence
from time import perf_counter
from typing import TypeVar

from treadle.core.events import Codes, Footprint
from treadle.core.failure import Failure, without_addresses
from treadle.core.program import CannotStepError, Crash, Ending, Program, Run
from treadle.core.result import Result
from treadle.core.schedule import Schedule
from treadle.explore.budget import Budget
from treadle.explore.choosers import Chooser, stay
from treadle.explore.data_races import data_races
from treadle.explore.probing import (
    Reversal,
    altered_reversals,
    everything_after,
    probed_reversals,
)
from treadle.explore.progress import Estimate, Estimator, Listener, Progress
from treadle.explore.strategy import BLOCKED, ENDED, Algorithm

Closed = TypeVar("Closed", bound=tuple[int, int] | tuple[int, int, Footprint])

_STEPS = -3
"""Outcome of an execution that was cut by the budget on steps."""
_DIFFERS = -4
"""Outcome of an execution whose replayed steps are not the recorded ones."""
_PROBES_KEPT = 100_000
_FEW = 4
"""Up to so many races' first events, what happens after each is found one by one."""


class Search:
    """One exploration of one program by one algorithm."""

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
        listener: Listener | None = None,
    ) -> None:
        self.program = program
        self.trace = algorithm.trace_type(program.vocabulary)
        self.choose = choose
        self.budget = budget
        self.seed = seed
        self.depth = depth
        self.learn = learn
        self.refined = refined
        self._stop_on_failure = stop_on_failure
        self._races = races
        self._listener = listener
        self._new = 0
        self._probes: dict[tuple[tuple[int, ...], int], Footprint | None] = {}
        self._failed: set[tuple[str, str, str]] = set()
        self.result = Result(program.name, name)
        self.algorithm = algorithm(self)
        self._estimator = Estimator(self.algorithm.todo)
        self._next_tell = 0.0
        self.on_end: Callable[[Run, int], None] | None = None
        """Told of each execution and its outcome, before it is analysed."""

    # The loop

    def explore(self) -> Result:
        """Run executions until the space is covered, a failure stops it or a budget is used up."""
        self._started = perf_counter()
        result = self.result
        try:
            result.complete = self._loop() and self.algorithm.covers
        except CannotStepError as error:
            self._report_nondeterminism(len(self.trace), error.process, "it ended or is blocked")
        finally:
            result.seconds = perf_counter() - self._started
            self._tell(final=True)
        has_ended = result.complete or bool(result.failures)
        result.notes = self.program.notes(has_ended=has_ended)
        if not result.failures:
            self._look_for_leftovers()
        return result

    def _loop(self) -> bool:
        """Return whether the space was covered."""
        result, algorithm, budget = self.result, self.algorithm, self.budget
        while True:
            run = self.program.start()
            outcome = self._execute(run)
            if outcome == _DIFFERS or (not result.events and not self._repeats(run)):
                run.close()
                return False
            if self.on_end is not None:
                self.on_end(run, outcome)
            algorithm.analyse(run, outcome)
            self._account(run, outcome)
            run.close()
            if outcome == _STEPS:
                result.stopped_by = f"max_steps = {budget.max_steps}"
            if result.failures and self._stop_on_failure:
                result.stopped_by = result.stopped_by or "the first failure"
                return False
            over = self._is_over()
            # Estimate now: the path is that of an execution explored to its end.
            estimate = self._estimate() if over else None
            shared = algorithm.backtrack()
            if shared < 0:
                if result.cut and not result.executions:  # nothing was checked
                    result.stopped_by = result.stopped_by or "leaving out every execution"
                return not result.stopped_by
            if over:
                result.stopped_by = over
                result.estimate = estimate.executions if estimate else None
                return False
            self._estimator.branched(shared)
            self.trace.truncate(shared)

    def _execute(self, run: Run) -> int:
        """Run one execution to its end; return its outcome."""
        trace, algorithm = self.trace, self.algorithm
        self._new = len(trace)
        if algorithm.foretell() and self.choose is stay:
            differing = run.execute(trace.processes, trace.codes, self.budget.max_steps)
            if differing < 0:
                algorithm.left_alone(trace.complete())
                return _STEPS if run.enabled() else ENDED
        else:
            differing = run.replay(trace.processes, trace.codes, len(trace))
        if differing < 0 or self._is_end_of_plan(differing):
            differing = algorithm.follow(run)
        if differing >= 0:
            return self._report_difference(run, differing)
        return self._go_on(run)

    def _is_end_of_plan(self, index: int) -> bool:
        """Tell whether a step that is not as foretold is the second event of a reversed race.

        It reads other values there. But it is to touch the same locations in the same way.
        """
        is_last = index == len(self.trace) - 1
        return is_last and index >= self._new and self.trace.happened_otherwise(index)

    def _go_on(self, run: Run) -> int:
        """Take one step after the other where none is planned; return the execution's outcome."""
        trace, algorithm = self.trace, self.algorithm
        limit = self.budget.max_steps
        steps = len(trace)
        last = trace.processes[-1] if steps else -1
        stays = self.choose is stay
        append = trace.append
        while not (stays and algorithm.is_free):
            process = algorithm.decide(run, last)
            if process < 0:
                return process
            if steps >= limit:
                return _STEPS
            algorithm.executed(process, append(process, run.step(process)))
            last = process
            steps += 1
        ended = run.finish(last, limit, trace.processes, trace.codes)
        algorithm.left_alone(trace.complete())
        return ENDED if ended else _STEPS

    def _repeats(self, first: Run) -> bool:
        """Run the first execution once more: a program that differs now is not deterministic."""
        trace = self.trace
        state = first.fingerprint()
        run = self.program.start()
        differing = run.replay(trace.processes, trace.codes, len(trace))
        if differing < 0 and len(trace) and _is_in_another_state(run, state):
            differing = len(trace) - 1
        if differing >= 0:
            self._report_difference(first if first.crashes else run, differing)
        run.close()
        return differing < 0

    def _is_over(self) -> str:
        """Tell which budget is used up, if one is, and listeners how far the search is."""
        result, budget = self.result, self.budget
        now = perf_counter()
        if self._listener is not None and now >= self._next_tell:
            self._tell()
            self._next_tell = now + self._listener.interval
        if budget.max_executions is not None and (
            result.executions + result.blocked + result.cut >= budget.max_executions
        ):
            return f"max_executions = {budget.max_executions}"
        if self.is_out_of_time():
            return f"timeout = {budget.timeout:g} s"
        return ""

    def is_out_of_time(self) -> bool:
        """Tell whether the budget of time is used up; for work that takes long between runs."""
        timeout = self.budget.timeout
        return timeout is not None and perf_counter() - self._started >= timeout

    # What algorithms ask for

    def reversals(
        self,
        run: Run,
        is_planned: Callable[[int, int], bool] | None = None,
        since: int | None = None,
    ) -> Iterator[Reversal]:
        """Analyse the new part of the trace; yield what its races ask to explore elsewhere.

        Races for which `is_planned` are left out: the algorithm has planned both orders.

        Races of the unchanged part were handled before, unless `since` says from which second event
        on they have to be handled again. Where steps have to be probed, what they do
        may depend on the new part, and nothing that rests on the order of the old one holds: then
        all races are handled again.
        """
        trace = self.trace
        self._count_checks(len(trace.before), len(trace))
        trace.extend()
        probing = bool(trace.undecided or run.blocked())
        new = 0 if probing else self._new if since is None else min(since, self._new)
        by_first: dict[int, list[int]] = {}
        for e, last in _closed_since(trace.races, new):
            if is_planned is None or not is_planned(e, last):
                by_first.setdefault(e, []).append(last)
        altered = _closed_since(trace.altered, new)
        if not (by_first or altered or probing):
            return
        if not (altered or probing) and len(by_first) <= _FEW:
            for e, lasts in by_first.items():
                yield e, everything_after(trace, e) & ~trace.after_one(e), lasts, -1
            return
        after = trace.after(0 if altered or probing else min(by_first))
        for e, lasts in by_first.items():
            yield e, everything_after(trace, e) & ~after[e], lasts, -1
        yield from altered_reversals(trace, altered, after)
        if probing:
            yield from probed_reversals(trace, run, after, self.probe)

    def _count_checks(self, analysed: int, length: int) -> None:
        """Count the pairs of events that an extension of the trace asks about."""
        pairs = (length * (length - 1) - analysed * (analysed - 1)) // 2
        pairs -= self.algorithm.known_pairs(analysed)
        self.result.race_checks += pairs
        self.result.dependency_checks += pairs

    def probe(self, processes: Sequence[int], codes: list[Codes], process: int) -> Footprint | None:
        """Run `processes` and then `process`: its footprint, or None if it is disabled there."""
        key = (tuple(processes), process)
        if key in self._probes:
            return self._probes[key]
        run = self.program.start()
        differing = run.replay(processes, codes, len(processes))
        if differing >= 0:
            raise CannotStepError(processes[differing])
        found = None
        if run.is_enabled(process):
            found = self.program.vocabulary.footprint(run.step(process))
        run.close()
        if len(self._probes) >= _PROBES_KEPT:
            self._probes.clear()
        self._probes[key] = found
        self.result.probes += 1
        return found

    def choose_awake(self, run: Run, last: int, asleep: Container[int]) -> int:
        """Choose by the default schedule among the enabled processes that are not asleep."""
        process = self.choose(run, last)
        if process < 0 or process not in asleep:
            return process
        awake = [p for p in run.enabled() if p not in asleep]
        return self.choose(_Only(awake), last) if awake else BLOCKED

    # Findings

    def _account(self, run: Run, outcome: int) -> None:
        result = self.result
        result.events += len(self.trace)
        result.replayed += self._new
        if outcome == BLOCKED:
            result.blocked += 1
        elif outcome == _STEPS:
            self._report(Failure.of_budget(self.program, run, self.trace, self._schedule()))
        elif (ending := run.ending()).is_cut:
            result.cut += 1
            return
        else:
            result.executions += not ending.is_unfinished
            result.cut += ending.is_unfinished
            self._report_deadlock(run, ending)
        if self._races:
            self._report_races()
        self._report_crashes(run.crashes)

    def _report_crashes(self, crashes: list[Crash]) -> None:
        for crash in crashes:
            schedule = self._schedule()
            if len(crashes) > 1:  # a replay shows the one with which the schedule ends
                schedule = schedule.upto(crash.step + 1)
            self._report(Failure.of_crash(self.program, crash, schedule))

    def _report_deadlock(self, run: Run, ending: Ending) -> None:
        waits = ending.waits
        if waits and not run.crashes:  # after a crash, others may wait only because of it
            self._report(Failure.of_deadlock(waits, self._schedule()))

    def _report_races(self) -> None:
        for first, second in data_races(self.trace):
            self._report(
                Failure.of_race(self.program, self.trace, (first, second), self._schedule())
            )

    def _report_difference(self, run: Run, index: int) -> int:
        """Report that a step was not as recorded under the same schedule."""
        endless = next((c for c in run.crashes if isinstance(c.exception, RecursionError)), None)
        if endless is not None:  # how deep it gets is the interpreter's business
            self._report(Failure.of_crash(self.program, endless, self._schedule()))
            self.result.stopped_by = "endless recursion"
            return _DIFFERS
        process = self.trace.processes[index]
        where = run.where(process) or "it ended or is blocked"
        self._report_nondeterminism(index, process, where)
        return _DIFFERS

    def _look_for_leftovers(self) -> None:
        """Say if the first execution of all did something that no other has done.

        If the others cover all schedules, one of them should have done it too.
        """
        done = self.program.not_repeated()
        if not done:
            return
        if not self.result.complete:
            self.result.notes.append(
                f"the first execution {done}, and no later one did so far: if state outlives an "
                f"execution, make it anew at the beginning of the test"
            )
            return
        message = (
            f"the first execution {done}, and no later one did: state outlives an execution; make "
            f"it anew at the beginning of the test"
        )
        self.result.complete = False
        self.result.stopped_by = "nondeterminism"
        self._report(
            Failure(
                kind="nondeterminism",
                message=message,
                step=len(self.trace),
                schedule=self._schedule(),
            )
        )

    def _report_nondeterminism(self, index: int, process: int, where: str) -> None:
        """Report that a process does not do the same under the same schedule."""
        name = self.program.vocabulary.process_names[process]
        self._report(
            Failure(
                kind="nondeterminism",
                message=f"step {index + 1}, by {name}, did not do under the same schedule what it "
                f"did before ({where}): remove clocks, randomness, orders by id() or hash, and "
                f"state that outlives an execution",
                process=name,
                step=index,
                schedule=self._schedule(),
            )
        )
        self.result.stopped_by = "nondeterminism"

    def _report(self, failure: Failure) -> None:
        """Keep the first failure of each kind, process and message; count all."""
        self.result.failing += 1
        key = (failure.kind, failure.process, without_addresses(failure.message))
        if key not in self._failed:
            self._failed.add(key)
            self.result.failures.append(failure.run_with(self.program))

    def _schedule(self) -> Schedule:
        names = self.program.vocabulary.process_names
        return Schedule(
            (names[process] for process in self.trace.processes), self.program.knowledge()
        )

    # Progress

    def _estimate(self) -> Estimate | None:
        """Estimate the size of the space; a sampling algorithm has no tree to tell it from."""
        if not self.algorithm.covers:
            return None
        return self._estimator.estimate(self.result.executions, len(self.trace))

    def _tell(self, *, final: bool = False) -> None:
        if self._listener is None:
            return
        result = self.result
        self._listener(
            Progress(
                executions=result.executions,
                blocked=result.blocked,
                failures=len(result.failures),
                depth=len(self.trace),
                seconds=perf_counter() - self._started,
                estimate=None if final else self._estimate(),
                final=final,
            )
        )


def _closed_since(races: list[Closed], index: int) -> list[Closed]:
    """Return the races whose second event is at `index` or after it; they are at the end."""
    start = len(races)
    while start and races[start - 1][1] >= index:
        start -= 1
    return races[start:]


def _is_in_another_state(run: Run, state: object) -> bool:
    """Tell whether a run is not in a state, as far as states can be compared."""
    own = run.fingerprint()
    return own == run.fingerprint() and own != state


class _Only:
    """A run's view with some processes left out, for a `Chooser`."""

    def __init__(self, processes: list[int]) -> None:
        self._processes = processes

    def enabled(self) -> list[int]:
        return self._processes

    def is_enabled(self, process: int) -> bool:
        return process in self._processes
