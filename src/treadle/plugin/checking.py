"""One test, from its recorded failures to its verdict.

What failed in an earlier run is tried first. Then the test is explored. A failure is shrunk, kept
in the database, put into words, and run once more with its output shown: so what pytest captures,
and what `--pdb` stops in, is the failing execution.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from treadle.core.errors import ScheduleMismatch
from treadle.core.failure import Failure
from treadle.core.result import Result
from treadle.explore.progress import Listener
from treadle.findings.replay import Replayed
from treadle.findings.tokens import Recipe, read_token
from treadle.plugin.elsewhere import name_of
from treadle.plugin.executions import Executions
from treadle.plugin.layout import Layout
from treadle.plugin.repeated import Phase, RepeatedItem
from treadle.plugin.verdict import Verdict
from treadle.report.line import Line, joined
from treadle.session.memory import Memory
from treadle.session.recipes import options_of
from treadle.session.session import Session, opened
from treadle.session.settings import Settings
from treadle.session.workers.coordinator import INTERRUPTED as BY_HAND


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
    result: Result | None = None
    """What was explored, if anything was."""


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
        is_reported: bool = False,
    ) -> None:
        self._repeated = repeated
        self._settings = settings
        self._memory = memory
        self._listener = listener
        self._layout = layout
        self._is_reported = is_reported
        """Whether all failures of a result go into a file."""
        self._executions = Executions(repeated)

    def check(self) -> Checked:
        """Try what failed before; if nothing of it fails any more, explore."""
        return self._executions.guarded(self._checked)

    def replay(self, token: str) -> Checked:
        """Run exactly the interleaving of a token."""
        return self._executions.guarded(lambda: self._replayed(token))

    # Three ways to a verdict

    def _checked(self) -> Checked:
        with opened(self._executions, self._settings) as session:
            session.name = name_of(self._repeated)
            return self._recorded(session) or self._explored(session)

    def _recorded(self, session: Session) -> Checked | None:
        """Try the failing interleavings of earlier runs."""
        if self._memory is None or self._memory.is_empty:
            return None
        result = self._memory.result_of(session)
        if result is None:
            return None
        failure = result.failures[0]
        shown = self._shown(session, Verdict.of_recorded(failure), failure)
        return replace(shown, result=result)

    def _explored(self, session: Session) -> Checked:
        result = session.explore(listener=self._listener, observe=self._is_reported)
        if result.stopped_by == BY_HAND:
            raise KeyboardInterrupt  # workers were ended in order; pytest is to end, too
        verdict = Verdict.of_result(result)
        if not result.failures:
            return Checked(verdict, skipped=self._skipped(result), result=result)
        failure, remark = result.failures[0], ""
        if self._settings.shrink:
            shrunk = session.shrink(failure)
            failure = shrunk.failure
            if shrunk.after < shrunk.before:
                remark = f"This interleaving was {shrunk}."
        result.failures[0] = failure
        session.record(*(result.failures if self._is_reported else [failure]))
        shown = replace(self._shown(session, verdict, failure, remark), result=result)
        if self._memory is not None:
            self._memory.keep(failure)
        return shown

    def _replayed(self, token: str) -> Checked:
        recipe = read_token(token)
        settings = self._settings.changed(options_of(recipe), for_this_test=True)
        with opened(self._executions, settings) as session:
            replayed = self._run(session, recipe, token)
            if replayed.failure is not None:
                session.record(replayed.failure)
                verdict = Verdict.of_replay(replayed.failure)
                shown = self._shown(session, verdict, replayed.failure, str(replayed))
                return replace(shown, result=replayed.as_result(session.program.name))
            self._run(session, recipe, token, shown=True)
            result = replayed.as_result(session.program.name)
        return Checked(Verdict.of_replay(None, str(replayed)), result=result)

    def _skipped(self, result: Result) -> BaseException | None:
        return self._executions.skipped if result.cut and not result.executions else None

    # The failing execution

    def _shown(
        self, session: Session, verdict: Verdict, failure: Failure, remark: str = ""
    ) -> Checked:
        """Lay a failure out; then run it once more with its output shown."""
        token, report = failure.token, self._layout.remark(remark)
        if failure.schedule or failure.exception is None:  # else interleavings do not matter
            report = joined([self._layout.failure(failure), report])
        again = None
        # A nondeterministic program may go elsewhere this time.
        with contextlib.suppress(ScheduleMismatch):
            again = self._run(session, read_token(token), token, shown=True).failure
        if again is None or again.kind != failure.kind:
            again = failure
        return Checked(verdict, again, report, token, self._phase(again))

    def _phase(self, failure: Failure) -> Phase:
        """Return the phase of the test that the last execution failed in."""
        in_test = failure.exception is not None and failure.process == "main"
        return self._repeated.failed_in if in_test else "call"

    def _run(
        self, session: Session, recipe: Recipe, token: str, *, shown: bool = False
    ) -> Replayed:
        """Run one interleaving."""
        recorded = () if self._memory is None else self._memory.steps(token)
        with self._executions.shown() if shown else contextlib.nullcontext():
            return session.rerun(recipe, recorded=recorded)
