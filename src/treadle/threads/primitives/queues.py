"""`queue.Queue`, `LifoQueue`, `PriorityQueue` and `SimpleQueue` under control.

Each operation is one event; what it accesses is in `queue_tables`.

A subclass with a storage of its own (`_put`, `_get`, ...), and a queue whose mutex is used from
outside, run the standard library's code on controlled locks: what user code does while it holds the
mutex is then as visible as anywhere else.
"""

from __future__ import annotations

import queue
from collections import deque
from collections.abc import Callable
from types import GenericAlias
from typing import Any

from treadle.core.errors import TreadleError
from treadle.core.events import OPEN, Codes, Mode, code
from treadle.core.records import WaitKind
from treadle.core.words import UNKNOWN
from treadle.python.accesses.stand_ins import MADE_IN_C
from treadle.python.runtime import control, slots
from treadle.python.runtime.deeds import Deed, given, method
from treadle.python.runtime.operation import Operation
from treadle.python.runtime.spin import effects
from treadle.python.runtime.task import Task
from treadle.python.runtime.timed import InTime
from treadle.python.sharing.children import Children
from treadle.python.sharing.identities import stable_hash
from treadle.python.sharing.published import label_of, label_or_kind
from treadle.python.sharing.restoring import undo_by, undo_content
from treadle.python.sharing.walks import register
from treadle.threads.primitives.facets import act
from treadle.threads.primitives.patches import Patches
from treadle.threads.primitives.queue_tables import (
    LOCKS,
    QueueTable,
    has_own_storage,
    runs_library_code,
    table_of,
)

_FOREVER = -1.0
"""How long an operation waits that waits as long as it takes; a `_nowait` waits 0 seconds."""
_ShutDown: type[Exception] = getattr(queue, "ShutDown", queue.Full)
_real_simple_queue = queue.SimpleQueue
_NEGATIVE = "'timeout' must be a non-negative number"


def _seconds(block: Any, timeout: float | None) -> float:
    """Return how long an operation waits."""
    if not block:
        return 0.0
    if timeout is None:
        return _FOREVER
    if timeout < 0:
        raise ValueError(_NEGATIVE)
    return timeout


def _is_shut_down(owner: Any) -> bool:
    return getattr(owner, "is_shutdown", False)


class _Transfer(Operation):
    """A put or a get, however long it has to wait."""

    __slots__ = ("_timed", "owner", "table")

    def __init__(self, owner: Any, table: QueueTable | None) -> None:
        self.owner = owner
        self.table = table
        self._timed: InTime | None = None

    def begin(self, seconds: float, deed: Deed, item: Any = None) -> bool:
        """Wait for some seconds, or for ever; tell whether there is a slot or an item then."""
        me = control.task()
        if seconds != _FOREVER:
            self._timed = InTime(self, me, seconds)
        if self.table is not None or (seconds != 0 and not self.ready(me)):
            control.announce(self._timed or self, deed, self.owner, item)
            self.act(me, ())
        if self.ready(me):
            effects[0] = effects[0] or self.table is None  # then it is no event
            return True
        if self.table is not None:
            self.act(me, self.table.failed())
        control.pass_time(me, seconds)
        return False

    @property
    def waits(self) -> bool:
        """Whether it waits for as long as it takes."""
        return self._timed is None or self._timed.is_patient

    def act(self, me: Task, codes: Codes) -> None:
        """Say what the step accessed."""
        act(me, codes if self._timed is None else self._timed.codes(me, codes))


class _Put(_Transfer):
    """Put an item into a queue."""

    __slots__ = ()

    kind = WaitKind.SLOT

    def ready(self, task: Task) -> bool:
        """Tell whether there is a free slot, or the queue is shut down."""
        owner = self.owner
        return not 0 < owner.maxsize <= owner._qsize() or _is_shut_down(owner)

    def pending(self, task: Task) -> Codes:
        """Return what it will access."""
        return () if self.table is None else self.table.blocked_put()

    def describe(self) -> str:
        """Name the slot."""
        return f"a free slot in {label_of(self.owner, 'a queue')}"


