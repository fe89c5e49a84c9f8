"""Methods that `contextlib` decorates: they are looked into, also those of shared objects."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

from together import together

import treadle


class ReadWriteLock:
    waits_for_readers = True

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.readers = 0
        self.is_written = False

    def may_write(self) -> bool:
        return not self.is_written and not (self.waits_for_readers and self.readers)

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        with self.changed:
            self.changed.wait_for(lambda: not self.is_written)
            self.readers += 1
        try:
            yield
        finally:
            with self.changed:
                self.readers -= 1
                self.changed.notify_all()

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        with self.changed:
            self.changed.wait_for(self.may_write)
            self.is_written = True
        try:
            yield
        finally:
            with self.changed:
                self.is_written = False
                self.changed.notify_all()


class Hasty(ReadWriteLock):
    waits_for_readers = False


class Counter:
    def __init__(self) -> None:
        self.n = 0

    @contextlib.contextmanager
    def counting(self) -> Iterator[None]:
        n = self.n
        yield
        self.n = n + 1


class Counting(contextlib.ContextDecorator):
    def __init__(self) -> None:
        self.n = self.before = 0

    def __enter__(self) -> None:
        self.before = self.n

    def __exit__(self, *reason: object) -> None:
        self.n = self.before + 1


def read_and_write(lock: ReadWriteLock) -> None:
    pair = [0, 0]

    def write() -> None:
        with lock.writing():
            pair[0] += 1
            pair[1] += 1

    def read() -> None:
        with lock.reading():
            assert pair[0] == pair[1]

    together(write, read)


def test_a_lock_made_of_contexts_is_verified() -> None:
    """Who comes second has to wait, or does not."""
    result = treadle.explore(lambda: read_and_write(ReadWriteLock()))
    assert result.ok
    assert result.complete
    assert (result.executions, result.notes) == (4, [])


def test_and_a_wrong_one_is_found() -> None:
    result = treadle.explore(lambda: read_and_write(Hasty()))
    assert [failure.kind for failure in result.failures] == ["assertion"]
    assert result.notes == []


def test_the_body_of_a_context_is_no_single_step() -> None:
    """Two reads and two writes, as without contexts: four orders that can be told apart."""
    found: set[int] = set()

    def count() -> None:
        counter = Counter()

        def add() -> None:
            with counter.counting():
                pass

        together(add, add)
        found.add(counter.n)

    result = treadle.explore(count)
    assert found == {1, 2}
    assert (result.executions, result.notes) == (4, [])


def test_nor_is_that_of_a_context_that_decorates() -> None:
    found: set[int] = set()

    def count() -> None:
        counting = Counting()

        @counting
        def work() -> None:
            pass

        together(work, work)
        found.add(counting.n)

    assert treadle.explore(count).notes == []
    assert found == {1, 2}
