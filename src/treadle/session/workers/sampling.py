"""Samples by several hands: what is reported does not depend on who takes which, and when."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import Any

from treadle.explore.budget import used_up
from treadle.explore.progress import Progress
from treadle.session.workers.coordinator import Coordinator, State
from treadle.session.workers.hands import Hands
from treadle.session.workers.parts import Answer, Job, key_of
from treadle.session.workers.policy import Policy
from treadle.session.workers.spaces import SampleSpace
from treadle.session.workers.taken import Taken, with_more
from treadle.session.workers.task import FIRST_FAILURE


class SampleCoordinator(Coordinator):
    """Takes samples.

    Of each failure the sample with the lowest number is shown. If the first failure ends it, that
    is the failing sample with the lowest number of all: lower ones are waited for, higher ones are
    not counted. What waits is whatever was not taken, also of an earlier exploration.
    """

    def __init__(
        self, space: SampleSpace, hands: Hands, policy: Policy, state: State, **options: Any
    ) -> None:
        super().__init__(space, hands, policy, state, **options)
        self._max_executions = None  # the space says how many there are
        self._samples = space
        state.counts.clear()
        state.failures.clear()
        if state.samples and not (space.work.stop_on_failure and self._reason == FIRST_FAILURE):
            state.samples[-1] = replace(state.samples[-1], reason="")
        state.pending = deque(space.untaken(state.samples))

    @property
    def _reason(self) -> str:
        """Why no sample after the last one is wanted."""
        samples = self._state.samples
        return samples[-1].reason if samples else ""

    def run(self, seconds: float | None = None) -> None:
        """Take all samples, or those up to the first that fails; then add them up."""
        super().run(seconds)
        state = self._state
        for taken in state.samples:
            state.counts += taken.counts
            for failure in taken.failures:
                state.failures.setdefault(key_of(failure), failure)
        most = self._space.work.max_executions
        if state.stopped_by or state.pending:
            return
        state.stopped_by = self._reason or used_up("max_executions", most)

    def _add(self, answer: Answer, job: Job) -> None:
        """Keep an answer by the numbers of its samples."""
        (part,) = job.parts
        first: int = part.what.start
        end = answer.at + 1 if answer.stopped_by else part.what.stop
        if answer.left:
            end = answer.left[0].what.start
        state = self._state
        if first < end:
            numbers = range(first, end)
            more = Taken(numbers, answer.counts, answer.failures, answer.stopped_by)
            state.samples = with_more(state.samples, more)
        self._note(answer)
        state.parts += answer.done
        state.pending.extendleft(reversed(answer.left))
        if self._reason:
            self._forget_later_ones(state.samples[-1].numbers.stop)

    def _forget_later_ones(self, end: int) -> None:
        """Do not wait for samples after one that failed."""
        state = self._state
        state.pending = deque(part for part in state.pending if part.what.start < end)
        self._flying = {
            number: job for number, job in self._flying.items() if job.parts[0].what.start < end
        }

    def _is_more(self) -> bool:
        """Tell whether there is anything to do: nothing new after a failure that ends it."""
        if self._reason:
            return bool(self._state.pending or self._flying)
        return super()._is_more()

    def progress(self, *, is_final: bool = False) -> Progress:
        """Say how many samples were taken."""
        taken = sum(one.counts["executions"] for one in self._state.samples)
        return replace(super().progress(is_final=is_final), executions=taken, estimate=None)
