"""Ways in which people write a deadlock: each is a candidate, or is listed as not understood."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from treadle.analyses.lock_order import LockOrder, lock_order_of

_HEAD = """
import queue, threading, functools, contextlib, weakref
from contextlib import contextmanager, ExitStack, nullcontext
from dataclasses import dataclass, field
from typing import NamedTuple, TypedDict
from concurrent.futures import ThreadPoolExecutor
"""
_TWO = "A = threading.Lock()\nB = threading.Lock()\n"
_BACK = "\ndef two():\n    with B, A:\n        pass\n"

_CANDIDATES = {
    "tuple of locks": """
LOCKS = (threading.Lock(), threading.Lock())
def one():
    with LOCKS[0], LOCKS[1]: pass
def two():
    with LOCKS[1], LOCKS[0]: pass
""",
    "tuple unpack loop": _TWO
    + """
def one():
    for first, second in [(A, B), (B, A)]:
        with first:
            with second: pass
""",
    "tuple swap": _TWO
    + """
def one(flag):
    first, second = (A, B) if flag else (B, A)
    with first, second: pass
""",
    "nested attributes": """
class Inner:
    def __init__(self): self.lock = threading.Lock()
class Mid:
    def __init__(self): self.b = Inner()
class Outer:
    def __init__(self):
        self.a = Mid()
        self.lock = threading.Lock()
    def one(self):
        with self.a.b.lock, self.lock: pass
    def two(self):
        with self.lock, self.a.b.lock: pass
""",
    "class methods": """
class C:
    a = threading.Lock()
    b = threading.Lock()
    @classmethod
    def one(cls):
        with cls.a, cls.b: pass
    @classmethod
    def two(cls):
        with cls.b:
            cls.three()
    @classmethod
    def three(cls):
        with cls.a: pass
""",
    "static methods": """
class C:
    a = threading.Lock()
    b = threading.Lock()
    @staticmethod
    def one():
        with C.a, C.b: pass
    @staticmethod
    def two():
        with C.b:
            C.three()
    @staticmethod
    def three():
        with C.a: pass
""",
    "synchronized self": """
def synchronized(method):
    @functools.wraps(method)
    def wrapper(self, *args, **kwargs):
        with self.lock:
            return method(self, *args, **kwargs)
    return wrapper
class C:
    def __init__(self, other):
        self.lock = threading.Lock()
        self.other = other
    @synchronized
    def one(self):
        self.other.two()
    @synchronized
    def two(self): pass
""",
    "synchronized with a lock": _TWO
    + """
def synchronized(lock):
    def decorate(f):
        @functools.wraps(f)
        def wrapper(*args):
            with lock:
                return f(*args)
        return wrapper
    return decorate
@synchronized(A)
def one():
    with B: pass
@synchronized(B)
def two():
    with A: pass
""",
    "synchronized of functions": _TWO
    + """
def with_a(f):
    def wrapper(*args):
        with A:
            return f(*args)
    return wrapper
@with_a
def one():
    with B: pass
"""
    + _BACK,
    "lock as decorator manager": _TWO
    + """
@contextmanager
def hold_a():
    with A:
        yield
@hold_a()
def one():
    with B: pass
"""
    + _BACK,
    "class decorator": _TWO
    + """
class Locked:
    def __init__(self, f): self.f = f
    def __call__(self, *args):
        with A:
            return self.f(*args)
@Locked
def one():
    with B: pass
"""
    + _BACK,
    "exit stack": _TWO
    + """
def one():
    with ExitStack() as stack:
        stack.enter_context(A)
        stack.enter_context(B)
"""
    + _BACK,
    "exit stack loop": _TWO
    + """
def all_of(locks):
    with ExitStack() as stack:
        for lock in locks:
            stack.enter_context(lock)
def one():
    all_of([A, B])
def two():
    all_of([B, A])
""",
    "exit stack object": _TWO
    + """
def one():
    stack = contextlib.ExitStack()
    stack.enter_context(A)
    with B: pass
    stack.close()
"""
    + _BACK,
    "nullcontext": _TWO
    + """
def one(safe):
    with A if safe else nullcontext():
        with B: pass
"""
    + _BACK,
    "nullcontext(lock)": _TWO
    + """
def one():
    with nullcontext(A) as lock:
        with lock, B: pass
"""
    + _BACK,
    "lock factory": """
def make(): return threading.Lock()
A = make()
B = make()
def one():
    with A, B: pass
def two():
    with B, A: pass
""",
    "factory alias": """
make = threading.Lock
A, B = make(), make()
def one():
    with A, B: pass
def two():
    with B, A: pass
""",
    "factory in class attr": """
class C:
    factory = threading.Lock
    def __init__(self):
        self.a = self.factory()
        self.b = self.factory()
    def one(self):
        with self.a, self.b: pass
    def two(self):
        with self.b, self.a: pass
""",
    "wrapper has lock": """
