"""What a step of a thread did, as its author would say it: `put to q`, `wait on c`.

The exploration sees locations: a condition variable is a line of waiting threads, a queue a dozen
of orders. A report says what the code under test called. That is told by the frames between the
step and the code under test: the outermost one that stands for a method of a primitive.
"""

from __future__ import annotations

import queue
import sys
import types
from collections import deque
from collections.abc import Callable, ItemsView, Iterator, KeysView, ValuesView
from typing import Any

from treadle.core.records import Access
from treadle.python.accesses import instruction_hooks as hooks
from treadle.python.instrument.scope import Variable
from treadle.python.runtime import control
from treadle.python.runtime.operation import Operation
from treadle.python.runtime.task import Task
from treadle.python.sharing.children import ATOMS
from treadle.threads.primitives import (
    condition,
    events_and_semaphores,
    pools,
    queues,
)
from treadle.threads.primitives.futures import CANCELLED, DONE, RUNNING, as_completed, wait
from treadle.threads.primitives.locks import Lock, RLock, Trying
from treadle.threads.primitives.queues import SimpleQueue
from treadle.threads.primitives.registry import PATCHES

UNKNOWN = object()
"""A value that cannot be told."""

_VERBS = {
    "Thread.start": "start",
    "Thread.join": "join",
    "Thread.is_alive": "call",
    "Lock.acquire": "acquire",
    "Lock.__enter__": "acquire",
    "Lock.release": "release",
    "Lock.__exit__": "release",
    "Lock.locked": "call",
    "Condition.__enter__": "acquire",
    "Condition.__exit__": "release",
    "Condition.wait": "wait on",
    "Condition.wait_for": "wait on",
    "Condition.notify": "notify",
    "Condition.notify_all": "notify all on",
    "Event.wait": "wait for",
    "Event.is_set": "call",
    "Event.set": "set",
    "Event.clear": "clear",
    "Semaphore.acquire": "acquire",
    "Semaphore.__enter__": "acquire",
    "Semaphore.release": "release",
    "BoundedSemaphore.release": "release",
    "Barrier.wait": "wait at",
    "Barrier.reset": "reset",
    "Barrier.abort": "abort",
    "Barrier.n_waiting": "read",
    "Barrier.broken": "read",
    "Queue.put": "put to",
    "Queue.get": "get from",
    "Queue.qsize": "call",
    "Queue.empty": "call",
    "Queue.full": "call",
    "Queue.task_done": "task done in",
    "Queue.join": "wait for tasks of",
    "Queue.shutdown": "shut down",
    "Future.result": "result of",
    "Future.exception": "exception of",
    "Future.set_result": "set result of",
    "Future.set_exception": "set exception of",
    "Future.cancel": "cancel",
    "Future.cancelled": "call",
    "Future.running": "call",
    "Future.done": "call",
    "Future.add_done_callback": "add callback to",
    "futures.wait": "wait for",
    "futures.as_completed": "wait for",
    "ThreadPoolExecutor.submit": "submit to",
    "ThreadPoolExecutor.shutdown": "shut down",
    "_Worker._next": "take job from",
    "time.sleep": "sleep",
}
"""What the code under test calls, in words; the object follows."""

_ANSWERS: dict[str, Callable[[Any], object]] = {
    "Lock.locked": lambda lock: lock._locked,
    "Event.is_set": lambda event: event._flag,
    "Queue.qsize": lambda items: items._qsize(),
    "Queue.empty": lambda items: not items._qsize(),
    "Queue.full": lambda items: 0 < items.maxsize <= items._qsize(),
    "Future.cancelled": lambda future: future._state in CANCELLED,
    "Future.running": lambda future: future._state == RUNNING,
    "Future.done": lambda future: future._state in DONE,
}
"""What a call that only looks at a primitive returns."""

_CLASSES = ((Lock, "Lock"), (RLock, "Lock"), (SimpleQueue, "Queue"))
"""Classes that stand for ones written in C, and whose methods theirs are like."""


