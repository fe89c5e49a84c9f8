"""Executions towards the deadlocks that the source makes one suspect.

The lock orders of the code under test give candidates: cycles of "holds this and takes that". A
thread that stands where it closes its part of a cycle waits for the others to get to theirs, as far
as the algorithm leaves the order open. That decides which execution is tried first, and nothing
else. What the exploration saw then confirms candidates, or refutes them for this test.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from treadle.analyses.lock_order import Candidate, LockOrder, lock_order_of
from treadle.core.deadlocks import CONFIRMED, UNDECIDED, UNFEASIBLE
from treadle.core.failure import Failure
from treadle.core.frames import place_of_frame
from treadle.core.words import place_in_words
from treadle.explore.choosers import Choices, Chooser, Only
from treadle.python.accesses.calls import modules_under_test
from treadle.python.runtime.operation import Operation
from treadle.python.runtime.scheduler import Scheduler

_IN_WORDS = {
    CONFIRMED: "confirmed",
    UNFEASIBLE: "refuted: no execution of this test ends in it",
    UNDECIDED: "undecided: the search did not see everything",
}


class Towards:
    """The candidates of the code under test, and what leads to them."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler

    @cached_property
    def lock_order(self) -> LockOrder:
        """The analysis of all modules that are under test."""
        files = [getattr(sys.modules.get(name), "__file__", None) for name in modules_under_test]
        return lock_order_of(Path(one) for one in files if one and one.endswith(".py"))

    @cached_property
    def _closing(self) -> frozenset[str]:
        """Where a thread closes its part of a candidate, as `file:line`."""
        candidates = self.lock_order.candidates
        return frozenset[str]().union(
            *(_places(link) for candidate in candidates for link in links_of(candidate))
        )

    def preferring(self, choose: Chooser) -> Chooser:
        """Return a schedule that lets those wait who are about to close a cycle."""

        def towards(choices: Choices, last: int) -> int:
            enabled = choices.enabled()
            others = [process for process in enabled if not self._is_closing(process)]
            if others and len(others) < len(enabled):
                return choose(Only(others), last)
            return choose(choices, last)

        return towards if self._closing else choose

    def _is_closing(self, process: int) -> bool:
        """Tell whether a thread's next step is one that a cycle is closed by."""
        task = self._scheduler.alive.get(process)
        if task is None or task.fiber is None or not isinstance(task.doing, Operation):
            return False
        return place_in_words(place_of_frame(task.fiber.gr_frame)) in self._closing

    def verdicts(
        self, failures: Sequence[Failure], *, is_complete: bool
    ) -> list[tuple[Candidate, str]]:
        """Return each candidate with what a search that is over says about it."""
        otherwise = UNFEASIBLE if is_complete else UNDECIDED
        return [
            (one, CONFIRMED if any(is_shown_by(one, each) for each in failures) else otherwise)
            for one in self.lock_order.candidates
        ]

    def notes(self, failures: Sequence[Failure], *, is_complete: bool) -> list[str]:
        """Return the verdicts in words, and what the analysis did not understand."""
        found = [
            f"deadlock candidate {candidate.title} ({places_in_words(candidate)}): "
            f"{_IN_WORDS[verdict]}"
            for candidate, verdict in self.verdicts(failures, is_complete=is_complete)
        ]
        found = found or ["the source of the code under test shows no candidate for a deadlock"]
        return found + [f"deadlocks: {one}" for one in self.lock_order.not_understood]


def links_of(candidate: Candidate) -> Sequence[frozenset[tuple[str, int]]]:
    """Return for each link of a cycle the lines where a thread may stand that waits in it."""
    return [
        frozenset(
            (edge.place.file, line)
            for edge in link
            for line in range(edge.place.line, edge.place.last_line + 1)
        )
        for link in candidate.links
    ]


def _places(link: frozenset[tuple[str, int]]) -> frozenset[str]:
    return frozenset(map(place_in_words, link))


def is_shown_by(candidate: Candidate, failure: Failure) -> bool:
    """Tell whether threads wait at each link of a cycle in a failure."""
    waiting = {wait.where for wait in failure.waits}
    return all(waiting & _places(link) for link in links_of(candidate))


def places_in_words(candidate: Candidate) -> str:
    """Name the line of each link: `bank.py:12, bank.py:20`."""
    first = (link[0].place for link in candidate.links)
    return ", ".join(place_in_words((one.file, one.line)) for one in first)
