"""Random tests with threads that wait for each other in all ways, for a time or for ever."""

from __future__ import annotations

import itertools
import linecache
import random
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

_HEAD = """
import queue, threading, time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

class Object: pass

def test():
    lock, other, nested = threading.Lock(), threading.Lock(), threading.RLock()
    condition, event = threading.Condition(lock), threading.Event()
    units, barrier = threading.Semaphore({units}), threading.Barrier(2)
    line, endless = queue.Queue({room}), queue.SimpleQueue()
    box, items, o = {{"n": 0, "flag": False}}, [], Object()
    o.x = o.y = 0

    def child():
        {child}
"""

_CHILD = ("o.x += 1", "o.y = o.x", "box['flag'] = True", "event.set()", "endless.put(1)")
_PLAIN = (
    "box['n'] += 1", "o.x = 1", "o.y = o.x", "o.x = o.y + 1", "o.x += 1", "box['n'] = o.y",
    "items.append({k})", "seen = len(items)", "seen = str(items)", "o.x = {k}", "seen = o.x",
    "if o.x == {k}: o.y += 1", "if box['n'] > 1: o.x = 7", "o.y = seen",
    "assert o.x != {bad}", "assert box['n'] != {bad}", "box['flag'] = True",
    "event.set()", "event.clear()", "seen = event.is_set()", "endless.put({k})",
    "with lock: o.x += 1", "with other: o.y += 1", "with lock, other: o.x = 3",
    "with other, lock: o.y = 2", "with nested, nested: o.x += 1",
    "with condition: condition.notify_all()", "with condition: condition.notify()",
    "with condition: box['flag'] = True; condition.notify_all()",
    "if lock.acquire(False): o.x += 1; lock.release()", "units.release()",
    "if units.acquire(False): o.x += 1",
    "with suppress(queue.Empty): seen = line.get_nowait()",
    "with suppress(queue.Full): line.put_nowait({k})", "for _ in range(2): o.x += 1",
    "inner = threading.Thread(target=child); inner.start()",
    "inner = threading.Thread(target=child); inner.start(); inner.join()",
)  # fmt: skip
_FOR_A_TIME = (
    "time.sleep(0.5)", "time.sleep(1)", "event.wait(1)", "with condition: condition.wait(1)",
    "with condition: condition.wait_for(lambda: box['flag'], 2)",
    "if lock.acquire(timeout=1): o.y += 1; lock.release()", "if units.acquire(timeout=1): o.y = 3",
    "with suppress(queue.Empty): seen = line.get(timeout=1)",
    "with suppress(queue.Full): line.put({k}, timeout=1)",
    "with suppress(threading.BrokenBarrierError): barrier.wait(1)",
)  # fmt: skip
_FOR_EVER = (
    "event.wait()", "seen = line.get()", "seen = endless.get()", "line.put(1)", "units.acquire()",
    "while not box['flag']: pass", "while not box['flag']: time.sleep(0.1)",
    "while not box['flag']: event.wait(0.1)",
    "with condition: condition.wait_for(lambda: box['flag'])",
)  # fmt: skip
_THREADS = """
    threads = [threading.Thread(target=body) for body in ({bodies},)]
    for thread in threads: thread.start()
    {meanwhile}
    for thread in threads: thread.join()
    {finally_}
"""
_POOL = """
    with ThreadPoolExecutor({workers}) as pool:
        futures = [pool.submit(body) for body in ({bodies},)]
        seen = [future.exception() for future in futures]
"""


def source(choices: random.Random) -> str:
    """Return the source of a module with a test."""

    def statement() -> str:
        chance = choices.random()
        kinds: Sequence[str] = _PLAIN
        if chance < 0.3:
            kinds = _FOR_A_TIME if chance < 0.2 else _FOR_EVER
        return choices.choice(kinds).format(k=choices.randrange(3), bad=choices.choice((2, 3, 5)))

    text = _HEAD.format(
        units=choices.randrange(3), room=choices.randrange(3), child=choices.choice(_CHILD)
    )
    pool = [statement() for _ in range(choices.randint(1, 3))]  # few, so that they meet
    count = choices.choice((2, 2, 3))
    for number in range(count):
        lines = [choices.choice(pool) for _ in range(choices.randint(1, 5 - count))]
        text += f"\n    def body{number}():\n        seen = 0\n"
        text += "".join(f"        {line}\n" for line in lines)
    bodies = ", ".join(f"body{number}" for number in range(count))
    if choices.random() < 0.2:
        return text + _POOL.format(workers=choices.randint(1, 3), bodies=bodies)
    return text + _THREADS.format(
        bodies=bodies,
        meanwhile=choices.choice(("pass", "pass", *pool)),
        finally_=choices.choice(("pass", "assert o.x != 3")),
    )


class Modules:
    """Makes modules of random sources, and forgets them at the end."""

    _serial = itertools.count()

    def __init__(self) -> None:
        self._names: list[str] = []

    def __enter__(self) -> Modules:
        return self

    def __exit__(self, *error: object) -> None:
        for name in self._names:
            del sys.modules[name]

    def test(self, choices: random.Random) -> Callable[[], Any]:
        """Return a random test."""
        text, name = source(choices), f"random_waits_{next(self._serial)}"
        filename = f"/random/{name}.py"
        linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
        module = sys.modules[name] = types.ModuleType(name)
        module.__file__ = filename
        self._names.append(name)
        exec(compile(text, filename, "exec"), module.__dict__)
        test: Callable[[], Any] = module.__dict__["test"]
        return test
