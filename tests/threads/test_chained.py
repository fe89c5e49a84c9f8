"""Iterators of several parts that run code under test: each part is taken when it comes to it."""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import treadle

ALGORITHMS = ("exhaustive", "sleep", "source", "optimal")


class Fails(Exception):
    """Raised on purpose."""


def _failing(item: int) -> int:
    raise Fails(item)


def _outcomes(act: Callable[[list[Any]], object], algorithm: str) -> set[object]:
    """Return what two threads see: one acts on a list, the other one takes its length."""
    found: set[object] = set()

    def test() -> None:
        items: list[Any] = [1]
        seen: list[int] = []

        def acting() -> None:
            with contextlib.suppress(Fails):
                act(items)

        threads = [
            threading.Thread(target=acting),
            threading.Thread(target=lambda: seen.append(len(items))),
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        found.add((tuple(items), *seen))

    assert treadle.explore(test, algorithm).complete
    return found


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_what_came_before_an_exception_is_kept(algorithm: str) -> None:
    chained = _outcomes(
        lambda items: items.extend(itertools.chain([7], map(_failing, [0]))), algorithm
    )
    assert chained == {((1, 7), 1), ((1, 7), 2)}


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_chain_is_seen_half_done(algorithm: str) -> None:
    def numbers() -> Iterator[int]:
        yield 7
        yield 8

    chained = _outcomes(lambda items: items.extend(itertools.chain(numbers())), algorithm)
    assert chained == {((1, 7, 8), 1), ((1, 7, 8), 2), ((1, 7, 8), 3)}
