"""Caches, memoisation, lazy initialisation."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

Guard = AbstractContextManager[object]


def together(*functions: Callable[[], object]) -> None:
    """Run functions in threads, and wait for all."""
    threads = [threading.Thread(target=function) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class Memo:
    """Computes each value once."""

    def __init__(self, lock: Guard) -> None:
        self.lock = lock
        self.values: dict[str, int] = {}
        self.computed = 0

    def get(self, key: str) -> int:
        """Return the value of a key."""
        with self.lock:
            if key not in self.values:
                self.computed += 1
                self.values[key] = len(key)
            return self.values[key]


def memo_a(right: bool) -> None:
    """Two threads ask for the same key."""
    memo = Memo(threading.Lock() if right else nullcontext())
    together(lambda: memo.get("one"), lambda: memo.get("one"))
    assert memo.computed == 1


def memo_b(right: bool) -> None:
    """Values are computed outside of the lock, so the first one must win."""
    values: dict[str, object] = {}
    seen: list[object] = []

    def ask() -> None:
        made = object()
        if right:
            seen.append(values.setdefault("key", made))
        else:
            if "key" not in values:
                values["key"] = made
            seen.append(values["key"])

    together(ask, ask)
    assert seen[0] is seen[1]


class Recent:
    """Keeps the entries that were used last."""

    def __init__(self, lock: Guard, most: int) -> None:
        self.lock, self.most = lock, most
        self.entries: OrderedDict[str, int] = OrderedDict()

    def get(self, key: str) -> int | None:
        """Return an entry, which is then the youngest."""
        with self.lock:
            if key not in self.entries:
                return None
            self.entries.move_to_end(key)
            return self.entries[key]

    def put(self, key: str, value: int) -> None:
        """Add an entry; the oldest goes."""
        with self.lock:
            self.entries[key] = value
            while len(self.entries) > self.most:
                self.entries.popitem(last=False)


def lru_a(right: bool) -> None:
    """An entry goes between the look and the use."""
    cache = Recent(threading.RLock() if right else nullcontext(), 1)
    cache.put("a", 1)
    together(lambda: cache.get("a"), lambda: cache.put("b", 2))


def lru_b(right: bool) -> None:
    """Two puts never leave more than one entry, and never take from an empty cache."""
    cache = Recent(threading.Lock() if right else nullcontext(), 1)
    cache.put("old", 0)
    together(lambda: cache.put("a", 1), lambda: cache.put("b", 2))
    assert len(cache.entries) == 1


class Expiring:
    """Forgets entries after a while."""

    def __init__(self, lock: Guard, seconds: float) -> None:
        self.lock, self.seconds = lock, seconds
        self.entries: dict[str, tuple[float, int]] = {}

    def put(self, key: str, value: int) -> None:
        """Add an entry."""
        with self.lock:
            self.entries[key] = (time.monotonic() + self.seconds, value)

    def get(self, key: str) -> int | None:
        """Return an entry that is young enough."""
        with self.lock:
            if key not in self.entries:
                return None
            until, value = self.entries[key]
            if until < time.monotonic():
                del self.entries[key]
                return None
            return value


def ttl_a(right: bool) -> None:
    """Two threads find the same entry too old."""
    cache = Expiring(threading.Lock() if right else nullcontext(), -1)
    cache.put("a", 1)
    together(lambda: cache.get("a"), lambda: cache.get("a"))


def ttl_b(right: bool) -> None:
    """An entry that was just put is there: an hour is long."""
    cache = Expiring(threading.Lock(), 3600 if right else -1)
    seen: list[int | None] = []

    def use() -> None:
        cache.put("a", 1)
        seen.append(cache.get("a"))

    together(use, use)
    assert seen == [1, 1]


class Lazy:
    """Made when it is first asked for."""

    instance: Lazy | None = None
    lock = threading.Lock()
    made = 0

    def __init__(self) -> None:
        type(self).made += 1
        self.ready = False
        self.ready = True


def singleton_a(right: bool) -> None:
    """Double-checked, or checked once outside of the lock."""
    Lazy.instance, Lazy.made = None, 0

    def get() -> Lazy:
        if Lazy.instance is None:
            with Lazy.lock:
                if not right or Lazy.instance is None:
                    Lazy.instance = Lazy()
        return Lazy.instance

    together(get, get)
    assert Lazy.made == 1


def singleton_b(right: bool) -> None:
    """What others can see is whole."""
    box: dict[str, dict[str, int]] = {}
    lock = threading.Lock()
    seen: list[int | None] = []

    def configuration() -> dict[str, int]:
        with lock:
            if "it" not in box:
                loaded: dict[str, int] = {}
                if not right:
                    box["it"] = loaded
                loaded["size"] = 3
                box["it"] = loaded
        return box["it"]

    def look() -> None:
        if "it" in box:
            seen.append(box["it"].get("size"))
        else:
            seen.append(configuration()["size"])

    together(look, look)
    assert seen == [3, 3]


class Connection:
    """Opened on first use."""

    def __init__(self, lock: Guard) -> None:
        self.lock = lock
        self.handle: int | None = None
        self.opened = 0

    def open(self) -> int:
        """Return the handle."""
        with self.lock:
            if self.handle is None:
                self.opened += 1
                self.handle = self.opened
            return self.handle


def lazy_connection_a(right: bool) -> None:
    """Three threads use one connection."""
    connection = Connection(threading.Lock() if right else nullcontext())
    together(connection.open, connection.open, connection.open)
    assert connection.opened == 1


def lazy_connection_b(right: bool) -> None:
    """A connection that was closed is opened again, and is never seen half closed."""
    connection = Connection(threading.Lock())
    connection.open()

    def close() -> None:
        with connection.lock if right else nullcontext():
            if connection.handle is not None:
                assert connection.handle > 0
                connection.handle = None

    together(close, close)
    assert connection.open() == 2
