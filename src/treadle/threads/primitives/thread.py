"""`threading.Thread` under control, patched in place with CPython's semantics.

Starting a thread is one event and joining one is another. That a thread ends is an event only if
somebody looks (`is_alive`, a join with a time-out, `threading.enumerate`): then its last step
writes the location that the others read.
"""

from __future__ import annotations

import _thread
import functools
import threading
import types
from collections.abc import Callable
from typing import Any

from treadle.core.errors import TreadleBug, TreadleError
from treadle.core.events import OPEN, Codes, Mode, code
from treadle.core.program import CannotStepError
from treadle.core.records import WaitKind
from treadle.python.accesses import calls
from treadle.python.runtime import control, slots
from treadle.python.runtime.deeds import PLAIN_ACCESS, Deed, method
from treadle.python.runtime.operation import Operation
from treadle.python.runtime.scheduler import Abort
from treadle.python.runtime.task import MAIN_IDENT, Task
from treadle.python.runtime.timed import InTime
from treadle.python.sharing.children import Children
from treadle.python.sharing.naming import name_of
from treadle.python.sharing.published import label_or_kind, published, table_of_id
from treadle.python.sharing.tables import ObjectTable
from treadle.python.sharing.walks import register
from treadle.threads.primitives.events_and_semaphores import sleep_unless_set
from treadle.threads.primitives.internals import HANDLE, THREADS_HAVE_CONTEXT, context_of
from treadle.threads.primitives.local import let_go
from treadle.threads.primitives.main_thread import has_own_excepthook
from treadle.threads.primitives.patches import Patches

_FIRST_PART: Callable[[], Any] = getattr(_thread, "_ThreadHandle", _thread.allocate_lock)
"""Makes what keeps a thread from being copied: a handle since Python 3.13."""
_GIVEN = {"_target", "_args", "_kwargs"}
_INNER_ATTRIBUTES = (vars(threading.Thread()).keys() | {"_treadle", "_treadle_hash"}) - _GIVEN
"""What a thread refers to that is no business of the code under test."""
_ATTRIBUTES = [
    "_target", "_name", "_args", "_kwargs", "_daemonic", "_ident", "_native_id", "_started",
    *(("_context",) if THREADS_HAVE_CONTEXT else ()),
    *((HANDLE,) if HANDLE else ("_tstate_lock", "_is_stopped")),
    "_initialized", "_treadle_hash",
]  # fmt: skip
"""What `_init` sets, in this order: lists are compared much faster than sets."""
_CONTEXT = {"context"} if THREADS_HAVE_CONTEXT else frozenset()
"""Arguments that only the newer Pythons know."""
_OF_THE_THREAD = " of the thread"
"""Ends the names of features; no attribute can be called so."""
_COUNTED = ("threads", "counted")
_LOOKS = {"start" + _OF_THE_THREAD, "end" + _OF_THE_THREAD, _COUNTED[1]}
"""What others may look at in threads that start and end."""

_Bound = types.MethodType
"""Makes a function that knows its first argument; with partials, readers(8) takes 1.02 of it."""

_thread_init = threading.Thread.__init__
_thread_start = threading.Thread.start
_thread_join = threading.Thread.join
_thread_is_alive = threading.Thread.is_alive
_current_thread = threading.current_thread
_enumerate = threading.enumerate
_active_count = threading.active_count
_name: Any = vars(threading.Thread)["name"]
_daemon: Any = vars(threading.Thread)["daemon"]

NO_FINDINGS = (TreadleError, TreadleBug, CannotStepError, KeyboardInterrupt)
"""What ends the exploration, not only a thread."""


class ThreadExit(Exception):
    """A thread called `sys.exit`, which ends only that thread."""


class SilentExit(SystemExit):
    """What `_thread.exit` raises: the way to end a thread of `_thread`."""


