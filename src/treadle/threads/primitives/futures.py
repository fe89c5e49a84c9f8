"""`concurrent.futures.Future`, `wait` and `as_completed` under control, patched in place.

A future has three locations. Its *outcome* is written once, by `set_result`, `set_exception` or
`cancel`, and whoever waits for it needs that. Its *start* is where a worker that begins and a
`cancel` meet; it matters only if something is cancelled or `running` is asked. Its *cancellation*
is what `wait` waits for, which does not regard a future as done before a worker has noticed.

`wait` and `as_completed` read the outcomes of all their futures in one event. A future that a task
has once seen done stays so: looking again is no event.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from concurrent import futures
from concurrent.futures import _base
from typing import Any

from treadle.core.events import OPEN, Codes, Mode
from treadle.core.records import WaitKind
from treadle.python.accesses import calls, iterate
from treadle.python.runtime import clocks, control
from treadle.python.runtime.deeds import PLAIN_ACCESS, Deed, given, method
from treadle.python.runtime.operation import Operation
from treadle.python.runtime.task import Task
from treadle.python.runtime.timed import InTime
from treadle.python.sharing.children import Children
from treadle.python.sharing.published import label_of, label_or_kind, published
from treadle.python.sharing.shared import Shared
from treadle.python.sharing.walks import register
from treadle.threads.primitives.facets import FacetTable, act
from treadle.threads.primitives.internals import FALSE_ERRORS_ARE_RAISED
from treadle.threads.primitives.patches import Patches

Future = futures.Future

RUNNING = _base.RUNNING
CANCELLED = (_base.CANCELLED, _base.CANCELLED_AND_NOTIFIED)
DONE = (*CANCELLED, _base.FINISHED)
_COMPLETED = (_base.CANCELLED_AND_NOTIFIED, _base.FINISHED)
"""The states in which `wait` and `as_completed` regard a future as done."""


RESULT = Deed("result of", label_or_kind, lambda future, _: future._result)
EXCEPTION = Deed("exception of", label_or_kind)
SET_RESULT = Deed("set result of", label_or_kind, given)
SET_EXCEPTION = Deed("set exception of", label_or_kind)
CANCEL = Deed("cancel", label_or_kind)
IS_CANCELLED = method(label_or_kind, "cancelled", lambda future, _: future._state in CANCELLED)
IS_RUNNING = method(label_or_kind, "running", lambda future, _: future._state == RUNNING)
IS_DONE = method(label_or_kind, "done", lambda future, _: future._state in DONE)
ADD_CALLBACK = Deed("add callback to", label_or_kind)
WAIT = Deed("wait for", lambda _: "futures")


class FutureTable(FacetTable):
    """The locations of a future, and who has seen it done."""

    __slots__ = ("_future", "has_start", "runner", "seen", "when")

    counts = True

    def __init__(self, shared: Shared, key: Hashable, label: str, sort: str) -> None:
        super().__init__(shared, key, label, sort)
        self.has_start = shared.happens("future", "start")
        """Whether it makes a difference when a future is begun."""

    def begin(self, value: Any) -> None:
        """Take note of the future."""
        self._future = value
        self.seen: set[int] = set()
        """Tasks that know that it is done, and will stay so."""
        self.runner: Task | None = None
        """Who works on it."""

    def forget(self) -> None:
        """Forget what depends on what was learned."""
        super().forget()
        self.has_start = self.shared.happens("future", "start")

    def outcome(self, mode: Mode) -> int:
        """Return the code of an access to the outcome."""
        return self.code(mode, "outcome", " outcome")

    def start(self, mode: Mode) -> Codes:
        """Return the codes of an access to whether it has been begun, if that matters."""
        return (self.code(mode, "start", " start"),) if self.has_start else ()

    def look_at_start(self) -> None:
        """Note that it matters when futures are begun."""
        self.shared.note("future", "start")

    def completion(self, mode: Mode) -> Codes:
        """Return the codes of an access to what `wait` waits for."""
        if not self.has_start:
            return (self.outcome(mode),)
        return (self.outcome(mode), self.code(mode, "cancellation", " cancellation"))

    def see(self, me: Task) -> None:
        """Note that a task has seen the future done."""
        self.seen.add(me.number)

    def read(self, what: Any) -> Codes:
        """Return the codes of reading an attribute: what it shows of the future's state."""
        if what in ("_state", "_result", "_exception"):
            self.look_at_start()
            return (self.outcome(Mode.READ), *self.start(Mode.READ))
        return super().read(what)


