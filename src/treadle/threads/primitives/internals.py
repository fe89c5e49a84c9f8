"""What Treadle replaces in the standard library, and what of that differs between Pythons.

The methods in `LOOKED_AT` are written anew elsewhere in this package, or their attributes are used.
`tests/threads/internals.json` has, for each Python that was looked at, a digest of each; on a new
Python a test names those that changed. Then: read what changed, mend the model if need be, and run
`python tests/threads/test_internals.py` with that Python to take the new digests down.
"""

from __future__ import annotations

import contextvars
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

VERSION = sys.version_info[:2]

HANDLE = "_handle" if VERSION == (3, 13) else "_os_thread_handle" if VERSION >= (3, 14) else ""
"""The attribute of a `Thread` with the handle of the real one; up to 3.12 it has none."""
THREADS_HAVE_CONTEXT = VERSION >= (3, 14)
"""Whether `Thread` takes a `context` to run in."""
RLOCKS_CAN_BE_ASKED = VERSION >= (3, 14)
"""Whether an `RLock` has a method `locked`."""
NAN_IS_NO_TIMEOUT = VERSION >= (3, 14)
"""Whether `Condition.wait` refuses what is not a number."""
FALSE_ERRORS_ARE_RAISED = VERSION >= (3, 14)
"""Whether a future raises an exception that is false, as one without elements may be."""
KEYS_OF_LOCALS = VERSION >= (3, 13)
"""Whether a thread finds its thread-local values by a key, not in its dictionary."""
UNRAISABLE_NAMES_FUNCTION = VERSION >= (3, 13)
"""Whether `sys.unraisablehook` gets the function of a raw thread in words, not as an object."""

LOOKED_AT: dict[str, str] = {
    "threading": """
        Thread.__init__ Thread.start Thread.run Thread.join Thread.is_alive Thread.__repr__
        Thread.name Thread.daemon Thread._bootstrap_inner Timer.run Timer.cancel current_thread
        enumerate active_count main_thread _register_atexit
        Condition.__init__ Condition.wait Condition.wait_for Condition.notify
        Condition.notify_all Condition.__enter__ Condition.__exit__ Condition.__repr__
        Event.__init__ Event.is_set Event.set Event.clear Event.wait Semaphore.__init__
        Semaphore.acquire Semaphore.__enter__ Semaphore.release BoundedSemaphore.release
        Barrier.__init__ Barrier.wait Barrier.reset Barrier.abort Barrier._enter Barrier._wait
        Barrier._exit Barrier._release _RLock.acquire _RLock.release _RLock.__repr__
    """,
    "_threading_local": "_localimpl local",
    "queue": """
        Queue.__init__ Queue.put Queue.get Queue.task_done Queue.join Queue.qsize Queue.empty
        Queue.full Queue._init Queue._put Queue._get Queue.shutdown LifoQueue
        PriorityQueue _PySimpleQueue
    """,
    "concurrent.futures._base": """
        Future.__init__ Future.__repr__ Future.cancel Future.cancelled Future.running Future.done
        Future.add_done_callback Future.result Future.exception Future._invoke_callbacks
        Future.set_running_or_notify_cancel Future.set_result Future.set_exception wait
        as_completed Executor.map Executor.submit
    """,
    "concurrent.futures.thread": """
        ThreadPoolExecutor.__init__ ThreadPoolExecutor.submit ThreadPoolExecutor.shutdown
        ThreadPoolExecutor._initializer_failed _worker _WorkItem
    """,
    "functools": "cached_property.__get__ cached_property.__set_name__ _make_key lru_cache",
    "weakref": "WeakValueDictionary WeakKeyDictionary WeakMethod finalize",
    "_weakrefset": "WeakSet",
    "random": "Random.seed Random._randbelow_with_getrandbits",
    "dataclasses": "_process_class",
    "importlib": "import_module",
    "os": """
        _Environ.__getitem__ _Environ.__setitem__ _Environ.__delitem__ _Environ.__iter__
        _Environ.__len__
    """,
    "unittest.mock": """
        CallableMixin._increment_mock_call NonCallableMock._get_child_mock _patch.__enter__
        _patch.__exit__ _patch_dict._patch_dict _patch_dict._unpatch_dict
    """,
}
"""Modules, and what of them was read for the models in this package.

Functions that are known to touch their arguments (`accesses.known_functions.LIBRARY`) are looked at
as well.
"""


def initializer_of(executor: Any) -> tuple[Any, Any]:
    """Return what each worker of a pool calls first, and with which arguments."""
    if hasattr(executor, "_initializer"):
        return executor._initializer, executor._initargs
    context = executor._create_worker_context()  # from Python 3.14 on
    return context.initializer, context.initargs


def runs_elsewhere(executor: Any) -> bool:
    """Tell whether the workers of a pool run what they are given in other interpreters."""
    own = getattr(ThreadPoolExecutor, "prepare_context", None)
    return own is not None and type(executor).prepare_context.__func__ is not own.__func__


def context_of(thread: threading.Thread) -> Any:
    """Return the context to run a thread in; None for an empty one."""
    given = getattr(thread, "_context", None)
    if given is None and getattr(sys.flags, "thread_inherit_context", False):
        return contextvars.copy_context()
    return given
