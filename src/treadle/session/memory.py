"""What earlier runs of a test found is tried first, and what this one found is kept."""

from __future__ import annotations

from dataclasses import dataclass

from treadle.core.errors import ScheduleMismatch, TreadleError
from treadle.core.failure import Failure, is_shown_by_schedule
from treadle.core.result import Result
from treadle.findings.database import Database, RecordedStep
from treadle.findings.replay import Replayed
from treadle.findings.tokens import Recipe, read_token
from treadle.session.recipes import differing_options
from treadle.session.session import Session

REPLAYED = "replayed a failure of an earlier run; nothing else was explored"


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

    def result_of(self, session: Session) -> Result | None:
        """Return the first recorded failure that still shows, as a result; see `failure_of`."""
        failure = self.failure_of(session)
        return None if failure is None else _as_result(session, failure)

    def failure_of(self, session: Session) -> Failure | None:
        """Replay what failed before; return the first failure that shows, recorded.

        What does not fail any more is forgotten. What was found with other options is passed over.
        """
        for token in self.database.load(self.test):
            try:
                recipe = read_token(token)
            except TreadleError:  # of another version
                self.database.discard(self.test, token)
                continue
            is_race = recipe.kind == "race"
            if differing_options(session.program, recipe):
                continue
            if is_race and not session.settings.races:
                continue
            replayed = self._replayed(session, recipe, token)
            if replayed is None or not replayed.is_same:
                self.database.discard(self.test, token)
            if replayed is not None and replayed.failure is not None:
                session.record(replayed.failure)
                return replayed.failure
        session.program.know(())
        return None

    def _replayed(self, session: Session, recipe: Recipe, token: str) -> Replayed | None:
        """Run a recorded schedule; None if it shows nothing, or the test has changed too much."""
        if not is_shown_by_schedule(recipe.kind):
            return None
        try:
            return session.rerun(recipe, recorded=self.steps(token))
        except ScheduleMismatch:
            return None

    def keep(self, failure: Failure) -> bool:
        """Keep a failure for the next run; tell whether that was possible."""
        is_repeatable = bool(failure.trace) or not failure.schedule
        if not (is_shown_by_schedule(failure.kind) and is_repeatable):  # not shown again
            return True
        return self.database.save(self.test, failure.token, failure.trace[: failure.step + 1])


def _as_result(session: Session, failure: Failure) -> Result:
    return Result(
        session.program.name,
        session.algorithm,
        failures=[failure],
        failing=1,
        events=len(failure.schedule),
        replayed=len(failure.schedule),
        stopped_by="a failure of an earlier run",
        notes=[REPLAYED],
    )
