"""What earlier runs of a test found is tried first, and what this one found is kept."""

from __future__ import annotations

from dataclasses import dataclass

from treadle.api import differing_options, rerun
from treadle.database import Database
from treadle.errors import ScheduleMismatch, TreadleError
from treadle.program import Program
from treadle.result import Failure, Result
from treadle.token import read_token

REPLAYED = "replayed a failure of an earlier run; nothing else was explored"
_REPLAYABLE = frozenset({"assertion", "exception", "deadlock", "livelock", "race"})
"""Kinds of failures that a schedule shows again, whatever the budgets are."""


@dataclass(frozen=True, slots=True)
class Memory:
    """The failing schedules of one test."""

    database: Database
    test: str

    def result_of(self, program: Program, algorithm: str, *, races: bool) -> Result | None:
        """Replay what failed before; return the first that still fails as a result.

        What does not fail any more is forgotten. What was found with other options is passed over.
        """
        for token in self.database.load(self.test):
            try:
                recipe = read_token(token)
                if differing_options(program, recipe) or (recipe.kind == "race" and not races):
                    continue
                recorded = self.database.steps(self.test, token)
                replayed = rerun(program, token, recorded=recorded)
            except TreadleError:
                self.database.discard(self.test, token)
                continue
            if not replayed.is_same:
                self.database.discard(self.test, token)
            if replayed.failure is not None:
                return _as_result(program, algorithm, replayed.failure)
        program.know(())
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
