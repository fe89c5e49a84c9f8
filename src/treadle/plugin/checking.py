"""One test, from its recorded failures to its verdict.

What failed in an earlier run is tried first. Then the test is explored. A failure is shrunk, kept
in the database, put into words, and run once more with its output shown: so what pytest captures,
and what `--pdb` stops in, is the failing execution.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from treadle.api import as_program, called_plainly, explore, options_of, rerun
from treadle.database import Database
from treadle.errors import ScheduleMismatch, TreadleError
from treadle.explore.progress import Listener
from treadle.plugin.executions import Executions, Left
from treadle.plugin.repeated import Phase, RepeatedItem, WiderFixture
from treadle.plugin.verdict import Verdict
from treadle.program import StepRecord
from treadle.replay import Replayed
from treadle.result import Failure, Result
from treadle.settings import Settings
from treadle.shrink import shrink
from treadle.token import Recipe, read_token

Done = TypeVar("Done")


@dataclass(frozen=True, slots=True)
class Checked:
    """A test that was checked."""

    verdict: Verdict
    failure: Failure | None = None
    """The failure to show, from the execution whose output is shown."""
    report: str = ""
    """The failure in words."""
    token: str = ""
    """The failing interleaving, for a replay."""
    phase: Phase = "call"
    """The phase that pytest is to report the failure for."""
    skipped: BaseException | None = None
    """What every execution was skipped with."""


class Check:
    """Checks one test."""

    def __init__(
        self,
        repeated: RepeatedItem,
        settings: Settings,
        *,
        name: str,
        database: Database | None,
        listener: Listener | None,
        in_words: Callable[[Failure], str],
    ) -> None:
        self._repeated = repeated
        self._settings = settings
        self._name = name
        self._database = database
        self._listener = listener
        self._in_words = in_words
        self._executions = Executions(repeated)

    def check(self) -> Checked:
        """Try what failed before; if nothing of it fails any more, explore."""
        return self._guarded(lambda: self._recorded() or self._explored())

    def replay(self, token: str) -> Checked:
        """Run exactly the interleaving of a token."""
        return self._guarded(lambda: self._replayed(token))

    def _guarded(self, what: Callable[[], Done]) -> Done:
        """Do something that runs the test; set fixtures of wider scopes up when it needs them."""
        output = sys.stdout, sys.stderr
        try:
            with called_plainly():
                while True:
                    try:
                        return what()
                    except WiderFixture as needed:
                        self._repeated.set_up_wider(needed)
        except Left as left:
            raise left.reason from None
        finally:
            sys.stdout, sys.stderr = output
            self._executions.close()

    # Three ways to a verdict

    def _recorded(self) -> Checked | None:
        """Try the failing interleavings of earlier runs; forget those that do not fail any more."""
        if self._database is None:
            return None
        for token in self._database.load(self._name):
            try:
                if not self._is_asked_for(read_token(token)):
                    continue
                replayed = self._run(token)
            except WiderFixture:
                raise
            except TreadleError:  # the test has changed, or the token is of another version
                replayed = None
            if replayed is not None and replayed.failure is not None and replayed.is_same:
                return self._shown(Verdict.of_recorded(replayed.failure), replayed.failure)
            self._database.discard(self._name, token)
        return None

    def _is_asked_for(self, recipe: Recipe) -> bool:
        """Tell whether an exploration with the present settings could find a recorded failure."""
        settings, found_with = self._settings, recipe.options
        return (
            recipe.granularity in ("", settings.granularity)
            and found_with.get("instrument", ()) == settings.instrument
            and found_with.get("thread_exceptions", True) == settings.thread_exceptions
            and found_with.get("races", False) in (False, settings.races)
        )

    def _explored(self) -> Checked:
        result = explore(
            self._executions, **self._settings.for_exploring(), listener=self._listener
        )
        verdict = Verdict.of_result(result)
        if not result.failures:
            return Checked(verdict, skipped=self._skipped(result))
        failure, remark = result.failures[0], ""
        if self._settings.shrink:
            shrunk = shrink(failure)
            failure = shrunk.failure
            if shrunk.after < shrunk.before:
                remark = f"This interleaving was {shrunk}."
        shown = self._shown(verdict, failure, remark)
        if self._database is not None and failure.kind != "nondeterminism":
            self._database.save(self._name, shown.token, _steps_of(failure))
        return shown

    def _replayed(self, token: str) -> Checked:
        replayed = self._run(token)
        if replayed.failure is not None:
            verdict = Verdict.of_replay(replayed.failure)
            return self._shown(verdict, replayed.failure, str(replayed))
        self._run(token, shown=True)
        return Checked(Verdict.of_replay(None, str(replayed)))

    def _skipped(self, result: Result) -> BaseException | None:
        return self._executions.skipped if result.cut and not result.executions else None

    # The failing execution

    def _shown(self, verdict: Verdict, failure: Failure, remark: str = "") -> Checked:
        """Put a failure into words; then run it once more with its output shown."""
        token, report = failure.token, ""
        if failure.schedule or failure.exception is None:
            report = self._in_words(failure)  # else it has nothing to do with interleavings
        again = None
        # A nondeterministic program may go elsewhere this time.
        with contextlib.suppress(ScheduleMismatch):
            again = self._run(token, shown=True).failure
        if again is None or again.kind != failure.kind:
            again = failure
        return Checked(
            verdict, again, "\n\n".join(filter(None, [report, remark])), token, self._phase(again)
        )

    def _phase(self, failure: Failure) -> Phase:
        """Return the phase of the test that the last execution failed in."""
        in_test = failure.exception is not None and failure.process == "main"
        return self._repeated.failed_in if in_test else "call"

    def _run(self, token: str, *, shown: bool = False) -> Replayed:
        """Run one interleaving; what it takes to learn about the program is never shown."""
        recorded = () if self._database is None else self._database.steps(self._name, token)
        options = options_of(read_token(token))
        options = {
            name: value for name, value in options.items() if value is not None and name != "races"
        }
        program = as_program(self._executions, **options, watchdog=self._settings.watchdog)
        with self._executions.shown() if shown else contextlib.nullcontext():
            return rerun(program, token, recorded=recorded)


def _steps_of(failure: Failure) -> Sequence[StepRecord]:
    try:
        return failure.trace
    except ScheduleMismatch:
        return ()