class _Get(_Transfer):
    """Take an item out of a queue."""

    __slots__ = ()

    kind = WaitKind.ITEM

    def ready(self, task: Task) -> bool:
        """Tell whether there is an item, or the queue is shut down."""
        return bool(self.owner._qsize()) or _is_shut_down(self.owner)

    def pending(self, task: Task) -> Codes:
        """Return what it will access."""
        return () if self.table is None else self.table.blocked_get()

    def describe(self) -> str:
        """Name the item."""
        return f"an item in {label_of(self.owner, 'a queue')}"


class _Join(Operation):
    """Wait until every item is done."""

    __slots__ = ("_codes", "_owner")

    kind = WaitKind.DONE

    def __init__(self, owner: Any, codes: Codes) -> None:
        self._owner = owner
        self._codes = codes

    def ready(self, task: Task) -> bool:
        """Tell whether all is done."""
        return not self._owner.unfinished_tasks

    def pending(self, task: Task) -> Codes:
        """Return the reading of the count."""
        return self._codes

    def describe(self) -> str:
        """Name the queue."""
        return f"the tasks of {label_of(self._owner, 'a queue')}"


def _put(self: Any, item: Any, block: Any = True, timeout: float | None = None) -> Any:
    """`Queue.put`."""
    if control.current() is None:
        return _ORIGINALS["put"](self, item, block, timeout)
    table = table_of(self)
    if table is not None:
        control.publish(item, f"item of {table.label}")
    if runs_library_code(self, table):
        with control.told_as(PUT, self, item):
            return _ORIGINALS["put"](self, item, block, timeout)
    bounded = self.maxsize > 0
    me = control.task()
    operation = _Put(self, table)
    if not operation.begin(_seconds(block, timeout) if bounded else _FOREVER, PUT, item):
        raise queue.Full
    if table is not None:
        operation.act(me, table.put_codes(me, bounded, operation.waits))
    if _is_shut_down(self):
        raise _ShutDown
    if table is None or not table.coarse:
        self._put(item)
    else:
        _within_one_step(me, self._put, item)
    self.unfinished_tasks += 1
    return None


def _within_one_step(me: Task, action: Callable[..., Any], *args: Any) -> Any:
    """Call something, comparing items say, whose accesses belong to the step that is under way."""
    before, codes = slots.announce, me.doing
    if before is not slots.nothing:
        slots.announce = control.collect
    try:
        return action(*args)
    finally:
        slots.announce = before
        if me.doing != codes:
            me.doing = (OPEN, *me.doing)  # type: ignore[misc]


def _get(self: Any, block: Any = True, timeout: float | None = None) -> Any:
    """`Queue.get`."""
    if control.current() is None:
        return _ORIGINALS["get"](self, block, timeout)
    table = table_of(self)
    if runs_library_code(self, table):
        with control.told_as(GET, self):
            return _ORIGINALS["get"](self, block, timeout)
    me = control.task()
    operation = _Get(self, table)
    if not operation.begin(_seconds(block, timeout), GET):
        raise queue.Empty
    if table is not None:
        operation.act(me, table.get_codes(me, self.maxsize > 0, operation.waits))
    if not self._qsize():
        raise _ShutDown
    if table is None or not table.coarse:
        return self._get()
    return _within_one_step(me, self._get)


def _call_library(name: str, deed: Deed, owner: Any, *args: Any) -> Any:
    """Run the standard library's code of a method; its steps go by the method's name."""
    with control.told_as(deed, owner):
        return _ORIGINALS[name](owner, *args)


def _reads(name: str) -> Callable[[Any], Any]:
    """Return a method that only reads the number of items: `qsize`, `empty`, `full`."""

    def read(self: Any) -> Any:
        table = table_of(self) if control.current() is not None else None
        if control.current() is None:
            return _ORIGINALS[name](self)
        if runs_library_code(self, table):
            return _call_library(name, _LOOKS[name], self)
        if table is not None and (name != "full" or self.maxsize > 0):
            control.announce((*table.size(), *table.limit(Mode.READ)), _LOOKS[name], self)
        size = self._qsize()
        if name == "qsize":
            return size
        return not size if name == "empty" else 0 < self.maxsize <= size

    read.__doc__ = f"`Queue.{name}`."
    return read