class Flag:
    """Stands for the `Event` that tells whether a thread has been started, and for its handle.

    Nobody waits for it; a whole `Event` would make each thread three times as dear.
    """

    __slots__ = ("_is_set",)

    def __init__(self, is_set: bool) -> None:
        self._is_set = is_set

    def is_set(self) -> bool:
        """Tell whether the flag is set."""
        return self._is_set

    is_done = is_set
    """Tells whether the thread has ended, as its handle would."""

    def join(self, timeout: float | None = None) -> None:
        """Return: once an execution is over, its threads are."""

    def __reduce_ex__(self, protocol: Any, /) -> Any:
        """Refuse to be copied or pickled with its thread, as the first part of a real one does."""
        return _FIRST_PART().__reduce_ex__(protocol)


_NO = Flag(False)
_YES = Flag(True)


# Who is who


def thread_of(task: Task) -> Any:
    """Return the `Thread` of a task; a dummy one if `_thread` started it."""
    if task.thread is None:
        if task.parent is None:
            task.thread = threading.main_thread()
        else:
            task.thread = _dummy(task)
    return task.thread


def task_of(thread: Any) -> Task | None:
    """Return the task that runs a thread in this execution."""
    task: Task | None = thread.__dict__.get("_treadle")
    return task


def _dummy(task: Task) -> Any:
    """Return a `Thread` for a task that was started without one."""
    thread: Any = threading._DummyThread.__new__(threading._DummyThread)
    threading.Thread.__init__(thread, name=f"Dummy-{task.name[5:]}", daemon=True)
    thread._started = _YES
    thread._ident = thread._native_id = task.path.ident
    thread._treadle = task
    return thread


# Threads that start, end and are waited for


def _label_of(thread: Any) -> str:
    """Name a thread for people."""
    task = task_of(thread)
    return label_or_kind(thread) if task is None else task.label


START = Deed("start", _label_of)
JOIN = Deed("join", _label_of)
IS_ALIVE = method(_label_of, "is_alive")


class Join(Operation):
    """Wait for the end of a thread."""

    __slots__ = ("_alive", "_target")

    kind = WaitKind.END

    def __init__(self, target: Task, alive: dict[int, Task]) -> None:
        self._target = target
        self._alive = alive

    def ready(self, task: Task) -> bool:
        """Tell whether the thread has ended."""
        return self._target.number not in self._alive

    def pending(self, task: Task) -> Codes:
        """Return the join."""
        return self._target.path.join

    def describe(self) -> str:
        """Name the thread."""
        return f"the end of {self._target.label}"

    def holders(self) -> list[Task]:
        """Return the thread waited for."""
        return [self._target]


def start_task(
    me: Task,
    body: Callable[[], Any],
    started: Callable[[Task], None],
    codes: Codes = (),
    deed: Deed = PLAIN_ACCESS,
    about: Any = None,
    detail: Any = None,
) -> Task:
    """Start a controlled thread; `started` is told in the same step, before it runs."""
    me.children += 1
    path = me.path.child(me.children)
    task = Task(path, body)
    running = slots.program or control.no_program()
    if running.shared.happening.isdisjoint(_LOOKS):
        counted: Codes = ()
    else:
        counted = _count_codes(Mode.ADD, looks=False)
    codes = (*path.spawn, *codes, *counted) if codes or counted else path.spawn
    control.spawn(me, task, codes, started, deed, about, detail)
    return task


def end_task(thread: Any = None) -> None:
    """Take the step that ends a thread, if anybody looks whether it has ended."""
    running = slots.program or control.no_program()
    let_go(running.scheduler)
    if running.shared.happening.isdisjoint(_LOOKS):
        return
    codes = _count_codes(Mode.ADD, looks=False)
    if thread is not None:
        codes = (*_look_codes(thread, "end", Mode.WRITE, looks=False), *codes)
    if codes:
        control.announce(codes)


def _look_codes(thread: Any, what: str, mode: Mode, *, looks: bool) -> Codes:
    """Return the access of a thread's start or end, if anybody ever looks at it."""
    table = table_of_id(id(thread))
    if table is None:
        return ()
    feature = what + _OF_THE_THREAD
    if looks:
        if not table.shared.note(table.sort, feature):
            return ()
    elif not table.shared.happens(table.sort, feature):
        return ()
    return (table.sync_at(feature, mode, f" {what}"),)


