"""Minimal initial contexts: the paper's examples, its counts, and brute force over definition 1."""

from __future__ import annotations

from collections import Counter
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treadle.core.errors import TreadleError
from treadle.symbolic.contexts import (
    AbstractTask,
    minimal_contexts,
    number_of_contexts,
    number_of_solutions,
)


class DB:
    pass


class Worker:
    pass


def words(*tasks: AbstractTask) -> list[str]:
    return [str(context) for context in minimal_contexts(tasks)]


def test_one_method_once_or_twice():
    assert words(AbstractTask(DB, "m", 1, 2)) == ["DB[m]", "DB[m, m]", "DB[m], DB[m]"]


def test_example_1():
    found = words(AbstractTask(DB, "register", 1, 1), AbstractTask(DB, "connect", 0, 1))
    assert found == ["DB[register]", "DB[register, connect]", "DB[register], DB[connect]"]


def test_examples_2_to_4():
    tasks = [AbstractTask(DB, "register", 0, 1), AbstractTask(DB, "connect", 1, 1)]
    assert number_of_solutions(tasks) == 6
    found = words(*tasks)
    assert found == ["DB[connect]", "DB[register, connect]", "DB[register], DB[connect]"]


def test_example_5():
    found = words(
        AbstractTask(DB, "register"), AbstractTask(DB, "connect"), AbstractTask(Worker, "work")
    )
    assert found == [
        "DB[register, connect], Worker[work]",
        "DB[register], DB[connect], Worker[work]",
    ]


def test_none_at_all_is_one_context():
    assert words(AbstractTask(DB, "m", 0, 0)) == ["no actors"]
    assert words() == ["no actors"]


@pytest.mark.parametrize(
    ("methods", "counts"),
    [(1, (1, 3, 6)), (2, (2, 19, 96)), (3, (5, 182)), (4, (15, 2419))],
)
def test_counts_of_the_paper(methods: int, counts: tuple[int, ...]):
    for most, count in enumerate(counts, 1):
        tasks = [AbstractTask(DB, f"m{at}", 1, most) for at in range(methods)]
        assert number_of_contexts(tasks) == count
        found = list(minimal_contexts(tasks))
        assert len(found) == len(set(found)) == count


def test_classes_are_multiplied():
    tasks = [AbstractTask(cls, m, 1, 2) for cls in (DB, Worker) for m in "ab"]
    assert number_of_contexts(tasks) == 19 * 19 == len(list(minimal_contexts(tasks)))


@pytest.mark.parametrize(("least", "most"), [(-1, 1), (2, 1)])
def test_bounds_that_are_none(least: int, most: int):
    with pytest.raises(TreadleError, match="the least number of tasks"):
        AbstractTask(DB, "m", least, most)


bounds = st.integers(0, 2).flatmap(lambda most: st.tuples(st.integers(0, most), st.just(most)))


@given(limits=st.lists(bounds, min_size=1, max_size=2))
@settings(max_examples=40, deadline=None)
def test_one_of_each_class_of_equivalent_solutions(limits: list[tuple[int, int]]):
    """Definition 1 by brute force: all solutions of the integer system, up to renaming."""
    tasks = [AbstractTask(DB, f"m{at}", *each) for at, each in enumerate(limits)]
    locations = sum(most for _, most in limits)
    rows = [
        [row for row in product(range(most + 1), repeat=locations) if least <= sum(row) <= most]
        for least, most in limits
    ]
    solutions = list(product(*rows))
    assert number_of_solutions(tasks) == len(solutions)
    classes = set()
    for solution in solutions:
        vectors = Counter(zip(*solution, strict=True))
        vectors.pop((0,) * len(limits), None)
        classes.add(frozenset(vectors.items()))
    found = set()
    for context in minimal_contexts(tasks):
        vectors = Counter(
            tuple(location.tasks.count(f"m{at}") for at in range(len(limits)))
            for location in context.locations
        )
        assert frozenset(vectors.items()) not in found
        found.add(frozenset(vectors.items()))
    assert found == classes
    assert number_of_contexts(tasks) == len(classes)


def test_locations_are_in_normal_form():
    tasks = [AbstractTask(DB, "a", 1, 3), AbstractTask(DB, "b", 1, 3)]
    for context in minimal_contexts(tasks):
        vectors = [(one.tasks.count("a"), one.tasks.count("b")) for one in context.locations]
        assert vectors == sorted(vectors, reverse=True)
