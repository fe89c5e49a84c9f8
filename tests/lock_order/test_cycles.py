"""Cycles of locks that the source shows: each program with exactly those that it has."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from treadle.analyses.lock_order import LockOrder, lock_order_of

_HEAD = "import queue\nimport threading\nfrom contextlib import contextmanager\n"
_ACCOUNT = """
class Account:
    def __init__(self, amount):
        self.lock = threading.Lock()
        self.amount = amount
"""
_TWO = "A = threading.Lock()\nB = threading.Lock()\n"


def _analysed(folder: Path, source: str, **others: str) -> LockOrder:
    files = {"program": _HEAD + textwrap.dedent(source), **others}
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    return lock_order_of((folder / f"{name}.py" for name in files), folder)


def _titles(order: LockOrder) -> list[str]:
    return [candidate.title for candidate in order.candidates]


_CYCLES = {
    "two locks in two orders": (
        _TWO
        + """
def one():
    with A:
        with B:
            pass

def two():
    with B:
        with A:
            pass
""",
        ["A → B → A"],
    ),
    "both in one statement": (
        _TWO
        + """
def one():
    with A, B:
        pass

def two():
    with B, A:
        pass
""",
        ["A → B → A"],
    ),
    "without `with`": (
        _TWO
        + """
def one():
    A.acquire()
    B.acquire()
    B.release()
    A.release()

def two():
    B.acquire()
    try:
        with A:
            pass
    finally:
        B.release()
""",
        ["A → B → A"],
    ),
    "the same order everywhere": (
        _TWO
        + """
def one():
    with A, B:
        pass

def two():
    with A:
        with B:
            pass
""",
        [],
    ),
    "given back before the other is taken": (
        _TWO
        + """
def one():
    with A:
        pass
    with B:
        pass

def two():
    B.acquire()
    B.release()
    with A:
        pass
""",
        [],
    ),
    "not waited for": (
        _TWO
        + """
def one():
    with A:
        if B.acquire(blocking=False):
            B.release()

def two():
    with B:
        with A:
            pass
""",
        [],
    ),
    "given up after a time": (
        _TWO
        + """
def one():
    with A:
        if B.acquire(timeout=1):
            B.release()

def two():
    with B, A:
        pass
""",
        [],
    ),
    "a timeout that is none": (
        _TWO
        + """
def one():
    with A:
        B.acquire(True, -1)
        B.release()

def two():
    with B, A:
        pass
""",
        ["A → B → A"],
    ),
    "a gate that lets one in": (
        _TWO
        + """
GATE = threading.Lock()

def one():
    with GATE, A, B:
        pass

def two():
    with GATE:
        with B, A:
            pass
""",
        [],
    ),
    "a gate for one of them only": (
        _TWO
        + """
GATE = threading.Lock()

def one():
    with GATE, A, B:
        pass

def two():
    with B, A:
        pass
""",
        ["A → B → A"],
    ),
    "through functions": (
        _TWO
        + """
def take_b():
    with B:
        pass

def one():
    with A:
        take_b()

def two():
    with B:
        take_a()

def take_a():
    A.acquire()
    A.release()
""",
        ["A → B → A"],
    ),
    "a helper that leaves it held": (
        _TWO
        + """
def enter():
    A.acquire()

def leave():
    A.release()

def one():
    enter()
    with B:
        pass
    leave()
    with B:
        pass

def two():
    with B:
        enter()
        leave()
""",
        ["A → B → A"],
    ),
    "a helper that gives it back": (
        _TWO
        + """
def leave():
    A.release()

def one():
    A.acquire()
    leave()
    with B:
        pass

def two():
    with B, A:
        pass
""",
        [],
    ),
    "a return inside of `with`": (
        _TWO
        + """
def first(early):
    with A:
        if early:
            return 1
    return 2

def one():
    first(True)
    with B:
        pass

def two():
    with B, A:
        pass
""",
        [],
    ),
    "two accounts": (
        _ACCOUNT
        + """
def transfer(source, target, amount):
    with source.lock:
        with target.lock:
            source.amount -= amount
            target.amount += amount
""",
        ["Account.lock → Account.lock"],
    ),
    "its own lock twice": (
        """
class Counter:
    def __init__(self):
        self.lock = threading.Lock()

    def add(self):
        with self.lock:
            self.log()

    def log(self):
        with self.lock:
            pass
