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

import functools
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import _base, thread
from typing import Any

from treadle.core.errors import TreadleBug, TreadleError
from treadle.core.events import OPEN, Codes, Mode, code
from treadle.core.program import CannotStepError
from treadle.core.records import WaitKind
from treadle.core.words import Said
from treadle.python.accesses import calls
from treadle.python.runtime import control
from treadle.python.runtime.atoms import ATOMS
from treadle.python.runtime.deeds import Deed
from treadle.python.runtime.operation import Operation
from treadle.python.runtime.scheduler import Abort
from treadle.python.runtime.task import Task
from treadle.python.sharing.children import Children
from treadle.python.sharing.naming import name_of
from treadle.python.sharing.published import label_of, label_or_kind, published
from treadle.python.sharing.walks import register
from treadle.threads.primitives.facets import FacetTable, act
from treadle.threads.primitives.futures import (
    begin_work,
    cancel_codes,
    cancel_pending,
    is_to_run,
    table_of,
)
from treadle.threads.primitives.internals import initializer_of, runs_elsewhere
from treadle.threads.primitives.patches import Patches
from treadle.threads.primitives.thread import start_thread, task_of

Executor = thread.ThreadPoolExecutor

_NOT_FOR_FUTURES = (Abort, TreadleError, TreadleBug, CannotStepError, KeyboardInterrupt)
"""Exceptions that are no outcome of a job."""
_BROKEN = "A thread initializer failed, the thread pool is not usable anymore"


SUBMIT = Deed("submit to", label_or_kind, lambda _, job: Said(job.called))
SHUT_DOWN = Deed("shut down", label_or_kind)
JOIN_WORKERS = Deed("wait for workers of", label_or_kind)
TAKE_JOB = Deed("take job from", label_or_kind, lambda _, worker: worker.next_in_words())


def _is_new(value: Any) -> bool:
    """Tell whether something is to be published, so that it needs a name."""
    return type(value) not in ATOMS and id(value) not in published


class _Job:
    """A call to be made by a worker."""

    __slots__ = ("args", "called", "fn", "future", "kwargs", "name", "number", "submitter")

    def __init__(self, fn: Callable[..., Any], args: Any, kwargs: Any) -> None:
        self.fn = fn
        self.args = args
        self.kwargs = kwargs
        self.future: Any = _base.Future()
        self.submitter = control.task()
        self.number = self.submitter.scratch["jobs"] = self.submitter.scratch.get("jobs", 0) + 1
        self.called: str = getattr(fn, "__name__", "a job")
        self.name = f"{getattr(fn, '__name__', 'job')}()"

    def parts(self) -> Iterator[tuple[Any, str]]:
        """Yield what others can reach by the job, each with its name for people."""
        owner = getattr(self.fn, "__self__", None)
        if _is_new(owner):
            yield owner, name_of(owner, self.name)
        yield self.fn, self.name
        for index, value in enumerate(self.args):
            if _is_new(value):
                yield value, name_of(value, f"argument {index} of {self.name}")
        for name, value in self.kwargs.items():
            yield value, name
        yield self.future, self.name

    def begin(self, me: Task) -> Codes:
        """Mark it as running; return what that accesses."""
        return begin_work(self.future, me)

    def run(self) -> None:
        """Make the call and give its outcome to the future."""
        try:
            result = calls.resolve(self.fn)(*self.args, **self.kwargs)
        except _NOT_FOR_FUTURES:
            raise
        except BaseException as error:
            self.future.set_exception(error)
        else:
            self.future.set_result(result)


