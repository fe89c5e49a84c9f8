"""Functions and classes that are replaced, kept by reference before the exploration began."""

from __future__ import annotations

import _thread
import collections
import dataclasses
import functools
import importlib
import itertools
import queue
import random
import sched
import sys
import threading
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar

import pytest
from together import together

import treadle


def named(who: Any = threading.current_thread, ident: Any = threading.get_ident) -> tuple[str, int]:
    return who().name, ident()


def slept(
    now: Any = time.monotonic, sleep: Any = time.sleep, *, date: Any = datetime.now
) -> tuple[float, float]:
    begin, day = now(), date()
    sleep(3600)
    return now() - begin, (date() - day).total_seconds()


class Held:
    clock = staticmethod(time.monotonic)
    lock = threading.Lock
    made: ClassVar[dict[str, Any]] = {"lock": threading.Lock, "rlock": threading.RLock}
    several = (random.random, random.choice, time.sleep)
    wait = threading.Event.wait


class HasRelease:
    def release(self) -> None: ...

    def acquire(self) -> None: ...


@dataclasses.dataclass
class Record:
    lock: Any = dataclasses.field(default_factory=threading.Lock)
    again: Any = dataclasses.field(default_factory=threading.RLock)
    condition: Any = dataclasses.field(default_factory=threading.Condition)


def closed_over(make: Any = threading.Lock) -> Any:
    return lambda: make()


PARTIAL = functools.partial(threading.Lock)
CLOSURE = closed_over()
START = _thread.start_new_thread
MAKERS: dict[str, Any] = {
    "default argument": lambda make=threading.Lock: make(),
    "class attribute": lambda: Held.lock(),
    "dictionary": lambda: Held.made["lock"](),
    "dictionary, recursive": lambda: Held.made["rlock"](),
    "partial": lambda: PARTIAL(),
    "closure": lambda: CLOSURE(),
    "default dictionary": lambda: collections.defaultdict(Held.made["lock"])["a"],
    "starmap": lambda: next(itertools.starmap(Held.made["lock"], [()])),
    "iter": lambda: next(iter(Held.made["lock"], None)),
    "dataclass": lambda: Record().lock,
    "dataclass, recursive": lambda: Record().again,
    "dataclass, condition": lambda: Record().condition,
}


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("is_direct", [False, True])
def test_a_lock_excludes_wherever_its_class_was_kept(name: str, is_direct: bool) -> None:
    def test() -> None:
        lock, count = MAKERS[name](), [0]
        HasRelease().release()

        def increment() -> None:
            if is_direct:
                lock.acquire()
                count[0] += 1
                lock.release()
            else:
                with lock:
                    count[0] += 1

        together(increment, increment)
        assert count == [2]

    result = treadle.explore(test)
    assert (result.executions, result.failures) == (2, [])


def test_a_real_lock_of_ones_own_is_released() -> None:
    def test() -> None:
        lock = PARTIAL.func()
        lock.acquire()
        HasRelease().release()
        lock.release()
        together(lambda: None, lambda: None)

    assert treadle.explore(test).ok


def test_threads_are_named_by_what_was_kept() -> None:
    def test() -> None:
        names: list[Any] = []
        together(lambda: names.append(named()), lambda: names.append(named()))
        assert {name for name, _ in names} == {"Thread-1 (<lambda>)", "Thread-2 (<lambda>)"}
        assert len({ident for _, ident in names}) == 2

    assert treadle.explore(test).executions == 2


def test_clocks_and_sleeps_that_were_kept_are_virtual() -> None:
    def test() -> None:
        together(lambda: check(slept()), lambda: check((Held.clock(), Held.clock())))

    def check(passed: tuple[float, float]) -> None:
        assert passed[1] - passed[0] < 1 or min(passed) >= 3600

    assert treadle.explore(test, watchdog=2).ok


def test_randomness_that_was_kept_is_the_same() -> None:
    seen: set[Any] = set()

    def test() -> None:
        drawn: dict[int, Any] = {}

        def draw(me: int) -> None:
            drawn[me] = Held.several[0](), Held.several[1](range(1000))  # type: ignore[operator]

        together(lambda: draw(0), lambda: draw(1))
        seen.add(repr(sorted(drawn.items())))

    assert treadle.explore(test, "exhaustive").executions > 1
    assert len(seen) == 1


def test_a_method_that_was_kept() -> None:
    event = threading.Event()
    wait, put = event.wait, queue.Queue.put

    def test() -> None:
        event.clear()
        items: Any = queue.Queue()
        together(wait, event.set, lambda: Held.wait(event), lambda: put(items, 1))
        assert items.get() == 1

    assert treadle.explore(test, watchdog=2).ok


def test_a_thread_that_is_started_by_what_was_kept() -> None:
    def test() -> None:
        done = threading.Lock()
        done.acquire()
        START(done.release, ())
        done.acquire()

    assert treadle.explore(test, watchdog=2).ok


def test_a_queue_in_c_that_was_kept() -> None:
    make = queue.SimpleQueue

    def test() -> None:
        items: Any = make()
        together(lambda: items.put(1), lambda: items.get())

    assert treadle.explore(test, watchdog=2).ok


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "keeps_clocks.py").write_text(
        "import threading, time\n"
        "def age(begin, now=time.monotonic):\n    return now() - begin\n"
        "def pause(seconds, *, sleep=time.sleep):\n    sleep(seconds)\n"
        "class Stamp:\n    clock = time.monotonic\n"
        "    def now(self, me=threading.current_thread):\n        return me().name, self.clock()\n"
    )
    monkeypatch.syspath_prepend(folder)
    yield importlib.import_module("keeps_clocks")
    del sys.modules["keeps_clocks"]


def test_what_a_library_keeps_is_replaced_and_put_back(library: Any) -> None:
    before = (library.age.__defaults__, library.pause.__kwdefaults__, library.Stamp.clock)

    def test() -> None:
        def work() -> None:
            begin = time.monotonic()
            library.pause(3600)
            assert 3600 <= library.age(begin) < 3601
            assert library.Stamp().now()[0] == "Thread-1 (work)"

        together(work)

    for _ in range(2):
        assert treadle.explore(test, watchdog=2).ok
        now = (library.age.__defaults__, library.pause.__kwdefaults__, library.Stamp.clock)
        assert now == before


def test_a_scheduler_of_the_standard_library_sleeps_virtually() -> None:
    def test() -> None:
        done: list[int] = []
        agenda = sched.scheduler()
        agenda.enter(3600, 1, done.append, (1,))
        together(agenda.run)
        assert done == [1]

    assert treadle.explore(test, watchdog=2).ok