""",
        ["Counter.lock → Counter.lock"],
    ),
    "its own reentrant lock twice": (
        """
class Counter:
    def __init__(self):
        self.lock = threading.RLock()

    def add(self):
        with self.lock:
            self.log()

    def log(self):
        with self.lock:
            pass
""",
        [],
    ),
    "reentrant, but another object's": (
        """
class Counter:
    def __init__(self, other):
        self.lock = threading.RLock()
        self.other = other

    def add(self):
        with self.lock:
            self.other.log()

    def log(self):
        with self.lock:
            pass
""",
        ["Counter.lock → Counter.lock"],
    ),
    "locks of two classes": (
        """
class Cache:
    def __init__(self, store: "Store"):
        self.lock = threading.Lock()
        self.store = store

    def load(self):
        with self.lock:
            self.store.read()

    def forget(self):
        with self.lock:
            pass

class Store:
    def __init__(self):
        self.lock = threading.Lock()
        self.cache = Cache(self)

    def read(self):
        with self.lock:
            pass

    def write(self):
        with self.lock:
            self.cache.forget()
""",
        ["Cache.lock → Store.lock → Cache.lock"],
    ),
    "an inherited method": (
        _TWO
        + """
class Base:
    def work(self):
        with A:
            self.inner()

class Derived(Base):
    def inner(self):
        with B:
            pass

def two():
    with B, A:
        pass
""",
        ["A → B → A"],
    ),
    "`super`": (
        _TWO
        + """
class Base:
    def work(self):
        with B:
            pass

class Derived(Base):
    def work(self):
        with A:
            super().work()

def two():
    with B, A:
        pass
""",
        ["A → B → A"],
    ),
    "a class attribute": (
        """
class Registry:
    lock = threading.Lock()

class Log:
    lock = threading.Lock()

def one():
    with Registry.lock, Log.lock:
        pass

def two():
    with Log.lock, Registry.lock:
        pass
""",
        ["Registry.lock → Log.lock → Registry.lock"],
    ),
    "a data class": (
        """
from dataclasses import dataclass, field

@dataclass
class Account:
    amount: int
    lock: threading.Lock = field(default_factory=threading.Lock)

def transfer(source: Account, target: Account):
    with source.lock, target.lock:
        pass
""",
        ["Account.lock → Account.lock"],
    ),
    "a list of locks": (
        """
FORKS = [threading.Lock() for _ in range(3)]

def eat(i):
    with FORKS[i]:
        with FORKS[(i + 1) % 3]:
            pass
""",
        ["a lock made at program.py:5 → a lock made at program.py:5"],
    ),
    "a dictionary of locks by key": (
        """
from collections import defaultdict
LOCKS = defaultdict(threading.Lock)

def move(a, b):
    with LOCKS[a]:
        with LOCKS[b]:
            pass
""",
        ["a lock made at program.py:6 → a lock made at program.py:6"],
    ),
    "variables of a test": (
        """
def test():
    a, b = threading.Lock(), threading.Lock()

    def one():
        with a, b:
            pass

    def two():
        with b, a:
            pass

    threads = [threading.Thread(target=one), threading.Thread(target=two)]
    for thread in threads:
        thread.start()
""",
        ["a in test → b in test → a in test"],
    ),
    "handed over as arguments": (
        _TWO
        + """
def both(first, second):
    with first:
        with second:
            pass

def test():
    threading.Thread(target=both, args=(A, B)).start()
    threading.Thread(target=both, args=(B, A)).start()
""",
        ["A → A", "B → B", "A → B → A"],  # which argument goes with which is not known
    ),
    "a manager by decoration": (
        _TWO
        + """
@contextmanager
def locked():
    A.acquire()
    try:
        yield
    finally:
        A.release()

def one():
    with locked():
        with B:
            pass

def two():
    with B, A:
        pass
""",
        ["A → B → A"],
    ),
    "a manager by methods": (
        _TWO
        + """
class Guard:
    def __enter__(self):
        A.acquire()
        return self

    def __exit__(self, *error):
        A.release()

def one():
    with Guard():
        with B:
            pass
    with B:
        pass

def two():
    with B, A:
        pass
""",
        ["A → B → A"],
    ),
    "a property": (
        _TWO
        + """
class Box:
    @property
    def size(self):
        with B:
            return 1

def one(box: Box):
    with A:
        return box.size

def two():
    with B, A:
        pass