def _count_codes(mode: Mode, *, looks: bool) -> Codes:
    """Return the access of which threads there are, if that is ever looked at."""
    known = control.the_program().shared
    if looks:
        if not known.note(*_COUNTED):
            return ()
    elif _COUNTED not in known.features:
        return ()
    return (code(known.location(_COUNTED, "running threads"), mode),)


def count_codes_of_a_look() -> Codes:
    """Return the access of a task that looks which threads there are."""
    return _count_codes(Mode.READ, looks=True)


def note_threads_looked_at() -> None:
    """Announce that the current task looks which threads there are."""
    codes = count_codes_of_a_look()
    if codes:
        control.announce(codes)


# Thread's own methods


def _init(
    self: Any,
    group: None = None,
    target: Callable[..., object] | None = None,
    name: str | None = None,
    args: Any = (),
    kwargs: Any = None,
    *,
    daemon: bool | None = None,
    **context: Any,
) -> None:
    """`Thread.__init__`, without what only a real thread needs."""
    me = control.current()
    if me is None or (context and context.keys() != _CONTEXT):  # the original says what is wrong
        _thread_init(self, group, target, name, args, kwargs, daemon=daemon, **context)
        return
    if group is not None:  # no `assert`: pytest would add to what it says
        raise AssertionError("group argument must be None for now")
    me.threads = number = me.threads + 1
    self._target = target
    if name:
        self._name = str(name)
    else:
        self._name = f"{me.path.thread_prefix}{number}"
        if target is not None and hasattr(target, "__name__"):
            self._name += f" ({target.__name__})"
    self._args = args
    self._kwargs = {} if kwargs is None else kwargs
    self._daemonic = me.daemon if daemon is None else daemon
    self._ident = None
    self._native_id = None
    self._started = _NO
    if THREADS_HAVE_CONTEXT:
        self._context = context.get("context")
    if HANDLE:
        setattr(self, HANDLE, _NO)
    else:
        self._tstate_lock = None
        self._is_stopped = False
    self._initialized = True
    self._treadle_hash = me.path.ident * 1000 + number


def _start(self: Any) -> None:
    """`Thread.start`."""
    me = control.current()
    if me is None:
        _thread_start(self)
    else:
        start_thread(me, self, START, self)


def start_thread(me: Task, self: Any, deed: Deed, about: Any, detail: Any = None) -> None:
    """Start a thread; for what, reports say."""
    if not self._initialized:
        raise RuntimeError("thread.__init__() not called")
    codes: Codes = ()
    if id(self) in published:  # others may look at it, or start it, at the same time
        codes = _look_codes(self, "start", Mode.WRITE, looks=True)
        if codes:
            codes = (*codes, OPEN)
    else:
        slots.hand_out(self, "thread")
    if has_own_excepthook():  # it may be called in any thread
        control.publish(threading.excepthook, "excepthook")
    context = context_of(self) if THREADS_HAVE_CONTEXT else None
    body: Callable[[], Any] = _Bound(_run, self)
    if context is not None:
        body = functools.partial(context.run, body)
    start_task(me, body, _Bound(_note_started, self), codes, deed, about, detail)


def _note_started(self: Any, task: Task) -> None:
    """Take down that a thread has been started, in the step in which it is."""
    if self._started.is_set():
        control.task().doing = (*_look_codes(self, "start", Mode.READ, looks=True), OPEN)
        raise RuntimeError("threads can only be started once")
    self._started = _YES
    self._treadle = task
    self._ident = self._native_id = task.path.ident
    task.thread = self
    task.daemon = self._daemonic
    if not self._name.startswith("Thread-"):
        task.label = f"{task.name} ({self._name})"