def _task_done(self: Any) -> Any:
    """`Queue.task_done`."""
    if control.current() is None:
        return _ORIGINALS["task_done"](self)
    table = table_of(self)
    if runs_library_code(self, table):
        return _call_library("task_done", TASK_DONE, self)
    if table is not None:
        control.announce(table.task_done(control.task()), TASK_DONE, self)
    if self.unfinished_tasks <= 0:
        raise ValueError("task_done() called too many times")
    self.unfinished_tasks -= 1
    return None


def _join(self: Any) -> Any:
    """`Queue.join`."""
    if control.current() is None:
        return _ORIGINALS["join"](self)
    table = table_of(self)
    if runs_library_code(self, table):
        return _call_library("join", JOIN, self)
    codes: Codes = ()
    if table is not None:
        table.note("counted")
        codes = (code(table.unfinished, Mode.AWAIT),)
    if codes or self.unfinished_tasks:
        act(control.announce(_Join(self, codes), JOIN, self), codes)
    return None


def _shutdown(self: Any, immediate: Any = False) -> Any:
    """`Queue.shutdown`."""
    if control.current() is None:
        return _ORIGINALS["shutdown"](self, immediate)
    table = table_of(self)
    if runs_library_code(self, table):
        return _call_library("shutdown", SHUT_DOWN, self, immediate)
    if table is not None:
        table.note("shut down")
        count = (code(table.unfinished, Mode.WRITE),) if immediate and table.counted else ()
        control.announce((code(table.order, Mode.WRITE), *count), SHUT_DOWN, self)
    self.is_shutdown = True
    if immediate:
        while self._qsize():
            self._get()
            if self.unfinished_tasks > 0:
                self.unfinished_tasks -= 1
    return None


class SimpleQueue:
    """Stands for `queue.SimpleQueue`, which is written in C."""

    __class_getitem__ = classmethod(GenericAlias)  # type: ignore[var-annotated]
    maxsize = 0
    __hash__ = stable_hash

    def __init__(self) -> None:
        self._items: deque[Any] = deque()

    def __reduce_ex__(self, protocol: Any, /) -> Any:
        """Refuse to be copied or pickled, in the words of a real one."""
        return _real_simple_queue().__reduce_ex__(protocol)

    def _qsize(self) -> int:
        return len(self._items)

    def put(self, item: Any, block: Any = True, timeout: float | None = None) -> None:
        """Append an item; never waits."""
        del block, timeout
        table = table_of(self) if control.current() is not None else None
        if table is not None:
            control.publish(item, f"item of {table.label}")
            me = control.announce(_Put(self, table), PUT, self, item)
            act(me, table.put_codes(me, bounded=False, waits=True))
        self._items.append(item)

    def put_nowait(self, item: Any) -> None:
        """Append an item."""
        self.put(item)

    def get(self, block: Any = True, timeout: float | None = None) -> Any:
        """Take the oldest item."""
        seconds = _seconds(block, timeout)
        if control.current() is None:
            return self._get_outside(seconds)
        table = table_of(self)
        me = control.task()
        operation = _Get(self, table)
        if not operation.begin(seconds, GET):
            raise queue.Empty
        if table is not None:
            operation.act(me, table.get_codes(me, bounded=False, waits=operation.waits))
        return self._items.popleft()

    def _get_outside(self, seconds: float) -> Any:
        if self._items:
            return self._items.popleft()
        if seconds == _FOREVER:
            raise TreadleError("a SimpleQueue made under control would wait outside of a test")
        raise queue.Empty

    def get_nowait(self) -> Any:
        """Take the oldest item, or raise `Empty`."""
        return self.get(block=False)

    def qsize(self) -> int:
        """Return the number of items."""
        return self._look(_LOOKS["qsize"])

    def empty(self) -> bool:
        """Tell whether there is no item."""
        return not self._look(_LOOKS["empty"])

    def _look(self, deed: Deed) -> int:
        table = table_of(self) if control.current() is not None else None
        if table is not None:
            control.announce(table.size(), deed, self)
        return len(self._items)