""",
        ["A → B → A"],
    ),
    "three locks all around": (
        """
A = threading.Lock()
B = threading.Lock()
C = threading.Lock()

def one():
    with A, B:
        pass

def two():
    with B, C:
        pass

def three():
    with C, A:
        pass
""",
        ["A → B → C → A"],
    ),
    "semaphores": (
        """
A = threading.Semaphore(1)
B = threading.BoundedSemaphore()

def one():
    with A, B:
        pass

def two():
    with B, A:
        pass
""",
        ["A → B → A"],
    ),
    "a condition of a lock": (
        """
A = threading.Lock()
B = threading.Lock()
READY = threading.Condition(A)

def one():
    with READY:
        with B:
            pass

def two():
    with B, A:
        pass
""",
        ["A → B → A"],
    ),
    "a notification under a lock that the waiter holds": (
        """
LOCK = threading.Lock()
READY = threading.Condition()

def consume():
    with LOCK:
        with READY:
            READY.wait()

def produce():
    with LOCK:
        with READY:
            READY.notify()
""",
        ["LOCK → a notification of READY → LOCK"],
    ),
    "a wait with a limit": (
        """
LOCK = threading.Lock()
READY = threading.Condition()

def consume():
    with LOCK:
        with READY:
            READY.wait(1)

def produce():
    with LOCK:
        with READY:
            READY.notify()
""",
        [],
    ),
    "a condition as it should be": (
        """
READY = threading.Condition()

def consume():
    with READY:
        READY.wait_for(lambda: True)

def produce():
    with READY:
        READY.notify_all()
""",
        [],
    ),
    "a queue under a lock": (
        """
class Stage:
    def __init__(self):
        self.lock = threading.Lock()
        self.items = queue.Queue()

    def take(self):
        with self.lock:
            return self.items.get()

    def give(self, item):
        with self.lock:
            self.items.put(item)
""",
        ["Stage.lock → an item of Stage.items → Stage.lock"],
    ),
    "a queue under a lock, not waited for": (
        """
class Stage:
    def __init__(self):
        self.lock = threading.Lock()
        self.items = queue.Queue()

    def take(self):
        with self.lock:
            return self.items.get(timeout=1)

    def give(self, item):
        with self.lock:
            self.items.put(item)
""",
        [],
    ),
    "room in a queue": (
        """
class Stage:
    def __init__(self):
        self.lock = threading.Lock()
        self.items = queue.Queue(maxsize=1)

    def give(self, item):
        with self.lock:
            self.items.put(item)

    def take(self):
        with self.lock:
            return self.items.get_nowait()
""",
        ["Stage.lock → room of Stage.items → Stage.lock"],
    ),
    "an event that is set under the lock": (
        """
LOCK = threading.Lock()
DONE = threading.Event()

def wait():
    with LOCK:
        DONE.wait()

def finish():
    with LOCK:
        DONE.set()
""",
        ["LOCK → being set of DONE → LOCK"],
    ),
    "a lock that is needed before": (
        """
LOCK = threading.Lock()
DONE = threading.Event()

def wait():
    with LOCK:
        DONE.wait()

def finish():
    with LOCK:
        pass
    DONE.set()
""",
        ["LOCK → being set of DONE → LOCK"],
    ),
    "joined while its lock is held": (
        """
LOCK = threading.Lock()

def work():
    with LOCK:
        pass

def test():
    worker = threading.Thread(target=work)
    worker.start()
    with LOCK:
        worker.join()
""",
        ["LOCK → the end of worker in test → LOCK"],
    ),
    "a thread by its class": (
        """
LOCK = threading.Lock()

class Worker(threading.Thread):
    def run(self):
        with LOCK:
            pass

def test():
    worker = Worker()
    worker.start()
    with LOCK:
        worker.join()
""",
        ["LOCK → the end of worker in test → LOCK"],
    ),
    "a future's result": (
        """
from concurrent.futures import ThreadPoolExecutor
LOCK = threading.Lock()

def work():
    with LOCK:
        return 1

def test():
    pool = ThreadPoolExecutor()
    future = pool.submit(work)
    with LOCK:
        return future.result()
