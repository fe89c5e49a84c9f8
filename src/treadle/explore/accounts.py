"""The accounts of a search: executions are counted, and what they show becomes failures."""

from __future__ import annotations

from contextlib import suppress

from treadle.core.events import Codes, mode_of
from treadle.core.failure import Failure, without_addresses
from treadle.core.happens_before import Trace
from treadle.core.program import CannotStepError, Crash, FindingError, Program, Run
from treadle.core.result import Result
from treadle.core.schedule import Schedule
from treadle.core.words import OPERATIONS, access_in_words
from treadle.explore.data_races import data_races
from treadle.explore.strategy import BLOCKED, DIFFERS, STEPS


class Accounts:
    """Writes what executions show into the result."""

    def __init__(self, program: Program, trace: Trace, result: Result, *, races: bool) -> None:
        self._program = program
        self._trace = trace
        self._result = result
        self._races = races
        self._failed: set[tuple[str, str, str]] = set()

    def add(self, run: Run, outcome: int, replayed: int) -> None:
        """Count an execution, and report what it shows."""
        result = self._result
        result.events += len(self._trace)
        result.replayed += replayed
        if self._program.counts_states:
            result.states = result.events - result.replayed
        if outcome == BLOCKED:
            result.blocked += 1
        elif outcome == STEPS:
            self._report(Failure.of_budget(self._program, run, self._trace, self.schedule()))
        elif self._program.is_part and self._program.is_elsewhere(run, self._trace):
            result.elsewhere += 1
            return
        elif (ending := run.ending()).is_cut:
            result.cut += 1
            return
        else:
            result.executions += not ending.is_unfinished
            result.cut += ending.is_unfinished
            if ending.waits and ending.is_deadlock:
                self._report(Failure.of_deadlock(ending, self.schedule()))
        if self._races:
            self._report_races()
        if run.crashes:
            self._report_crashes(run.crashes)

    def add_part(self, run: Run, replayed: int) -> None:
        """Report what an execution shows that was not run to its end."""
        self._result.events += len(self._trace)
        self._result.replayed += replayed
        self._report_crashes(run.crashes, is_cut=True)

    def _report_crashes(self, crashes: list[Crash], *, is_cut: bool = False) -> None:
        for crash in crashes:
            schedule = self.schedule()
            if is_cut or len(crashes) > 1:  # a replay shows the one with which the schedule ends
                schedule = schedule.upto(crash.step + 1)
            self._report(Failure.of_crash(self._program, crash, schedule))

    def _report_races(self) -> None:
        for first, second in data_races(self._trace):
            self._report(
                Failure.of_race(self._program, self._trace, (first, second), self.schedule())
            )

    def conclude(self, *, is_guided: bool = False) -> None:
        """Add what can be said only of a search that is over as a whole."""
        result, program = self._result, self._program
        if result.complete and result.cut and not result.executions and not is_guided:
            result.complete, result.stopped_by = False, "leaving out every execution"
        has_ended = result.complete or bool(result.failures)
        result.notes += program.notes(has_ended=has_ended)
        result.notes += program.judge(result.failures, is_complete=result.complete)
        result.escapes = program.escapes()
        result.rests_on = program.rests_on()
        if not result.failures:
            self.look_for_leftovers()

    def differs(self, run: Run, index: int) -> int:
        """Report that a step was not as recorded under the same schedule; return the outcome.

        If it showed something that was not known, that is why.
        """
        self._program.restart_if_learned()
        endless = next((c for c in run.crashes if isinstance(c.exception, RecursionError)), None)
        if endless is not None:  # how deep it gets is the interpreter's business
            self._report(Failure.of_crash(self._program, endless, self.schedule()))
            self._result.stopped_by = "endless recursion"
            return DIFFERS
        trace = self._trace
        process = trace.processes[index]
        before = trace.footprints[index].codes if index < len(trace.footprints) else ()
        waits = any(process == one for one, _ in run.blocked())
        now = self._in_words(trace.codes[index] if trace.codes[index] != before else ())
        now = now or ("wait" if waits else "nothing" if run.where(process) else "end")
        where = run.where(process) or self._line_of(index, process)[0]
        self.not_deterministic(
            index, process, f"{where}; then {self._in_words(before) or 'nothing'}, now {now}"
        )
        return DIFFERS

    def cannot_step(self, process: int) -> None:
        """Report that a process cannot go on where it did before under the same schedule."""
        where, now = self._line_of(len(self._trace), process)
        self.not_deterministic(len(self._trace), process, f"{where}; then a step, now {now}")

    def _line_of(self, index: int, process: int) -> tuple[str, str]:
        """Run the execution once more, up to a step: find its line, and what the process does."""
        try:
            run = self._program.start(detail=True)
        except CannotStepError:
            return "at its beginning", "nothing"
        try:
            with suppress(CannotStepError):  # it has ended or waits, or does something else again
                for number in self._trace.processes[: index + 1]:
                    run.step(number)
            waits = any(process == one for one, _ in run.blocked())
            where, records = run.where(process), run.records() or []
        except FindingError:
            return "", ""
        finally:
            run.drop()
        now = "wait" if waits else "nothing" if where else "end"
        if index < len(records):
            return records[index].where, now
        name = self._program.vocabulary.process_names[process]
        own = [step.where for step in records if step.process == name and step.where]
        return where or (f"after {own[-1]}" if own else "at its beginning"), now

    def _in_words(self, codes: Codes) -> str:
        """Say what a step accesses."""
        vocabulary = self._program.vocabulary
        accesses = [
            access_in_words(code, vocabulary) for code in codes if mode_of(code) in OPERATIONS
        ]
        return " and ".join(dict.fromkeys(map(str, accesses)))

    def look_for_leftovers(self) -> None:
        """Say if the first execution of all did something that no other has done.

        If the others cover all schedules, one of them should have done it too.
        """
        done = self._program.not_repeated()
        if not done:
            return
        if not self._result.complete:
            self._result.notes.append(
                f"the first execution {done}, and no later one did so far: if state outlives an "
                f"execution, make it anew at the beginning of the test"
            )
            return
        message = (
            f"the first execution {done}, and no later one did: state outlives an execution; make "
            f"it anew at the beginning of the test"
        )
        self._result.complete = False
        self._state_outlives(message)

    def passed_before(self) -> bool:
        """Report if the first execution of all passed, and fails now under the same schedule."""
        failed = self._program.fails_again()
        if failed:
            left = "; ".join(self._program.not_undone())
            self._state_outlives(
                f"the first execution passed, and fails when it is run once more under the same "
                f"schedule ({failed}): state outlives an execution; make it anew at the beginning "
                f"of the test" + (f"; executions change and do not undo: {left}" if left else "")
            )
        return bool(failed)

    def _state_outlives(self, message: str) -> None:
        self._result.stopped_by = "nondeterminism"
        self._report(
            Failure(
                kind="nondeterminism",
                message=message,
                step=len(self._trace),
                schedule=self.schedule(),
            )
        )

    def not_deterministic(self, index: int, process: int, where: str) -> None:
        """Report that a process does not do the same under the same schedule."""
        name = self._program.vocabulary.process_names[process]
        left = "; ".join(self._program.not_undone())
        self._report(
            Failure(
                kind="nondeterminism",
                message=f"step {index + 1}, by {name}, did not do under the same schedule what it "
                f"did before ({where}): remove clocks, randomness, orders by id() or hash, and "
                f"state that outlives an execution"
                + (f"; executions change and do not undo: {left}" if left else ""),
                process=name,
                step=index,
                schedule=self.schedule(),
            )
        )
        self._result.stopped_by = "nondeterminism"

    def finding(self, error: FindingError) -> None:
        """Report what a run shows that was made for another purpose; the search ends with it."""
        self._result.stopped_by = error.kind
        names = self._program.vocabulary.process_names
        schedule = Schedule((names[p] for p in error.processes), self._program.knowledge())
        self._report(Failure.of_finding(error, schedule))

    def _report(self, failure: Failure) -> None:
        """Keep the first failure of each kind, process and message; count all."""
        self._result.failing += 1
        key = (failure.kind, failure.process, without_addresses(failure.message))
        if key not in self._failed:
            self._failed.add(key)
            self._result.failures.append(failure.run_with(self._program))

    def schedule(self) -> Schedule:
        """Return the schedule of the current execution."""
        names = self._program.vocabulary.process_names
        return Schedule(
            (names[process] for process in self._trace.processes), self._program.knowledge()
        )