def _codes() -> Iterator[tuple[types.CodeType, str]]:
    """Yield the code of each stand-in with the name of what it stands for."""
    for patches in PATCHES:
        for owner, name, stand_in in patches.attributes:
            function = stand_in.fget if isinstance(stand_in, property) else stand_in
            if isinstance(owner, type) and isinstance(function, types.FunctionType):
                yield function.__code__, f"{owner.__name__}.{name}"
        for original, stand_in in patches.references:
            if isinstance(stand_in, types.FunctionType):
                yield stand_in.__code__, f"{original.__module__}.{original.__name__}"
    for kind, called in _CLASSES:
        for owner in reversed(kind.__mro__):
            for name, function in vars(owner).items():
                if isinstance(function, types.FunctionType):
                    yield function.__code__, f"{called}.{name}"
    yield wait.__code__, "futures.wait"
    yield as_completed.__code__, "futures.as_completed"


_CALLS = {code: name for code, name in _codes() if name in _VERBS}


class Deed:
    """What a thread announced: who called what, and how to look its values up."""

    __slots__ = ("_call", "_chain", "_frame", "_operation", "_value")

    def __init__(self, chain: list[types.FrameType], doing: object) -> None:
        self._chain = chain
        self._frame, self._call = _called(chain)
        self._operation = doing if isinstance(doing, Operation) else None
        self._value: Callable[[], object] = lambda: UNKNOWN

    def begin(self, task: Task) -> None:
        """Take note of what can be seen only at the beginning of the step."""
        frame = self._frame
        if frame is None:
            self._value = _value_at(self._chain)
            return
        found = frame.f_locals
        if self._call == "time.sleep":
            return
        if self._operation is not None and self._operation.deadline(task) is not None:
            self._fix(_Said("timed out"))
        elif self._operation is not None and _is_in_vain(self._operation, task):
            self._fix(_Said("in vain"))
        elif self._call == "Queue.get":
            self._fix(_next_item(found["self"]))
        elif self._call == "Queue.put":
            self._fix(found["item"])
        elif self._call == "ThreadPoolExecutor.submit":
            self._fix(_Said(getattr(found["fn"], "__name__", "a job")))
        elif self._call == "_Worker._next":
            jobs = found["self"].inbox or found["pool"].backlog
            self._fix(_Said(jobs[0].name if jobs else "none left"))
        elif self._call == "Future.set_result":
            self._fix(found["result"])
        elif self._call == "Future.result":
            self._value = lambda: found["self"]._result
        elif self._call in _ANSWERS:
            self._fix(_answer(self._call, found["self"]))

    def _fix(self, value: object) -> None:
        self._value = lambda: value

    @property
    def deletes(self) -> bool:
        """Whether it is a `del`."""
        return bool(self._chain) and self._chain[-1].f_code in _DELETING

    @property
    def value(self) -> object:
        """What was read or written, once it has happened."""
        return self._value()

    def in_words(self, say: Callable[[object], str]) -> Access | None:
        """Return the call in words, None for a plain access; `say` puts values into words."""
        if self._frame is None:
            return _method_in_words(self._chain, say)
        name = _VERBS[self._call]
        if self._operation is not None:
            name = _SECOND_HALF.get(type(self._operation), name)
        subject = _subject(self._frame)
        if name in ("call", "read"):
            subject += f".{self._call.partition('.')[2]}{'()' if name == 'call' else ''}"
        value = self.value
        if value is UNKNOWN:
            return Access(name, subject)
        return Access(name, subject, str(value) if isinstance(value, _Said) else say(value))


_DELETING = (
    hooks.delete_attr.__code__,
    hooks.delete_item.__code__,
    hooks.delete_cell.__code__,
)


class _Said(str):
    """A value that is in words already."""

    __slots__ = ()


_SECOND_HALF: dict[type[Operation], str] = {
    condition._Wake: "wake up on",
    condition._Signal: "wake up on",
    condition._TimedSignal: "wake up on",
    condition._Retake: "reacquire lock of",
    pools._JoinWorker: "wait for workers of",
}
"""Operations that end what the first step of a call began."""


def _called(chain: list[types.FrameType]) -> tuple[types.FrameType | None, str]:
    """Return the outermost call of a primitive on the way to the code under test."""
    for frame in reversed(chain):
        name = _CALLS.get(frame.f_code) or frame.f_code.co_qualname
        if name in _VERBS:
            return frame, name
    return None, ""


def _subject(frame: types.FrameType) -> str:
    """Name what a primitive's method was called on."""
    found = frame.f_locals
    if "fs" in found:
        return "futures"
    if "seconds" in found:
        return f"{found['seconds']} s"
    obj: Any = found.get("self")
    if frame.f_code.co_qualname == "_Worker._next":
        obj = obj.pool.executor
    task = getattr(obj, "_treadle", None)
    if isinstance(task, Task):
        return task.label
    if isinstance(obj, Lock | RLock):
        return obj.label()
    return "" if obj is None else control.label_of(obj, f"a {type(obj).__name__} of its own")