def table_of(future: Any) -> FutureTable | None:
    """Return the locations of a future, None while nobody else can reach it."""
    table = published.get(id(future))
    return table if isinstance(table, FutureTable) else None


# Waiting for one future


class _Outcome(Operation):
    """Wait until a future is done."""

    __slots__ = ("_future", "_table")

    kind = WaitKind.RESULT

    def __init__(self, future: Any, table: FutureTable | None) -> None:
        self._future = future
        self._table = table

    def ready(self, task: Task) -> bool:
        """Tell whether the future is done."""
        return self._future._state in DONE

    def pending(self, task: Task) -> Codes:
        """Return the reading of the outcome."""
        return () if self._table is None else (self._table.outcome(Mode.NEED),)

    def describe(self) -> str:
        """Name the future."""
        return f"the result of {label_of(self._future, 'a future')}"

    def holders(self) -> list[Task]:
        """Return the task that works on it."""
        runner = None if self._table is None else self._table.runner
        return [] if runner is None else [runner]


def await_outcome(future: Any, timeout: float | None, deed: Deed) -> None:
    """Return when a future is done and not cancelled; raise as `Future.result` does otherwise."""
    me = control.task()
    table = table_of(future)
    if (me.number not in table.seen) if table is not None else future._state not in DONE:
        awaited = _Outcome(future, table)
        look = () if table is None else (table.outcome(Mode.READ),)
        _await(awaited, timeout, look, deed, future)
    if future._state not in DONE:
        control.pass_time(me, timeout or 0)
        raise TimeoutError
    if table is not None:
        table.see(me)
    if future._state in CANCELLED:
        raise _base.CancelledError


def _await(
    awaited: Operation, timeout: float | None, look: Codes, deed: Deed, about: Any = None
) -> None:
    """Wait for something, for ever or not; `look` is what a look at it accesses."""
    me = control.task()
    if timeout is None:
        control.announce(awaited, deed, about)
        act(me, awaited.pending(me))
        return
    timed = InTime(awaited, me, timeout)
    control.announce(timed, deed, about)
    act(me, awaited.pending(me) if timed.is_patient else timed.codes(me, look))


def _result(self: Any, timeout: float | None = None) -> Any:
    """`Future.result`."""
    if control.current() is None:
        return _ORIGINALS["result"](self, timeout)
    await_outcome(self, timeout, RESULT)
    if self._exception is not None if FALSE_ERRORS_ARE_RAISED else self._exception:
        try:
            raise self._exception
        finally:
            del self  # breaks the cycle through the traceback, as CPython does
    return self._result


def _exception(self: Any, timeout: float | None = None) -> Any:
    """`Future.exception`."""
    if control.current() is None:
        return _ORIGINALS["exception"](self, timeout)
    await_outcome(self, timeout, EXCEPTION)
    return self._exception


# Looking at a future


def _look(future: Any, deed: Deed, *, start: bool) -> Any:
    """Announce a look at a future's state, and return the state."""
    me = control.task()
    table = table_of(future)
    if table is not None and me.number not in table.seen:
        if start:
            table.look_at_start()
        codes = table.start(Mode.READ) if start else ()
        control.announce((table.outcome(Mode.READ), *codes), deed, future)
        if future._state in DONE:
            table.see(me)
    return future._state


def _cancelled(self: Any) -> bool:
    """`Future.cancelled`."""
    if control.current() is None:
        return bool(_ORIGINALS["cancelled"](self))
    return _look(self, IS_CANCELLED, start=False) in CANCELLED


def _running(self: Any) -> bool:
    """`Future.running`."""
    if control.current() is None:
        return bool(_ORIGINALS["running"](self))
    return bool(_look(self, IS_RUNNING, start=True) == RUNNING)


