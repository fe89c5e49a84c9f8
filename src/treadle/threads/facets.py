"""Locations of primitives: what a lock, a semaphore or a queue is to the exploration.

An instance of a primitive has attributes like any object, and besides them locations of its own,
its *facets*: the state of a lock, the waiting line of a condition variable.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from treadle.events import Codes, Mode
from treadle.threads import hooks
from treadle.threads.shared import Children, ObjectTable, Shared, register
from treadle.threads.task import Task


class FacetTable(ObjectTable):
    """The locations of one primitive; codes are kept over all executions."""

    __slots__ = ("_known",)

    def __init__(self, shared: Shared, key: Hashable, label: str, sort: str) -> None:
        super().__init__(shared, key, label, sort)
        self._known: dict[tuple[Mode, Hashable], int] = {}

    def code(self, mode: Mode, facet: Hashable = "", name: str = "") -> int:
        """Return the code of an access to a facet; its name follows the primitive's."""
        known = self._known.get((mode, facet))
        if known is None:
            known = self._known[mode, facet] = self.sync_at(("facet", facet), mode, name)
        return known


def table_of(identity: int) -> FacetTable | None:
    """Return the locations of the primitive with an `id`; None while nobody else can reach it."""
    found = hooks.published.get(identity)
    return found if isinstance(found, FacetTable) else None


def act(task: Task, codes: Codes) -> None:
    """Say what the step accessed that a task has just been scheduled for.

    As long as the test has started no thread, there are no steps.
    """
    if hooks.announce is not hooks.nothing:
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
    register(kind, FacetTable, walk_others(own))