""",
        ["LOCK → the end of future in test → LOCK"],
    ),
}


@pytest.mark.parametrize(("source", "expected"), _CYCLES.values(), ids=_CYCLES)
def test_a_program_has_exactly_these_cycles(
    tmp_path: Path, source: str, expected: list[str]
) -> None:
    order = _analysed(tmp_path, source)
    found = _titles(order)
    assert sorted(found) == sorted(_rotated(title, found) for title in expected)
    assert order.not_understood == []


def _rotated(title: str, found: list[str]) -> str:
    """Return a title as it was found: where a cycle begins does not matter."""
    names = title.split(" → ")[:-1]
    for number in range(len(names)):
        turned = [*names[number:], *names[:number]]
        if (text := " → ".join([*turned, turned[0]])) in found:
            return text
    return title


def test_edges_say_where_and_by_whom(tmp_path: Path) -> None:
    order = _analysed(tmp_path, _CYCLES["through functions"][0])
    (candidate,) = order.candidates
    first, second = sorted((link[0] for link in candidate.links), key=lambda edge: edge.names)
    assert (first.names, first.function) == (("A", "B"), "take_b")
    assert (str(first.held_since), str(first.place)) == ("program.py:12", "program.py:8")
    assert (second.names, second.function) == (("B", "A"), "take_a")
    assert (str(second.held_since), str(second.place)) == ("program.py:16", "program.py:20")


def test_one_thread_is_enough_if_it_is_surely_the_same_lock(tmp_path: Path) -> None:
    (own,) = _analysed(tmp_path, _CYCLES["its own lock twice"][0]).candidates
    (others,) = _analysed(tmp_path, _CYCLES["two accounts"][0]).candidates
    assert own.is_alone
    assert not others.is_alone


def test_modules_of_a_package_are_seen_together(tmp_path: Path) -> None:
    package = tmp_path / "shop"
    package.mkdir()
    files = {
        "__init__": "from .locks import STOCK\n",
        "locks": "import threading\nSTOCK = threading.Lock()\nORDERS = threading.Lock()\n",
        "buy": "from shop import locks\nfrom . import STOCK\n\n"
        "def buy():\n    with STOCK:\n        with locks.ORDERS:\n            pass\n",
        "sell": "from shop.locks import *\n\ndef sell():\n    with ORDERS, STOCK:\n        pass\n",
    }
    for name, text in files.items():
        (package / f"{name}.py").write_text(text)
    order = lock_order_of(package.glob("*.py"), tmp_path)
    (candidate,) = order.candidates
    assert {edge.names for link in candidate.links for edge in link} == {
        ("STOCK", "ORDERS"),
        ("ORDERS", "STOCK"),
    }
    assert order.files == 4


# What is not understood


def test_a_callback_under_a_lock_is_listed(tmp_path: Path) -> None:
    order = _analysed(
        tmp_path,
        """
        LOCK = threading.Lock()

        def call(back):
            with LOCK:
                back()

        def free(back):
            back()
        """,
    )
    assert order.not_understood == [
        "program.py:9: what `back(…)` runs is not known, and LOCK may be held there"
    ]


def test_a_stored_callback_is_listed(tmp_path: Path) -> None:
    order = _analysed(
        tmp_path,
        """
        class Button:
            def __init__(self, action):
                self.lock = threading.Lock()
                self.action = action

            def press(self):
                with self.lock:
                    self.action()
        """,
    )
    assert order.not_understood == [
        "program.py:12: what `self.action(…)` runs is not known, and Button.lock may be held there"
    ]


def test_a_callback_that_is_known_is_followed(tmp_path: Path) -> None:
    order = _analysed(
        tmp_path,
        """
        A = threading.Lock()
        B = threading.Lock()

        def call(back):
            with A:
                back()

        def take():
            with B:
                pass

        def one():
            call(take)

        def two():
            with B:
                call(lambda: None)
        """,
    )
    # Which of the two callbacks is called with B held is not known: hence the first.
    assert _titles(order) == ["B → B", _rotated("A → B → A", _titles(order))]
    assert order.not_understood == []


def test_a_file_that_is_no_python_is_listed(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("def (:\n")
    order = lock_order_of([tmp_path / "broken.py"], tmp_path)
    assert len(order.not_understood) == 1
    assert order.not_understood[0].startswith("broken.py: cannot be read: ")
    assert order.files == 0


def test_values_that_grow_along_a_chain_come_to_an_end(tmp_path: Path) -> None:
    order = _analysed(
        tmp_path,
        """
        import json

        def walk(node=json):
            while node:
                node = node.next.parent
                node = node.child()
            return [walk(node)]
        """,
    )
    assert _titles(order) == []
