"""Constraints that a solver finds in methods of actors: exact ones, and against brute force."""

from __future__ import annotations

import linecache
import random
from typing import Any

import pytest

import treadle
from treadle.actors import Actor, Program, pause, program, until
from treadle.core.listed import Constrained, Untranslated

pytest.importorskip("z3")

BOTH = ("constrained", "optimal-constrained")
by_both = pytest.mark.parametrize("algorithm", BOTH)


def found(test: Program) -> dict[tuple[str, str], set[str]]:
    listed = [e for e in test.list_constraints("synthesised") if isinstance(e, Constrained)]
    return {(entry.first, entry.second): set(entry.constraints) for entry in listed}


def refused(test: Program) -> dict[str, str]:
    listed = [e for e in test.list_constraints("synthesised") if isinstance(e, Untranslated)]
    return {entry.block: entry.reason for entry in listed}


def counts(test: Program, algorithm: str) -> tuple[int, int]:
    result = treadle.explore(test, algorithm, constraints="synthesised", stop_on_failure=False)
    assert result.complete
    assert result.ok
    return result.executions, result.blocked


class Node(Actor):
    def __init__(self, parent: Any) -> None:
        self.parent = parent
        self.nr = 1
        self.r = 0

    async def call(self, v: int) -> None:
        if v <= 1:
            if self.parent is not None:
                self.parent.res.send(v)
        else:
            Node(self).call.send(v - 1)  # type: ignore[attr-defined]
            Node(self).call.send(v - 2)  # type: ignore[attr-defined]

    async def res(self, v: int) -> None:
        if self.nr > 0:
            self.nr = 0
            self.r = v
        else:
            if self.parent is not None:
                self.parent.res.send(self.r + v)
            self.r = 0
            self.nr = 1


@program(dependency="field")
def fib(n: int) -> None:
    root = Node(None)
    root.call.send(n)  # type: ignore[attr-defined]


@by_both
@pytest.mark.parametrize(("n", "source"), [(3, 4), (4, 16), (5, 128)])
def test_fib_takes_one(algorithm: str, n: int, source: int) -> None:
    assert found(fib(n))["res", "res"] == {"s.nr > 0", "first.v == second.v"}
    assert counts(fib(n), algorithm) == (1, 0)
    assert treadle.explore(fib(n), "source").executions == source


class Buffer(Actor):
    def __init__(self, size: int) -> None:
        self.size = size
        self.count = 0

    async def put(self, k: int) -> None:
        if self.count < self.size:
            self.count += 1
        if k:
            self.put.send(k - 1)  # type: ignore[attr-defined]

    async def get(self, k: int) -> None:
        if self.count > 0:
            self.count -= 1
        if k:
            self.get.send(k - 1)  # type: ignore[attr-defined]


@program
def buffer(n: int) -> None:
    made = Buffer(n)
    made.put.send(n - 1)  # type: ignore[attr-defined]
    made.get.send(n - 1)  # type: ignore[attr-defined]


@by_both
@pytest.mark.parametrize("n", [2, 3, 4])
def test_a_bounded_buffer(algorithm: str, n: int) -> None:
    assert "s.count > 0 and s.size > s.count" in found(buffer(n))["get", "put"]
    assert counts(buffer(n), algorithm) == (2**n, 0)


class Meeting(Actor):
    def __init__(self) -> None:
        self.x = 0

    async def twice(self, amount: int) -> None:
        self.x += amount
        await pause()
        self.x += amount

    async def late(self) -> None:
        await until(lambda: self.x > 0)
        self.x += 1

    async def asks(self, other: Any) -> None:
        answer = other.late.send()
        await answer
        self.x += 1

    async def unsure(self, answer: Any) -> None:
        self.x += 2
        await answer
        self.x += 1

    async def result(self, amount: int) -> int:
        self.x += amount
        return self.x


@program(dependency="actor")
def meeting() -> None:
    actor = Meeting()
    actor.twice.send(1)  # type: ignore[attr-defined]
    actor.twice.send(2)  # type: ignore[attr-defined]


def test_blocks_behind_waits() -> None:
    known = found(meeting)
    assert known["twice:1", "twice:2"] == known["twice:2", "twice:2"] == {"True"}
    assert known["late:2", "twice:2"] == {"s.x > 0 and s.x + second.amount > 0"}
    assert known["asks:1", "asks:1"] == {"True"}
    assert known["asks:2", "unsure:2"] == {"True"}
    assert known["result", "result"] == {"second.amount == 0 and first.amount == 0"}
    assert refused(meeting) == {"unsure:1": "Await is not translated"}
    for algorithm in BOTH:
        assert counts(meeting, algorithm) == (1, 0)


# What is not certain is looked at


class Holder(Actor):
    def __init__(self, value: Any) -> None:
        self.value = value

    async def add(self, amount: Any) -> None:
        self.value += amount