class _Worker:
    """A thread of a pool."""

    __slots__ = ("inbox", "last", "pool", "thread")

    def __init__(self, pool: _Pool) -> None:
        self.pool = pool
        self.thread: Any = threading.Thread(
            name=f"{pool.executor._thread_name_prefix or pool.executor}_{len(pool.workers)}",
            target=self.work,
        )
        self.inbox: deque[_Job] = deque()
        """Jobs that only it may take."""
        self.last: _Job | None = None
        """The last job that it was given, None once it took one from the backlog."""

    def is_idle_for(self, me: Task) -> bool:
        """Tell whether a task knows that this worker has nothing to do."""
        if self.last is None:
            return False
        table = table_of(self.last.future)
        return table is not None and me.number in table.seen

    def next_in_words(self) -> Said:
        """Name the job that it takes next."""
        jobs = self.inbox or self.pool.backlog
        return Said(jobs[0].name if jobs else "none left")

    def work(self) -> None:
        """Do one job after the other."""
        me = control.task()
        pool = self.pool
        if pool.initializer is not None:
            try:
                calls.resolve(pool.initializer)(*pool.initargs)
            except _NOT_FOR_FUTURES:
                raise
            except BaseException:
                _base.LOGGER.critical("Exception in initializer:", exc_info=True)
                pool.break_down()
                return
        try:
            if pool.initializer is None and not pool.looks_at_jobs():
                self.inbox[0].begin(me)  # it came with the first job
                self.inbox.popleft().run()
            while (job := self._next(me)) is not None:
                job.run()
        except _NOT_FOR_FUTURES:
            raise
        except BaseException:
            _base.LOGGER.critical("Exception in worker", exc_info=True)

    def _next(self, me: Task) -> _Job | None:
        """Return the next job to run, None when the pool is shut down."""
        pool = self.pool
        is_daemon = me.daemon
        while True:
            me.daemon = True  # while it is idle, nobody waits for it
            control.announce(_NextJob(self), TAKE_JOB, pool.executor, self)
            me.daemon = is_daemon
            table = pool.table()
            assert table is not None
            if self.inbox:
                job = self.inbox.popleft()
                codes: Codes = (table.job(job, Mode.NEED),)
            elif pool.backlog:
                job = pool.backlog.popleft()
                self.last = None
                codes = (table.takers(Mode.TAKE), table.job(job, Mode.NEED))
            else:
                act(me, table.ending())
                return None
            was = job.future._state
            act(me, (*codes, *job.begin(me)))
            if is_to_run(job.future, was):
                return job


class _NextJob(Operation):
    """Wait for a job, or for the end of the pool."""

    __slots__ = ("_worker",)

    kind = WaitKind.JOB

    def __init__(self, worker: _Worker) -> None:
        self._worker = worker

    def ready(self, task: Task) -> bool:
        """Tell whether there is a job, or never will be."""
        pool = self._worker.pool
        return bool(self._worker.inbox or pool.backlog or pool.is_shut)

    def pending(self, task: Task) -> Codes:
        """Return that a job has to be submitted, and perhaps taken before others do."""
        table = self._worker.pool.table()
        assert table is not None
        takes = (table.takers(Mode.TAKE),) if table.happens("backlog") else ()
        return (*takes, table.order(Mode.NEED))

    def describe(self) -> str:
        """Name the pool."""
        return f"a job of {label_of(self._worker.pool.executor, 'a pool')}"


class _JoinWorker(Operation):
    """Wait for the end of a worker, which may not even be started yet."""

    __slots__ = ("_alive", "_worker")

    kind = WaitKind.END

    def __init__(self, worker: _Worker) -> None:
        self._worker = worker
        self._alive = control.the_program().scheduler.alive

    def ready(self, task: Task) -> bool:
        """Tell whether the worker has ended."""
        target = task_of(self._worker.thread)
        return target is not None and target.number not in self._alive

    def pending(self, task: Task) -> Codes:
        """Return the join; nothing before the start, which cannot be held up."""
        target = task_of(self._worker.thread)
        return () if target is None else (code(target.number, Mode.JOIN),)

    def describe(self) -> str:
        """Name the worker."""
        return f"the end of {self._worker.thread._name}"

    def holders(self) -> list[Task]:
        """Return the worker."""
        target = task_of(self._worker.thread)
        return [] if target is None else [target]


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

    def ending(self) -> Codes:
        """Return what a worker accesses that ends.

        Where it might have got a job instead, had it come earlier, only a run can tell.
        """
        if self.happens("backlog") or self.happens("drained"):
            return (self.end(Mode.AWAIT), self.takers(Mode.AWAIT))
        return (self.end(Mode.NEED),)


