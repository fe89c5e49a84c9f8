"""Threads of the `_thread` module under control: what `threading` is made of, and its functions."""

from __future__ import annotations

import _thread
import signal
import sys
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from treadle.core.errors import TreadleError
from treadle.python.accesses import instruction_hooks as hooks
from treadle.python.accesses.library_state import changing, has_threads
from treadle.python.host.host import is_own_hook
from treadle.python.runtime import control
from treadle.python.runtime.scheduler import Abort
from treadle.python.runtime.task import MAIN_IDENT, Task
from treadle.threads.primitives import thread
from treadle.threads.primitives.internals import UNRAISABLE_NAMES_FUNCTION
from treadle.threads.primitives.patches import Patches

_start_new_thread = _thread.start_new_thread
_start_joinable_thread: Any = getattr(_thread, "start_joinable_thread", None)
_get_ident = _thread.get_ident
_get_native_id = _thread.get_native_id
_get_main_thread_ident: Any = getattr(_thread, "_get_main_thread_ident", None)
_count = _thread._count
_exit = _thread.exit
_interrupt_main = _thread.interrupt_main
_stack_size = _thread.stack_size
_register_atexit: Any = threading._register_atexit  # type: ignore[attr-defined]


def start_new_thread(function: Any, args: Any, kwargs: Any = None, /) -> int:
    """`_thread.start_new_thread`."""
    if control.current() is None:
        return _start_new_thread(function, args, {} if kwargs is None else kwargs)
    if not callable(function):
        raise TypeError("first arg must be callable")
    if not isinstance(args, tuple):
        raise TypeError("2nd arg must be a tuple")
    if kwargs is not None and not isinstance(kwargs, dict):
        raise TypeError("optional 3rd arg must be a dictionary")
    keywords = {} if kwargs is None else kwargs
    task = _start((function, args, keywords), lambda: function(*args, **keywords))
    return task.path.ident


def _start(given: tuple[Any, ...], body: Callable[[], Any]) -> Task:
    """Start a thread that has no `Thread` object."""
    control.publish(given, "thread")
    if not is_own_hook(sys.unraisablehook):
        control.publish(sys.unraisablehook, "unraisablehook")

    def run() -> None:
        try:
            body()
        except (Abort, *thread.NO_FINDINGS):
            raise
        except thread.SilentExit:
            pass
        except BaseException as error:
            try:
                _handle_exception(given[0], error)
            finally:
                thread.end_task()
            return
        thread.end_task()

    return thread.start_task(control.task(), run, _note_started)


def _handle_exception(function: Any, error: BaseException) -> None:
    """Give an exception to the test's own hook; without one it leaves the thread."""
    hook = sys.unraisablehook
    if isinstance(error, SystemExit):
        raise thread.thread_exit(error) from None
    if is_own_hook(hook):
        raise error
    message = "Exception ignored in thread started by"
    names_function = UNRAISABLE_NAMES_FUNCTION
    hook(
        SimpleNamespace(
            exc_type=type(error),
            exc_value=error,
            exc_traceback=error.__traceback__,
            err_msg=f"{message} {function!r}" if names_function else message,
            object=None if names_function else function,
        )
    )


def _note_started(task: Task) -> None:
    task.daemon = True  # nothing waits for such a thread when the program ends


class Handle:
    """What `_thread.start_joinable_thread` returns (from Python 3.13 on)."""

    def __init__(self) -> None:
        self._task: Task | None = None
        self.ident = 0

    def is_done(self) -> bool:
        """Tell whether the thread has ended."""
        thread.note_threads_looked_at()
        return self._has_ended()

    def _has_ended(self) -> bool:
        alive = control.the_program().scheduler.alive
        return self._task is not None and self._task.number not in alive

    def join(self, timeout: float | None = None) -> None:
        """Wait for the end of the thread."""
        if self._task is None:
            raise RuntimeError("thread not started")
        if self._task is control.task():
            raise RuntimeError("Cannot join current thread")
        thread.join_task(self._task, timeout, thread.count_codes_of_a_look)

    def _set_done(self) -> None:
        """Do nothing: a controlled thread is done when it ends."""
        if self._task is None:
            raise RuntimeError("thread not started")

    def run(self, function: Callable[[], Any], daemon: bool) -> None:
        """Start the thread."""
        if self._task is not None:
            raise RuntimeError("thread already started")
        self._task = _start((function,), function)
        self._task.daemon = daemon
        self.ident = self._task.path.ident


