"""Locations of primitives: what a lock, a semaphore or a queue is to the exploration.

An instance of a primitive has attributes like any object, and besides them locations of its own,
its *facets*: the state of a lock, the waiting line of a condition variable.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Any

from treadle.core.events import Codes, Mode
from treadle.python.runtime import control, slots
from treadle.python.runtime.spin import effects
from treadle.python.runtime.task import Task
from treadle.python.sharing.children import Children
from treadle.python.sharing.published import published
from treadle.python.sharing.shared import Shared
from treadle.python.sharing.tables import ObjectTable
from treadle.python.sharing.walks import register

_STATE = ("_value", "_flag", "_state", "_count")
"""Attributes in which the primitives of `threading` keep their state."""


class FacetTable(ObjectTable):
    """The locations of one primitive; codes are kept over all executions."""

    __slots__ = ("_known",)

    is_primitive = True

    def __init__(self, shared: Shared, key: Hashable, label: str, sort: str) -> None:
        super().__init__(shared, key, label, sort)
        self._known: dict[tuple[Mode, Hashable], int] = {}

    def enter(self) -> None:
        """Take note that the primitive is about to be used."""

    def code(self, mode: Mode, facet: Hashable = "", name: str = "") -> int:
        """Return the code of an access to a facet; its name follows the primitive's."""
        known = self._known.get((mode, facet))
        if known is None:
            known = self._known[mode, facet] = self.sync_at(("facet", facet), mode, name)
        return known


class RewoundTable(FacetTable):
    """The locations of a primitive that is put back if it outlives an execution.

    An execution that ends in a deadlock leaves units taken and threads in lines.
    """

    __slots__ = ("_execution", "_first")

    counts = True

    def __init__(self, shared: Shared, key: Hashable, label: str, sort: str) -> None:
        super().__init__(shared, key, label, sort)
        self._first: tuple[Any, dict[str, Any]] | None = None
        """The primitive, and its state when it was published first."""
        self._execution: object = None
        """The last execution that used it, if it was published before the first one."""

    def begin(self, value: Any) -> None:
        """Put a primitive back that was published before; remember the state of a new one."""
        if self._first is not None and self._first[0] is value:
            self._rewind()
        else:
            attributes = vars(value)
            state = {name: attributes[name] for name in _STATE if name in attributes}
            self._first = (value, state)
        self._execution = self._first if control.current() is None else None

    def enter(self) -> None:
        """Put a primitive back that was published before the first execution, once in each."""
        if self._execution is not None:
            execution = control.the_program().scheduler.scratch
            if self._execution is not execution:
                self._execution = execution
                self._rewind()

    def _rewind(self) -> None:
        assert self._first is not None
        value, state = self._first
        vars(value).update(state)
        if isinstance(value, threading.Condition):
            value._waiters.clear()  # type: ignore[attr-defined]


def table_of(identity: int) -> FacetTable | None:
    """Return the locations of the primitive with an `id`; None while nobody else can reach it."""
    found = published.get(identity)
    if not isinstance(found, FacetTable):
        return None
    found.enter()
    return found


def note_private_change(primitive: Any) -> None:
    """Take note that a primitive changes; if nobody else can reach it, that is no event."""
    if table_of(id(primitive)) is None:
        effects[0] = True


def act(task: Task, codes: Codes) -> None:
    """Say what the step accessed that a task has just been scheduled for.

    As long as the test has started no thread, there are no steps.
    """
    if slots.announce is not slots.nothing:
        task.doing = codes


def walk_others(own: frozenset[str]) -> Callable[[Any, str], Children]:
    """Return a walker over the attributes of an instance that are not a primitive's own."""

    def walk(value: Any, label: str) -> Children:
        for name, item in list(vars(value).items()):
            if name not in own:
                yield item, f"{label}.{name}"

    return walk


def register_primitive(kind: type, own: frozenset[str]) -> None:
    """Name a class's instances by facets; `own` are attributes that are nobody else's business."""
    register(kind, RewoundTable, walk_others(own))
