"""`queue.Queue`, `LifoQueue`, `PriorityQueue` and `SimpleQueue` under control.

Each operation is one event, with dependence as fine as in `treadle.model.mailbox`:

- *order* is written by each put, *takers* by each get: two puts conflict, two gets conflict;
- each put writes a location of its own, its *message*, and the get that takes the item needs it;
- in a bounded queue each get writes a location of its own too, the *slot* that it freed, and the
  put that fills that slot again needs it. So a put and a get of another item are independent.

Where the order of the items is another one (last in first out, priorities), where a queue is shut
down, or where its inside is looked at, all operations are on one location instead.

A subclass with a storage of its own (`_put`, `_get`, ...), and a queue whose mutex is used from
outside, run the standard library's code on controlled locks: what user code does while it holds the
mutex is then as visible as anywhere else.
"""

from __future__ import annotations

import queue
from collections import deque
from collections.abc import Callable, Hashable
from types import GenericAlias
from typing import Any

from treadle.core.errors import TreadleError
from treadle.core.events import OPEN, Codes, Mode, code, location_of
from treadle.core.records import WaitKind
from treadle.core.words import UNKNOWN
from treadle.python.runtime import control, slots
from treadle.python.runtime.deeds import Deed, given, method
from treadle.python.runtime.operation import IN_VAIN, Operation
from treadle.python.runtime.task import Task
from treadle.python.sharing.children import Children
from treadle.python.sharing.published import label_of, label_or_kind, published
from treadle.python.sharing.shared import Shared
from treadle.python.sharing.tables import ObjectTable
from treadle.python.sharing.walks import register
from treadle.threads.primitives.facets import act
from treadle.threads.primitives.patches import Patches

_FOREVER = -1.0
"""How long an operation waits that waits as long as it takes; a `_nowait` waits 0 seconds."""
_LOCKS = ("mutex", "not_empty", "not_full", "all_tasks_done")
_STORAGE = ("_init", "_qsize", "_put", "_get")
_ShutDown: type[Exception] = getattr(queue, "ShutDown", queue.Full)
_NEGATIVE = "'timeout' must be a non-negative number"


