"""Registries, event buses, reference counts, callbacks under locks."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable

from soak.caches import together


class Bus:
    """Tells subscribers."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.subscribers: list[Callable[[int], None]] = []

    def subscribe(self, subscriber: Callable[[int], None]) -> None:
        """Add one."""
        with self.lock:
            self.subscribers.append(subscriber)

    def unsubscribe(self, subscriber: Callable[[int], None]) -> None:
        """Take one away."""
        with self.lock:
            self.subscribers.remove(subscriber)

    def publish(self, event: int, *, copies: bool) -> None:
        """Tell all; with a copy of the list, or over the list itself."""
        if copies:
            with self.lock:
                told = list(self.subscribers)
        else:
            told = self.subscribers
        for subscriber in told:
            subscriber(event)


def bus_a(right: bool) -> None:
    """Everybody who is subscribed all the time is told, while another one leaves."""
    bus = Bus()
    leaving: list[int] = []
    staying: list[int] = []
    bus.subscribe(leaving.append)
    bus.subscribe(staying.append)
    together(lambda: bus.publish(1, copies=right), lambda: bus.unsubscribe(leaving.append))
    assert staying == [1]


def bus_b(right: bool) -> None:
    """A subscriber may publish: the lock is not held while it is told."""
    bus = Bus()
    seen: list[int] = []

    def answer(event: int) -> None:
        seen.append(event)
        if event == 1:
            if right:
                bus.publish(2, copies=True)
            else:
                with bus.lock:
                    bus.publish(2, copies=True)

    bus.subscribe(answer)
    together(lambda: bus.publish(1, copies=True))
    assert seen == [1, 2]


def plugins_a(right: bool) -> None:
    """The first that registers a name has it."""
    plugins: dict[str, str] = {}
    winners: list[str] = []

    def register(who: str) -> None:
        if right:
            if plugins.setdefault("name", who) == who:
                winners.append(who)
        elif "name" not in plugins:
            plugins["name"] = who
            winners.append(who)

    together(lambda: register("a"), lambda: register("b"))
    assert len(winners) == 1


def plugins_b(right: bool) -> None:
    """Listed while others register: a copy under the lock."""
    plugins: dict[str, int] = {"a": 1}
    lock = threading.Lock()
    listed: list[list[str]] = []

    def register() -> None:
        with lock:
            plugins["b"] = 2

    def names() -> None:
        if right:
            with lock:
                listed.append(sorted(plugins))
        else:
            listed.append([name for name in plugins if plugins[name]])

    together(register, names)
    assert listed[0] in (["a"], ["a", "b"])


def groups_a(right: bool) -> None:
    """Members by group: nobody gets lost when two found a group."""
    groups: dict[str, list[int]] = {}
    lock = threading.Lock()

    def join(member: int) -> None:
        if right:
            with lock:
                groups.setdefault("g", []).append(member)
        else:
            if "g" not in groups:
                groups["g"] = []
            groups["g"].append(member)

    together(lambda: join(1), lambda: join(2))
    assert sorted(groups["g"]) == [1, 2]


def groups_b(right: bool) -> None:
    """A lock for each key, made by a factory."""
    guard = threading.Lock()
    locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
    counts = {"k": 0}

    def count() -> None:
        if right:
            with guard:
                lock = locks["k"]
        else:
            lock = threading.Lock()
        with lock:
            counts["k"] += 1

    together(count, count)
    assert counts["k"] == 2


class Shared:
    """Closed by the last of its users."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.users = 2
        self.closed = 0

    def leave(self, *, atomically: bool) -> None:
        """Leave, and close it if nobody is left."""
        if atomically:
            with self.lock:
                self.users -= 1
                if self.users == 0:
                    self.closed += 1
        else:
            with self.lock:
                self.users -= 1
            if self.users == 0:
                self.closed += 1


def references_a(right: bool) -> None:
    """Closed once."""
    shared = Shared()
    together(*[lambda: shared.leave(atomically=right)] * 2)
    assert shared.closed == 1


def references_b(right: bool) -> None:
    """Nobody uses what is closed."""
    lock = threading.Lock()
    state = {"open": True}

    def use() -> None:
        if right:
            with lock:
                if state["open"]:
                    assert state["open"]
        elif state["open"]:
            assert state["open"]

    def close() -> None:
        with lock:
            state["open"] = False

    together(use, close)


def reentrant_a(right: bool) -> None:
    """A method that takes the lock calls another one that does."""
    lock = threading.RLock() if right else threading.Lock()
    log: list[str] = []

    def inner() -> None:
        with lock:
            log.append("inner")

    def outer() -> None:
        with lock:
            inner()

    together(outer)
    assert log == ["inner"]


def reentrant_b(right: bool) -> None:
    """Two objects that call each other while they hold their locks."""
    one, two = threading.Lock(), threading.Lock()
    outer = threading.Lock()

    def call(mine: threading.Lock, other: threading.Lock) -> None:
        if right:
            with outer, mine, other:
                pass
        else:
            with mine, other:
                pass

    together(lambda: call(one, two), lambda: call(two, one))


class Observable:
    """A value with listeners."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.value = 0
        self.heard: list[int] = []

    def set(self, value: int, *, in_order: bool) -> None:
        """Set it, and tell."""
        if in_order:
            with self.lock:
                self.value = value
                self.heard.append(value)
        else:
            with self.lock:
                self.value = value
            self.heard.append(value)


def observable_a(right: bool) -> None:
    """What was heard last is the value."""
    observable = Observable()
    together(*[lambda n=n: observable.set(n, in_order=right) for n in (1, 2)])
    assert observable.heard[-1] == observable.value


def observable_b(right: bool) -> None:
    """A listener that is added hears what comes then, and no half of it."""
    lock = threading.Lock()
    state = {"listening": False, "version": 0, "told": -1}

    def listen() -> None:
        with lock:
            state["listening"] = True
            state["told"] = state["version"]

    def change() -> None:
        with lock:
            state["version"] += 1
            if right and state["listening"]:
                state["told"] = state["version"]
        if not right and state["listening"]:
            state["told"] = 1 if state["told"] < 0 else state["told"]

    together(listen, change)
    assert state["told"] == state["version"]