class _Pool:
    """The state of an executor in one execution."""

    __slots__ = (
        "backlog", "broken", "era", "executor", "initargs", "initializer", "is_own", "is_shut",
        "jobs", "owner", "uses_backlog", "workers",
    )  # fmt: skip

    def __init__(self, executor: Any, era: object, is_own: bool) -> None:
        self.executor = executor
        self.era = era
        self.is_own = is_own
        """Whether this execution made the executor: others are put back as they were."""
        self.initializer, self.initargs = initializer_of(executor)
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
        table = published.get(id(self.executor))
        return table if isinstance(table, PoolTable) else None

    def is_shared(self, me: Task) -> bool:
        """Tell whether what one task does to the pool may depend on what others do to it."""
        table = self.table()
        if table is None:
            return False
        if self.owner is None:
            self.owner = me
        elif self.owner is not me:
            table.note("shared")
        return self.initializer is not None or table.happens("shared")

    def looks_at_jobs(self) -> bool:
        """Tell whether it matters when a worker takes a job that is its own."""
        table = self.table()
        assert table is not None
        return table.happens("drained") or table.shared.happens("future", "start")

    # Submitting

    def submit(self, job: _Job) -> None:
        """Hand a job to a worker."""
        me = control.task()
        control.publish(self.executor, "pool")
        for value, label in job.parts():
            control.publish(value, label)
        table = self.table()
        assert table is not None
        is_event = self.is_shared(me)
        if not is_event:
            self._refuse()
            worker = self._choose(me)
            is_event = worker is None or worker in self.workers
        if is_event:
            codes = (table.order(Mode.WRITE), table.job(job, Mode.WRITE))
            control.announce(codes, SUBMIT, self.executor, job)
            self._refuse()
            worker = self._choose(me)
        self.jobs.append(job)
        if worker is None:
            self.uses_backlog = True
            table.note("backlog")
            self.backlog.append(job)
            return
        worker.inbox.append(job)
        worker.last = job
        if worker not in self.workers:
            self.workers.append(worker)
            self._show()
            start_thread(me, worker.thread, SUBMIT, self.executor, job)

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
        return None if len(self.workers) >= self.executor._max_workers else _Worker(self)

    def _show(self) -> None:
        """Make the state visible where CPython keeps it."""
        if self.is_own:
            self.executor._shutdown = self.is_shut
            self.executor._broken = self.broken
            self.executor._threads.update(worker.thread for worker in self.workers)

    # The end

    def shut_down(self, me: Task, drain: bool) -> None:
        """Accept no more jobs; with `drain`, cancel those that nobody has taken."""
        table = self.table()
        drained: list[_Job] = []
        is_shared = self.is_shared(me)
        if table is not None and (drain or is_shared or not self.is_shut):
            if drain:
                table.note("drained")
                table.shared.note("future", "start")
            order = (table.order(Mode.WRITE),) if is_shared else ()
            codes: Codes = (*order, table.end(Mode.WRITE))
            control.announce(codes, SHUT_DOWN, self.executor)
            if self.is_shut:
                codes = (OPEN, *order)
            if drain:
                drained = self._drain()
                codes = (OPEN, *codes, *self._drain_codes(table, drained))
            act(me, codes)
        self.is_shut = True
        self._show()
        pending = [job.future for job in drained if job.future._state == _base.PENDING]
        for future in pending:
            future._state = _base.CANCELLED
        for future in pending:
            cancel_pending(future, me)

    def _drain(self) -> list[_Job]:
        """Take all jobs back that nobody has taken, oldest first."""
        drained = [job for worker in self.workers for job in worker.inbox]
        drained += self.backlog
        for worker in self.workers:
            worker.inbox.clear()
        self.backlog.clear()
        return drained

    def _drain_codes(self, table: PoolTable, drained: list[_Job]) -> Codes:
        """Return what taking jobs back accesses: a job that is taken already might not be."""
        codes: dict[int, None] = {table.takers(Mode.WRITE): None}
        codes.update((table.job(job, Mode.WRITE), None) for job in self.jobs)
        for job in drained:
            outcome = table_of(job.future)
            if outcome is not None:
                codes.update(dict.fromkeys(cancel_codes(job.future, outcome)[1:]))
        return tuple(codes)

    def break_down(self) -> None:
        """Refuse all jobs, because an initializer failed."""
        me = control.task()
        table = self.table()
        assert table is not None
        table.note("drained")
        control.announce((OPEN, table.order(Mode.WRITE)))
        drained = self._drain()
        codes = self._drain_codes(table, [])
        act(me, (OPEN, table.order(Mode.WRITE), *codes))
        self.broken = _BROKEN
        self._show()
        for job in drained:
            job.future.set_exception(thread.BrokenThreadPool(_BROKEN))

    def join(self) -> None:
        """Wait for the end of all workers."""
        for worker in self.workers:
            operation = _JoinWorker(worker)
            me = control.announce(operation, JOIN_WORKERS, self.executor)
            act(me, operation.pending(me))


