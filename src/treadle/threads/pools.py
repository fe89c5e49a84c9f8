"""`concurrent.futures.ThreadPoolExecutor` under control, patched in place.

Which worker takes a job makes no difference to most programs, so it is left open only where the
schedule decides it in earnest:

- as long as there are fewer workers than `max_workers`, a job comes with a new worker of its own,
  or goes to one that is idle for sure: the submitting task has seen the outcome of its last job.
  (CPython may start one more worker there, or use one that happens to be idle.)
- then jobs go to a common backlog, from which whoever is free takes the oldest.

So a submission is at most two events, to hand the job over and to start a worker; taking a job from
the backlog is one, and the outcome is one of the future. Where only one task uses a pool, handing a
job to a new worker is no event of its own.

Idle workers of a pool that nobody shuts down are no deadlock: the interpreter would end them.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import _base, thread
from typing import Any

from treadle.errors import TreadleBug, TreadleError
from treadle.events import OPEN, Codes, Mode, code, mode_of
from treadle.program import CannotStepError
from treadle.threads import control, hooks, shared
from treadle.threads.facets import FacetTable, act
from treadle.threads.futures import begin_work, cancel_codes, cancel_pending, is_to_run, table_of
from treadle.threads.patches import Patches
from treadle.threads.scheduler import Abort
from treadle.threads.shared import Children
from treadle.threads.task import Operation, Task
from treadle.threads.thread import task_of

Executor = thread.ThreadPoolExecutor

_NOT_FOR_FUTURES = (Abort, TreadleError, TreadleBug, CannotStepError, KeyboardInterrupt)
"""Exceptions that are no outcome of a job."""
_BROKEN = "A thread initializer failed, the thread pool is not usable anymore"


class _Job:
    """A call to be made by a worker."""

    __slots__ = ("args", "fn", "future", "is_open", "kwargs", "name", "number", "submitter")

    def __init__(self, fn: Callable[..., Any], args: Any, kwargs: Any) -> None:
        self.fn = fn
        self.args = args
        self.kwargs = kwargs
        self.future: Any = _base.Future()
        self.is_open = True
        """Whether nobody has taken it, nor cancelled it with the pool."""
        self.submitter = control.task()
        self.number = self.submitter.scratch["jobs"] = self.submitter.scratch.get("jobs", 0) + 1
        self.name = f"{getattr(fn, '__name__', 'job')}()"

    def run(self) -> None:
        """Make the call and give its outcome to the future."""
        try:
            result = self.fn(*self.args, **self.kwargs)
        except _NOT_FOR_FUTURES:
            raise
        except BaseException as error:
            self.future.set_exception(error)
        else:
            self.future.set_result(result)


class _Worker:
    """A thread of a pool."""

    __slots__ = ("inbox", "last", "thread")

    def __init__(self, worker: threading.Thread, job: _Job) -> None:
        self.thread = worker
        self.inbox: deque[_Job] = deque([job])
        """Jobs that only it may take."""
        self.last: _Job | None = job
        """The last job that it was given, None once it took one from the backlog."""

    def is_idle_for(self, me: Task) -> bool:
        """Tell whether a task knows that this worker has nothing to do."""
        if self.last is None:
            return False
        table = table_of(self.last.future)
        return table is not None and me.number in table.seen


class PoolTable(FacetTable):
    """The locations of a pool."""

    __slots__ = ()

    def order(self, mode: Mode) -> int:
        """Return the code of an access to the order of submissions."""
        return self.code(mode, "order", " order")

    def takers(self, mode: Mode) -> int:
        """Return the code of an access to who takes jobs from the backlog."""
        return self.code(mode, "takers", " takers")

    def end(self, mode: Mode) -> int:
        """Return the code of an access to whether the pool is shut down."""
        return self.code(mode, "end", " shutdown")

    def job(self, job: _Job, mode: Mode) -> int:
        """Return the code of an access to a job; named by the doings of who submitted it."""
        name = f" job {job.number} of {job.submitter.name}"
        return self.code(mode, ("job", job.submitter.number, job.number), name)

    def happens(self, what: str) -> bool:
        """Tell whether something happens to pools."""
        return self.shared.happens("pool", what)

    def note(self, what: str) -> None:
        """Note that something happens to pools."""
        self.shared.note("pool", what)


class _Pool:
    """The state of an executor in one execution."""

    __slots__ = (
        "backlog", "broken", "era", "executor", "initargs", "initializer", "is_shut", "jobs",
        "limit", "owner", "prefix", "uses_backlog", "workers",
    )  # fmt: skip

    def __init__(self, executor: Any, era: object) -> None:
        self.executor = executor
        self.era = era
        self.limit: int = executor._max_workers
        self.prefix = executor._thread_name_prefix
        self.initializer = executor._initializer
        self.initargs = executor._initargs
        self.workers: list[_Worker] = []
        self.backlog: deque[_Job] = deque()
        self.uses_backlog = False
        self.jobs: list[_Job] = []
        self.is_shut: bool = executor._shutdown
        self.broken: Any = executor._broken
        self.owner: Task | None = None
        """The one task that uses it."""

    def table(self) -> PoolTable | None:
        """Return its locations, None while nobody else can reach it."""
        table = hooks.published.get(id(self.executor))
        return table if isinstance(table, PoolTable) else None

    def is_shared(self, me: Task) -> bool:
        """Tell whether several tasks use the pool, of which this is one."""
        table = self.table()
        if table is None:
            return False
        if self.owner is None:
            self.owner = me
        elif self.owner is not me:
            table.note("shared")
        return table.happens("shared")

    # Submitting

    def submit(self, job: _Job) -> None:
        """Hand a job to a worker."""
        me = control.task()
        control.publish(self.executor, "pool")
        for value in (job.fn, job.args, job.kwargs):
            control.publish(value, job.name)
        control.publish(job.future, job.name)
        table = self.table()
        assert table is not None
        is_shared = self.is_shared(me)
        worker = None if is_shared else self._choose(me)
        if is_shared or worker is None or worker.thread._started.is_set():
            control.announce((table.order(Mode.WRITE), table.job(job, Mode.WRITE)))
            worker = self._choose(me) if is_shared else worker
        self._refuse()
        self.jobs.append(job)
        if worker is None:
            self.uses_backlog = True
            table.note("backlog")
            self.backlog.append(job)
            return
        worker.inbox.append(job)
        worker.last = job
        if not worker.thread._started.is_set():
            self.workers.append(worker)
            self._mirror()
            worker.thread.start()

    def _refuse(self) -> None:
        """Refuse jobs that will never be done."""
        if self.broken:
            raise thread.BrokenThreadPool(self.broken)
        if self.is_shut:
            raise RuntimeError("cannot schedule new futures after shutdown")

    def _choose(self, me: Task) -> _Worker | None:
        """Return the worker for the next job, perhaps a new one; None for the backlog."""
        if self.uses_backlog:
            return None
        for worker in self.workers:
            if worker.is_idle_for(me):
                return worker
        if len(self.workers) == self.limit:
            return None
        return self._new_worker()

    def _new_worker(self) -> _Worker:
        raise NotImplementedError