def _done(self: Any) -> bool:
    """`Future.done`."""
    if control.current() is None:
        return bool(_ORIGINALS["done"](self))
    return _look(self, IS_DONE, start=False) in DONE


def _repr(self: Any) -> str:
    """`Future.__repr__`, with a number instead of the address, which is never the same."""
    if control.current() is None:
        return str(_ORIGINALS["__repr__"](self))
    _look(self, PLAIN_ACCESS, start=True)
    return _in_words(self)


def _in_words(future: Any) -> str:
    end = ""
    if future._state == _base.FINISHED:
        raised = future._exception
        value = raised or future._result
        end = f" {'raised' if raised else 'returned'} {value.__class__.__name__}"
    state = _base._STATE_TO_DESCRIPTION_MAP[future._state]
    return f"<{future.__class__.__name__} at {hash(future):#x} state={state}{end}>"


# What happens to a future


def begin_work(future: Any, me: Task) -> Codes:
    """Mark a future as running, or as known to be cancelled; return what that accesses.

    Nothing happens to a future in another state.
    """
    table = table_of(future)
    was = future._state
    if was == _base.PENDING:
        future._state = RUNNING
        if table is not None:
            table.runner = me
    elif was == _base.CANCELLED:
        future._state = _base.CANCELLED_AND_NOTIFIED
    if table is None or not table.has_start:
        return ()
    notified = table.completion(Mode.WRITE)[1:] if was == _base.CANCELLED else ()
    return (OPEN, *table.start(Mode.WRITE), *notified)


def is_to_run(future: Any, was: str) -> bool:
    """Tell whether a future that was in some state before `begin_work` is to be worked on."""
    if was not in (_base.PENDING, _base.CANCELLED):
        _base.LOGGER.critical("Future %s in unexpected state: %s", _in_words(future), was)
        raise RuntimeError("Future in unexpected state")
    return was == _base.PENDING


def _set_running_or_notify_cancel(self: Any) -> bool:
    """`Future.set_running_or_notify_cancel`."""
    me = control.current()
    if me is None:
        return bool(_ORIGINALS["set_running_or_notify_cancel"](self))
    table = table_of(self)
    is_event = table is not None and table.has_start
    if is_event:
        assert table is not None
        control.announce(table.start(Mode.WRITE))
    was = self._state
    codes = begin_work(self, me)
    if is_event:
        act(me, codes)
    return is_to_run(self, was)


def _finish(future: Any, deed: Deed, result: Any, exception: Any) -> None:
    """Give a future its outcome, and call what waits for that."""
    me = control.task()
    table = table_of(future)
    if table is not None:
        control.publish(result, f"result of {table.label}")
        control.publish(exception, f"exception of {table.label}")
        control.announce((table.outcome(Mode.WRITE),), deed, future, result)
        expected = table.runner is me and future._state == RUNNING
        if future._state in DONE:
            act(me, (OPEN, table.outcome(Mode.READ), *table.start(Mode.READ)))
        elif not expected:
            act(me, (OPEN, table.outcome(Mode.WRITE), *table.start(Mode.WRITE)))
    if future._state in DONE:
        raise _base.InvalidStateError(f"{future._state}: {_in_words(future)}")
    future._result = result
    future._exception = exception
    future._state = _base.FINISHED
    if table is not None:
        table.see(me)
    future._invoke_callbacks()


def _set_result(self: Any, result: Any) -> None:
    """`Future.set_result`."""
    if control.current() is None:
        _ORIGINALS["set_result"](self, result)
    else:
        _finish(self, SET_RESULT, result, None)


def _set_exception(self: Any, exception: BaseException | None) -> None:
    """`Future.set_exception`."""
    if control.current() is None:
        _ORIGINALS["set_exception"](self, exception)
    else:
        _finish(self, SET_EXCEPTION, None, exception)


def _cancel(self: Any) -> bool:
    """`Future.cancel`."""
    me = control.current()
    if me is None:
        return bool(_ORIGINALS["cancel"](self))
    table = table_of(self)
    if table is not None and me.number not in table.seen:
        table.look_at_start()
        codes = (OPEN, table.outcome(Mode.WRITE), *table.start(Mode.WRITE))
        control.announce(codes, CANCEL, self)
        act(me, cancel_codes(self, table))
    if self._state == _base.PENDING:
        cancel_pending(self, me)
        return True
    return self._state in CANCELLED