def start_joinable_thread(function: Any, handle: Any = None, daemon: bool = True) -> Any:
    """`_thread.start_joinable_thread`."""
    if control.current() is None:
        return _start_joinable_thread(function, handle=handle, daemon=daemon)
    if not callable(function):
        raise TypeError("thread function must be callable")
    if handle is None:
        handle = Handle()
    elif not isinstance(handle, Handle):
        raise TypeError("'handle' must be a _ThreadHandle")
    handle.run(function, daemon)
    return handle


def get_ident() -> int:
    """`_thread.get_ident`."""
    me = control.current()
    return _get_ident() if me is None else me.path.ident


def get_native_id() -> int:
    """`_thread.get_native_id`."""
    me = control.current()
    return _get_native_id() if me is None else me.path.ident


def get_main_thread_ident() -> int:
    """`_thread._get_main_thread_ident`."""
    if control.current() is None:
        return int(_get_main_thread_ident())
    return MAIN_IDENT


def count() -> int:
    """`_thread._count`: the threads that run, without the main one."""
    if control.current() is None:
        return _count()
    thread.note_threads_looked_at()
    running = control.the_program()
    alive = running.scheduler.threads(running.vocabulary)
    return sum(task.parent is not None for task in alive)


def exit_thread() -> None:
    """`_thread.exit`: the way to end a thread of `_thread`."""
    if control.current() is None:
        _exit()
    raise thread.SilentExit


def interrupt_main(signum: signal.Signals = signal.SIGINT, /) -> None:
    """`_thread.interrupt_main`: refused."""
    if control.current() is None:
        _interrupt_main(signum)
        return
    raise TreadleError(
        "_thread.interrupt_main() cannot be explored: signals arrive between any two instructions; "
        "tell the main thread with an Event instead"
    )


def stack_size(size: int = 0, /) -> int:
    """`_thread.stack_size`: checked and remembered, but a controlled thread has no stack to set."""
    if control.current() is None:
        return _stack_size(size)
    _stack_size(_stack_size(size))  # says what is wrong with it
    if has_threads():
        hooks.say(changing("the size of new stacks"))
    main = control.the_program().scheduler.alive.get(0)
    kept = control.task().scratch if main is None else main.scratch
    before: int = kept.get("stack size", 0)
    kept["stack size"] = size
    return before


def register_atexit(function: Any, /, *args: Any, **kwargs: Any) -> None:
    """`threading._register_atexit`: the interpreter does not end at the end of an execution."""
    if control.current() is None:
        _register_atexit(function, *args, **kwargs)


PATCHES: Patches = Patches(
    references=[
        (_start_new_thread, start_new_thread),
        (_thread.start_new, start_new_thread),
        (_get_ident, get_ident),
        (_get_native_id, get_native_id),
        (_count, count),
        (_exit, exit_thread),
        (_thread.exit_thread, exit_thread),
        (_interrupt_main, interrupt_main),
        (_stack_size, stack_size),
        (_register_atexit, register_atexit),
    ],
)
if _start_joinable_thread is not None:
    PATCHES.references += [
        (_start_joinable_thread, start_joinable_thread),
        (_thread._ThreadHandle, Handle),  # type: ignore[attr-defined]
        (_get_main_thread_ident, get_main_thread_ident),
    ]