class MyLock:
    def __init__(self): self._lock = threading.Lock()
    def acquire(self): self._lock.acquire()
    def release(self): self._lock.release()
    def __enter__(self):
        self.acquire()
        return self
    def __exit__(self, *exc): self.release()
A, B = MyLock(), MyLock()
def one():
    with A, B: pass
def two():
    with B, A: pass
""",
    "wrapper acquire": """
class MyLock:
    def __init__(self): self._lock = threading.Lock()
    def acquire(self): self._lock.acquire()
    def release(self): self._lock.release()
A, B = MyLock(), MyLock()
def one():
    A.acquire()
    B.acquire()
    B.release()
    A.release()
def two():
    B.acquire()
    A.acquire()
""",
    "subclass of Condition": """
class Mine(threading.Condition): pass
A, B = Mine(), Mine()
def one():
    with A, B: pass
def two():
    with B, A: pass
""",
    "subclass of Semaphore": """
class Mine(threading.Semaphore):
    def __init__(self): super().__init__(1)
A, B = Mine(), Mine()
def one():
    A.acquire()
    B.acquire()
def two():
    B.acquire()
    A.acquire()
""",
    "property lock": """
class C:
    def __init__(self):
        self._a = threading.Lock()
        self._b = threading.Lock()
    @property
    def a(self): return self._a
    @property
    def b(self): return self._b
def one(c: C):
    with c.a, c.b: pass
def two(c: C):
    with c.b, c.a: pass
""",
    "property() call": """
class C:
    def __init__(self):
        self._a = threading.Lock()
        self._b = threading.Lock()
    def _get(self): return self._a
    a = property(_get)
    def one(self):
        with self.a, self._b: pass
    def two(self):
        with self._b, self.a: pass
""",
    "callback registered": _TWO
    + """
def on():
    with B: pass
CALLBACKS = []
CALLBACKS.append(on)
def one():
    with A:
        for c in CALLBACKS: c()
"""
    + _BACK,
    "partial": _TWO
    + """
def take(first, second):
    with first, second: pass
def test():
    threading.Thread(target=functools.partial(take, A, B)).start()
    threading.Thread(target=functools.partial(take, B, A)).start()
""",
    "partial kw": _TWO
    + """
def take(first, second):
    with first, second: pass
def test():
    f = functools.partial(take, second=A)
    f(B)
    take(A, B)
""",
    "lambda": _TWO
    + """
def take(first, second):
    with first, second: pass
def test():
    threading.Thread(target=lambda: take(A, B)).start()
    threading.Thread(target=lambda: take(B, A)).start()
""",
    "lambda returning lock": _TWO
    + """
get = lambda: A
def one():
    with get(), B: pass
"""
    + _BACK,
    "Timer": _TWO
    + """
def later(first, second):
    with first, second: pass
def test():
    threading.Timer(1, later, [A, B]).start()
    threading.Timer(1, later, args=[B, A]).start()
""",
    "thread kwargs": _TWO
    + """
def take(first, second):
    with first, second: pass
def test():
    threading.Thread(target=take, kwargs={"first": A, "second": B}).start()
    threading.Thread(target=take, kwargs=dict(first=B, second=A)).start()
""",
    "thread args variable": _TWO
    + """
def take(first, second):
    with first, second: pass
def test():
    for pair in ((A, B), (B, A)):
        threading.Thread(target=take, args=pair).start()
""",
    "thread star args": _TWO
    + """
def take(first, second):
    with first, second: pass
def test():
    for pair in ((A, B), (B, A)):
        take(*pair)
""",
    "kwargs star star": _TWO
    + """
def take(*, first, second):
    with first, second: pass
def test():
    take(**{"first": A, "second": B})
    take(**dict(first=B, second=A))
""",
    "star parameters": _TWO
    + """
def take(*locks):
    with locks[0]:
        with locks[1]: pass
def test():
    take(A, B)
    take(B, A)
""",
    "kwarg parameters": _TWO
    + """
def take(**locks):
    with locks["first"]:
        with locks["second"]: pass
def test():
    take(first=A, second=B)
    take(first=B, second=A)
""",
    "star acquire all": _TWO
    + """
def take(*locks):
    for lock in locks:
        lock.acquire()
def test():
    take(A, B)
    take(B, A)
""",
    "pool.map": _TWO
    + """
def take(pair):
    first, second = pair
    with first, second: pass
def test():
    with ThreadPoolExecutor() as pool:
        list(pool.map(take, [(A, B), (B, A)]))
""",
    "pool shutdown under lock": _TWO
    + """
def work():
    with A: pass
def test():
    pool = ThreadPoolExecutor()
    pool.submit(work)
    with A:
        pool.shutdown()
""",
    "pool with under lock": _TWO
    + """
def work():
    with A: pass
def test():
    with A:
        with ThreadPoolExecutor() as pool:
            pool.submit(work)
""",
    "pool map result under lock": _TWO
    + """
def work(x):
    with A: pass
def test():
    pool = ThreadPoolExecutor()
    with A:
        list(pool.map(work, [1]))
""",
    "futures.wait under lock": _TWO
    + """