class QueueTable(ObjectTable):
    """The locations of a queue, and the names of the items and slots that are in it."""

    __slots__ = (
        "_era", "by_mutex", "coarse", "counted", "messages", "order", "queue", "slots",
        "takers", "unbalanced", "unfinished",
    )  # fmt: skip

    counts = True

    def __init__(self, shared: Shared, key: Hashable, label: str, sort: str) -> None:
        super().__init__(shared, key, label, sort)
        self.order = location_of(self.sync_at("order", Mode.READ, " order"))
        self.takers = location_of(self.sync_at("takers", Mode.READ, " takers"))
        self.unfinished = location_of(self.sync_at("unfinished", Mode.READ, " unfinished tasks"))

    def begin(self, value: Any) -> None:
        """Take note of the items that are there, which nobody need wait for."""
        self.queue = value
        self._decide()
        self._era = control.the_program().scheduler.crashes
        self.messages: deque[tuple[int | None, float]] = deque([(None, 0.0)] * value._qsize())
        """Locations and times of the items' puts, oldest first; None: before publication."""
        self.slots: deque[int] = deque()
        """Locations of the gets that freed slots, first the oldest; what is missing was free."""

    def current(self) -> QueueTable:
        """Return the table, brought up to date if an earlier execution used it."""
        if self._era is not control.the_program().scheduler.crashes:
            self.begin(self.queue)
        return self

    def forget(self) -> None:
        """Forget what depends on what was learned."""
        super().forget()
        self._decide()

    def _decide(self) -> None:
        """Find out how fine the dependence may be."""
        kind: Any = self.kind
        happens = self.shared.happens
        self.by_mutex = _has_own_storage(kind) or happens(self.sort, "mutex")
        is_fifo = issubclass(kind, SimpleQueue) or kind._get is queue.Queue._get
        self.coarse = not is_fifo or any(
            happens(self.sort, what) for what in ("shut down", "queue", "maxsize")
        )
        self.counted = happens(self.sort, "counted")
        self.unbalanced = happens(self.sort, "unbalanced")

    def note(self, what: str) -> None:
        """Note that something happens to such queues."""
        self.shared.note(self.sort, what)

    def read(self, what: Any) -> Codes:
        """Return the codes of reading an attribute: what it shows of the queue's state."""
        if what in _LOCKS:
            self.note("mutex")
        elif what == "queue":
            self.note("queue")
            return (code(self.order, Mode.WRITE),)  # whoever reads it may change it too
        elif what == "unfinished_tasks":
            self.note("counted")
            return (code(self.unfinished, Mode.READ),)
        elif what == "is_shutdown" and self.shared.happens(self.sort, "shut down"):
            return (code(self.order, Mode.READ),)
        return super().read(what)

    # What an operation accesses

    def size(self) -> Codes:
        """Return the codes of reading how many items there are."""
        order = code(self.order, Mode.READ)
        return (order,) if self.coarse else (order, code(self.takers, Mode.READ))

    def own_location(self, what: str, task: Task) -> int:
        """Return the location of a task's next put or get, named by the task's own doings."""
        number = task.scratch.get(what, 0) + 1
        task.scratch[what] = number
        return self.shared.location(
            (self.key, what, task.number, number), f"{self.label} {what} {number} of {task.name}"
        )

    def limit(self, mode: Mode) -> Codes:
        """Return the codes of reading `maxsize`, if that changes."""
        return tuple(code(location_of(access), mode) for access in self["maxsize"])

    def blocked_put(self) -> Codes:
        """Return what a put accesses that has to wait."""
        if self.coarse:
            await_order = (code(self.order, Mode.AWAIT), code(self.order, Mode.WRITE))
            return (*await_order, *self.limit(Mode.AWAIT))
        return (code(self.order, Mode.TAKE), code(self.takers, Mode.NEED))

    def blocked_get(self) -> Codes:
        """Return what a get accesses that has to wait."""
        if self.coarse:
            return (code(self.order, Mode.AWAIT), code(self.order, Mode.WRITE))
        return (code(self.takers, Mode.TAKE), code(self.order, Mode.NEED))

    def failed(self) -> Codes:
        """Return what a put or get accesses that finds no slot or item and does not wait."""
        return (OPEN, *self.size(), *self.limit(Mode.READ))

    def put_codes(self, task: Task, bounded: bool, waits: bool) -> Codes:
        """Return what a put accesses, and name its item; `waits`: it would have waited."""
        count = (code(self.unfinished, Mode.ADD),) if self.counted else ()
        if self.coarse:
            limit = self.limit(Mode.AWAIT)
            if not bounded and not limit and not self.shared.happens(self.sort, "shut down"):
                return (code(self.order, Mode.WRITE), *count)
            if waits:
                return (*self.blocked_put(), *count)
            return (OPEN, code(self.order, Mode.WRITE), *self.limit(Mode.READ), *count)
        message = self.own_location("put", task)
        self.messages.append((message, task.now))
        own = (code(message, Mode.WRITE), *count)
        if not bounded:
            return (code(self.order, Mode.WRITE), *own)
        slot = self._used_slot()
        if not waits:
            used = () if slot is None else (code(slot, Mode.READ),)
            return (OPEN, code(self.order, Mode.WRITE), *used, *own)
        if slot is None:
            return (code(self.order, Mode.WRITE), *own)
        return (code(self.order, Mode.TAKE), code(slot, Mode.NEED), *own)

    def _used_slot(self) -> int | None:
        """Return the location of the slot that the next put fills, None if it was always free."""
        if len(self.messages) + len(self.slots) > self.queue.maxsize:
            return self.slots.popleft() if self.slots else None
        return None

    def get_codes(self, task: Task, bounded: bool, waits: bool) -> Codes:
        """Return what a get accesses, and name the slot that it frees."""
        if self.counted:
            task.scratch[self.key] = task.scratch.get(self.key, 0) + 1
        if self.coarse:
            return self.blocked_get() if waits else (OPEN, code(self.order, Mode.WRITE))
        message, when = self.messages.popleft() if self.messages else (None, 0.0)
        task.now = max(task.now, when)
        freed: Codes = ()
        if bounded:
            slot = self.own_location("get", task)
            self.slots.append(slot)
            freed = (code(slot, Mode.WRITE),)
        if waits:
            needed = () if message is None else (code(message, Mode.NEED),)
            return (code(self.takers, Mode.TAKE), *needed, *freed)
        read = () if message is None else (code(message, Mode.READ),)
        return (OPEN, code(self.takers, Mode.WRITE), *read, *freed)

    def task_done(self, task: Task) -> Codes:
        """Return what `task_done` accesses.

        As long as every task reports only items that it got itself the count cannot get negative,
        so the order of the reports makes no difference.
        """
        self.note("counted")
        balance = task.scratch.get(self.key, 0)
        if balance <= 0:
            self.note("unbalanced")
        task.scratch[self.key] = balance - 1
        return (code(self.unfinished, Mode.WRITE if self.unbalanced else Mode.ADD),)


def _has_own_storage(kind: type) -> bool:
    """Tell whether a subclass keeps the items in its own way."""
    if issubclass(kind, SimpleQueue):
        return False
    return any(getattr(kind, name).__module__ != queue.__name__ for name in _STORAGE)