def _pool_of(executor: Any, is_own: bool = False) -> _Pool:
    """Return the state of an executor in this execution."""
    era = control.the_program().scheduler.crashes
    pool: _Pool | None = executor.__dict__.get("_treadle_pool")
    if pool is None or pool.era is not era:
        pool = executor._treadle_pool = _Pool(executor, era, is_own)
    return pool


def _init(
    self: Any,
    max_workers: int | None = None,
    thread_name_prefix: str = "",
    initializer: Callable[..., object] | None = None,
    initargs: Any = (),
    **context: Any,
) -> None:
    """`ThreadPoolExecutor.__init__`; numbers pools by who creates them."""
    me = control.current()
    original = functools.partial(_ORIGINALS["__init__"], self, max_workers)
    if me is None:
        original(thread_name_prefix, initializer, initargs, **context)
        return
    if runs_elsewhere(self):
        raise TreadleError(
            f"{type(self).__name__} cannot be explored: its workers are other interpreters; "
            "use a ThreadPoolExecutor"
        )
    if not thread_name_prefix:
        number = me.scratch.get("pools", 0)
        me.scratch["pools"] = number + 1
        creator = me.name.partition(".")[2]
        thread_name_prefix = f"ThreadPoolExecutor-{creator}{'.' if creator else ''}{number}"
    original(thread_name_prefix, initializer, initargs, **context)
    _pool_of(self, is_own=True)


def _submit(self: Any, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """`ThreadPoolExecutor.submit`."""
    if control.current() is None:
        return _ORIGINALS["submit"](self, fn, *args, **kwargs)
    job = _Job(fn, args, kwargs)
    _pool_of(self).submit(job)
    return job.future


def _shutdown(self: Any, wait: Any = True, *, cancel_futures: Any = False) -> None:
    """`ThreadPoolExecutor.shutdown`."""
    me = control.current()
    if me is None:
        _ORIGINALS["shutdown"](self, wait, cancel_futures=cancel_futures)
        return
    pool = _pool_of(self)
    pool.shut_down(me, bool(cancel_futures))
    if wait:
        pool.join()


_OWN_ATTRIBUTES = frozenset(vars(Executor(1))) | {"_treadle_pool"}


def _children(executor: Any, label: str) -> Children:
    """Walk the initializer, and what a subclass adds."""
    initializer, initargs = initializer_of(executor)
    yield initializer, "initializer"
    yield initargs, "initargs"
    for name, value in list(vars(executor).items()):
        if name not in _OWN_ATTRIBUTES:
            yield value, f"{label}.{name}"


register(Executor, PoolTable, _children)
for _kind in (_Pool, _Worker, _Job):
    register(_kind, None)

_MODELS: dict[str, Callable[..., Any]] = {
    "__init__": _init,
    "submit": _submit,
    "shutdown": _shutdown,
}
_ORIGINALS: dict[str, Callable[..., Any]] = {name: vars(Executor)[name] for name in _MODELS}

PATCHES: Patches = Patches(attributes=[(Executor, name, model) for name, model in _MODELS.items()])
