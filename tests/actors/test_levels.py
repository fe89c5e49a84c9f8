"""Dependency levels: what makes two steps of one actor dependent, and what falls back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import treadle
from treadle.actors import Actor, Program, program, until
from treadle.actors.accesses import Entries
from treadle.actors.names import short
from treadle.papers import PAPERS
from treadle.papers.check import deviation
from treadle.papers.harness import Task, explore_in_process


class Pair(Actor):
    """Two fields, and methods that touch one or both."""

    LIMIT = 3

    def __init__(self):
        self.a = 0
        self.b = 0

    async def read_a(self):
        return self.a

    async def write_a(self, value):
        self.a = value

    async def write_b(self, value):
        self.b = value

    async def both(self):
        self.a = self.b

    async def maybe(self):
        if self.a:
            self.b = 1

    async def wait_a(self):
        await until(lambda: self.a > 0)
        self.b += 1

    async def holds(self, other):
        other.read_a.send().get()

    async def nothing(self):
        return self.LIMIT

    async def unknown(self):
        setattr(self, "a", 1)  # noqa: B010


def executions(*sends: tuple[Any, ...], dependency: str) -> int:
    """Return the classes of a program that sends some messages to one actor."""

    def main():
        pair = Pair()
        for name, *args in sends:
            getattr(pair, name).send(*args)

    result = treadle.explore(Program(main), dependency=dependency)
    assert result.complete
    return result.executions


@pytest.mark.parametrize(
    ("first", "second", "classes"),
    [
        (("read_a",), ("read_a",), 1),
        (("read_a",), ("write_a", 1), 2),
        (("write_a", 1), ("write_a", 2), 2),
        (("write_a", 1), ("write_b", 2), 1),
        (("read_a",), ("write_b", 2), 1),
        (("both",), ("write_b", 2), 2),
        (("both",), ("read_a",), 2),
        (("nothing",), ("both",), 1),
        (("nothing",), ("nothing",), 1),
        (("maybe",), ("write_a", 1), 2),
        (("unknown",), ("nothing",), 2),
    ],
)
def test_two_steps_at_the_field_level(
    first: tuple[Any, ...], second: tuple[Any, ...], classes: int
) -> None:
    assert executions(first, second, dependency="field") == classes
    assert executions(second, first, dependency="field") == classes
    assert executions(first, second, dependency="actor") == 2


def test_what_a_step_did_not_touch_is_not_there_at_the_access_level() -> None:
    sends = (("maybe",), ("write_b", 2))
    assert executions(*sends, dependency="field") == 2
    assert executions(*sends, dependency="access") == 1
    both = (("maybe",), ("write_b", 2), ("write_a", 1))
    assert executions(*both, dependency="access") < executions(*both, dependency="field")


def test_a_condition_waits_for_its_fields_only() -> None:
    sends = (("wait_a",), ("write_a", 1), ("write_b", 0))
    counts = {level: executions(*sends, dependency=level) for level in ("actor", "field")}
    assert counts["field"] < counts["actor"]


def test_a_step_that_may_hold_the_actor_is_dependent_with_all() -> None:
    def main():
        pair, other = Pair(), Pair()
        pair.holds.send(other)
        pair.nothing.send()

    counts = [
        treadle.explore(Program(main), dependency=level).executions for level in ("actor", "field")
    ]
    assert counts == [2, 2]


@pytest.mark.parametrize("dependency", ["field", "access", "entry"])
def test_code_that_is_not_known_is_noted(dependency: str) -> None:
    result = treadle.explore(Program(lambda: Pair().unknown.send()), dependency=dependency)
    assert result.ok
    assert any("test_levels.py:" in note and "actor level" in note for note in result.notes)


@pytest.mark.parametrize("dependency", ["field", "access"])
@pytest.mark.parametrize("value", [[], {}, set(), bytearray()])
def test_a_field_that_can_be_changed_is_noted(value: Any, dependency: str) -> None:
    class Keeper(Actor):
        def __init__(self):
            self.kept, self.other = None, 0

        async def keep(self, value):
            self.kept = value

        async def more(self):
            self.other += 1

    def main():
        keeper = Keeper()
        keeper.keep.send(value)
        keeper.more.send()

    result = treadle.explore(Program(main), dependency=dependency)
    assert result.executions == 2, "all steps of the actor are dependent"
    said = "Keeper is treated at the actor level: its field kept held"
    assert any(said in note for note in result.notes)


@pytest.mark.parametrize("dependency", ["field", "access", "entry"])
def test_a_field_with_the_name_of_an_attribute_of_the_class(dependency: str) -> None:
    class Limited(Actor):
        limit = 1

        async def raise_it(self):
            self.limit += 1
            assert self.limit in (2, 3), self.limit

        async def look(self):
            assert self.limit in (1, 2, 3)

    def main():
        limited = Limited()
        limited.raise_it.send()
        limited.raise_it.send()
        limited.look.send()

    assert treadle.explore(Program(main), "exhaustive", dependency=dependency).ok
    assert treadle.explore(Program(main), dependency=dependency).ok


# Dictionaries


class Table(Actor):
    """A dictionary, and whatever can be done to it."""

    def __init__(self, content):
        self.table = dict(content)

    async def get(self, key):
        return self.table.get(key)

    async def put(self, key, value):
        self.table[key] = value

    async def size(self):
        return len(self.table)

    async def forget(self, key):
        self.table.pop(key, None)

    async def keys(self):
        return list(self.table)

    async def sum(self):
        return sum(self.table.values())


@pytest.mark.parametrize(
    ("first", "second", "classes"),
    [
        (("get", "x"), ("get", "x"), 1),
        (("get", "x"), ("put", "x", 2), 2),
        (("get", "x"), ("put", "y", 2), 1),
        (("get", "z"), ("put", "z", 2), 2),
        (("put", "x", 2), ("put", "y", 2), 1),
        (("put", "x", 2), ("put", "x", 3), 2),
        (("put", "z", 2), ("put", "w", 2), 2),
        (("size",), ("put", "x", 2), 1),
        (("size",), ("put", "z", 2), 2),
        (("keys",), ("put", "x", 2), 1),
        (("keys",), ("forget", "x"), 2),
        (("sum",), ("put", "x", 2), 2),
        (("forget", "q"), ("size",), 1),
    ],
)
def test_two_steps_at_the_level_of_entries(
    first: tuple[Any, ...], second: tuple[Any, ...], classes: int
) -> None:
    def main():
        table = Table({"x": 1, "y": 1})
        for name, *args in (first, second):
            getattr(table, name).send(*args)

    result = treadle.explore(Program(main), dependency="entry")
    assert result.executions == classes
    assert treadle.explore(Program(main), dependency="actor").executions == 2


OPERATIONS: list[Callable[[dict[str, int]], Any]] = [
    lambda d: d["x"],
    lambda d: d.get("x"),
    lambda d: d.get("q", 5),
    lambda d: "x" in d,
    lambda d: d.__setitem__("x", 7),
    lambda d: d.__delitem__("x"),
    lambda d: d.pop("x"),
    lambda d: d.pop("q", 3),
    lambda d: d.setdefault("q", 3),
    lambda d: d.popitem(),
    lambda d: d.clear(),
    lambda d: d.update({"x": 9}, z=1),
    lambda d: d.__ior__({"z": 2}),
    lambda d: list(d),
    lambda d: list(reversed(d)),
    lambda d: len(d),
    lambda d: sorted(d.keys()),
    lambda d: sorted(d.values()),
    lambda d: sorted(d.items()),
    lambda d: d.copy(),
    lambda d: d == {"x": 1, "y": 2},
    lambda d: d | {"z": 3},
    lambda d: {"z": 3} | d,
    lambda d: repr(d),
    lambda d: dict(d),
    lambda d: {**d},
    lambda d: bool(d),
]


@pytest.mark.parametrize("operation", OPERATIONS, ids=range(len(OPERATIONS)))
def test_a_dictionary_in_a_field_does_what_dictionaries_do(
    operation: Callable[[dict[str, int]], Any],
) -> None:
    plain = {"x": 1, "y": 2}
    level_of = Program(lambda: None)
    kept = Entries(plain, level_of.main_group, "Table", "table")
    ours, theirs = operation(kept), operation(plain)
    assert ours == theirs
    assert dict.items(kept) == plain.items()


# Names, papers


def test_long_names_are_cut() -> None:
    class Deep(Actor):
        async def go(self, n):
            if n:
                self.go.send(n - 1)

    deep = Program(lambda: Deep().go.send(300))
    assert treadle.explore(deep).ok
    names = deep.vocabulary.process_names
    assert len(set(names)) == 302
    assert max(map(len, names)) < 500
    assert len(short(names[50])) < 20


@pytest.mark.parametrize(
    ("paper", "name", "n", "algorithm"),
    [
        ("cc16", "protocol", 1, "exhaustive"),
        ("cc16", "protocol", 1, "optimal"),
        ("cc16", "barber", 1, "exhaustive"),
        ("cc16", "pipesort", 3, "exhaustive"),
        ("cc16", "pipesort", 4, "source"),
        ("ifm16", "HB", 2, "exhaustive"),
        ("ifm16", "fPA", 2, "exhaustive"),
        ("ifm16", "PA", 3, "exhaustive"),
        ("ifm16", "PA", 3, "optimal"),
    ],
)
def test_the_figures_of_the_papers(paper: str, name: str, n: int, algorithm: str) -> None:
    benchmark = PAPERS[paper].benchmarks[name]
    measured = explore_in_process(benchmark, Task(paper, name, n, algorithm, "stay", 60.0))
    (row,) = [row for table in PAPERS[paper].select([name], [n]) for row in table.rows][:1]
    assert measured.complete
    assert deviation(row, measured) == ""
    assert '"states": ' in measured.as_json()


def test_options_of_a_program() -> None:
    @program(order="fifo", max_tasks=7)
    def main():
        Pair()

    assert main.options == {"order": "fifo", "max_tasks": 7}
    assert main().options == main.options
    assert main.with_options({"order": "any"}).options == {"max_tasks": 7}
    assert main.with_options({"dependency": "actor"}).options == main.options