from concurrent.futures import wait, as_completed
def work():
    with A: pass
def test():
    pool = ThreadPoolExecutor()
    f = pool.submit(work)
    with A:
        wait([f])
""",
    "shared condition": """
class Q:
    def __init__(self):
        self._lock = threading.Lock()
        self.empty = threading.Condition(self._lock)
        self.full = threading.Condition(self._lock)
    def one(self):
        with self.empty:
            with self.full: pass
""",
    "condition nested monitor": """
class Q:
    def __init__(self):
        self.outer = threading.Lock()
        self.cond = threading.Condition()
    def get(self):
        with self.outer:
            with self.cond:
                self.cond.wait()
    def put(self):
        with self.outer:
            with self.cond:
                self.cond.notify()
""",
    "queue join": """
Q = queue.Queue()
L = threading.Lock()
def worker():
    while True:
        Q.get()
        with L: pass
        Q.task_done()
def test():
    with L:
        Q.join()
""",
    "queue of locks": _TWO
    + """
Q = queue.Queue()
def one():
    Q.put(A)
def work():
    lock = Q.get()
    with lock:
        with B: pass
"""
    + _BACK,
    "Thread subclass": _TWO
    + """
class W(threading.Thread):
    def __init__(self, first, second):
        super().__init__(daemon=True)
        self.first = first
        self.second = second
    def run(self):
        with self.first, self.second: pass
def test():
    W(A, B).start()
    W(B, A).start()
""",
    "thread in attribute joined": """
class S:
    def __init__(self):
        self.lock = threading.Lock()
        self.thread = threading.Thread(target=self.run)
    def run(self):
        with self.lock: pass
    def stop(self):
        with self.lock:
            self.thread.join()
""",
    "generator": _TWO
    + """
def locks():
    yield A
    yield B
def one():
    for lock in locks():
        lock.acquire()
"""
    + _BACK,
    "generator holding": _TWO
    + """
def items():
    with A:
        yield 1
def one():
    for x in items():
        with B: pass
"""
    + _BACK,
    "yield from": _TWO
    + """
@contextmanager
def inner():
    with A: yield
def items():
    with A:
        yield from [1]
def outer():
    yield from items()
def one():
    for x in outer():
        with B: pass
"""
    + _BACK,
    "sorted locks wrong": """
LOCKS = [threading.Lock() for _ in range(3)]
def one(i, j):
    for k in (i, j):
        LOCKS[k].acquire()
""",
    "walrus": _TWO
    + """
def one():
    if (lock := A).acquire():
        with B: pass
def two():
    with B:
        with (second := A): pass
""",
    "try finally early return": _TWO
    + """
def one(x):
    A.acquire()
    try:
        if x:
            return 1
        B.acquire()
        try:
            return 2
        finally:
            B.release()
    finally:
        A.release()
"""
    + _BACK,
    "match": _TWO
    + """
def one(cmd):
    match cmd:
        case "x":
            A.acquire()
        case _:
            return
    with B: pass
"""
    + _BACK,
    "match capture": _TWO
    + """
def take(pair):
    match pair:
        case (first, second):
            with first, second: pass
def test():
    take((A, B))
    take((B, A))
""",
    "nested classes": """
class Outer:
    a = threading.Lock()
    class Inner:
        b = threading.Lock()
        def one(self):
            with Outer.a, self.b: pass
    def two(self):
        with self.Inner.b, self.a: pass
""",
    "enter returns other": """
class M:
    def __init__(self):
        self.lock = threading.Lock()
        self.data = Data()
    def __enter__(self):
        self.lock.acquire()
        return self.data
    def __exit__(self, *exc): self.lock.release()
class Data:
    def __init__(self): self.lock = threading.Lock()
def one(m: M):
    with m as data:
        with data.lock: pass
def two(m: M):
    with m.data.lock:
        with m: pass
""",
    "module if": """
import sys
if sys.platform == "x":
    A = threading.Lock()
else:
    A = threading.RLock()
B = threading.Lock()
def one():
    with A, B: pass
"""
    + _BACK,
    "module try": """
try:
    from threading import RLock as L
except ImportError:
    from threading import Lock as L
A = L()
B = L()
def one():
    with A, B: pass
"""
    + _BACK,
    "global": """
A = None
B = None
def init():
    global A, B
    A = threading.Lock()
    B = threading.Lock()
def one():
    with A, B: pass
"""
    + _BACK,
    "dataclass field": """
@dataclass
class C:
    a: threading.Lock = field(default_factory=threading.Lock)
    b: threading.Lock = field(default_factory=lambda: threading.Lock())
    def one(self):
        with self.a, self.b: pass
    def two(self):
        with self.b, self.a: pass
""",
    "dataclass positional": _TWO
    + """
@dataclass
class Pair:
    first: object
    second: object
    def take(self):
        with self.first, self.second: pass
def test():
    Pair(A, B).take()
    Pair(B, A).take()
""",
    "NamedTuple": _TWO
    + """
class Pair(NamedTuple):
    first: object
    second: object
