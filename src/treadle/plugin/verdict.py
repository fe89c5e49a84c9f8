"""What became of a test: a few plain values, which travel with pytest's reports."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Literal

from treadle.core.counting import count
from treadle.core.failure import Failure
from treadle.core.result import Result
from treadle.explore.budget import is_used_up
from treadle.explore.registry import covers
from treadle.report.text import except_for

Outcome = Literal["verified", "failed", "incomplete", "sampled", "passed", "xfailed"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on one test; prints as one line."""

    outcome: Outcome
    executions: int = 1
    """Complete executions."""
    kind: str = ""
    """The kind of the failure."""
    origin: Literal["explored", "recorded", "replayed"] = "explored"
    """Where the interleaving came from that decided it."""
    stopped_by: str = ""
    estimate: float | None = None
    """Executions in all, of a search that ended early."""
    notes: tuple[str, ...] = ()
    escapes: tuple[str, ...] = ()
    """What it does not cover."""
    rests_on: tuple[str, ...] = ()
    """What it takes for granted."""
    where: str = ""
    """`file:line` of the failure, if it has one."""
    replay: str = ""
    """The command that replays the failure."""
    page: str = ""
    """The file of its HTML report."""

    @classmethod
    def of_result(cls, result: Result) -> Verdict:
        """Judge an exploration."""
        outcome: Outcome = "incomplete"
        if result.failures:
            outcome = "failed"
        elif result.complete:
            outcome = "verified"
        elif not covers(result.algorithm):
            outcome = "sampled"
        return cls(
            outcome,
            result.executions,
            kind=result.failures[0].kind if result.failures else "",
            stopped_by=result.stopped_by,
            estimate=result.estimate,
            notes=() if result.failures else tuple(result.notes),
            escapes=() if result.failures else tuple(result.escapes),
            rests_on=() if result.failures else tuple(result.rests_on),
        )

    @classmethod
    def of_recorded(cls, failure: Failure) -> Verdict:
        """Judge a failure of an earlier run that showed again."""
        return cls("failed", kind=failure.kind, origin="recorded")

    @classmethod
    def of_replay(cls, failure: Failure | None, remark: str = "") -> Verdict:
        """Judge the replay of one interleaving; `remark` says what differs from the record."""
        if failure is None:
            return cls("passed", origin="replayed", notes=(remark,) if remark else ())
        return cls("failed", kind=failure.kind, origin="replayed")

    def as_expected(self) -> Verdict:
        """Return the verdict on a test that was marked as failing."""
        return dataclasses.replace(self, outcome="xfailed")

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, for `from_dict`."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Verdict:
        """Read what `as_dict` returned, perhaps by way of JSON."""
        told = {name: tuple(values[name]) for name in ("notes", "escapes", "rests_on")}
        return cls(**{**values, **told})

    def __str__(self) -> str:
        if self.origin == "replayed":
            return f"{self.outcome} in the replay{': ' + self.kind if self.kind else ''}"
        if self.origin == "recorded":
            return f"{self.outcome} as in an earlier run: {self.kind}"
        runs = count(self.executions, "execution")
        if self.outcome == "verified":
            return "; ".join([f"verified{except_for(self.escapes)}", *self.rests_on]) + f", {runs}"
        if self.outcome in ("failed", "xfailed"):
            when = f"after {runs}" if self.executions else "in the first execution"
            return f"{self.outcome} {when}: {self.kind}"
        if self.outcome == "sampled":
            return f"sampled, {runs}, no failure found"
        return f"incomplete after {runs}, {self._left()}"

    def _left(self) -> str:
        is_by_budget = is_used_up(self.stopped_by, "max_executions", "max_steps", "timeout")
        if not is_by_budget or self.estimate is None or self.estimate <= self.executions:
            return f"stopped by {self.stopped_by}"
        return (
            f"about {self.estimate:,.0f} in all or more, "
            f"{self.executions / self.estimate:.1%} done or less"
        )
