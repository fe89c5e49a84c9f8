"""What methods of actors may write, whatever they call, and which actors tasks can reach."""

from __future__ import annotations

from dataclasses import dataclass
from types import FunctionType
from typing import Any

import pytest

import treadle
from treadle.actors import Actor, Program, pause, until
from treadle.actors.heap import reachable_actors
from treadle.analyses.known import Known, function_of
from treadle.analyses.method_writes import ANY_FIELD, MethodWrites


def outside(value: int) -> int:
    return value + 1


class Base(Actor):
    def __init__(self) -> None:
        self.x = 0
        self.y = 0
        self.items: list[int] = []
        self.next: Any = None

    async def sets_x(self) -> None:
        self.x = outside(self.x)

    async def calls(self) -> None:
        await self.sets_x()

    async def sends(self, other: Any) -> None:
        other.sets_y.send()

    async def sets_y(self) -> None:
        self.y = 1

    async def appends(self) -> None:
        self.items.append(1)

    async def by_another_name(self) -> None:
        items = self.items
        items.append(1)

    async def makes(self) -> None:
        Maker()

    async def reads(self) -> int:
        return self.x + self.y

    async def strange(self) -> None:
        exec("self.x = 1")

    async def waits(self, amount: int) -> None:
        kept, dead = amount, amount
        self.x = dead
        await until(lambda: self.x > 0)
        self.x = kept
        await pause()
        self.y = 1

    async def again(self, n: int) -> None:
        if n:
            self.again.send(n - 1)  # type: ignore[attr-defined]
        else:
            self.sets_x.send()  # type: ignore[attr-defined]


class Maker(Actor):
    def __init__(self) -> None:
        self.made = 1

    async def run(self) -> None:
        self.ran = 1


KNOWN = Known(actor=Actor, until=until, pause=pause)
METHODS = MethodWrites(KNOWN, [Base, Maker])


def function(name: str) -> FunctionType:
    found = function_of(Base, name)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("sets_x", {("Base", "x")}),
        ("calls", {("Base", "x")}),
        ("sends", {("Base", "y")}),
        ("appends", {("Base", "items")}),
        ("by_another_name", {("Base", ANY_FIELD)}),
        ("makes", {("Maker", "made"), ("Maker", "ran")}),
        ("reads", set()),
        ("again", {("Base", "x")}),
        ("strange", None),
    ],
)
def test_what_a_method_may_write(name: str, fields: set[tuple[str, str]] | None) -> None:
    assert METHODS.written(Base, function(name)) == fields


def test_where_a_method_waits() -> None:
    waits = METHODS.waits(function("waits"))
    assert len(waits) == 2
    assert waits == sorted(waits)
    assert "kept" in METHODS.live(function("waits"), waits[0])
    assert "dead" not in METHODS.live(function("waits"), waits[0])
    assert METHODS.live(function("waits"), waits[1]).isdisjoint({"kept", "dead"})
    assert METHODS.waits(function("reads")) == []


def test_methods_that_can_be_sent() -> None:
    names = [name for cls, name, _ in METHODS.methods() if cls is Maker]
    assert names == ["run"]
    assert METHODS.obstacle(function("sets_x")) == ""
    assert METHODS.obstacle(function("strange")).startswith("line ")


# The heap


@dataclass(frozen=True)
class Envelope:
    to: Any


def reached_from(*values: Any, around: Any = None) -> tuple[int, ...] | None:
    """Return which of three actors a task can reach that was sent with some arguments."""
    found: list[tuple[int, ...] | None] = []

    def main() -> None:
        cells = [Base(), Base(), Base()]
        Asking(cells).ask.send(*(value(cells) for value in values))  # type: ignore[attr-defined]

    class Asking(Actor):
        def __init__(self, cells: Any) -> None:
            self.kept = around(cells) if around is not None else None

        async def ask(self, *given: Any) -> None:
            del given

    def look(run: Any) -> None:
        [task] = [task for task in run.alive.values() if task.actor is not None]
        actors = reachable_actors([task])
        cells = [actor for actor in run.actors if type(actor) is Base]
        found.append(
            None if actors is None else tuple(i for i, cell in enumerate(cells) if cell in actors)
        )

    program = Program(main)
    with program.controlled():
        run = program.start()
        run.step(run.enabled()[0])
        if run.fatal is None and not run.crashes:
            look(run)
        run.drop()
    return found[0]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (lambda cells: cells[0], (0,)),
        (lambda cells: (cells[0], [cells[2]]), (0, 2)),
        (lambda cells: {"a": cells[1]}, (1,)),
        (lambda cells: Envelope(cells[1]), (1,)),
        (lambda cells: frozenset({cells[2]}), (2,)),
        (lambda _: 5, ()),
        (lambda _: "text", ()),
    ],
)
def test_what_arguments_reach(value: Any, expected: tuple[int, ...]) -> None:
    assert reached_from(value) == expected


def test_what_fields_reach() -> None:
    assert reached_from(around=lambda cells: [cells[0], cells[1]]) == (0, 1)
    assert reached_from(lambda cells: cells[2], around=lambda cells: cells[0]) == (0, 2)


class Node(Actor):
    """A node of a tree that knows its parent and, if it is told to keep them, its children."""

    def __init__(self, parent: Any, keeps: bool) -> None:
        self.parent = parent
        self.keeps = keeps
        self.kids: tuple[Any, ...] = ()
        self.nr = 1

    async def call(self, v: int) -> None:
        if v > 1:
            for part in (v - 1, v - 2):
                kid = Node(self, self.keeps)
                if self.keeps:
                    self.kids = (*self.kids, kid)
                kid.call.send(part)  # type: ignore[attr-defined]
        elif self.parent is not None:
            self.parent.res.send()

    async def res(self) -> None:
        if self.nr > 0:
            self.nr = 0
        elif self.parent is not None:
            self.parent.res.send()


def fib(n: int, *, keeps: bool) -> Program:
    def main() -> None:
        Node(None, keeps).call.send(n)  # type: ignore[attr-defined]

    test = Program(main)
    test.independent("res", "res")(lambda s, _first, _second: s.nr > 0)
    return test


@pytest.mark.parametrize("algorithm", ["constrained", "optimal-constrained"])
def test_who_can_be_reached_decides(algorithm: str) -> None:
    """Whoever reaches the root reaches every node, if nodes know their children."""
    for n in (3, 4, 5):
        result = treadle.explore(fib(n, keeps=False), algorithm)
        assert (result.executions, result.blocked) == (1, 0)
    assert treadle.explore(fib(2, keeps=True), algorithm).executions == 1
    kept = treadle.explore(fib(4, keeps=True), "optimal-constrained")
    assert kept.complete
    assert 1 < kept.executions <= 16
