"""Loops that take something out of a container again and again, until there is something."""

from __future__ import annotations

import heapq
import threading
import time
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any

import pytest

import treadle
from algorithms import covering

EXHAUSTIVE = covering()


def together(*bodies: Callable[[], None]) -> None:
    threads = [threading.Thread(target=body) for body in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class Stack:
    """A class under test, with a method that is called like one of a list."""

    def __init__(self) -> None:
        self.items: list[int] = []

    def append(self, item: int) -> None:
        self.items.append(item)

    def pop(self) -> int:
        return self.items.pop() if self.items else 0


def or_none(take: Callable[[], Any]) -> Any:
    try:
        return take()
    except (IndexError, KeyError):
        return None


WAYS: dict[str, tuple[Callable[[], Any], Callable[[Any], Any], Callable[[Any], Any]]] = {
    "list.pop": (list, lambda x: x.append(1), lambda x: or_none(x.pop)),
    "list.pop(0)": (list, lambda x: x.append(1), lambda x: or_none(lambda: x.pop(0))),
    "deque.popleft": (deque, lambda x: x.append(1), lambda x: or_none(x.popleft)),
    "dict.pop": (dict, lambda x: x.update(k=1), lambda x: or_none(lambda: x.pop("k"))),
    "dict.pop, default": (dict, lambda x: x.update(k=1), lambda x: x.pop("k", None)),
    "defaultdict.pop": (
        lambda: defaultdict(int), lambda x: x.update(k=1), lambda x: x.pop("k", None),
    ),
    "popitem": (OrderedDict, lambda x: x.update(k=1), lambda x: or_none(x.popitem)),
    "set.pop": (set, lambda x: x.add(1), lambda x: or_none(x.pop)),
    "set.remove": (set, lambda x: x.add(1), lambda x: or_none(lambda: x.remove(1) or 1)),
    "heappop": (
        list, lambda x: heapq.heappush(x, 1), lambda x: or_none(lambda: heapq.heappop(x)),
    ),
    "of a class under test": (Stack, lambda x: x.append(1), lambda x: x.pop()),
}  # fmt: skip


@pytest.mark.parametrize("nap", [None, 0.01])
@pytest.mark.parametrize("way", WAYS)
def test_who_finds_nothing_waits_until_there_is_something(way: str, nap: float | None) -> None:
    make, put, take = WAYS[way]

    def test() -> None:
        held, got = make(), []

        def work() -> None:
            while not (found := take(held)):
                if nap is not None:
                    time.sleep(nap)
            got.append(found)

        together(work, lambda: put(held))
        assert len(got) == 1

    result = treadle.explore(test, max_executions=60)
    assert result.ok
    # There at once, seen before or after it comes in the first round, or after waiting.
    assert (result.executions, result.blocked) == (4, 0)


@pytest.mark.parametrize("algorithm", EXHAUSTIVE)
def test_all_orders_of_two_that_take_and_one_that_puts_are_seen(algorithm: str) -> None:
    seen: set[tuple[tuple[str, int], ...]] = set()

    def test() -> None:
        held: deque[int] = deque()
        got: dict[str, int] = {}

        def work(name: str) -> None:
            while True:
                try:
                    got[name] = held.popleft()
                    return
                except IndexError:
                    pass

        def put() -> None:
            held.append(1)
            held.append(2)

        together(lambda: work("a"), put, lambda: work("b"))
        assert len(got) == 2  # not so in a trial that is given up
        seen.add(tuple(sorted(got.items())))

    assert treadle.explore(test, algorithm).ok
    assert seen == {(("a", 1), ("b", 2)), (("a", 2), ("b", 1))}


def test_too_little_for_two_is_a_livelock() -> None:
    def test() -> None:
        held: deque[int] = deque()

        def work() -> None:
            while True:
                try:
                    held.popleft()
                    return
                except IndexError:
                    time.sleep(0.01)

        together(work, work, lambda: held.append(1))

    failure = treadle.explore(test).failures[0]
    assert failure.kind == "livelock"
    assert "held" in failure.message


def test_who_finds_something_has_not_only_looked() -> None:
    """A loop that takes the last ones goes on, whoever else has the container."""

    def test() -> None:
        shared, own = [1, 2, 3], [1, 2, 3]
        empty: set[int] = set()

        def work() -> None:
            while shared:
                shared.pop()
            while own:
                own.pop()
            rest = deque(range(2000))
            while rest:
                rest.popleft()
            empty.discard(1)

        together(work, lambda: empty.discard(2))
        assert not shared

    result = treadle.explore(test)
    assert result.ok
    assert result.executions == 1


def test_who_empties_a_container_between_others_is_seen() -> None:
    """What found nothing in one order is still a change in another."""

    def test() -> None:
        held: list[int] = []
        lengths: list[int] = []

        def look() -> None:
            held.append(1)
            lengths.append(len(held))

        together(look, held.clear)
        seen.add(lengths[0])

    seen: set[int] = set()
    assert treadle.explore(test).ok
    assert seen == {0, 1}