def take(pair: Pair):
    with pair.first, pair.second: pass
def test():
    take(Pair(A, B))
    take(Pair(B, A))
""",
    "TypedDict": _TWO
    + """
class Pair(TypedDict):
    first: threading.Lock
    second: threading.Lock
def take(pair: Pair):
    with pair["first"], pair["second"]: pass
def test():
    take({"first": A, "second": B})
    take(Pair(first=B, second=A))
""",
    "dict get": """
LOCKS = {}
def lock_for(k):
    lock = LOCKS.get(k)
    if lock is None:
        lock = LOCKS[k] = threading.Lock()
    return lock
def one(i, j):
    with lock_for(i), lock_for(j): pass
""",
    "dict setdefault": """
LOCKS = {}
def one(i, j):
    with LOCKS.setdefault(i, threading.Lock()):
        with LOCKS.setdefault(j, threading.Lock()): pass
""",
    "defaultdict": """
import collections
LOCKS = collections.defaultdict(threading.Lock)
def one(i, j):
    with LOCKS[i]:
        with LOCKS[j]: pass
""",
    "weak dict": """
LOCKS = weakref.WeakValueDictionary()
def lock_for(k):
    try:
        return LOCKS[k]
    except KeyError:
        lock = LOCKS[k] = threading.Lock()
        return lock
def one(i, j):
    with lock_for(i), lock_for(j): pass
""",
    "weak key dict": """
LOCKS = weakref.WeakKeyDictionary()
def one(i, j):
    LOCKS[i] = threading.Lock()
    with LOCKS[i]:
        with LOCKS[j]: pass
""",
    "ordered dict": """
from collections import OrderedDict
LOCKS = OrderedDict()
def one(i, j):
    LOCKS[i] = threading.RLock()
    with LOCKS[i]:
        with LOCKS[j]: pass
""",
    "lru_cache": """
@functools.lru_cache(maxsize=None)
def lock_for(name): return threading.Lock()
def one(i, j):
    with lock_for(i), lock_for(j): pass
""",
    "getattr name": """
class C:
    def __init__(self):
        self.a = threading.Lock()
        self.b = threading.Lock()
    def one(self, x, y):
        with getattr(self, x):
            with getattr(self, y): pass
""",
    "getattr constant": """
class C:
    def __init__(self):
        self.a = threading.Lock()
        self.b = threading.Lock()
    def one(self):
        with getattr(self, "a"), self.b: pass
    def two(self):
        with self.b, getattr(self, "a"): pass
""",
    "setattr": """
class C:
    def __init__(self):
        for name in ("a", "b"):
            setattr(self, name, threading.Lock())
    def one(self):
        with self.a, self.b: pass
    def two(self):
        with self.b, self.a: pass
""",
    "map acquire": _TWO
    + """
def one():
    list(map(lambda l: l.acquire(), [A, B]))
"""
    + _BACK,
    "comprehension acquire": _TWO
    + """
def take(locks):
    [lock.acquire() for lock in locks]
def test():
    take([A, B])
    take([B, A])
""",
    "zip": _TWO
    + """
def one():
    for first, second in zip([A, B], [B, A]):
        with first, second: pass
""",
    "enumerate": """
LOCKS = [threading.Lock() for _ in range(3)]
def one():
    for i, lock in enumerate(LOCKS):
        lock.acquire()
""",
    "list mult": """
LOCKS = [threading.Lock()] + [threading.Lock()]
def one():
    with LOCKS[0]:
        with LOCKS[1]: pass
""",
    "list slice": """
LOCKS = [threading.Lock() for _ in range(3)]
def one():
    for lock in LOCKS[1:]:
        with LOCKS[0], lock: pass
""",
    "for else while": _TWO
    + """
def one():
    while True:
        A.acquire()
        break
    B.acquire()
"""
    + _BACK,
    "loop carried": _TWO
    + """
def one(locks):
    for lock in (A, B):
        lock.acquire()
    for lock in (B, A):
        lock.release()
def two():
    for lock in (B, A):
        lock.acquire()
""",
    "while carried alternately": _TWO
    + """
def one():
    current, following = A, B
    current.acquire()
    while True:
        following.acquire()
        current.release()
        current, following = following, current
""",
    "hand over hand": """
class Node:
    def __init__(self, next):
        self.lock = threading.Lock()
        self.next = next
def walk(node):
    node.lock.acquire()
    while node.next:
        nxt = node.next
        nxt.lock.acquire()
        node.lock.release()
        node = nxt
""",
    "__eq__ dunder": """
class C:
    def __init__(self): self.lock = threading.Lock()
    def __eq__(self, other):
        with self.lock, other.lock: return True
def one(a: C, b: C):
    return a == b
""",
    "dunder add under lock": _TWO
    + """
class C:
    def __add__(self, other):
        with B: return self
def one():
    c = C()
    with A:
        return c + c
"""
    + _BACK,
    "dunder getitem under lock": _TWO
    + """
