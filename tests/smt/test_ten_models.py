"""Ten models as a user would write them: every way of using constraints reaches every final state.

Brute force says which there are. A model declares what is true of it; a solver finds more; nobody
may lose a final state, a failure or a deadlock by either.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import treadle
from treadle.core.listed import Constrained
from treadle.model import Program
from waiting import seconds_here

Ends = set[Any]


def bank(*, declares: bool) -> Program:
    """Deposits commute; a withdrawal commutes with them where there is enough already."""
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
    program.process(withdraw, 3)
    if declares:
        program.independent("deposit", "deposit")

        @program.independent("deposit", "withdraw")
        def _(s: Any, first: Any, second: Any) -> bool:
            return bool(s.balance >= second.amount or s.balance + first.amount < second.amount)

        @program.independent("withdraw", "withdraw")
        def _(s: Any, first: Any, second: Any) -> bool:
            return bool(s.balance >= first.amount + second.amount)

    return program


def buffer(*, declares: bool) -> Program:
    """A bounded buffer that waits."""
    program = Program("buffer", count=1)

    def put(s: Any) -> Any:
        yield s.until(lambda: s.count < 2)
        s.count += 1

    def get(s: Any) -> Any:
        yield s.until(lambda: s.count > 0)
        s.count -= 1

    program.process(put)
    for i in range(2):
        program.process(get, name=f"get{i}")
    program.process(get, name="one too many")
    if declares:

        @program.independent("put", "get")
        def _(s: Any, _first: Any, _second: Any) -> bool:
            return bool(0 < s.count < 2)

        @program.independent("get", "get")
        def _(s: Any, _first: Any, _second: Any) -> bool:
            return bool(s.count > 1)

    return program


def registry(*, declares: bool) -> Program:
    """Whoever comes while there is room gets a seat, and is told."""
    program = Program("registry", free=2, told=0)

    def register(s: Any, user: int) -> Any:
        yield
        if s.free > 0:
            s.free -= 1
            s.spawn(confirm, user)

    def confirm(s: Any, user: int) -> Any:
        yield
        s.told = 3 * s.told + user

    for user in range(3):
        program.process(register, user)
    if declares:

        @program.independent("register", "register")
        def _(s: Any, _first: Any, _second: Any) -> bool:
            return bool(s.free > 1 or s.free <= 0)

    return program


def counters(*, declares: bool) -> Program:
    """One counts both, one looks at them in two steps."""
    program = Program("counters", hits=0, misses=0, ratio=0)

    def hit(s: Any) -> Any:
        yield
        s.hits += 1

    def miss(s: Any) -> Any:
        yield
        s.misses += 1

    def look(s: Any) -> Any:
        yield
        seen = s.hits
        yield
        s.ratio = 10 * seen + s.misses

    program.process(hit, name="h1")
    program.process(hit, name="h2")
    program.process(miss)
    program.process(look)
    if declares:
        program.independent("hit", "hit")
        program.independent("miss", "miss")
    return program


def flags(*, declares: bool) -> Program:
    """Truth values that are set, and an assertion that only some orders fail."""
    program = Program("flags", ready=False, stopped=False, done=0)

    def start(s: Any) -> Any:
        yield
        s.ready = True

    def stop(s: Any) -> Any:
        yield
        s.stopped = s.ready or s.stopped

    def work(s: Any) -> Any:
        yield
        assert not s.stopped, "stopped"
        if s.ready:
            s.done += 1

    program.process(start, name="s1")
    program.process(start, name="s2")
    program.process(stop)
    program.process(work)
    if declares:
        program.independent("start", "start")

        @program.independent("start", "stop")
        def _(s: Any, _first: Any, _second: Any) -> bool:
            return bool(s.ready or s.stopped)

    return program


def queue(*, declares: bool) -> Program:
    """A ring of three cells, with an index for each end."""
    program = Program("queue", cells=[None, None, None], head=0, tail=0, got=0)

    def push(s: Any, value: int) -> Any:
        yield
        if s.tail - s.head < 3:
            s.cells[s.tail % 3] = value
            s.tail += 1

    def pop(s: Any) -> Any:
        yield s.until(lambda: s.head < s.tail)
        s.got = 10 * s.got + s.cells[s.head % 3]
        s.head += 1

    program.process(push, 1)
    program.process(push, 2)
    program.process(pop, name="p1")
    program.process(pop, name="p2")
    if declares:

        @program.independent("push", "pop")
        def _(s: Any, _first: Any, _second: Any) -> bool:
            return bool(0 < s.tail - s.head < 3)

    return program


def stack(*, declares: bool) -> Program:
    """An array and its top: pushing the same is no race."""
    program = Program("stack", items=[0, 0, 0], top=0)

    def push(s: Any, value: int) -> Any:
        yield
        s.items[s.top] = value
        s.top += 1

    def pop(s: Any) -> Any:
        yield
        if s.top:
            s.top -= 1
            s.items[s.top] = 0

    program.process(push, 7)
    program.process(push, 7)
    program.process(push, 8)
    program.process(pop)
    if declares:

        @program.independent("push", "push")
        def _(_s: Any, first: Any, second: Any) -> bool:
            return bool(first.value == second.value)

    return program


def semaphore(*, declares: bool) -> Program:
    """Two permits for three that take one, do something, and give it back; one does not."""
    program = Program("semaphore", permits=1, inside=0, most=0)

    def enter(s: Any, returns: bool) -> Any:
        yield s.until(lambda: s.permits > 0)
        s.permits -= 1
        s.inside += 1
        s.most = max(s.most, s.inside)
        yield
        s.inside -= 1
        if returns:
            s.permits += 1

    program.process(enter, True)
    program.process(enter, True)
    program.process(enter, False)
    if declares:
        program.independent("enter:2", "enter:2")
    return program


def clock(*, declares: bool) -> Program:
    """Hours, minutes, floor division and the remainder of what may be negative."""
    program = Program("clock", minutes=-1, hours=0, late=False)

    def tick(s: Any, by: int) -> Any:
        yield
        s.minutes += by

    def carry(s: Any) -> Any:
        yield
        s.hours += s.minutes // 2
        s.minutes = s.minutes % 2

    def judge(s: Any) -> Any:
        yield
        s.late = 0 < s.hours < 2 <= s.minutes + 2

    program.process(tick, 1)
    program.process(tick, 2)
    program.process(carry)
    program.process(judge)
    if declares:
        program.independent("tick", "tick")
    return program


def matrix(*, declares: bool) -> Program:
    """Rows are added to, and one cell is read by an index from the end."""
    program = Program("matrix", cells=[1, 2, 3, 4], trace=0)

    def add(s: Any, row: int, value: int) -> Any:
        yield
        for column in range(2):
            s.cells[2 * row + column] += value

    def measure(s: Any) -> Any:
        yield
        s.trace = s.cells[0] + s.cells[-1]

    program.process(add, 0, 1)
    program.process(add, 1, 2)
    program.process(add, 1, 3)
    program.process(measure)
    if declares:
        program.independent("add", "add")
    return program


MODELS = [
    bank, buffer, registry, counters, flags, queue, stack, semaphore, clock, matrix,
]  # fmt: skip
MODES: list[dict[str, Any]] = [
    {"constraints": "none"},
    {"constraints": "declared"},
    {"constraints": "declared", "uniformity": "keeps"},
    {"constraints": "synthesised"},
    {"constraints": "synthesised", "uniformity": "keeps"},
]


def explored(program: Program, algorithm: str, **options: Any) -> tuple[Ends, Any]:
    """Return the final states of all executions with what failed, and the result."""
    ends: Ends = set()

    @program.finally_
    def note(s: Any) -> None:
        found = []
        for name, (kind, value) in program.plain_values().items():
            held = getattr(s, name)
            values = [held[i] for i in range(len(value))] if kind == "array" else [held]
            found += [(name, type(one).__name__, one) for one in values]
        ends.add(tuple(found))

    result = treadle.explore(program, algorithm, stop_on_failure=False, **options)
    assert result.complete
    assert "constraint" not in {failure.kind for failure in result.failures}
    return ends | {(failure.kind, failure.message) for failure in result.failures}, result


@pytest.fixture(scope="module")
def expected() -> dict[str, Ends]:
    return {
        make.__name__: explored(make(declares=False), "exhaustive", constraints="none")[0]
        for make in MODELS
    }


@pytest.mark.parametrize("make", MODELS, ids=lambda make: str(make.__name__))
@pytest.mark.parametrize("mode", MODES, ids=lambda mode: "-".join(mode.values()))
@pytest.mark.parametrize("algorithm", ["constrained", "optimal-constrained"])
def test_no_final_state_is_lost(
    make: Callable[..., Program],
    mode: dict[str, Any],
    algorithm: str,
    expected: dict[str, Ends],
) -> None:
    ends, result = explored(make(declares=True), algorithm, **mode)
    assert ends == expected[make.__name__]
    if algorithm == "optimal-constrained":
        assert result.blocked == 0


@pytest.mark.parametrize("make", MODELS, ids=lambda make: str(make.__name__))
def test_a_solver_alone_loses_none(make: Callable[..., Program], expected: dict[str, Ends]) -> None:
    for algorithm in ("constrained", "optimal-constrained"):
        found = explored(make(declares=False), algorithm, constraints="synthesised")[0]
        assert found == expected[make.__name__]


@pytest.mark.parametrize("make", MODELS, ids=lambda make: str(make.__name__))
def test_optimal_reaches_the_same(make: Callable[..., Program], expected: dict[str, Ends]) -> None:
    assert explored(make(declares=True), "optimal")[0] == expected[make.__name__]


COUNTS = {
    "bank": (24, 14, 14, 14), "buffer": (12, 12, 12, 12), "registry": (12, 12, 12, 12),
    "counters": (12, 8, 8, 8), "flags": (16, 14, 14, 14), "queue": (8, 8, 6, 6),
    "stack": (24, 18, 18, 18), "semaphore": (5, 5, 5, 5), "clock": (12, 8, 13, 13),
    "matrix": (12, 8, 8, 8),
}  # fmt: skip
"""Executions of `optimal-constrained`: none, declared, synthesised, synthesised and keeps.

A block that has constraints accesses all that it may access in any state. So knowing more can cost
executions: `clock` has more when nothing is declared of `carry` and `judge` and a solver is asked.
"""


@pytest.mark.parametrize("make", MODELS, ids=lambda make: str(make.__name__))
def test_how_many_executions_are_left(make: Callable[..., Program]) -> None:
    found = tuple(
        explored(make(declares=True), "optimal-constrained", **mode)[1].executions
        for mode in (MODES[0], MODES[1], MODES[3], MODES[4])
    )
    assert found == COUNTS[make.__name__]


@pytest.mark.parametrize("make", MODELS, ids=lambda make: str(make.__name__))
def test_every_block_is_understood_and_every_constraint_is_python(
    make: Callable[..., Program],
) -> None:
    listed = list(make(declares=False).list_constraints("synthesised"))
    assert listed
    for one in listed:
        assert isinstance(one, Constrained), one
        assert one.source == "synthesised"
        assert one.exact
        assert one.seconds < seconds_here(1)
        for text in one.constraints:
            compile(text, "<constraint>", "eval")
