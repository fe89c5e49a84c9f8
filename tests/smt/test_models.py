"""Models as people write them: final states with found constraints, against all interleavings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import treadle
from treadle.core.listed import Constrained
from treadle.model import Program
from waiting import seconds_here

Make = Callable[[], Program]


def bank() -> Program:
    """Deposits commute; withdrawals wait for the money, and commute while there is enough."""
    program = Program("bank", balance=1, refused=0)

    def deposit(s: Any, amount: int) -> Any:
        yield
        s.balance += amount

    def withdraw(s: Any, amount: int) -> Any:
        yield
        if s.balance >= amount:
            s.balance -= amount
        else:
            s.refused += 1

    program.process(deposit, 1)
    program.process(deposit, 2)
    program.process(withdraw, 2)
    program.process(withdraw, 1)
    return program


def semaphore() -> Program:
    program = Program("semaphore", free=2, inside=0)

    def worker(s: Any) -> Any:
        yield s.until(lambda: s.free > 0)
        s.free -= 1
        yield
        s.inside += 1
        yield
        s.inside -= 1
        s.free += 1

    for name in "ab":
        program.process(worker, name=name)
    return program


def tickets() -> Program:
    """Each takes a number and remembers it: who is first is seen."""
    program = Program("tickets", next=0, served=0)

    def customer(s: Any) -> Any:
        yield
        mine = s.next
        s.next += 1
        yield s.until(lambda: s.served == mine)
        s.served += 1

    for name in "abc":
        program.process(customer, name=name)
    return program


def maximum() -> Program:
    program = Program("maximum", best=0, seen=0)

    def report(s: Any, value: int) -> Any:
        yield
        s.best = max(s.best, value)
        yield
        s.seen += 1

    for value in (3, 1, 2):
        program.process(report, value)
    return program


def states() -> Program:
    """A machine that is switched by texts, and may be broken for good."""
    program = Program("states", mode="idle", broken=False)

    def start(s: Any) -> Any:
        yield
        if s.mode == "idle" and not s.broken:
            s.mode = "running"

    def stop(s: Any) -> Any:
        yield
        if s.mode == "running":
            s.mode = "idle"

    def breaks(s: Any) -> Any:
        yield
        s.broken = True

    for name, process in (("a", start), ("b", start), ("c", stop), ("d", breaks)):
        program.process(process, name=name)
    return program


def cells() -> Program:
    """Cells of a table are filled once; None is empty."""
    program = Program("cells", table=[None, None], conflicts=0)

    def fill(s: Any, key: int, value: int) -> Any:
        yield
        if s.table[key] is None:
            s.table[key] = value
        else:
            s.conflicts += 1

    for key, value in ((0, 1), (1, 2), (0, 3), (1, 2)):
        program.process(fill, key, value)
    return program


def rounds() -> Program:
    program = Program("rounds", total=0, scale=1)

    def add(s: Any) -> Any:
        for i in range(2):
            yield
            s.total += s.scale * i

    def rescale(s: Any) -> Any:
        yield
        s.scale = 2

    program.process(add, name="a")
    program.process(add, name="b")
    program.process(rescale)
    return program


def created() -> Program:
    program = Program("created", total=0, left=2)

    def part(s: Any, value: int) -> Any:
        yield
        s.total += value
        s.left -= 1
        if s.left == 0:
            s.spawn(report)

    def report(s: Any) -> Any:
        yield
        s.total = -s.total

    program.process(part, 1)
    program.process(part, 2)
    return program


def failing() -> Program:
    """An assertion that only some orders fail."""
    program = Program("failing", x=0, y=0)

    def writer(s: Any) -> Any:
        yield
        s.x = 1
        yield
        s.x = 0

    def checker(s: Any) -> Any:
        yield
        assert s.x == 0, "seen in between"
        s.y += 1

    program.process(writer)
    program.process(checker, name="c")
    program.process(checker, name="d")
    return program


MODELS = (bank, semaphore, tickets, maximum, states, cells, rounds, created, failing)


def ends(make: Make, algorithm: str, **options: Any) -> tuple[set[Any], set[str]]:
    """Return final values, and which failures there are."""
    program, seen = make(), set[Any]()

    def look(s: Any) -> None:
        found = []
        for name, (kind, value) in program.plain_values().items():
            own = getattr(s, name)
            found.append(tuple(own[i] for i in range(len(value))) if kind == "array" else own)
        seen.add(tuple(found))

    program.finally_(look)
    result = treadle.explore(program, algorithm, stop_on_failure=False, **options)
    assert result.complete
    return seen, {failure.message for failure in result.failures}


@pytest.mark.parametrize("uniformity", ["static", "keeps"])
@pytest.mark.parametrize("algorithm", ["constrained", "optimal-constrained"])
@pytest.mark.parametrize("make", MODELS)
def test_the_same_ends_as_all_interleavings(make: Make, algorithm: str, uniformity: str) -> None:
    found = ends(make, algorithm, constraints="synthesised", uniformity=uniformity)
    assert found == ends(make, "sleep")


@pytest.mark.parametrize(
    ("make", "optimal", "few"),
    [(maximum, 36, 1), (tickets, 6, 6)],
)
def test_how_many_executions_are_left(make: Make, optimal: int, few: int) -> None:
    assert treadle.explore(make(), "optimal").executions == optimal
    found = treadle.explore(make(), "optimal-constrained", constraints="synthesised")
    assert found.executions == few


@pytest.mark.parametrize("make", [bank, cells])
def test_fewer_are_left(make: Make) -> None:
    found = treadle.explore(make(), "optimal-constrained", constraints="synthesised")
    assert found.executions < treadle.explore(make(), "optimal").executions
    assert found.blocked == 0


@pytest.mark.parametrize("make", MODELS)
def test_all_of_it_is_understood_and_quick(make: Make) -> None:
    for one in make().list_constraints("synthesised"):
        assert isinstance(one, Constrained), one
        assert one.seconds < seconds_here(1)
        for text in one.constraints:
            compile(text, "<constraint>", "eval")
