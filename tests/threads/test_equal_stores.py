"""Two stores of one value commute in every state: they are independent in threads, too."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Any

import pytest
from together import outcomes, together

import treadle
from treadle.explore.registry import ALGORITHMS

_KNOWING = ["sleep", "source", "optimal", "eager", "observers"]
by_whoever_knows_values = pytest.mark.parametrize(
    "algorithm", [name for name in _KNOWING if ALGORITHMS[name].knows_values]
)
shared = 0


class Box:
    """Holds what threads store."""

    kind = "box"

    def __init__(self, x: Any = 0) -> None:
        self.x = x
        self.y = self.z = 0


class Slot:
    """Holds it in a slot."""

    __slots__ = ("x",)


def writers(*values: object, reader: bool = False) -> Callable[[], None]:
    """Return a test with threads that store a value each, and perhaps one that looks."""

    def test() -> None:
        box = Box()

        def write(value: object) -> None:
            box.x = value

        def read() -> None:
            assert box.x is not ...

        tasks: list[Callable[[], Any]] = [lambda value=value: write(value) for value in values]
        together(*tasks, *([read] if reader else []))

    return test


def executions(*bodies: Callable[[], Any], **options: Any) -> int:
    """Return how many executions some threads have."""
    return treadle.explore(lambda: together(*bodies), **options).executions


@by_whoever_knows_values
def test_example_6_of_the_thesis(algorithm: str) -> None:
    def test() -> None:
        box = Box(1)

        def p() -> None:
            box.y = 1
            box.x = 5

        def q() -> None:
            box.z = 2
            box.x = 5

        def r() -> None:
            assert box.x > 0

        together(p, q, r)

    assert treadle.explore(test, algorithm).executions == 4


@by_whoever_knows_values
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_writers_of_one_value(n: int, algorithm: str) -> None:
    assert treadle.explore(writers(*[7] * n), algorithm).executions == 1
    assert treadle.explore(writers(*[7] * n, reader=True), algorithm).executions == 2**n


@by_whoever_knows_values
def test_one_true_and_a_float_are_three_values(algorithm: str) -> None:
    assert treadle.explore(writers(1, True, 1.0), algorithm).executions == math.factorial(3)
    assert treadle.explore(writers("a", "a", b"a"), algorithm).executions == 4
    assert treadle.explore(writers(0.0, -0.0), algorithm).executions == 2
    assert treadle.explore(writers(1.5, 1.5, None, None), algorithm).executions == 14


@pytest.mark.parametrize("value", [(1,), frozenset({1}), [], float("nan"), Box, print])
def test_what_is_no_plain_value_is_never_alike(value: object) -> None:
    assert treadle.explore(writers(value, value)).executions == 2


def store_global() -> None:
    global shared
    shared = 3


def test_variables_and_slots() -> None:
    slot = Slot()
    slot.x = 0
    cell = 0

    def store_cell() -> None:
        nonlocal cell
        cell = 3

    def store_slot(value: int = 3) -> None:
        slot.x = value

    assert executions(store_global, store_global) == 1
    assert executions(store_cell, store_cell) == 1
    assert executions(store_slot, store_slot) == 1


def test_values_that_were_computed_are_not_compared() -> None:
    """Racy increments keep the number of orders that everybody knows."""

    def test() -> None:
        box = Box()

        def increment() -> None:
            box.x += 1

        def add(value: int) -> None:
            value = value + box.y
            box.x = value

        together(increment, increment, lambda: add(1))

    assert treadle.explore(test).executions == 22

    def choose() -> None:
        box = Box()

        def write(value: int) -> None:
            box.x = (value, 1)[box.y]

        together(lambda: write(1), lambda: write(1))

    assert treadle.explore(choose).executions == 2

    def assigned() -> None:
        box = Box()

        def add(value: int) -> None:
            value = value + box.y
            box.x = value

        together(lambda: add(1), lambda: add(1))

    assert treadle.explore(assigned).executions == 2


def test_who_replaces_an_object_makes_no_difference() -> None:
    """What is shared is kept until the execution ends: no finaliser runs before that."""

    class Leaving:
        def __init__(self, seen: list[str]) -> None:
            self.seen = seen

        def __del__(self) -> None:
            self.seen.append(threading.current_thread().name)

    def test() -> tuple[str, ...]:
        seen: list[str] = []
        box = Box(Leaving(seen))

        def leave() -> None:
            box.x = None

        together(leave, leave)
        return tuple(seen)

    assert outcomes(test) == {"()"}
    assert treadle.explore(test).executions == 1


def test_a_part_of_a_step_names_no_value() -> None:
    """The last store of a block counts, and a block that looks may store something else."""

    def test() -> int:
        box = Box()

        def twice() -> None:
            with treadle.atomic():
                box.x = 1
                box.x = 2
                box.x = 1

        def once() -> None:
            box.x = 2

        together(twice, once)
        return int(box.x)

    assert outcomes(test) == {"1", "2"}


def test_properties_and_classes_that_store_otherwise() -> None:
    class Counting:
        def __init__(self) -> None:
            self.count = 0

        @property
        def x(self) -> int:
            return self.count

        @x.setter
        def x(self, value: int) -> None:
            self.count += value

    class Logging:
        def __init__(self) -> None:
            object.__setattr__(self, "count", 0)

        def __setattr__(self, name: str, value: int) -> None:
            object.__setattr__(self, "count", self.count + value)

    for kind in (Counting, Logging):

        def test(kind: Any = kind) -> int:
            box = kind()

            def store() -> None:
                box.x = 1

            together(store, store)
            return int(box.count)

        assert outcomes(test) == {"1", "2"}, kind


def test_a_data_race_of_equal_stores_is_one() -> None:
    result = treadle.explore(writers(7, 7), races=True)
    assert [failure.kind for failure in result.failures] == ["race"]


def test_coarser_steps_name_no_value() -> None:
    assert treadle.explore(writers(7, 7), granularity="gil").executions == 2
    assert treadle.explore(writers(7, 7), granularity="free-threaded").executions == 1


def test_a_token_leads_there_again() -> None:
    def test() -> None:
        box = Box()

        def write() -> None:
            box.x = 7

        def check() -> None:
            assert box.x != 7

        together(write, write, check)

    result = treadle.explore(test)
    assert result.failures
    for failure in result.failures:
        again = treadle.replay(test, failure.token)
        assert again is not None
        assert (again.kind, again.process) == (failure.kind, failure.process)
