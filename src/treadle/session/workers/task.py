"""A task: parts in, figures, failures and what is left out. A pure function of its job.

It may be run twice, or lost, or killed in the middle: what counts is the one answer that the
coordinator takes. Only finished parts are counted.
"""

from __future__ import annotations

import time
from dataclasses import replace

from treadle.core.errors import TreadleBug, TreadleError
from treadle.core.failure import Failure
from treadle.core.program import Program, Restart
from treadle.explore.budget import is_used_up
from treadle.explore.search import GIVEN_UP, Search
from treadle.session.workers.parts import Answer, Job, Part, Unfinished, begun, counts_of
from treadle.session.workers.spaces import Space, cpu_seconds

FIRST_FAILURE = "the first failure"

_clock = time.perf_counter
"""Taken before any program is under control."""


class OutOfMemory(BaseException):
    """The test ran out of memory: whoever explores is no use any more."""

    status = 77
    """How a process ends that explored it."""


class Tasks:
    """Does jobs, one after the other, in one process."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self._work = space.work
        self._is_repeated = False
        """Whether an execution was run twice here, to see whether it does the same."""

    @property
    def program(self) -> Program:
        """What is explored."""
        return self._work.program

    @property
    def test(self) -> object:
        """The same, as it was given."""
        return self._work.test

    def done(self, job: Job) -> Answer:
        """Do a job; whatever goes wrong is in the answer."""
        began = cpu_seconds()
        answer = Answer(job.number)
        program = self._work.program
        if program.knowledge() != job.knowledge:
            program.know(job.knowledge)
        try:
            self._explore(job, answer)
        except Restart:
            answer = Answer(job.number, learned=program.knowledge())
        except (TreadleError, TreadleBug) as error:
            answer.error = error
        except Exception as error:
            answer.error = TreadleBug(f"{type(error).__name__}: {error}")
        answer.notes = program.notes(has_ended=True)
        answer.escapes = program.escapes()
        answer.rests_on = program.rests_on()
        answer.repeated = program.repeated()
        answer.seconds = cpu_seconds() - began
        return answer

    def _explore(self, job: Job, answer: Answer) -> None:
        began, began_at = cpu_seconds(), _clock()
        for at, part in enumerate(job.parts):
            if job.only_divide:
                answer.left += self.space.divided(part, job)
                continue
            is_late = cpu_seconds() - began >= job.quantum or self.space.is_idle()
            is_over = answer.stopped_by or answer.unfinished or self.space.is_over()
            rest = _what_is_left_of(job, begun(answer.counts), _clock() - began_at)
            if at and (is_over or is_late or rest is None):
                answer.left += job.parts[at:]
                return
            self._explore_part(part, rest or job, answer)

    def _explore_part(self, part: Part, job: Job, answer: Answer) -> None:
        space = self.space
        search = space.search(part, job)
        search.repeats_first = not self._is_repeated
        result = search.explore_part()
        self._is_repeated = True
        answer.failures += map(as_data, result.failures)
        answer.deepest = max(answer.deepest, result.peak_nodes)
        answer.ran += space.ran()
        if search.has_ended:
            self._finish(part, search, answer)
        elif not _is_left(result.stopped_by):
            self._stop(part, search, answer)
        elif not space.loses:
            self._keep(search, answer)
            answer.left += space.left(search, part)
            answer.is_late = is_used_up(result.stopped_by, "timeout")
        elif result.stopped_by == GIVEN_UP:
            answer.lost += begun(counts_of(result))
            answer.left += space.left(search, part)
        else:
            answer.is_late = is_used_up(result.stopped_by, "timeout")
            answer.unfinished.append(Unfinished(part, counts_of(result)))

    def _finish(self, part: Part, search: Search, answer: Answer) -> None:
        self._keep(search, answer)
        answer.incomplete = answer.incomplete or search.result.stopped_by
        answer.done += 1
        answer.share += part.share

    def _keep(self, search: Search, answer: Answer) -> None:
        """Take over what nobody explores again, and whether something is missing in it."""
        answer.counts += counts_of(search.result)
        answer.incomplete = answer.incomplete or search.left_out

    def _stop(self, part: Part, search: Search, answer: Answer) -> None:
        """Take note of what ends the whole search; somebody may go on all the same, some day."""
        result, space = search.result, self.space
        if space.loses:
            answer.unfinished.append(Unfinished(part, counts_of(result)))
        else:
            self._keep(search, answer)
            answer.left += space.left_behind(search, part)
        answer.stopped_by = result.stopped_by or FIRST_FAILURE
        answer.at = search.algorithm.number


def _is_left(reason: str) -> bool:
    """Tell whether somebody is to go on where a search has ended."""
    return reason == GIVEN_UP or is_used_up(reason, "max_executions", "timeout")


def _what_is_left_of(job: Job, executions: int, seconds: float) -> Job | None:
    """Return a job with what its finished parts leave of its budgets; None if that is nothing."""
    most, timeout = job.max_executions, job.timeout
    if most is not None:
        most -= executions
    if timeout is not None:
        timeout -= seconds
    if (most is not None and most <= 0) or (timeout is not None and timeout <= 0):
        return None
    return replace(job, max_executions=most, timeout=timeout)


def as_data(failure: Failure) -> Failure:
    """Return what can be sent of a failure: exceptions, and what they refer to, stay here."""
    if isinstance(failure.exception, MemoryError):
        raise OutOfMemory
    return replace(failure, exception=None)
