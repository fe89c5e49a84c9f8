"""What earlier runs of a test found is tried first, and what this one found is kept."""

from __future__ import annotations

from dataclasses import dataclass

from treadle.api import differing_options, rerun
from treadle.core.errors import ScheduleMismatch, TreadleError
from treadle.core.program import Program
from treadle.core.result import Failure, Result
from treadle.findings.database import Database, RecordedStep
from treadle.findings.replay import Replayed
from treadle.findings.tokens import read_token

REPLAYED = "replayed a failure of an earlier run; nothing else was explored"
_REPLAYABLE = frozenset({"assertion", "exception", "deadlock", "livelock", "race"})
"""Kinds of failures that a schedule shows again, whatever the budgets are."""


@dataclass(frozen=True, slots=True)
class Memory:
    """The failing schedules of one test."""

    database: Database
    test: str

    @property
    def is_empty(self) -> bool:
        """Tell whether nothing is known of the test."""
        return not self.database.load(self.test)

    def steps(self, token: str) -> list[RecordedStep]:
        """Return what the steps of a kept failure did."""
        return self.database.steps(self.test, token)

    def result_of(self, program: Program, algorithm: str, *, races: bool) -> Result | None:
        """Return the first recorded failure that still shows, as a result; see `failure_of`."""
        failure = self.failure_of(program, races=races)
        return None if failure is None else _as_result(program, algorithm, failure)

    def failure_of(self, program: Program, *, races: bool) -> Failure | None:
        """Replay what failed before; return the first failure that shows.

        What does not fail any more is forgotten. What was found with other options is passed over.
        """
        for token in self.database.load(self.test):
            try:
                recipe = read_token(token)
            except TreadleError:  # of another version
                self.database.discard(self.test, token)
                continue
            if differing_options(program, recipe) or (recipe.kind == "race" and not races):
                continue
            replayed = self._replayed(program, token) if recipe.kind in _REPLAYABLE else None
            if replayed is None or not replayed.is_same:
                self.database.discard(self.test, token)
            if replayed is not None and replayed.failure is not None:
                return replayed.failure
        program.know(())
        return None

    def _replayed(self, program: Program, token: str) -> Replayed | None:
        """Run a recorded schedule; None if the test has changed so much that it does not fit."""
        try:
            return rerun(program, token, recorded=self.steps(token))
        except ScheduleMismatch:
            return None

    def keep(self, failure: Failure) -> bool:
        """Keep a failure for the next run; tell whether that was possible."""
        if failure.kind not in _REPLAYABLE:
            return True
        try:
            steps = failure.trace[: failure.step + 1]
        except ScheduleMismatch:  # not deterministic: it will not be shown again
            return True
        return self.database.save(self.test, failure.token, steps)


def _as_result(program: Program, algorithm: str, failure: Failure) -> Result:
    return Result(
        program.name,
        algorithm,
        failures=[failure],
        failing=1,
        events=len(failure.schedule),
        replayed=len(failure.schedule),
        stopped_by="a failure of an earlier run",
        notes=[REPLAYED],
    )
