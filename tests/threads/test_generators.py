"""Generators that threads share: who enters one while it runs gets a ValueError."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import treadle

RUNNING = "already executing"


class Counter:
    def __init__(self) -> None:
        self.last = 0

    def __iter__(self) -> Iterator[int]:
        while True:
            self.last += 1
            yield self.last


def numbers() -> Iterator[int]:
    number = 0
    while True:
        number += 1
        yield number


def two() -> Iterator[int]:
    yield 1
    yield 2


def delegating() -> Iterator[int]:
    yield from two()


def adding() -> Iterator[int]:
    total = 0
    while True:
        total += yield total  # type: ignore[misc]


def both(*takes: Callable[[], object]) -> list[object]:
    """Return what two threads got, each of which takes a value."""
    got: list[object] = [None, None]

    def run(index: int) -> None:
        try:
            got[index] = takes[index]()
        except ValueError:
            got[index] = RUNNING

    threads = [threading.Thread(target=run, args=(index,)) for index in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return got


def calling_next() -> list[object]:
    shared = iter(Counter())
    return both(lambda: next(shared), lambda: next(shared))


def with_local_variables_only() -> list[object]:
    shared = numbers()
    return both(lambda: next(shared), shared.__next__)


def delegated() -> list[object]:
    shared = delegating()
    return both(lambda: next(shared), lambda: next(shared))


def within_another_iterator() -> list[object]:
    shared = map(str, numbers())
    return both(lambda: next(shared), lambda: next(shared))


def sending() -> list[object]:
    shared: Any = adding()
    next(shared)
    return both(lambda: shared.send(1), lambda: shared.send(2))


def closing() -> list[object]:
    shared: Any = two()
    next(shared)
    return both(lambda: next(shared, "end"), shared.close)


def a_loop_and_a_list() -> list[object]:
    shared = two()

    def loop() -> list[int]:
        found = []
        for value in shared:
            found.append(value)
        return found

    return both(loop, lambda: list(shared))


def under_a_lock() -> list[object]:
    shared = numbers()
    lock = threading.Lock()

    def take() -> int:
        with lock:
            return next(shared)

    return both(take, take)


Got = list[Any]
ONE_EACH: list[Got] = [[1, 2], [2, 1], [1, RUNNING], [RUNNING, 1]]
SPLIT: list[Got] = [
    [[1, 2], []], [[1], [2]], [[], [1, 2]],
    [RUNNING, [1, 2]], [RUNNING, [2]], [RUNNING, []], [[1, 2], RUNNING],
]  # fmt: skip
"""Between two elements of a list that C code makes, there is no handing over."""
SPLIT_ANYWHERE = [*SPLIT, [[2], [1]], [RUNNING, [1]], [[2], RUNNING], [[1], RUNNING], [[], RUNNING]]
CLOSED: list[Got] = [[2, None], ["end", None], [2, RUNNING]]
SENT: list[Got] = [[1, 3], [3, 2], [1, RUNNING], [RUNNING, 2]]
TEXTS: list[Got] = [["1", "2"], ["2", "1"], ["1", RUNNING], [RUNNING, "1"]]
CASES: list[tuple[Callable[[], Got], str, list[Got], int]] = [
    (calling_next, "access", ONE_EACH, 4),
    (calling_next, "gil", ONE_EACH, 4),
    (with_local_variables_only, "access", ONE_EACH, 4),
    (with_local_variables_only, "gil", ONE_EACH, 4),
    (delegated, "access", ONE_EACH, 4),
    (delegated, "gil", ONE_EACH, 4),
    (within_another_iterator, "access", TEXTS, 24),
    (within_another_iterator, "gil", TEXTS, 4),
    (sending, "access", SENT, 4),
    (sending, "gil", SENT, 4),
    (closing, "access", [*CLOSED, [RUNNING, None]], 4),
    (closing, "gil", CLOSED, 3),  # closing hands over to nobody
    (a_loop_and_a_list, "access", SPLIT_ANYWHERE, 22),
    (a_loop_and_a_list, "gil", SPLIT, 13),
    (under_a_lock, "access", [[1, 2], [2, 1]], 2),
    (under_a_lock, "gil", [[1, 2], [2, 1]], 2),
]
"""What two threads may get, and in how many executions."""


@pytest.mark.parametrize(("case", "granularity", "expected", "executions"), CASES)
def test_shared(
    case: Callable[[], Got], granularity: str, expected: list[Got], executions: int
) -> None:
    def test() -> None:
        raise AssertionError(case())

    for algorithm in ("sleep", "source", "optimal"):
        result = treadle.explore(test, algorithm, granularity=granularity, stop_on_failure=False)
        found = {failure.message.partition(": ")[2] for failure in result.failures}
        assert found == set(map(str, expected))
        assert (result.executions, result.complete) == (executions, True)


def test_what_a_generator_keeps_is_shared() -> None:
    def buffered() -> Iterator[list[int]]:
        buffer: list[int] = []
        while True:
            yield buffer

    def test() -> None:
        shared = buffered()
        lock = threading.Lock()

        def add() -> int:
            with lock:
                buffer = next(shared)
            size = len(buffer)
            buffer.append(size)
            return size

        assert sorted(both(add, add)) == [0, 1]  # type: ignore[type-var]

    assert [failure.kind for failure in treadle.explore(test).failures] == ["assertion"]


def test_the_report_of_an_error_that_another_thread_caused() -> None:
    def test() -> None:
        shared = numbers()
        threads = [threading.Thread(target=next, args=(shared,)) for _ in range(2)]
        for thread in threads:
            thread.start()

    (failure,) = treadle.explore(test).failures
    assert (failure.kind, failure.message) == (
        "exception",
        "ValueError: generator already executing",
    )
    replayed = treadle.replay(test, failure.schedule)
    assert replayed is not None
    assert replayed.message == failure.message


def test_iterators_over_a_shared_list_are_no_generators() -> None:
    def test() -> None:
        values = [1, 2, 3]

        def change() -> None:
            values[2] = 4

        changing = threading.Thread(target=change)
        changing.start()
        shared = enumerate(values)
        got = both(lambda: next(shared), lambda: next(shared))
        changing.join()
        assert sorted(got) == [(0, 1), (1, 2)]  # type: ignore[type-var]

    result = treadle.explore(test)
    assert (result.ok, result.failures) == (True, [])