def _table_of(owner: Any) -> QueueTable | None:
    """Return the table of a queue, None while nobody else can reach it."""
    table = published.get(id(owner))
    return table.current() if isinstance(table, QueueTable) else None


def _runs_library_code(owner: Any, table: QueueTable | None) -> bool:
    return table.by_mutex if table is not None else _has_own_storage(owner.__class__)


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
    """A put or a get."""

    __slots__ = ("owner", "seconds", "table")

    def __init__(self, owner: Any, table: QueueTable | None, seconds: float) -> None:
        self.owner = owner
        self.table = table
        self.seconds = seconds

    def possible(self) -> bool:
        """Tell whether there is a slot, or an item."""
        raise NotImplementedError

    def ready(self, task: Task) -> bool:
        """Tell whether the operation need not wait, or would not."""
        return self.seconds != _FOREVER or self.possible()

    def deadline(self, task: Task) -> float | None:
        """Return when it gives up, if it would have to wait now."""
        if self.seconds <= 0 or self.possible():
            return None
        return task.now + self.seconds

    def failure(self, task: Task) -> str:
        """Say whether it gives up now."""
        return super().failure(task) or ("" if self.possible() else IN_VAIN)

    def begin(self, deed: Deed, item: Any = None) -> tuple[Task, bool]:
        """Announce it; tell who acts, and whether there is a slot or an item then."""
        if self.table is None:
            me = control.task()
            if self.seconds == _FOREVER and not self.possible():
                control.announce(self, deed, self.owner, item)
                act(me, ())
        else:
            me = control.announce(self, deed, self.owner, item)
        possible = self.possible()
        if not possible:
            if self.table is not None:
                act(me, self.table.failed())
            control.pass_time(me, self.seconds)
        return me, possible


class _Put(_Transfer):
    """Put an item into a queue."""

    __slots__ = ()

    kind = WaitKind.SLOT

    def possible(self) -> bool:
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

    def possible(self) -> bool:
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
    table = _table_of(self)
    if table is not None:
        control.publish(item, f"item of {table.label}")
    if _runs_library_code(self, table):
        with control.told_as(PUT, self, item):
            return _ORIGINALS["put"](self, item, block, timeout)
    bounded = self.maxsize > 0
    operation = _Put(self, table, _seconds(block, timeout) if bounded else _FOREVER)
    me, possible = operation.begin(PUT, item)
    if not possible:
        raise queue.Full
    if table is not None:
        act(me, table.put_codes(me, bounded, operation.seconds == _FOREVER))
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
    table = _table_of(self)
    if _runs_library_code(self, table):
        with control.told_as(GET, self):
            return _ORIGINALS["get"](self, block, timeout)
    operation = _Get(self, table, _seconds(block, timeout))
    me, possible = operation.begin(GET)
    if not possible:
        raise queue.Empty
    if table is not None:
        act(me, table.get_codes(me, self.maxsize > 0, operation.seconds == _FOREVER))
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
        table = _table_of(self) if control.current() is not None else None
        if control.current() is None:
            return _ORIGINALS[name](self)
        if _runs_library_code(self, table):
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
    table = _table_of(self)
    if _runs_library_code(self, table):
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
    table = _table_of(self)
    if _runs_library_code(self, table):
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
    table = _table_of(self)
    if _runs_library_code(self, table):
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

    def __init__(self) -> None:
        self._items: deque[Any] = deque()

    def _qsize(self) -> int:
        return len(self._items)

    def put(self, item: Any, block: Any = True, timeout: float | None = None) -> None:
        """Append an item; never waits."""
        del block, timeout
        table = _table_of(self) if control.current() is not None else None
        if table is not None:
            control.publish(item, f"item of {table.label}")
            me = control.announce(_Put(self, table, _FOREVER), PUT, self, item)
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
        table = _table_of(self)
        me, possible = _Get(self, table, seconds).begin(GET)
        if not possible:
            raise queue.Empty
        if table is not None:
            act(me, table.get_codes(me, bounded=False, waits=seconds == _FOREVER))
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
        table = _table_of(self) if control.current() is not None else None
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
    if _has_own_storage(owner.__class__) or happens(QueueTable.sort_of(owner, label), "mutex"):
        for name in _LOCKS:
            yield getattr(owner, name), f"{label}.{name}"
    yield owner.__class__, owner.__class__.__qualname__


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

PATCHES: Patches = Patches(
    attributes=[(queue.Queue, name, _MODELS[name]) for name in _ORIGINALS],
    references=[(queue.SimpleQueue, SimpleQueue)],
)
