"""Objects of classes that are not instrumented: one step per operation, and never a false pass."""

from __future__ import annotations

import collections
import threading
from collections.abc import Callable
from typing import Any

import cachetools
import pytest

import treadle


def empty_cache() -> Any:
    return cachetools.LRUCache(maxsize=2)


def put(cache: Any) -> None:
    cache[1] = 2


# What is shared, how one thread changes it, how the other looks at it, and what it sees afterwards.
CASES: dict[str, tuple[Callable[[], Any], Callable[[Any], Any], Callable[[Any], Any], Any]] = {
    "item": (empty_cache, put, lambda cache: 1 in cache, True),
    "method": (empty_cache, lambda cache: cache.setdefault(1, 2), lambda cache: cache.get(1), 2),
    "length": (empty_cache, put, len, 1),
    "iteration": (empty_cache, put, list, [1]),
    "comprehension": (empty_cache, put, lambda cache: [key for key in cache], [1]),  # noqa: C416
    "property": (empty_cache, put, lambda cache: cache.currsize, 1),
    "truth": (empty_cache, put, lambda cache: "full" if cache else "empty", "full"),
    "user dict": (collections.UserDict, put, lambda shared: 1 in shared, True),
    "user list": (
        collections.UserList,
        lambda shared: shared.append(1),
        lambda shared: len(shared + [2]),  # noqa: RUF005 - an operator is meant
        2,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_both_orders_are_seen(name: str) -> None:
    make, change, look, after = CASES[name]
    seen = []

    def test() -> None:
        shared = make()
        found: list[Any] = []
        threads = [
            threading.Thread(target=lambda: change(shared)),
            threading.Thread(target=lambda: found.append(look(shared))),
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with treadle.atomic():
            seen.append(found[0])

    result = treadle.explore(test, stop_on_failure=False)
    assert result.complete
    assert after in seen
    assert any(value != after for value in seen), "the other order was not explored"


def test_uninstrumented_code_is_noted() -> None:
    def test() -> None:
        cache = empty_cache()
        thread = threading.Thread(target=lambda: cache.setdefault(1, 2))
        thread.start()
        cache.get(1)
        thread.join()

    notes = treadle.explore(test).notes
    assert any("cachetools" in note for note in notes)