class C:
    def __getitem__(self, key):
        with B: return key
    def __len__(self):
        with B: return 1
C0 = C()
def one():
    with A:
        return C0[1]
"""
    + _BACK,
    "dunder len under lock": _TWO
    + """
class C:
    def __len__(self):
        with B: return 1
C0 = C()
def one():
    with A:
        return len(C0)
"""
    + _BACK,
    "dunder iter": _TWO
    + """
class C:
    def __iter__(self):
        with B: return iter([])
C0 = C()
def one():
    with A:
        for x in C0: pass
"""
    + _BACK,
    "setter": _TWO
    + """
class C:
    @property
    def x(self): return 1
    @x.setter
    def x(self, value):
        with B: pass
C0 = C()
def one():
    with A:
        C0.x = 3
"""
    + _BACK,
    "setattr dunder": _TWO
    + """
class C:
    def __setitem__(self, k, v):
        with B: pass
C0 = C()
def one():
    with A:
        C0[1] = 3
"""
    + _BACK,
    "contains": _TWO
    + """
class C:
    def __contains__(self, k):
        with B: return True
C0 = C()
def one():
    with A:
        return 3 in C0
"""
    + _BACK,
    "sort key callback": _TWO
    + """
def key(x):
    with B: return x
def one():
    with A:
        return sorted([1, 2], key=key)
"""
    + _BACK,
    "map callback": _TWO
    + """
def key(x):
    with B: return x
def one():
    with A:
        return list(map(key, [1, 2]))
"""
    + _BACK,
    "lock or default": """
class C:
    def __init__(self, lock=None):
        self.lock = lock or threading.Lock()
        self.b = threading.Lock()
    def one(self):
        with self.lock, self.b: pass
    def two(self):
        with self.b, self.lock: pass
""",
    "library lock": """
from multiprocessing import Lock
A = Lock()
B = Lock()
def one():
    with A, B: pass
"""
    + _BACK,
    "filelock": """
import filelock
A = filelock.FileLock("a")
B = threading.Lock()
def one():
    with A, B: pass
"""
    + _BACK,
    "import threading as t": """
import threading as t
A, B = t.Lock(), t.Lock()
def one():
    with A, B: pass
"""
    + _BACK,
    "from threading import *": """
from threading import *
A, B = Lock(), Lock()
def one():
    with A, B: pass
"""
    + _BACK,
    "_thread": """
import _thread
A, B = _thread.allocate_lock(), _thread.allocate_lock()
def one():
    with A, B: pass
"""
    + _BACK,
    "_thread.RLock": """
import _thread
A, B = _thread.RLock(), threading._RLock()
def one():
    with A, B: pass
"""
    + _BACK,
    "start_new_thread": _TWO
    + """
import _thread
def take(first, second):
    with first, second: pass
def test():
    _thread.start_new_thread(take, (A, B))
    _thread.start_new_thread(take, (B, A))
""",
    "barrier under lock": """
L = threading.Lock()
BAR = threading.Barrier(2)
def one():
    with L:
        BAR.wait()
def two():
    with L: pass
    BAR.wait()
""",
    "event wait_for": """
L = threading.Lock()
E = threading.Event()
def one():
    with L:
        E.wait()
def two():
    with L:
        E.set()
""",
    "semaphore release handoff": """
L = threading.Lock()
S = threading.Semaphore(0)
def one():
    with L:
        S.acquire()
def two():
    with L:
        S.release()
""",
    "lock as signal": """
L = threading.Lock()
S = threading.Lock()
S.acquire()
def one():
    with L:
        S.acquire()
def two():
    with L:
        S.release()
""",
    "async absent: nested function closures": """
def make():
    a = threading.Lock()
    b = threading.Lock()
    def one():
        with a, b: pass
    def two():
        with b, a: pass
    return one, two
""",
    "nonlocal": """
def make():
    a = b = None
    def init():
        nonlocal a, b
        a = threading.Lock()
        b = threading.Lock()
    def one():
        with a, b: pass
    def two():
        with b, a: pass
    return init, one, two
""",
    "class in function": """
def make():
    lock = threading.Lock()
    class C:
        own = threading.Lock()
        def one(self):
            with lock, self.own: pass
        def two(self):
            with self.own, lock: pass
    return C
""",
    "base in function": """
def make():
    class Base:
        def __init__(self):
            self.a = threading.Lock()
            self.b = threading.Lock()
    class C(Base):
        def one(self):
            with self.a, self.b: pass
        def two(self):
            with self.b, self.a: pass
    return C
""",
    "mixin": """
class Mixin:
    def one(self):
        with self.a, self.b: pass
class Base:
    def __init__(self):
        self.a = threading.Lock()
        self.b = threading.Lock()
class C(Mixin, Base):
    def two(self):
        with self.b, self.a: pass
""",
    "abstract method": """
class Base:
    def __init__(self): self.a = threading.Lock()
    def one(self):
        with self.a: self.hook()
    def hook(self): raise NotImplementedError
