"""One test, from its recorded failures to its verdict.

What failed in an earlier run is tried first. Then the test is explored. A failure is shrunk, kept
in the database, put into words, and run once more with its output shown: so what pytest captures,
and what `--pdb` stops in, is the failing execution.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from treadle.api import as_program, called_plainly, explore, replay
from treadle.database import Database
from treadle.errors import ScheduleMismatch, TreadleError
from treadle.explore.progress import Listener
from treadle.plugin.executions import Executions, Left
from treadle.plugin.repeated import RepeatedItem, WiderFixture
from treadle.plugin.verdict import Verdict
from treadle.result import Failure, Result
from treadle.settings import Settings
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
    skipped: BaseException | None = None
    """What every execution was skipped with."""
    shrunk: str = ""
    """What shrinking achieved, in words."""


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
        return self._guarded(lambda: self._replayed(read_token(token)))

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
                recipe = read_token(token)
                failure = self._run_again(recipe)
            except WiderFixture:
                raise
            except TreadleError:
                failure = None
            if failure is not None and recipe.expects(failure):
                return self._shown(Verdict.of_recorded(failure), failure)
            self._database.discard(self._name, token)
        return None

    def _explored(self) -> Checked:
        result = explore(
            self._executions, **self._settings.for_exploring(), listener=self._listener
        )
        if not result.failures:
            return Checked(Verdict.of_result(result), skipped=self._skipped(result))
        failure = result.failures[0]
        shown = self._shown(Verdict.of_result(result), failure)
        if self._database is not None and shown.failure is not None:
            self._database.save(self._name, failure.token, failure.trace)
        return shown

    def _replayed(self, recipe: Recipe) -> Checked:
        failure = self._run_again(recipe, shown=True)
        report = "" if failure is None else self._in_words(failure)
        return Checked(Verdict.of_replay(failure), failure, report)

    def _skipped(self, result: Result) -> BaseException | None:
        return self._executions.skipped if result.cut and not result.executions else None

    # The failing execution

    def _run_again(self, recipe: Recipe, *, shown: bool = False) -> Failure | None:
        options = {"granularity": "access", **recipe.options}
        races = bool(options.pop("races", False))
        program = as_program(
            self._executions,
            **options,
            thread_exceptions=self._settings.thread_exceptions,
            watchdog=None if shown else self._settings.watchdog,
        )
        if not shown:
            return replay(program, recipe.schedule, races=races)
        with self._executions.shown():
            return replay(program, recipe.schedule, races=races)

    def _shown(self, verdict: Verdict, failure: Failure) -> Checked:
        """Put a failure into words; then run it once more with its output shown."""
        report = self._in_words(failure)
        assert failure._program is not None
        again = None
        try:
            with self._executions.shown():
                again = replay(
                    failure._program, failure.schedule, races=failure.kind == "race"
                )
        except ScheduleMismatch:  # of a nondeterministic program: it went elsewhere this time
            pass
        if again is None or again.kind != failure.kind:
            again = failure
        return Checked(verdict, again, report)
