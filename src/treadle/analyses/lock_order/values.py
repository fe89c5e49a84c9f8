"""What an expression may be, as far as waiting is concerned, and where such values are kept."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from treadle.analyses.lock_order.sources import Place


class Kind(StrEnum):
    """What is made at a site."""

    LOCK = "lock"
    RLOCK = "reentrant lock"
    CONDITION = "condition"
    SEMAPHORE = "semaphore"
    EVENT = "event"
    QUEUE = "queue"
    BARRIER = "barrier"
    THREAD = "thread"
    FUTURE = "future"
    POOL = "pool"
    UNKNOWN = "lock that is not known"


MAKERS = {
    "threading.Lock": Kind.LOCK,
    "_thread.allocate_lock": Kind.LOCK,
    "_thread.lock": Kind.LOCK,
    "_thread.RLock": Kind.RLOCK,
    "threading._RLock": Kind.RLOCK,
    "threading.RLock": Kind.RLOCK,
    "threading.Condition": Kind.CONDITION,
    "threading.Semaphore": Kind.SEMAPHORE,
    "threading.BoundedSemaphore": Kind.SEMAPHORE,
    "threading.Event": Kind.EVENT,
    "threading.Barrier": Kind.BARRIER,
    "queue.Queue": Kind.QUEUE,
    "queue.LifoQueue": Kind.QUEUE,
    "queue.PriorityQueue": Kind.QUEUE,
    "queue.SimpleQueue": Kind.QUEUE,
    "threading.Thread": Kind.THREAD,
    "threading.Timer": Kind.THREAD,
    "concurrent.futures.Future": Kind.FUTURE,
    "concurrent.futures.ThreadPoolExecutor": Kind.POOL,
    "concurrent.futures.thread.ThreadPoolExecutor": Kind.POOL,
}
"""What makes something that threads wait for, by its full name."""


@dataclass(frozen=True, slots=True)
class Site:
    """Where a lock, or something else that threads wait for, is made; it stands for all of them."""

    kind: Kind
    place: Place
    column: int
    is_single: bool
    """Whether it is made once: in the body of a module, in no loop."""
    is_bounded: bool = False
    """Whether it is a queue in which there may be no room."""


@dataclass(frozen=True, slots=True)
class Instance:
    """An object of a class; all of its objects are one."""

    name: str
    is_super: bool = False
    """Whether it is `super()`: what derived classes have instead is not meant."""


@dataclass(frozen=True, slots=True)
class ClassValue:
    """A class itself."""

    name: str


@dataclass(frozen=True, slots=True)
class FunctionValue:
    """A function, or a method that is bound to an object."""

    name: str
    is_bound: bool = False
    given: int = 0
    """How many of its parameters have values already, `self` apart: by `functools.partial`."""


@dataclass(frozen=True, slots=True)
class Outside:
    """A module, or something of one, that is not analysed: its dotted name."""

    name: str


@dataclass(frozen=True, slots=True)
class Known:
    """A module that is analysed."""

    name: str


@dataclass(frozen=True, slots=True)
class Container:
    """A list, dictionary, set or tuple made at a place; its items are one."""

    place: Place
    column: int
    function: str = ""
    """The function that has it by being called: its `*args`, what it yields."""


Value = Site | Instance | ClassValue | FunctionValue | Outside | Known | Container
Values = frozenset[Value]
NOTHING: Values = frozenset()
PLAIN: Values = frozenset({Outside("a plain value")})
"""A number, a text, or an object of a library: its parts and what its methods give are, too."""

ANY = "*"
"""The name of an attribute whose name is not known."""

Slot = tuple[object, ...]
"""What holds values: `("global", module, name)`, `("attribute", class, name)`, …"""


def global_slot(module: str, name: str) -> Slot:
    """Return the slot of a module's variable."""
    return ("global", module, name)


def attribute_slot(owner: str, name: str) -> Slot:
    """Return the slot of an attribute of a class or of its instances."""
    return ("attribute", owner, name)


def local_slot(function: str, name: str) -> Slot:
    """Return the slot of a function's variable."""
    return ("local", function, name)


def return_slot(function: str) -> Slot:
    """Return the slot of what a function returns, or yields."""
    return ("return", function)


def item_slot(container: Container | Site) -> Slot:
    """Return the slot of what is in a container, or in a queue."""
    return ("item", container)


def target_slot(site: Site) -> Slot:
    """Return the slot of the functions that a thread or a future runs."""
    return ("target", site)


def decorated_slot(function: str) -> Slot:
    """Return the slot of what the decorators of a function make of it."""
    return ("decorated", function)


def made_slot(owner: str) -> Slot:
    """Return the slot of the sites where a class derived from `Thread` or a lock is made."""
    return ("made", owner)


def lock_slot(site: Site) -> Slot:
    """Return the slot of the locks of a condition."""
    return ("lock", site)
