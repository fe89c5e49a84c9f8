"""What can be waited for, by which methods, and which methods end such a wait."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from treadle.analyses.lock_order.values import Kind, Site


class Aspect(StrEnum):
    """What of a thing is waited for."""

    LOCK = "lock"
    NOTIFICATION = "notification"
    ITEM = "item"
    SLOT = "room"
    DONE = "all done"
    SET = "being set"
    END = "end"
    ALL = "all being there"


@dataclass(frozen=True, slots=True)
class Resource:
    """Something that threads wait for."""

    site: Site
    aspect: Aspect

    @property
    def is_lock(self) -> bool:
        """Whether it is held, so that its holder is waited for."""
        return self.aspect is Aspect.LOCK


LOCK_LIKE = frozenset({Kind.LOCK, Kind.RLOCK, Kind.CONDITION, Kind.SEMAPHORE, Kind.UNKNOWN})
"""What is taken and given back."""
REENTRANT = frozenset({Kind.RLOCK, Kind.CONDITION})
"""What its holder may take again; a condition that is given no lock makes a reentrant one."""

HANDED_OVER = frozenset({Kind.LOCK, Kind.SEMAPHORE})
"""What may be given back by somebody who did not take it, as a signal."""

_WAITING = {
    (Kind.CONDITION, "wait"): Aspect.NOTIFICATION,
    (Kind.CONDITION, "wait_for"): Aspect.NOTIFICATION,
    (Kind.EVENT, "wait"): Aspect.SET,
    (Kind.QUEUE, "get"): Aspect.ITEM,
    (Kind.QUEUE, "put"): Aspect.SLOT,
    (Kind.QUEUE, "join"): Aspect.DONE,
    (Kind.THREAD, "join"): Aspect.END,
    (Kind.FUTURE, "result"): Aspect.END,
    (Kind.FUTURE, "exception"): Aspect.END,
    (Kind.POOL, "shutdown"): Aspect.END,
    (Kind.POOL, "map"): Aspect.END,
    (Kind.BARRIER, "wait"): Aspect.ALL,
}
_PROVIDING = {
    (Kind.CONDITION, "notify"): Aspect.NOTIFICATION,
    (Kind.CONDITION, "notify_all"): Aspect.NOTIFICATION,
    (Kind.EVENT, "set"): Aspect.SET,
    (Kind.QUEUE, "put"): Aspect.ITEM,
    (Kind.QUEUE, "put_nowait"): Aspect.ITEM,
    (Kind.QUEUE, "get"): Aspect.SLOT,
    (Kind.QUEUE, "get_nowait"): Aspect.SLOT,
    (Kind.QUEUE, "task_done"): Aspect.DONE,
    (Kind.FUTURE, "set_result"): Aspect.END,
    (Kind.FUTURE, "set_exception"): Aspect.END,
    (Kind.BARRIER, "wait"): Aspect.ALL,
}
_LIMITS: dict[str, tuple[int | None, int | None]] = {
    "acquire": (0, 1),
    "wait": (None, 0),
    "wait_for": (None, 1),
    "join": (None, 0),
    "result": (None, 0),
    "exception": (None, 0),
    "get": (0, 1),
    "put": (1, 2),
    "shutdown": (0, None),
    "map": (None, None),
}
"""Which arguments of a method say whether, and how long, it waits."""


def positions_of_limits(kind: Kind, method: str) -> tuple[int | None, int | None]:
    """Return the positions of `blocking` and of `timeout` among a method's arguments."""
    return (None, None) if (kind, method) == (Kind.QUEUE, "join") else _LIMITS[method]


def waited_for_by(site: Site, method: str) -> Aspect | None:
    """Return what a method of something waits for; locks apart."""
    aspect = _WAITING.get((site.kind, method))
    return None if aspect is Aspect.SLOT and not site.is_bounded else aspect


def provided_by(site: Site, method: str) -> Aspect | None:
    """Return what those wait for whom a method of something lets go on."""
    return _PROVIDING.get((site.kind, method))
