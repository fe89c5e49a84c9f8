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
from treadle.core.errors import ScheduleMismatch
from treadle.core.result import Failure, Result
from treadle.explore.progress import Listener
from treadle.findings.memory import Memory
from treadle.findings.replay import Replayed
from treadle.findings.shrink.shrinking import shrink
from treadle.findings.tokens import read_token
from treadle.plugin.executions import Executions, Left
from treadle.plugin.layout import Layout
from treadle.plugin.repeated import Phase, RepeatedItem, WiderFixture
from treadle.plugin.verdict import Verdict
from treadle.report.line import Line, joined
from treadle.session.settings import Settings

Done = TypeVar("Done")


@dataclass(frozen=True, slots=True)
class Checked:
    """A test that was checked."""

    verdict: Verdict
    failure: Failure | None = None
    """The failure to show, from the execution whose output is shown."""
    report: Sequence[Line] = ()
    """The failure for people to read."""
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
        memory: Memory | None,
        listener: Listener | None,
        layout: Layout,
    ) -> None:
        self._repeated = repeated
        self._settings = settings
        self._memory = memory
        self._listener = listener
        self._layout = layout
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
        """Try the failing interleavings of earlier runs."""
        memory = self._memory
        if memory is None or memory.is_empty:
            return None
        program = as_program(self._executions, **self._settings.for_threads())
        failure = memory.failure_of(program, races=self._settings.races)
        return None if failure is None else self._shown(Verdict.of_recorded(failure), failure)

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
        if self._memory is not None:
            self._memory.keep(failure)
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
        """Lay a failure out; then run it once more with its output shown."""
        token, report = failure.token, self._layout.remark(remark)
        if failure.schedule or failure.exception is None:  # else interleavings do not matter
            report = joined([self._layout.failure(failure), report])
        again = None
        # A nondeterministic program may go elsewhere this time.
        with contextlib.suppress(ScheduleMismatch):
            again = self._run(token, shown=True).failure
        if again is None or again.kind != failure.kind:
            again = failure
        return Checked(verdict, again, report, token, self._phase(again))

    def _phase(self, failure: Failure) -> Phase:
        """Return the phase of the test that the last execution failed in."""
        in_test = failure.exception is not None and failure.process == "main"
        return self._repeated.failed_in if in_test else "call"

    def _run(self, token: str, *, shown: bool = False) -> Replayed:
        """Run one interleaving; what it takes to learn about the program is never shown."""
        recorded = () if self._memory is None else self._memory.steps(token)
        options = options_of(read_token(token))
        options = {
            name: value for name, value in options.items() if value is not None and name != "races"
        }
        program = as_program(self._executions, **options, watchdog=self._settings.watchdog)
        with self._executions.shown() if shown else contextlib.nullcontext():
            return rerun(program, token, recorded=recorded)