class C(Base):
    def __init__(self):
        super().__init__()
        self.b = threading.Lock()
    def hook(self):
        with self.b: pass
    def two(self):
        with self.b, self.a: pass
""",
    "metaclass __new__ singleton": """
class S:
    _lock = threading.Lock()
    _instance = None
    def __new__(cls):
        with cls._lock:
            if cls._instance is None: cls._instance = super().__new__(cls)
            return cls._instance
L = threading.Lock()
def one():
    with L: S()
def two():
    with S._lock, L: pass
""",
    "post_init": """
@dataclass
class S:
    x: int
    def __post_init__(self):
        with L, M: pass
L = threading.Lock()
M = threading.Lock()
def one():
    with M: S(1)
""",
    "same function in both branches (if/else def)": _TWO
    + """
import os
if os.name == "nt":
    def one():
        with A, B: pass
else:
    def one(): pass
"""
    + _BACK,
    "overload redefinition": _TWO
    + """
class C:
    def one(self):
        with A, B: pass
    one_ = one
    def one(self):
        return self.one_()
"""
    + _BACK,
    "lambda default arg": _TWO
    + """
def one():
    f = lambda first=A, second=B: (first.acquire(), second.acquire())
    f()
"""
    + _BACK,
    "conditional acquire": _TWO
    + """
def one():
    if A.acquire() and B.acquire():
        pass
"""
    + _BACK,
    "release in other function": _TWO
    + """
def lock(): A.acquire()
def unlock(): A.release()
def one():
    lock()
    with B: pass
    unlock()
"""
    + _BACK,
    "acquire_lock lazily": """
class C:
    _a = None
    def _lock(self):
        if self._a is None:
            self._a = threading.Lock()
        return self._a
    def __init__(self): self.b = threading.Lock()
    def one(self):
        with self._lock(), self.b: pass
    def two(self):
        with self.b, self._lock(): pass
""",
    "suppress/closing": _TWO
    + """
def one():
    with contextlib.closing(open("x")), A:
        with contextlib.suppress(Exception), B: pass
"""
    + _BACK,
    "parenthesized with as": _TWO
    + """
def one():
    with (A as a, B as b): pass
"""
    + _BACK,
    "nested functions with def as callback under lock": _TWO
    + """
def one():
    def inner():
        with B: pass
    with A:
        run(inner)
def run(f): f()
"""
    + _BACK,
    "thread start/join in helper list": """
L = threading.Lock()
def work():
    with L: pass
def test():
    threads = [threading.Thread(target=work) for _ in range(2)]
    with L:
        for t in threads: t.start()
        for t in threads: t.join()
""",
    "contextmanager method": """
class C:
    def __init__(self):
        self.a = threading.Lock()
        self.b = threading.Lock()
    @contextlib.contextmanager
    def hold(self):
        self.a.acquire()
        try:
            yield self
        finally:
            self.a.release()
    def one(self):
        with self.hold():
            with self.b: pass
    def two(self):
        with self.b, self.hold(): pass
""",
    "ContextDecorator": _TWO
    + """
class Hold(contextlib.ContextDecorator):
    def __enter__(self): A.acquire()
    def __exit__(self, *e): A.release()
@Hold()
def one():
    with B: pass
"""
    + _BACK,
    "cond wait holding other through call": """
class S:
    def __init__(self):
        self.lock = threading.RLock()
        self.cond = threading.Condition(self.lock)
        self.other = threading.Lock()
    def get(self):
        with self.other:
            self.inner()
    def inner(self):
        with self.cond:
            self.cond.wait_for(lambda: True)
    def put(self):
        with self.other:
            with self.lock:
                self.cond.notify_all()
""",
    "logging-like handlers": """
class H:
    def __init__(self): self.lock = threading.RLock()
    def handle(self):
        self.acquire()
        try: self.emit()
        finally: self.release()
    def acquire(self):
        if self.lock: self.lock.acquire()
    def release(self):
        if self.lock: self.lock.release()
    def emit(self): pass
L = threading.Lock()
class H2(H):
    def emit(self):
        with L: pass
def two(h: H2):
    with L: h.handle()
""",
    "type[...] / class passed": _TWO
    + """
def build(factory):
    return factory()
C, D = build(threading.Lock), build(threading.RLock)
def one():
    with C, D: pass
def two():
    with D, C: pass
""",
    "dispatch dict": _TWO
    + """
def take_b():
    with B: pass
ACTIONS = {"b": take_b}
def one(x):
    with A:
        ACTIONS[x]()
"""
    + _BACK,
    "del / pop": _TWO
    + """
STACK = [A]
def one():
    with STACK.pop():
        with B: pass
"""
    + _BACK,
    "union operator dict": _TWO
    + """
D = {"a": A} | {"b": B}
def one():
    with D["a"], D["b"]: pass
def two():
    with D["b"], D["a"]: pass
""",
    "dict keys locks": _TWO
    + """
D = {A: 1, B: 2}
def one():
    for lock in D: lock.acquire()
"""
    + _BACK,
    "set ops": _TWO
    + """
