"""Sets, lists and dictionaries in fields of actors, as a solver follows them."""

from __future__ import annotations

import itertools
import linecache
from typing import Any

import pytest

import treadle
from treadle.actors import Actor, Program, program
from treadle.core.listed import Constrained, Untranslated
from waiting import seconds_here

pytest.importorskip("z3")

VALUES = (0, 1, 2)


class Bag(Actor):
    def __init__(self) -> None:
        self.s = {0}
        self.l = []
        self.d = {0: 1}
        self.seen = 0

    async def add(self, k: int) -> None:
        self.s.add(k)

    async def discard(self, k: int) -> None:
        self.s.discard(k)

    async def remove(self, k: int) -> None:
        self.s.remove(k)

    async def has(self, k: int) -> None:
        self.seen = 1 if k in self.s else 0

    async def append(self, v: int) -> None:
        self.l.append(v)

    async def put(self, k: int, v: int) -> None:
        self.d[k] = v

    async def get(self, k: int) -> None:
        self.seen = self.d[k]

    async def count(self, k: int) -> None:
        self.d[k] += 1


METHODS = {"put": 2}
TABLE = {
    ("add", "add"): {"True"},
    ("add", "discard"): {"first.k != second.k"},
    ("add", "has"): {"second.k in s.s", "first.k != second.k"},
    ("append", "append"): {"first.v == second.v"},
    ("put", "put"): {"first.k != second.k", "first.v == second.v"},
    ("get", "put"): {"first.k != second.k", "first.k in s.d and s.d[first.k] == second.v"},
    ("add", "put"): {"True"},
    ("count", "count"): {"True"},
    ("discard", "has"): {"second.k not in s.s", "first.k != second.k"},
    ("remove", "remove"): {"first.k != second.k", "first.k not in s.s", "second.k not in s.s"},
}


@program
def everything() -> None:
    bag = Bag()
    bag.add.send(1)  # type: ignore[attr-defined]
    bag.discard.send(1)  # type: ignore[attr-defined]
    bag.remove.send(1)  # type: ignore[attr-defined]
    bag.has.send(1)  # type: ignore[attr-defined]
    bag.append.send(1)  # type: ignore[attr-defined]
    bag.put.send(1, 2)  # type: ignore[attr-defined]
    bag.get.send(1)  # type: ignore[attr-defined]
    bag.count.send(1)  # type: ignore[attr-defined]


def test_the_table() -> None:
    listed = list(everything.list_constraints("synthesised"))
    known = {(e.first, e.second): e for e in listed if isinstance(e, Constrained)}
    assert {pair: set(known[pair].constraints) for pair in TABLE} == TABLE
    assert all(entry.exact for entry in known.values())
    assert all(entry.seconds < seconds_here(1) for entry in known.values())
    assert not [entry for entry in listed if isinstance(entry, Untranslated)]


def two(first: str, second: str) -> Any:
    """Return a program in which two methods are sent: they are given numbers, as anybody sees."""
    pair = (("a", first), ("b", second))
    given = [[f"{side}{i}" for i in range(METHODS.get(name, 1))] for side, name in pair]
    source = (
        f"def main({', '.join(itertools.chain(*given))}):\n"
        f"    bag = Bag()\n"
        f"    bag.{first}.send({', '.join(given[0])})\n"
        f"    bag.{second}.send({', '.join(given[1])})\n"
        f"    return bag\n"
    )
    file = f"<{first} and {second}>"
    linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
    names: dict[str, Any] = {"Bag": Bag, "__name__": __name__}
    exec(compile(source, file, "exec"), names)
    return Program(names["main"])


def ends(test: Program, algorithm: str) -> tuple[set[object], int]:
    """Return how executions end, and how many there are."""
    found: set[object] = set()

    @test.finally_
    def look(bag: Any) -> None:
        values = [bag.d[k] for k in VALUES if k in bag.d]
        found.add(repr((sorted(bag.s), bag.l, sorted(bag.d), values, bag.seen)))

    options: dict[str, Any] = {"constraints": "synthesised"} if "constrained" in algorithm else {}
    result = treadle.explore(test, algorithm, stop_on_failure=False, **options)
    assert result.complete
    failures = {(failure.kind, failure.message) for failure in result.failures}
    return found | failures, result.executions


@pytest.mark.parametrize("pair", TABLE, ids="-".join)
def test_each_constraint_against_execution(pair: tuple[str, str]) -> None:
    """One order is enough just where both lead to the same."""
    made = two(*pair)
    given = [itertools.product(VALUES, repeat=METHODS.get(name, 1)) for name in pair]
    for one, other in itertools.islice(itertools.product(*map(list, given)), 0, None, 2):
        expected, orders = ends(made(*one, *other), "exhaustive")
        reached, executions = ends(made(*one, *other), "optimal-constrained")
        assert reached == expected, (one, other)
        assert orders == 2
        if all(isinstance(end, str) for end in expected):  # nothing failed
            assert executions == len(expected), (one, other)


class Two(Actor):
    """Has two names of one set."""

    def __init__(self) -> None:
        self.s = {1}
        self.t = self.s

    async def add(self, k: int) -> None:
        self.s.add(k)

    async def discard(self, k: int) -> None:
        self.t.discard(k)


class Marks(Actor):
    """Has a set of its own."""

    def __init__(self) -> None:
        self.s = set()

    async def mark(self, k: Any) -> None:
        self.s.add(k)


@program
def aliased(k: int) -> Any:
    two = Two()
    two.add.send(k)  # type: ignore[attr-defined]
    two.discard.send(k)  # type: ignore[attr-defined]
    return two


@program
def marked(one: Any, other: Any) -> Any:
    marks = Marks()
    marks.mark.send(one)  # type: ignore[attr-defined]
    marks.mark.send(other)  # type: ignore[attr-defined]
    return marks


def sets(test: Program, algorithm: str, **options: Any) -> set[str]:
    """Return what the sets hold in the end."""
    found: set[str] = set()

    @test.finally_
    def look(two: Any) -> None:
        found.add(repr(sorted(two.s)))

    assert treadle.explore(test, algorithm, **options).ok
    return found


def test_a_set_with_two_names_is_not_followed() -> None:
    expected = {"[1, 2]", "[1]"}
    assert sets(aliased(2), "exhaustive") == expected
    assert sets(aliased(2), "optimal-constrained", constraints="synthesised") == expected


def test_equal_keys_of_two_kinds_are_two_values() -> None:
    assert sets(marked(1, True), "exhaustive") == {"[1]", "[True]"}
    for one, other, ends in ((1, True, 2), (1, 1, 1), (1, 2, 1), (1.0, 1, 2)):
        test = marked(one, other)
        assert len(sets(test, "optimal-constrained", constraints="synthesised")) == ends