def _method_in_words(chain: list[types.FrameType], say: Callable[[object], str]) -> Access | None:
    """Return the call of a container's method, written as in Python."""
    for frame in chain:
        found = frame.f_locals
        if frame.f_code.co_name == "_on_container" and "args" in found:
            given = [*map(say, found["args"])]
            given += [f"{name}={say(value)}" for name, value in found["kwargs"].items()]
            name = found["function"].__name__
            called = f"{found['table'].label}.{name}({', '.join(given)})"
            result = found.get("result")  # of views, and of what failed, nothing is said
            is_told = result is not None and not isinstance(result, _VIEWS)
            return Access("call", called, say(result) if is_told else "")
        if frame.f_code is hooks.contains.__code__:
            item, obj = found["item"], found["obj"]
            place = f"{say(item)} in {control.label_of(obj, 'it')}"
            known = obj.__class__ in _CONTAINERS and item.__class__ in ATOMS
            return Access("look for", place, str(item in obj) if known else "")
    return None


def _is_in_vain(operation: Operation, task: Task) -> bool:
    """Tell whether something that does not wait finds nothing to take."""
    if isinstance(operation, Trying):
        return not operation._lock.is_free_for(task)
    if isinstance(operation, events_and_semaphores._UnitInTime):
        return not operation._semaphore._value
    return isinstance(operation, queues._Transfer) and not operation.possible()


_QUEUES = (queue.Queue, queue.LifoQueue, queue.PriorityQueue, SimpleQueue)


def _answer(call: str, owner: Any) -> object:
    """Return what a look at a primitive will return, if that is not up to code of the user's."""
    if call.startswith("Queue.") and type(owner) not in _QUEUES:
        return UNKNOWN
    return _ANSWERS[call](owner)


def _next_item(owner: Any) -> object:
    """Return what the next `get` of a queue will return."""
    if owner.__class__ not in _QUEUES:
        return UNKNOWN
    items = owner._items if isinstance(owner, SimpleQueue) else owner.queue
    if not items:
        return UNKNOWN
    return items[-1] if isinstance(owner, queue.LifoQueue) else items[0]


# Values of plain accesses

_CONTAINERS = (list, dict, set, deque, bytearray)
_VIEWS = (KeysView, ValuesView, ItemsView, Iterator)


def _value_at(chain: list[types.FrameType]) -> Callable[[], object]:
    """Return how to look up what the access of a hook is about, once it has happened."""
    if not chain or chain[-1].f_code.co_filename != hooks.__file__:
        return lambda: UNKNOWN
    found: dict[str, Any] = dict(chain[-1].f_locals)
    if "value" in found:
        return lambda: found["value"]
    if "name" in found:
        return lambda: _attribute(found["obj"], found["name"])
    if "key" in found:
        return lambda: _item(found["obj"], found["key"])
    if "cell" in found:
        return lambda: _content(found["cell"])
    if found.get("obj").__class__ in _CONTAINERS:
        asks = chain[-1].f_code in (
            hooks.read_size.__code__,
            hooks.read_truth.__code__,
        )
        is_size = asks and found["obj"].__class__ is not deque  # a deque is one location
        return lambda: len(found["obj"]) if is_size else found["obj"]
    return lambda: UNKNOWN


def _attribute(obj: Any, name: str) -> object:
    """Look an attribute up without running code of the user's."""
    values = getattr(obj, "__dict__", {})
    if name in values:
        return values[name]
    found = getattr(type(obj), name, UNKNOWN)
    if isinstance(found, types.MemberDescriptorType):
        return object.__getattribute__(obj, name)
    return UNKNOWN if callable(found) or hasattr(found, "__get__") else found


def _item(obj: Any, key: Any) -> object:
    if obj.__class__ in (list, dict, bytearray):
        try:
            return obj[key]
        except (LookupError, TypeError):
            return UNKNOWN
    return UNKNOWN


def _content(cell: Any) -> object:
    if isinstance(cell, Variable):
        return vars(sys.modules[cell.module]).get(cell.name, UNKNOWN)
    try:
        return cell.cell_contents
    except ValueError:
        return UNKNOWN
