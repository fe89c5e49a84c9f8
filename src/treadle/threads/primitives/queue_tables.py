"""The locations of queues: how fine the dependence of operations is.

Each operation is one event, with dependence as fine as in `treadle.model.mailbox`:

- *order* is written by each put, *takers* by each get: two puts conflict, two gets conflict;
- each put writes a location of its own, its *message*, and the get that takes the item needs it;
- in a bounded queue each get writes a location of its own too, the *slot* that it freed, and the
  put that fills that slot again needs it. So a put and a get of another item are independent.

Where the order of the items is another one (last in first out, priorities), where a queue is shut
down, or where its inside is looked at, all operations are on one location instead.
"""

from __future__ import annotations

import queue
from collections import deque
from collections.abc import Hashable
from typing import Any

from treadle.core.events import OPEN, Codes, Mode, code, location_of
from treadle.python.runtime import control
from treadle.python.runtime.task import Task
from treadle.python.sharing.published import published
from treadle.python.sharing.shared import Shared
from treadle.python.sharing.tables import ObjectTable

LOCKS = ("mutex", "not_empty", "not_full", "all_tasks_done")
"""Attributes of a queue that hold its lock, or conditions on it."""
_STORAGE = ("_init", "_qsize", "_put", "_get")


def is_simple(kind: type) -> bool:
    """Tell whether a class of queues is `SimpleQueue`, or derived from it."""
    return not issubclass(kind, queue.Queue)


class QueueTable(ObjectTable):
    """The locations of a queue, and the names of the items and slots that are in it."""

    __slots__ = (
        "_era", "by_mutex", "coarse", "counted", "messages", "order", "queue", "slots",
        "takers", "unbalanced", "unfinished",
    )  # fmt: skip

    counts = True
    is_primitive = True

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
        self.messages: deque[int | None] = deque([None] * value._qsize())
        """Locations of the items' puts, oldest first; None: before publication."""
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
        self.by_mutex = has_own_storage(kind) or happens(self.sort, "mutex")
        is_fifo = is_simple(kind) or kind._get is queue.Queue._get
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
        if what in LOCKS:
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
        self.messages.append(message)
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
        message = self.messages.popleft() if self.messages else None
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


def has_own_storage(kind: type) -> bool:
    """Tell whether a subclass keeps the items in its own way."""
    if is_simple(kind):
        return False
    return any(getattr(kind, name).__module__ != queue.__name__ for name in _STORAGE)


def table_of(owner: Any) -> QueueTable | None:
    """Return the table of a queue, None while nobody else can reach it."""
    table = published.get(id(owner))
    return table.current() if isinstance(table, QueueTable) else None


def runs_library_code(owner: Any, table: QueueTable | None) -> bool:
    """Tell whether the standard library's own code runs, on controlled locks."""
    return table.by_mutex if table is not None else has_own_storage(owner.__class__)