def one():
    for lock in {A} | {B}: lock.acquire()
"""
    + _BACK,
    "unpack star list": _TWO
    + """
def one():
    locks = [A, *[B]]
    for lock in locks: lock.acquire()
"""
    + _BACK,
    "chain": _TWO
    + """
import itertools
def one():
    for lock in itertools.chain([A], [B]): lock.acquire()
"""
    + _BACK,
    "nested containers": """
ROWS = [[threading.Lock() for _ in range(2)] for _ in range(2)]
def one(i, j):
    with ROWS[i][j]:
        with ROWS[j][i]: pass
""",
    "deep containers": """
CUBE = [[[[threading.Lock()] for _ in range(2)] for _ in range(2)] for _ in range(2)]
def one(i, j):
    with CUBE[i][j][0][0]:
        with CUBE[j][i][0][0]: pass
""",
    "objects in container, method": """
class Fork:
    def __init__(self): self.lock = threading.Lock()
    def take(self): self.lock.acquire()
FORKS = {i: Fork() for i in range(3)}
def one(i):
    FORKS[i].take()
    FORKS[(i + 1) % 3].take()
""",
    "unknown obj by name": """
class Fork:
    def __init__(self): self.lock = threading.Lock()
def one(left, right):
    with left.lock:
        with right.lock: pass
""",
    "lock in exception handler": _TWO
    + """
def one():
    try:
        A.acquire()
        work()
    except Exception:
        with B: pass
    finally:
        A.release()
def work(): pass
"""
    + _BACK,
    "acquire inside except else": _TWO
    + """
def one():
    try:
        pass
    except ValueError:
        pass
    else:
        A.acquire()
    B.acquire()
"""
    + _BACK,
    "timeout variable": _TWO
    + """
def one(timeout=None):
    with A:
        B.acquire(timeout=timeout)
"""
    + _BACK,
    "blocking variable": _TWO
    + """
def one(blocking):
    with A:
        B.acquire(blocking)
"""
    + _BACK,
    "q.get timeout variable None": """
L = threading.Lock()
Q = queue.Queue()
def get(timeout=None):
    with L: return Q.get(timeout=timeout)
def put():
    with L: Q.put(1)
""",
}

_LISTED = {
    "method table by getattr": _TWO
    + """
class C:
    def do_b(self):
        with B: pass
    def one(self, name):
        with A:
            getattr(self, "do_" + name)()
"""
    + _BACK,
    "wrapper __getattr__": """
class Proxy:
    def __init__(self, lock): self._lock = lock
    def __getattr__(self, name): return getattr(self._lock, name)
A, B = Proxy(threading.Lock()), Proxy(threading.Lock())
def one():
    A.acquire()
    B.acquire()
def two():
    B.acquire()
    A.acquire()
""",
    "Thread subclass joined": """
L = threading.Lock()
class W(threading.Thread):
    def __init__(self):
        super().__init__()
    def run(self):
        with L: pass
    def stop(self):
        with L:
            self.join()
""",
    "alias local": """
class C:
    def __init__(self):
        self.a = threading.Lock()
        self.b = threading.Lock()
    def one(self):
        lock = self.a
        lock.acquire()
        with self.b: pass
        lock.release()
    def two(self):
        with self.b:
            acquire = self.a.acquire
            acquire()
""",
    "bound acquire": _TWO
    + """
def one():
    A.acquire()
    take = B.acquire
    take()
def two():
    give = B.release
    B.acquire()
    A.acquire()
    give()
""",
    "globals()": _TWO
    + """
def one():
    with globals()["A"]:
        with B: pass
"""
    + _BACK,
    "dataclass annotated only": """
@dataclass
class Pair:
    first: threading.Lock
    second: threading.Lock
    def take(self):
        with self.first, self.second: pass
    def back(self):
        with self.second, self.first: pass
""",
    "namedtuple()": _TWO
    + """
import collections
Pair = collections.namedtuple("Pair", "first second")
def take(pair):
    with pair.first, pair.second: pass
def test():
    take(Pair(A, B))
    take(Pair(B, A))
""",
    "SimpleNamespace": _TWO
    + """
from types import SimpleNamespace
S = SimpleNamespace(first=A, second=B)
def one():
    with S.first, S.second: pass
def two():
    with S.second, S.first: pass
""",
    "__dict__ / vars": """
class C:
    def __init__(self):
        self.__dict__["a"] = threading.Lock()
        self.b = threading.Lock()
    def one(self):
        with self.a, self.b: pass
    def two(self):
        with self.b, self.a: pass
""",
    "signal/atexit/library callback": _TWO
    + """
import library
def key(x):
    with B: return x
def one():
    with A:
        library.run(key)
"""
    + _BACK,
    "unknown with": _TWO
    + """
def one(lock):
    with A:
        with lock: pass
""",
    "unknown acquire": _TWO
    + """
def one(lock):
    with A:
        lock.acquire()
""",
    "unknown first": _TWO
    + """
def one(lock):
    with lock:
        with A: pass
