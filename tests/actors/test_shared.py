"""Variables that actors share besides messages: no failure is missed because of them."""

from __future__ import annotations

import itertools
from collections import deque
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treadle
from treadle.actors import Actor, Program, program

total = 0
limit = 0
journal: list[int] = []
PRICES = {"tea": 2, "cake": 3}
waiting: deque[int] = deque()
LEVELS = ("actor", "field", "access", "entry")
ALGORITHMS = ("exhaustive", "sleep", "classic", "source", "optimal", "observers")


def note_in(journal_: list[int], value: int) -> None:
    journal_.append(value)


class Writer(Actor):
    last = 0
    seen: list[int] = []  # noqa: RUF012 - that it is shared is what is tested

    async def assign(self, value):
        global total
        total = value

    async def add(self, value):
        journal.append(value)

    async def add_by_a_function(self, value):
        note_in(journal, value)

    async def queue(self, value):
        waiting.append(value)

    async def assign_to_the_class(self, value):
        Writer.last = value

    async def add_to_the_class(self, value):
        self.seen.append(value)


def reset() -> None:
    global total
    total = Writer.last = 0
    for one in (journal, Writer.seen, waiting):
        one.clear()


def sending(method: str, n: int = 2) -> Program:
    def main() -> None:
        reset()
        for i in range(1, n + 1):
            getattr(Writer(), method).send(i)

    return Program(main)


WAYS: dict[str, Any] = {
    "assign": lambda: total,
    "add": lambda: tuple(journal),
    "add_by_a_function": lambda: tuple(journal),
    "queue": lambda: tuple(waiting),
    "assign_to_the_class": lambda: Writer.last,
    "add_to_the_class": lambda: tuple(Writer.seen),
}
NAMES = {
    "assign": "total",
    "queue": "waiting",
    "assign_to_the_class": "Writer.last",
    "add_to_the_class": "Writer.seen",
}


def outcomes(tested: Program, look: Any, **options: Any) -> tuple[treadle.Result, set[Any]]:
    found: set[Any] = set()
    tested.finally_(lambda *_: found.add(look()))
    return treadle.explore(tested, **options), found


@pytest.mark.parametrize("method", WAYS)
@pytest.mark.parametrize("dependency", LEVELS)
def test_orders_of_writes_to_what_is_shared_are_explored(method: str, dependency: str) -> None:
    result, found = outcomes(sending(method, 3), WAYS[method], dependency=dependency)
    assert result.ok
    assert result.executions == 6
    orders = set(itertools.permutations((1, 2, 3)))
    assert found == (orders if isinstance(next(iter(found)), tuple) else {1, 2, 3})


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_finds_what_only_one_order_breaks(algorithm: str) -> None:
    tested = sending("assign")

    @tested.finally_
    def the_second_is_last(*_: object) -> None:
        assert total == 2

    result = treadle.explore(tested, algorithm=algorithm, stop_on_failure=False)
    (failure,) = result.failures
    assert (failure.kind, result.failing) == ("assertion", 1)
    again = treadle.replay(tested, failure.token)
    assert again is not None
    assert (again.kind, again.process) == (failure.kind, failure.process)


@pytest.mark.parametrize("algorithm", ["context", "optimal-context"])
def test_states_with_shared_variables_are_not_compared(algorithm: str) -> None:
    with pytest.raises(treadle.TreadleError, match=r"actors share .*total, which is no field"):
        treadle.explore(sending("assign"), algorithm=algorithm)


@pytest.mark.parametrize(("method", "name"), NAMES.items())
def test_a_note_names_what_is_shared(method: str, name: str) -> None:
    result = treadle.explore(sending(method))
    (note,) = [one for one in result.notes if one.startswith("all steps are dependent")]
    assert name in note


class Reader(Actor):
    def __init__(self):
        self.paid = 0

    async def buy(self, what):
        self.paid += PRICES[what]

    async def buy_up_to(self, value):
        self.paid = min(value, limit)


@program
def buying():
    one, two = Reader(), Reader()
    for what in PRICES:
        one.buy.send(what)
        two.buy.send(what)


def test_a_table_that_nobody_changes_costs_nothing() -> None:
    result = treadle.explore(buying)
    assert (result.executions, result.notes) == (4, [])
    assert treadle.explore(buying, algorithm="exhaustive").executions == 24


@pytest.mark.parametrize("collects", [True, False])
def test_what_only_main_writes_costs_nothing(collects: bool) -> None:
    answers: list[int] = []

    def main() -> None:
        futures = [Reader().buy_up_to.send(i) for i in range(3)]
        if collects:
            answers.append(len(futures))

    result = treadle.explore(Program(main))
    assert (result.executions, result.notes) == (1, [])
    assert set(answers) == ({3} if collects else set())


def test_what_main_writes_and_methods_read() -> None:
    def main() -> None:
        global limit
        limit = 0
        reader = Reader()
        future = Reader().buy.send("tea")
        reader.buy_up_to.send(5)
        future.get()
        limit = 3
        return reader

    paid: set[int] = set()
    tested = Program(main)
    tested.finally_(lambda reader: paid.add(reader.paid))
    result = treadle.explore(tested)
    assert paid == {0, 3}
    assert any("limit" in note for note in result.notes)


class Count(Actor):
    made = 0

    async def count(self):
        Count.made += 1
        return Count.made


def test_what_outlives_an_execution_is_nondeterminism() -> None:
    @program
    def counting():
        for counter in (Count(), Count()):
            counter.count.send()

    (failure,) = treadle.explore(counting).failures
    assert failure.kind == "nondeterminism"
    assert "state that outlives an execution" in failure.message


cells = [0, 0]


class Mixed(Actor):
    def __init__(self):
        self.own = 0

    async def do(self, todo):
        for action, index, value in todo:
            if action == "put":
                cells[index] = value
            elif action == "take":
                self.own = self.own * 3 + cells[index]
            else:
                self.own = self.own * 3 + value


actions = st.tuples(st.sampled_from(("put", "take", "own")), st.integers(0, 1), st.integers(1, 3))
tasks = st.tuples(st.integers(0, 1), st.lists(actions, min_size=1, max_size=2).map(tuple))


@settings(max_examples=40)
@given(todo=st.lists(tasks, min_size=1, max_size=4))
def test_random_programs_end_as_they_do_by_brute_force(todo: Any) -> None:
    def main() -> Any:
        cells[:] = [0, 0]
        actors = Mixed(), Mixed()
        for index, actions_ in todo:
            actors[index].do.send(actions_)
        return actors

    def found_by(algorithm: str, dependency: str) -> set[Any]:
        tested, found = Program(main, dependency=dependency), set()
        tested.finally_(lambda one, two: found.add((one.own, two.own, *cells)))
        assert treadle.explore(tested, algorithm=algorithm).ok
        return found

    brute = found_by("exhaustive", "actor")
    for dependency in LEVELS:
        assert found_by("optimal", dependency) == brute
    assert found_by("source", "actor") == brute
    assert found_by("classic", "actor") == brute
