"""Real library code, instrumented unchanged: what is verified, and what is found."""

from __future__ import annotations

import functools
import importlib.util
import logging
import queue
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import cachetools
import pytest

import treadle

IS_3_11 = sys.version_info < (3, 12)


def run(*targets: Callable[[], object]) -> None:
    threads = [threading.Thread(target=target, name=str(i)) for i, target in enumerate(targets)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@contextmanager
def fresh(name: str, *, without: tuple[str, ...] = ()) -> Iterator[ModuleType]:
    """Import a module of the standard library anew, under another name, without its C parts."""
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    alias = f"python_{name}"
    spec = importlib.util.spec_from_file_location(alias, spec.origin)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    hidden = {part: sys.modules.get(part) for part in without}
    sys.modules[alias] = module
    sys.modules.update(dict.fromkeys(without, None))  # type: ignore[arg-type]
    try:
        spec.loader.exec_module(module)
    finally:
        for part, was in hidden.items():
            if was is None:
                del sys.modules[part]
            else:
                sys.modules[part] = was
    try:
        yield module
    finally:
        del sys.modules[alias]


# functools.cached_property


class Report:
    """Has a value that is computed once: or so one hopes."""

    def __init__(self) -> None:
        self.computed = [0, 0]

    @functools.cached_property
    def text(self) -> list[str]:
        self.computed[int(threading.current_thread().name)] += 1
        return ["text"]


def two_readers_of_a_cached_property(*, is_once: bool) -> None:
    report = Report()
    seen: list[object] = [None, None]

    def read(index: int) -> None:
        seen[index] = report.text

    threads = [threading.Thread(target=read, args=(i,), name=str(i)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if is_once:
        assert sum(report.computed) == 1, "computed twice"
    assert report.text in seen


def test_cached_property_is_computed_twice_since_3_12() -> None:
    """Until 3.11 it had a lock; without one, both threads may find nothing and compute.

    A thread finds the value in the instance, or in its dictionary when `__get__` looks again, or
    not at all. Then it computes; or, with the lock, finds the value after all. Two threads: 6.
    """
    result = treadle.explore(
        lambda: two_readers_of_a_cached_property(is_once=True),
        instrument=["functools"],
        stop_on_failure=False,
    )
    assert result.complete
    assert result.executions == 6
    messages = [failure.message.splitlines()[0] for failure in result.failures]
    assert messages == ([] if IS_3_11 else ["AssertionError: computed twice"])


def test_cached_property_ends_with_a_value_that_somebody_got() -> None:
    result = treadle.explore(
        lambda: two_readers_of_a_cached_property(is_once=False), instrument=["functools"]
    )
    assert (result.executions, result.ok) == (6, True)


class Strict(Report):
    """Caching goes past `__setattr__`."""

    def __setattr__(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)


class Half:
    """Computes its value from that of another object."""

    def __init__(self, other: Half | None = None) -> None:
        self.other = other

    @functools.cached_property
    def left(self) -> int:
        return self.other.right if self.other else 1

    @functools.cached_property
    def right(self) -> int:
        return self.other.left if self.other else 2


@pytest.mark.parametrize("algorithm", ["sleep", "optimal"])
@pytest.mark.parametrize("kind", [Report, Strict])
def test_cached_property_keeps_its_lock_without_instrumentation(
    kind: type[Report], algorithm: str
) -> None:
    """One thread computes, and the other finds that; or, on 3.11 having waited; or both compute."""

    def test() -> None:
        report = kind()
        run(lambda: report.text, lambda: report.text)
        assert sum(report.computed) == 1, "computed twice"

    result = treadle.explore(test, algorithm, stop_on_failure=False)
    assert (result.complete, result.notes) == (True, [])
    assert result.executions == 4
    messages = [failure.message.splitlines()[0] for failure in result.failures]
    assert messages == ([] if IS_3_11 else ["AssertionError: computed twice"])


def test_cached_properties_that_need_each_other_deadlock_on_3_11() -> None:
    """There is one lock for all instances of a class."""

    def test() -> None:
        first, second = Half(Half()), Half(Half())
        run(lambda: first.left, lambda: second.right)

    result = treadle.explore(test, stop_on_failure=False)
    assert result.complete
    assert [failure.kind for failure in result.failures] == (["deadlock"] if IS_3_11 else [])


# functools.lru_cache, its Python version


@pytest.fixture(scope="module")
def python_functools() -> Iterator[ModuleType]:
    with fresh("functools", without=("_functools",)) as module:
        assert isinstance(module._lru_cache_wrapper, type(lambda: None))
        yield module


def test_lru_cache_may_compute_twice_but_keeps_one(python_functools: ModuleType) -> None:
    """The lock guards the links, not the call: the documentation says so.

    Two locked sections per thread, one if it finds the value: 4 orders of 4, and 2 of 3.
    """
    calls = [0, 0]

    def two_callers() -> None:
        calls[:] = [0, 0]

        @python_functools.lru_cache(maxsize=2)  # type: ignore[misc]
        def square(x: int) -> int:
            calls[int(threading.current_thread().name)] += 1
            return x * x

        threads = [threading.Thread(target=square, args=(3,), name=str(i)) for i in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        info = square.cache_info()
        assert info.currsize == 1
        assert sum(calls) == info.misses
        assert info.hits + info.misses == 2

    result = treadle.explore(two_callers, instrument=["python_functools"])
    assert (result.executions, result.ok) == (6, True)


def test_lru_cache_evicts_under_its_lock(python_functools: ModuleType) -> None:
    """Three keys, room for one: the ring of links stays whole in every order of 2 times 2."""

    def two_callers() -> None:
        @python_functools.lru_cache(maxsize=1)  # type: ignore[misc]
        def square(x: int) -> int:
            return x * x

        square(1)
        results = [0, 0]

        def call(index: int) -> None:
            results[index] = square(index + 2)

        run(lambda: call(0), lambda: call(1))
        assert results == [4, 9]
        assert square.cache_info().currsize == 1

    result = treadle.explore(two_callers, instrument=["python_functools"])
    assert (result.executions, result.ok) == (6, True)


# queue.Queue's own source, on modelled locks and conditions


def queue_with_two_producers(module: ModuleType) -> None:
    items = module.Queue(maxsize=1)
    received: list[str] = []

    def consume() -> None:
        received.append(items.get())
        received.append(items.get())

    run(lambda: items.put("a"), lambda: items.put("b"), consume)
    assert sorted(received) == ["a", "b"]
    assert items.empty()


def test_source_of_queue_is_verified() -> None:
    with fresh("queue") as module:
        result = treadle.explore(
            lambda: queue_with_two_producers(module), instrument=["python_queue"]
        )
    assert (result.executions, result.ok) == (16, True)


def test_model_of_queue_has_the_same_verdict() -> None:
    """With whole operations as steps, only the order of the producers is left."""
    result = treadle.explore(lambda: queue_with_two_producers(queue))
    assert (result.executions, result.ok) == (2, True)


def test_source_of_queue_join_waits_for_all_tasks() -> None:
    """`join` takes the mutex before `get`, between `get` and `task_done`, or after: 3."""

    def joined(module: ModuleType) -> None:
        items = module.Queue()
        done = [0]

        def work() -> None:
            items.get()
            done[0] += 1
            items.task_done()

        items.put("a")
        thread = threading.Thread(target=work)
        thread.start()
        items.join()
        assert done == [1]
        thread.join()

    with fresh("queue") as module:
        result = treadle.explore(lambda: joined(module), instrument=["python_queue"])
    assert (result.executions, result.ok) == (3, True)


# collections.OrderedDict, its Python version


@pytest.fixture(scope="module")
def python_collections() -> Iterator[ModuleType]:
    with fresh("collections", without=("_collections",)) as module:
        assert module.OrderedDict.__init__.__code__.co_filename.endswith("__init__.py")
        yield module


def test_ordered_dict_breaks_without_a_lock(python_collections: ModuleType) -> None:
    """Two threads insert: both link their node behind the same last one, and one is lost."""

    def two_inserters() -> None:
        entries = python_collections.OrderedDict()

        def insert(key: str) -> None:
            entries[key] = 1

        run(lambda: insert("a"), lambda: insert("b"))
        assert len(list(entries)) == len(entries) == 2, "a key is lost"

    result = treadle.explore(
        two_inserters, instrument=["python_collections"], stop_on_failure=False
    )
    assert result.complete
    assert result.executions == 12
    assert set(result.failure_kinds) == {"assertion"}


def test_ordered_dict_under_a_lock_is_verified(python_collections: ModuleType) -> None:
    def two_inserters() -> None:
        entries = python_collections.OrderedDict()
        lock = threading.Lock()

        def insert(key: str) -> None:
            with lock:
                entries[key] = 1

        run(lambda: insert("a"), lambda: insert("b"))
        assert sorted(entries) == ["a", "b"]

    result = treadle.explore(two_inserters, instrument=["python_collections"])
    assert (result.executions, result.ok) == (2, True)


# cachetools


def two_users_of_a_cache(lock: Any) -> None:
    """The decorator `cached` on an LRU cache with room for one."""
    cache: cachetools.LRUCache[Any, int] = cachetools.LRUCache(maxsize=1)

    @cachetools.cached(cache, lock=lock)
    def square(x: int) -> int:
        return x * x

    results = [0, 0]

    def call(index: int) -> None:
        results[index] = square(index + 2)

    run(lambda: call(0), lambda: call(1))
    assert results == [4, 9]
    assert cache.currsize == len(cache) == 1


def test_cachetools_without_a_lock_breaks() -> None:
    """Its documentation says that caches are not safe to share: this is how they break."""
    result = treadle.explore(
        lambda: two_users_of_a_cache(None), instrument=["cachetools"], stop_on_failure=False
    )
    assert result.complete
    assert result.executions == 60
    assert set(result.failure_kinds) == {"assertion", "exception"}


def test_cachetools_with_a_lock_is_verified() -> None:
    result = treadle.explore(
        lambda: two_users_of_a_cache(threading.Lock()), instrument=["cachetools"]
    )
    assert (result.executions, result.ok) == (6, True)  # as for `lru_cache`


# logging


class Lines(logging.Handler):
    """Writes a record in two pieces, as a stream does: text and newline."""

    def __init__(self, pieces: list[str]) -> None:
        super().__init__()
        self.pieces = pieces

    def emit(self, record: logging.LogRecord) -> None:
        self.pieces.append(record.getMessage())
        self.pieces.append("\n")


class NoLock:
    """Locks nobody out."""

    def acquire(self) -> None:
        """Do nothing."""

    def release(self) -> None:
        """Do nothing."""

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(self, *error: object) -> None:
        """Do nothing."""


def two_threads_log(*, with_lock: bool) -> None:
    pieces: list[str] = []
    logger = logging.Logger("treadle test")
    handler = Lines(pieces)
    if not with_lock:
        handler.lock = NoLock()  # type: ignore[assignment]
    logger.addHandler(handler)
    run(lambda: logger.warning("a"), lambda: logger.warning("b"))
    assert "".join(pieces) in ("a\nb\n", "b\na\n"), f"interleaved: {pieces}"
    handler.close()


def test_logging_does_not_interleave_messages() -> None:
    """The cache of levels is filled by one thread or by both: 4; the handler's lock: 2 orders."""
    result = treadle.explore(lambda: two_threads_log(with_lock=True), instrument=["logging"])
    assert (result.executions, result.ok) == (8, True)


def test_logging_without_the_handlers_lock_interleaves() -> None:
    """The 2 pieces of one message and the 2 of the other: 6 orders instead of 2."""
    result = treadle.explore(
        lambda: two_threads_log(with_lock=False), instrument=["logging"], stop_on_failure=False
    )
    assert result.complete
    assert set(result.failure_kinds) == {"assertion"}
    assert all("interleaved" in failure.message for failure in result.failures)
    assert result.executions == 24