def _thread_run(self: Any) -> None:
    """`Thread.run`; the target may be a method of a container, which is an access."""
    try:
        if self._target is not None:
            calls.resolve(self._target)(*self._args, **self._kwargs)
    finally:
        del self._target, self._args, self._kwargs


def _run(self: Any) -> None:
    """What a controlled thread does from its beginning to its end."""
    try:
        self.run()
    except (Abort, *NO_FINDINGS):
        raise
    except SilentExit:
        pass
    except BaseException as error:
        try:
            _handle_exception(self, error)
        finally:
            _end(self)
        return
    _end(self)


def _handle_exception(self: Any, error: BaseException) -> None:
    """Give an exception to the test's own hook; without one it leaves the thread."""
    if has_own_excepthook():
        threading.excepthook(
            threading.ExceptHookArgs((type(error), error, error.__traceback__, self))
        )
    elif isinstance(error, SystemExit):
        raise thread_exit(error) from None
    else:
        raise error


def thread_exit(error: SystemExit) -> ThreadExit:
    """Return the finding for a thread that called `sys.exit`: from where it did."""
    return ThreadExit(
        f"SystemExit({error.code!r}) in a thread ends only that thread, and silently: "
        f"return from its function, or tell the main thread to exit"
    ).with_traceback(error.__traceback__)


def _end(self: Any) -> None:
    end_task(self)
    if HANDLE:
        setattr(self, HANDLE, _YES)
    else:
        self._is_stopped = True


def _join(self: Any, timeout: float | None = None) -> None:
    """`Thread.join`."""
    me = control.current()
    if me is None:
        _thread_join(self, timeout)
        return
    if not self._initialized:
        raise RuntimeError("Thread.__init__() not called")
    _look_whether_started(self)
    if not self._started.is_set():
        raise RuntimeError("cannot join thread before it is started")
    target = task_of(self)
    if target is me:
        raise RuntimeError("cannot join current thread")
    if target is None:  # a real thread, started before the exploration
        _thread_join(self, timeout)
        return
    if timeout is None:
        _wait_for(target, JOIN, self)
    else:
        look = functools.partial(_look_codes, self, "end", Mode.READ, looks=True)
        join_task(target, timeout, look, JOIN, self)


def _wait_for(target: Task, deed: Deed, about: Any) -> None:
    """Wait for the end of a task, however long that takes."""
    codes = target.path.join
    alive = (slots.program or control.no_program()).scheduler.alive
    if target.number in alive:
        me = control.announce(Join(target, alive), deed, about)
        me.doing = codes
    else:  # it cannot begin anew: there is nothing to wait for
        control.announce(codes, deed, about)


def join_task(
    target: Task,
    timeout: float | None,
    look: Callable[[], Codes],
    deed: Deed = PLAIN_ACCESS,
    about: Any = None,
) -> None:
    """Wait for the end of a task; with a time-out, `look` gives the access of whether it ended."""
    if timeout is None:
        _wait_for(target, deed, about)
        return
    alive = control.the_program().scheduler.alive
    me = control.task()
    timed = InTime(Join(target, alive), me, timeout)
    codes = () if timed.is_patient else look()
    control.announce(timed, deed, about)
    if timed.is_patient:
        me.doing = target.path.join
    else:
        me.doing = timed.codes(me, codes or look())
    if target.number in alive:
        control.pass_time(me, timeout)


def _look_whether_started(self: Any) -> None:
    """Announce the look, if a thread was known to others before it was started."""
    running = slots.program or control.no_program()
    is_looked_at = not running.shared.happening.isdisjoint(_LOOKS)
    if is_looked_at and (codes := _look_codes(self, "start", Mode.READ, looks=False)):
        control.announce(codes, JOIN, self)


