"""A bounded buffer between a producer and consumers.

With two semaphores, one counts the free places and one the items. With one condition variable
there are two classic mistakes: `notify` may wake another consumer where the producer should go on,
and its wakeup is lost; and a waiter that does not look again (`if` where `while` belongs) goes on
although somebody else was faster.
"""

from collections.abc import Generator, Iterator
from typing import Any

from treadle.model import Condition, Lock, Program, Semaphore

CAPACITY = 1


def with_semaphores() -> Program:
    """Count places and items: correct."""
    program = Program(
        "buffer with semaphores",
        items=(),
        lock=Lock(),
        places=Semaphore(CAPACITY),
        filled=Semaphore(0),
    )

    def producer(s: Any) -> Iterator[Any]:
        for item in (1, 2):
            yield s.places.acquire()
            yield s.lock.acquire()
            _put(s, item)
            s.lock.release()
            s.filled.release()

    def consumer(s: Any) -> Iterator[Any]:
        yield s.filled.acquire()
        yield s.lock.acquire()
        _take(s)
        s.lock.release()
        s.places.release()

    return _with(program, producer, consumer)


def with_condition() -> Program:
    """Wake everybody, and look again: correct."""
    return _monitor("buffer with a condition variable", wake_all=True, look_again=True)


def lost_wakeup() -> Program:
    """Wake only one: it may be the wrong one."""
    return _monitor("buffer with a lost wakeup", wake_all=False, look_again=True)


def without_second_look() -> Program:
    """Wait with `if` where `while` belongs."""
    return _monitor("buffer without a second look", wake_all=True, look_again=False)


def _monitor(name: str, *, wake_all: bool, look_again: bool) -> Program:
    program = Program(name, items=(), changed=Condition())

    def wait_while(s: Any, unfit: Any) -> Generator[Any, Any, None]:
        while unfit():
            yield s.changed.wait()
            if not look_again:
                break

    def wake(s: Any) -> None:
        s.changed.notify_all() if wake_all else s.changed.notify()
        s.changed.release()

    def producer(s: Any) -> Iterator[Any]:
        for item in (1, 2):
            yield s.changed.acquire()
            yield from wait_while(s, lambda: len(s.items) == CAPACITY)
            _put(s, item)
            wake(s)

    def consumer(s: Any) -> Iterator[Any]:
        yield s.changed.acquire()
        yield from wait_while(s, lambda: len(s.items) == 0)
        _take(s)
        wake(s)

    return _with(program, producer, consumer)


def _put(s: Any, item: int) -> None:
    assert len(s.items) < CAPACITY, "put into a full buffer"
    s.items = (*s.items, item)


def _take(s: Any) -> None:
    assert s.items, "take from an empty buffer"
    s.items = s.items[1:]


def _with(program: Program, producer: Any, consumer: Any) -> Program:
    program.process(producer)
    program.process(consumer, name="consumer1")
    program.process(consumer, name="consumer2")
    return program
