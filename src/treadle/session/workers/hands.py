"""Who does jobs: what a coordinator wants of them, and the one that is this process itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from treadle.session.workers.parts import Answer, Job
from treadle.session.workers.task import Tasks


@dataclass(frozen=True, slots=True)
class Died:
    """A hand that ended in the middle of a job."""

    number: int
    """The job's."""
    how: str
    """In words: `killed by signal 9`."""


class Hands(ABC):
    """Processes that do jobs."""

    count: int
    """How many jobs can be under way."""
    each = 1
    """How many processes do one job."""

    @abstractmethod
    def submit(self, job: Job) -> None:
        """Let somebody who is idle do a job."""

    @abstractmethod
    def wait(self, seconds: float) -> list[Answer | Died]:
        """Return what was done; wait a while if nothing was."""

    def tell_idle(self, is_idle: bool) -> None:  # noqa: B027 - only on one machine
        """Let those at work know whether somebody has nothing to do."""

    def close(self) -> None:  # noqa: B027 - only if there are processes
        """End all, whatever they do."""


class Alone(Hands):
    """Jobs are done here, one after the other."""

    count = 1

    def __init__(self, tasks: Tasks) -> None:
        self._tasks = tasks
        self._jobs: list[Job] = []

    def submit(self, job: Job) -> None:
        """Do a job when somebody waits for it."""
        self._jobs.append(job)

    def wait(self, seconds: float) -> list[Answer | Died]:
        """Do the jobs."""
        jobs, self._jobs = self._jobs, []
        return [self._tasks.done(job) for job in jobs]
