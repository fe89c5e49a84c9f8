"""Several algorithms on one program, side by side: what each did, and whether they agree."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from treadle.core.failure import Failure, without_addresses
from treadle.core.result import Result
from treadle.report.as_json import result_as_dict, reversed_at, sources_as_dict

COMPARISON_SCHEMA = "treadle.comparison/1"

Finding = tuple[str, str]
"""Kind and message of a failure: what algorithms have to agree on."""

_INCOMPARABLE = ("livelock", "race", "budget", "nondeterminism")
"""Kinds of which one algorithm may find more than another that is right as well."""
_HEADER = ("algorithm", "executions", "blocked", "events", "time", "failed", "covers")


def finding_of(failure: Failure) -> Finding:
    """Return what is the same in every execution that shows this failure."""
    if failure.waits:  # the order of the waits depends on the execution
        return failure.kind, "; ".join(sorted(map(str, failure.waits)))
    return failure.kind, f"{failure.process}: {without_addresses(failure.message)}"


def findings_of(result: Result) -> set[Finding]:
    """Return the failures that another algorithm has to find as well."""
    return {finding_of(failure) for failure in result.failures if failure.kind not in _INCOMPARABLE}


@dataclass(frozen=True, slots=True)
class Comparison:
    """The results of several algorithms; `sampling` names those that cannot cover a space."""

    target: str
    results: Sequence[Result]
    sampling: frozenset[str]

    @property
    def covering(self) -> list[Result]:
        """The results that cover the whole space."""
        return [result for result in self.results if result.complete]

    @property
    def findings(self) -> set[Finding]:
        """What the algorithms that covered the space found."""
        return set().union(*map(findings_of, self.covering))

    def disagreements(self) -> list[str]:
        """Say where two algorithms contradict each other.

        Those that covered the space must have found the same; the others, nothing beyond that.
        """
        if not self.covering:
            return []
        found = self.findings
        said = []
        for result in self.results:
            mine = findings_of(result)
            if result.complete:
                said += [f"{result.algorithm} missed {_words(one)}" for one in sorted(found - mine)]
            said += [
                f"{result.algorithm} found {_words(one)}, no algorithm that covers the space did"
                for one in sorted(mine - found)
            ]
        return said

    def as_dict(self) -> dict[str, Any]:
        """Return a dictionary of schema `treadle.comparison/1`: results and disagreements."""
        results = [result_as_dict(result) for result in self.results]
        return {
            "schema": COMPARISON_SCHEMA,
            "target": self.target,
            "disagreements": self.disagreements(),
            "results": results,
            "sources": sources_as_dict([place for one in results for place in reversed_at(one)]),
        }

    def in_words(self) -> str:
        """Return a table, and below it whether the algorithms agree."""
        stopped = [
            f"{result.algorithm} stopped by {result.stopped_by}"
            for result in self.results
            if result.stopped_by and result.algorithm not in self.sampling
        ]
        return "\n".join([self.target, "", *self._table(), "", *stopped, *self._conclusion()])

    def _table(self) -> list[str]:
        rows = [_HEADER, *(self._row(result) for result in self.results)]
        widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADER))]
        return [
            "  ".join(
                [row[0].ljust(widths[0])]
                + [cell.rjust(width) for cell, width in zip(row[1:-1], widths[1:-1], strict=True)]
                + [row[-1]]
            )
            for row in rows
        ]

    def _row(self, result: Result) -> tuple[str, ...]:
        covered = "yes" if result.complete else "no"
        return (
            result.algorithm,
            f"{result.executions:,}",
            f"{result.blocked:,}",
            f"{result.events:,}",
            f"{result.seconds:.2f} s",
            str(len(result.failures)),
            "samples" if result.algorithm in self.sampling else covered,
        )

    def _conclusion(self) -> list[str]:
        count = len(self.covering)
        if not count:
            return ["No algorithm covered the space, so there is nothing to compare."]
        if wrong := self.disagreements():
            return [f"DISAGREEMENT: {one}" for one in wrong]
        who = (
            f"All {count} algorithms that covered the space agree"
            if count > 1
            else (f"Only {self.covering[0].algorithm} covered the space")
        )
        if not self.findings:
            return [f"{who}: no interleaving fails."]
        return [f"{who}:", *(f"  {_words(one)}" for one in sorted(self.findings))]


def comparison_in_text(comparison: Comparison) -> str:
    """Return a comparison as a file to read."""
    return comparison.in_words() + "\n"


def comparison_in_json(comparison: Comparison) -> str:
    """Return a comparison as a file for other programs."""
    return json.dumps(comparison.as_dict(), indent=2) + "\n"


def _words(finding: Finding) -> str:
    kind, message = finding
    return f"{kind}: {message}"