def cancel_codes(future: Any, table: FutureTable) -> Codes:
    """Return what trying to cancel a future accesses now."""
    mode = Mode.WRITE if future._state == _base.PENDING else Mode.READ
    return (OPEN, table.outcome(mode), *table.start(mode))


def cancel_pending(future: Any, me: Task) -> None:
    """Cancel a future that nobody has begun, in the step that is under way."""
    future._state = _base.CANCELLED
    table = table_of(future)
    if table is not None:
        table.see(me)
    future._invoke_callbacks()


def _add_done_callback(self: Any, fn: Callable[[Any], object]) -> None:
    """`Future.add_done_callback`."""
    me = control.current()
    if me is None:
        _ORIGINALS["add_done_callback"](self, fn)
        return
    table = table_of(self)
    if table is not None and me.number not in table.seen:
        control.publish(fn, f"callback of {table.label}")
        callbacks = table.code(Mode.WRITE, "callbacks", " callbacks")
        control.announce((OPEN, table.outcome(Mode.READ), callbacks), ADD_CALLBACK, self)
        if self._state in DONE:
            act(me, (OPEN, table.outcome(Mode.READ)))
            table.see(me)
    if self._state not in DONE:
        self._done_callbacks.append(iterate.late_if_in_c(fn))
        return
    try:
        calls.resolve(fn)(self)
    except Exception:
        _base.LOGGER.exception("exception calling callback for %r", self)


# Waiting for several futures


class _Several(Operation):
    """Wait for some of several futures."""

    __slots__ = ("_enough", "_futures", "_needs_all")

    kind = WaitKind.RESULT

    def __init__(
        self,
        several: list[Any],
        enough: Callable[[list[Any]], bool],
        needs_all: bool = False,
    ) -> None:
        self._futures = several
        self._enough = enough
        self._needs_all = needs_all

    def ready(self, task: Task) -> bool:
        """Tell whether enough of the futures are done."""
        return self._enough(self._futures)

    def pending(self, task: Task) -> Codes:
        """Return the wait for all outcomes that the task does not know yet."""
        return self.look(task, Mode.AWAIT)

    def look(self, task: Task, mode: Mode) -> Codes:
        """Return the reading of all outcomes that the task does not know yet."""
        codes: list[int] = []
        for future in self._futures:
            table = table_of(future)
            if table is not None and not (
                task.number in table.seen and future._state == _base.FINISHED
            ):
                needs = self._needs_all and mode is Mode.AWAIT and not table.has_start
                codes += table.completion(Mode.NEED if needs else mode)
        return tuple(codes)

    def describe(self) -> str:
        """Name the futures."""
        names = [label_of(future, "a future") for future in self._futures]
        waiting = [
            name
            for name, future in zip(names, self._futures, strict=True)
            if future._state not in _COMPLETED
        ]
        return f"the results of {', '.join(waiting)}"

    def holders(self) -> list[Task]:
        """Return the tasks that work on them."""
        tables = [table_of(future) for future in self._futures]
        return [table.runner for table in tables if table is not None and table.runner is not None]


def _await_several(awaited: _Several, several: list[Any], until: float | None) -> list[Any]:
    """Wait as an operation says, up to some time; return the futures that are done then."""
    me = control.task()
    left = None if until is None else max(until - clocks.now(me), 0)
    if awaited.pending(me) or not awaited.ready(me):
        _await(awaited, left, awaited.look(me, Mode.READ), WAIT)
    finished = [future for future in several if future._state in _COMPLETED]
    gives_up = left is not None and not awaited.ready(me)
    for future in finished:
        table = table_of(future)
        if table is not None:
            table.see(me)
    if gives_up:
        control.pass_time(me, left or 0)
    return finished


def _in_order(fs: Iterable[Any]) -> list[Any]:
    """Return the futures without duplicates, in an order that is the same in every execution."""
    return list(dict.fromkeys(fs))


