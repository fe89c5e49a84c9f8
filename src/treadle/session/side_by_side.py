"""Independent searches side by side, each in a process of its own where that is possible.

A process is a copy of this one: what is explored need not be sent to it, only what it finds is
sent back. Where there are no such copies, or other threads run that a copy would lack, the searches
come one after the other.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any, TypeVar

from treadle.core.errors import TreadleBug, TreadleError

Found = TypeVar("Found")


def side_by_side(
    jobs: Sequence[Callable[[], Found]],
    workers: int,
    is_enough: Callable[[Found], bool] | None = None,
) -> list[Found | None]:
    """Return what each job returns; None for those that were not done since there was enough."""
    workers = min(workers, len(jobs))
    if workers > 1 and can_copy_process():
        return _Copies(jobs, workers, is_enough).done()
    found: list[Found | None] = [None] * len(jobs)
    for at, job in enumerate(jobs):
        outcome = job()
        found[at] = outcome
        if is_enough is not None and is_enough(outcome):
            break
    return found


def can_copy_process() -> bool:
    """Tell whether this process can be copied safely."""
    return hasattr(os, "fork") and threading.active_count() == 1


class _Copies:
    """Jobs in copies of this process, a certain number at a time."""

    def __init__(
        self,
        jobs: Sequence[Callable[[], Any]],
        workers: int,
        is_enough: Callable[[Any], bool] | None,
    ) -> None:
        self._jobs = list(enumerate(jobs))
        self._workers = workers
        self._is_enough = is_enough
        self._context = multiprocessing.get_context("fork")
        self._running: dict[Connection, tuple[int, Any]] = {}
        self._found: list[Any] = [None] * len(jobs)

    def done(self) -> list[Any]:
        """Run all jobs, or as many as it takes."""
        try:
            while self._jobs or self._running:
                while self._jobs and len(self._running) < self._workers:
                    self._start()
                for ended in wait(list(self._running)):
                    if self._take(ended):  # type: ignore[arg-type]
                        return self._found
        finally:
            for _, process in self._running.values():
                process.terminate()
                process.join()
        return self._found

    def _start(self) -> None:
        at, job = self._jobs.pop(0)
        here, there = self._context.Pipe(duplex=False)
        process = self._context.Process(target=_work, args=(job, there), daemon=True)
        process.start()
        there.close()
        self._running[here] = (at, process)

    def _take(self, ended: Connection) -> bool:
        """Take what a job returned; tell whether that is enough."""
        at, process = self._running.pop(ended)
        try:
            error, outcome = ended.recv()
        except EOFError:
            error, outcome = TreadleBug("a process that searched for a deadlock ended early"), None
        finally:
            ended.close()
            process.join()
        if error is not None:
            raise error
        self._found[at] = outcome
        return self._is_enough is not None and self._is_enough(outcome)


def _work(job: Callable[[], object], there: Connection) -> None:
    """Do a job in a copy, and send back what it returns, or what a user is to be told."""
    try:
        there.send((None, job()))
    except TreadleError as error:
        there.send((error, None))
    except BaseException as error:
        there.send((TreadleBug(f"{type(error).__name__}: {error}"), None))
    finally:
        there.close()