def _is_alive(self: Any) -> bool:
    """`Thread.is_alive`."""
    me = control.current()
    if me is None:
        return _thread_is_alive(self)
    if not self._initialized:
        raise AssertionError("Thread.__init__() not called")
    target = task_of(self)
    if target is me:
        return True
    if target is None and self._started.is_set():  # a real thread
        return _thread_is_alive(self)
    codes = (
        *_look_codes(self, "start", Mode.READ, looks=False),
        *_look_codes(self, "end", Mode.READ, looks=True),
    )
    if codes:
        control.announce(codes, IS_ALIVE, self)
    target = task_of(self)
    return target is not None and target.number in control.the_program().scheduler.alive


def _hash(self: Any) -> int:
    """A hash that is the same in every execution, so that sets of threads have one order."""
    found: int | None = self.__dict__.get("_treadle_hash")
    return object.__hash__(self) if found is None else found


# Properties that can change while others read them


def _watched(original: Any, name: str) -> property:
    """Return a property of `Thread` that is a shared location if it is ever set."""

    feature = f"{name} is set"  # not the name alone: that is how attributes are known

    def fget(self: Any) -> Any:
        table = table_of_id(id(self))
        if table is not None and table.shared.happens(table.sort, feature):
            control.announce((table.at(feature, Mode.READ, f".{name}"),))
        return original.fget(self)

    def fset(self: Any, value: Any) -> None:
        table = table_of_id(id(self))
        if table is not None and table.shared.note(table.sort, feature):
            control.announce((table.at(feature, Mode.WRITE, f".{name}"),))
        original.fset(self, value)

    return property(fget, fset, doc=original.__doc__)


# Functions of `threading`


def current_thread() -> Any:
    """`threading.current_thread`."""
    me = control.current()
    return _current_thread() if me is None else thread_of(me)


def enumerate_threads() -> list[Any]:
    """`threading.enumerate`."""
    if control.current() is None:
        return _enumerate()
    note_threads_looked_at()
    running = control.the_program()
    return [thread_of(task) for task in running.scheduler.threads(running.vocabulary)]


def active_count() -> int:
    """`threading.active_count`."""
    return _active_count() if control.current() is None else len(enumerate_threads())


def _timer_run(self: Any) -> None:
    """`Timer.run`: whether it was cancelled in time is decided in one step."""
    if not sleep_unless_set(self.finished, self.interval):
        calls.resolve(self.function)(*self.args, **self.kwargs)
    self.finished.set()


def _children(thread: Any, label: str) -> Children:
    """Walk what a thread is given, and what a subclass adds to it."""
    del label
    for name, value in vars(thread).items():
        if name == "_args":
            for index, item in enumerate(value):
                yield item, name_of(item, f"argument {index}")
        elif name == "_kwargs":
            yield from ((item, key) for key, item in value.items())
        elif name not in _INNER_ATTRIBUTES:
            yield value, name.lstrip("_")


def _quick_children(thread: Any) -> list[Any]:
    """Return what `_children` yields, without names."""
    attributes = vars(thread)
    if [*attributes] == _ATTRIBUTES:
        return [thread._target, *thread._args, *thread._kwargs.values()]
    found: list[Any] = []
    for name, value in attributes.items():
        if name == "_args":
            found += value
        elif name == "_kwargs":
            found += value.values()
        elif name not in _INNER_ATTRIBUTES:
            found.append(value)
    return found


register(threading.Thread, ObjectTable, _children, _quick_children)

PATCHES: Patches = Patches(
    attributes=[
        (threading.Thread, "__init__", _init),
        (threading.Thread, "start", _start),
        (threading.Thread, "run", _thread_run),
        (threading.Thread, "join", _join),
        (threading.Thread, "is_alive", _is_alive),
        (threading.Thread, "__hash__", _hash),
        (threading.Thread, "name", _watched(_name, "name")),
        (threading.Thread, "daemon", _watched(_daemon, "daemon")),
        (threading.Timer, "run", _timer_run),
        (threading.main_thread(), "_ident", MAIN_IDENT),
        (threading.main_thread(), "_native_id", MAIN_IDENT),
    ],
    references=[
        (_current_thread, current_thread),
        (_enumerate, enumerate_threads),
        (_active_count, active_count),
    ],
)