def _has_failed(future: Any) -> bool:
    return future._state == _base.FINISHED and future._exception is not None


def wait(
    fs: Iterable[Any], timeout: float | None = None, return_when: str = futures.ALL_COMPLETED
) -> Any:
    """`concurrent.futures.wait`."""
    me = control.current()
    if me is None:
        return _wait(fs, timeout, return_when)
    several = _in_order(fs)

    def enough(several: list[Any]) -> bool:
        done = [future for future in several if future._state in _COMPLETED]
        if return_when == futures.FIRST_COMPLETED:
            return bool(done) or not several
        if return_when == futures.FIRST_EXCEPTION and any(map(_has_failed, done)):
            return True
        return len(done) == len(several)

    conditions = (futures.FIRST_COMPLETED, futures.FIRST_EXCEPTION, futures.ALL_COMPLETED)
    if return_when not in conditions:
        raise ValueError(f"Invalid return condition: {return_when!r}")
    until = None if timeout is None else clocks.now(me) + max(timeout, 0)
    needs_all = return_when == futures.ALL_COMPLETED
    done = set(_await_several(_Several(several, enough, needs_all), several, until))
    return _base.DoneAndNotDoneFutures(done, {f for f in several if f not in done})


def as_completed(fs: Iterable[Any], timeout: float | None = None) -> Iterator[Any]:
    """`concurrent.futures.as_completed`."""
    if control.current() is None:
        return _as_completed(fs, timeout)
    return _as_they_complete(fs, timeout)


def _as_they_complete(fs: Iterable[Any], timeout: float | None) -> Iterator[Any]:
    """Yield futures when they are done; those that are done at the same time in their order.

    Another order of completion is one in which the caller wakes up in between: it is explored too.
    """
    me = control.task()
    until = None if timeout is None else clocks.now(me) + timeout
    left = _in_order(fs)
    total = len(left)
    while left:
        finished = _await_several(_Several(left, _is_any_completed), left, until)
        if not finished:
            raise TimeoutError(f"{len(left)} (of {total}) futures unfinished")
        left = [future for future in left if future not in finished]
        yield from finished


def _is_any_completed(several: list[Any]) -> bool:
    return any(future._state in _COMPLETED for future in several)


# Identity


def _init(self: Any) -> None:
    """`Future.__init__`; names the future by who creates it."""
    _ORIGINALS["__init__"](self)
    me = control.current()
    if me is not None:
        number = me.scratch["futures"] = me.scratch.get("futures", 0) + 1
        self._treadle_hash = me.path.ident * 1000 + number


def _hash(self: Any) -> int:
    """A hash that is the same in every execution, so that sets of futures have one order."""
    found: int | None = self.__dict__.get("_treadle_hash")
    return object.__hash__(self) if found is None else found


_OWN_ATTRIBUTES = frozenset(vars(Future())) | {"_treadle_hash"}


def _children(future: Any, label: str) -> Children:
    """Walk the outcome, the callbacks, and what a subclass adds."""
    yield future._result, f"result of {label}"
    yield future._exception, f"exception of {label}"
    for callback in future._done_callbacks:
        yield callback, f"callback of {label}"
    for name, value in list(vars(future).items()):
        if name not in _OWN_ATTRIBUTES:
            yield value, f"{label}.{name}"


register(Future, FutureTable, _children)

_MODELS: dict[str, Callable[..., Any]] = {
    "__init__": _init,
    "__hash__": _hash,
    "__repr__": _repr,
    "result": _result,
    "exception": _exception,
    "cancelled": _cancelled,
    "running": _running,
    "done": _done,
    "cancel": _cancel,
    "add_done_callback": _add_done_callback,
    "set_running_or_notify_cancel": _set_running_or_notify_cancel,
    "set_result": _set_result,
    "set_exception": _set_exception,
}
_ORIGINALS: dict[str, Callable[..., Any]] = {name: getattr(Future, name) for name in _MODELS}
_wait = futures.wait
_as_completed = futures.as_completed

PATCHES: Patches = Patches(
    attributes=[(Future, name, model) for name, model in _MODELS.items()],
    references=[(_wait, wait), (_as_completed, as_completed)],
)