""",
    "constructor given lock param": """
class C:
    def __init__(self, lock, other):
        self.lock = lock
        self.other = other
    def one(self):
        with self.lock, self.other: pass
    def two(self):
        with self.other, self.lock: pass
""",
}


def _analysed(folder: Path, source: str) -> LockOrder:
    (folder / "program.py").write_text(_HEAD + textwrap.dedent(source))
    return lock_order_of([folder / "program.py"], folder)


@pytest.mark.parametrize("source", _CANDIDATES.values(), ids=_CANDIDATES)
def test_it_is_a_candidate(tmp_path: Path, source: str) -> None:
    assert _analysed(tmp_path, source).candidates


@pytest.mark.parametrize("source", _LISTED.values(), ids=_LISTED)
def test_it_is_listed(tmp_path: Path, source: str) -> None:
    order = _analysed(tmp_path, source)
    assert order.candidates == []
    assert any(" not known, and " in one for one in order.not_understood)


_RIGHT = {
    "one of two locks": _TWO
    + """
def one(flag):
    lock = A if flag else B
    with lock:
        pass
""",
    "a helper gives it back": _TWO
    + """
def unlock():
    B.release()

def one():
    with A:
        B.acquire()
        unlock()
""",
    "a stack that ended": _TWO
    + """
def one():
    with ExitStack() as stack:
        stack.enter_context(A)
    with B:
        pass
"""
    + _BACK,
    "in sorted order": """
LOCKS = [threading.Lock() for _ in range(3)]

def one():
    for lock in sorted(LOCKS, key=id):
        lock.acquire()
""",
    "a loop that gives back": _TWO
    + """
def one():
    for lock in (A, B):
        lock.acquire()
        lock.release()
"""
    + _BACK,
    "a generator that is over": _TWO
    + """
def items():
    with A:
        yield 1

def one():
    for _ in items():
        pass
    with B:
        pass
"""
    + _BACK,
    "wait=False": """
LOCK = threading.Lock()

def work():
    with LOCK:
        pass

def one():
    pool = ThreadPoolExecutor()
    pool.submit(work)
    with LOCK:
        pool.shutdown(wait=False)
""",
    "a limit by default": _TWO
    + """
def one(timeout=1):
    with A:
        B.acquire(timeout=timeout)
"""
    + _BACK,
    "a barrier without its lock": """
LOCK = threading.Lock()
BARRIER = threading.Barrier(2)

def one():
    with LOCK:
        pass
    BARRIER.wait()
""",
    "a decorator with a reentrant lock": """
def synchronized(method):
    @functools.wraps(method)
    def wrapper(*args):
        with LOCK:
            return method(*args)
    return wrapper

LOCK = threading.RLock()

@synchronized
def one():
    two()

@synchronized
def two():
    pass
""",
    "a file under a lock": """
LOCK = threading.Lock()

def one(path):
    with LOCK, open(path) as file:
        file.read()
""",
}


@pytest.mark.parametrize("source", _RIGHT.values(), ids=_RIGHT)
def test_what_is_right_is_no_candidate(tmp_path: Path, source: str) -> None:
    order = _analysed(tmp_path, source)
    assert [one.title for one in order.candidates] == []
    assert order.not_understood == []


def test_too_many_cycles_are_not_left_out_silently(tmp_path: Path) -> None:
    names = [f"L{number}" for number in range(9)]
    source = "".join(f"{name} = threading.Lock()\n" for name in names)
    for first in names:
        for second in names:
            if first != second:
                source += f"def f{first}{second}():\n    with {first}, {second}:\n        pass\n"
    order = _analysed(tmp_path, source)
    assert len(order.candidates) == 1000
    assert order.not_understood == [
        "there are more than 1000 cycles of locks: the others are left out"
    ]


def test_an_unknown_lock_is_listed_with_its_place(tmp_path: Path) -> None:
    order = _analysed(tmp_path, _LISTED["unknown first"])
    assert order.not_understood == [
        "program.py:11: which lock `lock` is that is taken here is not known, "
        "and A may be held with it"
    ]


def test_a_property_with_a_setter_is_still_a_property(tmp_path: Path) -> None:
    order = _analysed(
        tmp_path,
        """
        class Box:
            def __init__(self):
                self._lock = threading.Lock()
                self.other = threading.Lock()

            @property
            def lock(self):
                return self._lock

            @lock.setter
            def lock(self, value):
                self._lock = value

            def one(self):
                with self.lock, self.other:
                    pass

            def two(self):
                with self.other, self.lock:
                    pass
        """,
    )
    (candidate,) = order.candidates
    assert {edge.names for link in candidate.links for edge in link} == {
        ("Box._lock", "Box.other"),
        ("Box.other", "Box._lock"),
    }


def test_either_of_two_locks_is_not_both(tmp_path: Path) -> None:
    order = _analysed(
        tmp_path,
        _TWO
        + """
def one(flag):
    (A if flag else B).acquire()
"""
        + _BACK,
    )
    assert order.candidates == []