@program
def holding(value: Any, *amounts: Any) -> Any:
    holder = Holder(value)
    for amount in amounts:
        holder.add.send(amount)  # type: ignore[attr-defined]
    return holder


@program
def ints() -> None:
    holder = Holder(0)
    holder.add.send(1)  # type: ignore[attr-defined]
    holder.add.send(2)  # type: ignore[attr-defined]
    holder.add.send(3)  # type: ignore[attr-defined]


@program
def by_attribute() -> None:
    holder = Holder(0)
    for amount in (1, 0.1, 0.2):
        getattr(holder, "add").send(amount)  # noqa: B009


@program
def by_keyword() -> None:
    holder = Holder(0)
    for amount in (1, 0.1, 0.2):
        holder.add.send(amount=amount)  # type: ignore[attr-defined]


@program
def texts() -> None:
    holder = Holder("")
    for amount in ("a", "b", "c"):
        holder.add.send(amount)  # type: ignore[attr-defined]


def test_only_numbers_are_taken_for_numbers() -> None:
    assert counts(ints, "optimal-constrained") == (1, 0)
    for test in (texts, by_attribute, by_keyword, holding("", "a", "b", "c"), holding(0.5, 1, 2)):
        executions, _ = counts(test, "optimal-constrained")
        assert executions == treadle.explore(test).executions


# Random programs

_STATEMENTS = (
    "self.{a} = {c}", "self.{a} = self.{b}", "self.{a} = self.{a} + {c}", "self.{a} = v",
    "self.{a} += self.{b}", "self.{a} = 1 - self.{a}",
)  # fmt: skip
_FIELDS = "xyz"


def _statement(draw: random.Random, indent: str) -> list[str]:
    def simple() -> str:
        a, b, c = draw.choice(_FIELDS), draw.choice(_FIELDS), draw.randrange(2)
        return draw.choice(_STATEMENTS).format(a=a, b=b, c=c)

    kind = draw.randrange(8)
    field, value = draw.choice(_FIELDS), draw.randrange(2)
    if kind < 3:
        return [indent + simple()]
    if kind < 6:
        sign = draw.choice(("==", "!=", ">"))
        return [
            f"{indent}if self.{field} {sign} {value}:", f"{indent}    {simple()}",
            f"{indent}else:", f"{indent}    {simple()}",
        ]  # fmt: skip
    if kind == 6:
        return [f"{indent}self.other.m0.send(self.{field})"]
    return [f"{indent}await pause()"]


def _source(seed: int) -> str:
    draw = random.Random(seed)
    lines = ["class A(Actor):", "    def __init__(self, other):", "        self.other = other"]
    lines += [f"        self.{field} = {draw.randrange(2)}" for field in _FIELDS]
    names = [f"m{i}" for i in range(draw.randrange(2, 4))]
    lines += ["    async def m0(self, v):", "        self.x = v", "        self.y = self.z"]
    for name in names[1:]:
        lines.append(f"    async def {name}(self, v):")
        for _ in range(draw.randrange(1, 4)):
            lines += _statement(draw, "        ")
    lines += ["class B(Actor):", "    def __init__(self):", "        self.seen = ()",
              "    async def m0(self, v):", "        self.seen = (*self.seen, v)"]  # fmt: skip
    lines += ["def main():", "    a = A(B())"]
    for _ in range(draw.randrange(3, 5)):
        lines.append(f"    a.{draw.choice(names)}.send({draw.randrange(2)})")
    return "\n".join([*lines, "    return a", ""])


def _states(source: str, seed: int, algorithm: str, dependency: str) -> tuple[set[str], int]:
    """Return the final states that an algorithm reaches, and how many executions it blocked."""
    file = f"<random actors {seed}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    names: dict[str, Any] = {"Actor": Actor, "pause": pause, "__name__": "random_actors"}
    exec(compile(source, file, "exec"), names)
    test = Program(names["main"], dependency=dependency)
    seen: set[str] = set()

    @test.finally_
    def look(a: Any) -> None:
        seen.add(repr((a.x, a.y, a.z, a.other.seen)))

    options = {"constraints": "synthesised"} if "constrained" in algorithm else {}
    result = treadle.explore(test, algorithm, stop_on_failure=False, **options)  # type: ignore[arg-type]
    assert result.complete
    assert result.ok, (source, [failure.message for failure in result.failures])
    return seen, result.blocked


def check(seed: int) -> None:
    source = _source(seed)
    dependency = ("actor", "field", "access", "entry")[seed % 4]
    expected, _ = _states(source, seed, "exhaustive", dependency)
    for algorithm in BOTH:
        reached, blocked = _states(source, seed, algorithm, dependency)
        assert reached == expected, (algorithm, dependency, source)
        if algorithm == "optimal-constrained":
            assert not blocked


@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed: int) -> None:
    check(seed)