# What operations are in words

_PLAIN_QUEUES = (queue.Queue, queue.LifoQueue, queue.PriorityQueue, SimpleQueue)
"""Classes whose size and order of items are not up to code of the user's."""


def _next_item(owner: Any, _: Any) -> object:
    """Return what the next `get` of a queue will return."""
    if owner.__class__ not in _PLAIN_QUEUES:
        return UNKNOWN
    items = owner._items if isinstance(owner, SimpleQueue) else owner.queue
    if not items:
        return UNKNOWN
    return items[-1] if isinstance(owner, queue.LifoQueue) else items[0]


def _looks(name: str, answer: Callable[[Any], object]) -> Deed:
    """Return the deed of a method that only reads the number of items."""

    def value(owner: Any, _: Any) -> object:
        return answer(owner) if owner.__class__ in _PLAIN_QUEUES else UNKNOWN

    return method(label_or_kind, name, value)


PUT = Deed("put to", label_or_kind, given)
GET = Deed("get from", label_or_kind, _next_item)
TASK_DONE = Deed("task done in", label_or_kind)
JOIN = Deed("wait for tasks of", label_or_kind)
SHUT_DOWN = Deed("shut down", label_or_kind)
_LOOKS = {
    "qsize": _looks("qsize", lambda owner: owner._qsize()),
    "empty": _looks("empty", lambda owner: not owner._qsize()),
    "full": _looks("full", lambda owner: 0 < owner.maxsize <= owner._qsize()),
}

_OWN_ATTRIBUTES = frozenset(vars(queue.Queue()))


def _children(owner: Any, label: str) -> Children:
    """Walk the items, and what a subclass adds; the locks only where they are used."""
    items = owner._items if isinstance(owner, SimpleQueue) else getattr(owner, "queue", ())
    for item in list(items) if isinstance(items, deque | list) else ():
        yield item, f"item of {label}"
    for name, value in list(vars(owner).items()):
        if name not in _OWN_ATTRIBUTES and name != "_items":
            yield value, f"{label}.{name}"
    happens = control.the_program().shared.happens
    if has_own_storage(owner.__class__) or happens(QueueTable.sort_of(owner, label), "mutex"):
        for name in LOCKS:
            yield getattr(owner, name), f"{label}.{name}"
    yield owner.__class__, owner.__class__.__qualname__


MADE_IN_C.add(SimpleQueue)
for _kind in (queue.Queue, queue.LifoQueue, queue.PriorityQueue, SimpleQueue):
    register(_kind, QueueTable, _children)

_MODELS: dict[str, Callable[..., Any]] = {
    "put": _put,
    "get": _get,
    "qsize": _reads("qsize"),
    "empty": _reads("empty"),
    "full": _reads("full"),
    "task_done": _task_done,
    "join": _join,
    "shutdown": _shutdown,
}
_ORIGINALS: dict[str, Callable[..., Any]] = {
    name: vars(queue.Queue)[name] for name in _MODELS if name in vars(queue.Queue)
}


def _take_down(one: queue.Queue[Any]) -> Callable[[], None]:
    """Return what puts the items of a queue back, and how many of them are to be done."""
    items = undo_content(one.queue)
    state = {name: vars(one)[name] for name in _COUNTED if name in vars(one)}

    def undo() -> None:
        vars(one).update(state)
        if items is not None:
            items()

    return undo


_COUNTED = ("unfinished_tasks", "is_shutdown", "queue")
undo_by(queue.Queue, _take_down)

PATCHES: Patches = Patches(
    attributes=[(queue.Queue, name, _MODELS[name]) for name in _ORIGINALS],
    references=[(queue.SimpleQueue, SimpleQueue)],
)
