"""The programs of "Constrained Dynamic Partial Order Reduction" (CAV 2018).

Those that split their work in a tree are actors: which fields others may still write depends on
which actors they can reach. The others are models: a task on an actor is a process there, and the
fields of actors are arrays with an element for each; so a task that another one sends is a process
that it creates. `main` is a step as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from treadle.actors import Actor, method
from treadle.actors import Program as ActorProgram
from treadle.analyses.known import pure
from treadle.core import program as programs
from treadle.model import Program
from treadle.papers.jss23 import zigzag
from treadle.papers.paper import Benchmark, Paper, PaperTable, Printed, Row

Process = Iterator[Any]
Split = Callable[[Any], Sequence[Any]]
"""Tells the parts of some work; none: it is done at once."""
Combine = Callable[[Any, Any], Any]


# Programs that split their work in a tree


def _tree(work: Any, split: Split, combine: Combine) -> ActorProgram:
    """Return a program whose actors split their work, and report when both parts have reported.

    Whoever reports second makes its actor report: which of the two that is depends on their order.
    """

    class Node(Actor):
        """Works for a parent, and has others do parts of it."""

        def __init__(self, parent: Node | None) -> None:
            self.parent = parent
            self.nr = 1
            self.r: Any = 0

        @method
        async def call(self, own: Any) -> None:
            """Do some work, or let others do parts of it."""
            parts = split(own)
            for part in reversed(parts):
                Node(self).call.send(part)
            if not parts and self.parent is not None:
                self.parent.res.send(own)

        @method
        async def res(self, v: Any) -> None:
            """Take the result of a part: keep the first, report with the second."""
            if self.nr > 0:
                self.nr = 0
                self.r = v
            else:
                if self.parent is not None:
                    self.parent.res.send(combine(self.r, v))
                self.r = 0
                self.nr = 1

    def main() -> None:
        Node(None).call.send(work)

    program = ActorProgram(main)
    program.independent("res", "res")(lambda s, _first, _second: s.nr > 0)
    program.independent("res", "res")(lambda _, first, second: first.v == second.v)
    return program


@pure
def _both_before(v: int) -> tuple[int, ...]:
    return (v - 1, v - 2) if v > 1 else ()


@pure
def _added(one: int, other: int) -> int:
    return one + other


@pure
def _by_pivot(numbers: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    if len(numbers) < 2:
        return ()
    pivot = numbers[0]
    return tuple(i for i in numbers if i <= pivot), tuple(i for i in numbers if i > pivot)


@pure
def _halves(numbers: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    half = (len(numbers) + 1) // 2
    return (numbers[:half], numbers[half:]) if len(numbers) > 1 else ()


@pure
def _sorted(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted(one + other))


def fib(n: int) -> ActorProgram:
    """The n-th Fibonacci number, an actor for each call."""
    return _tree(n, _both_before, _added)


def qs(n: int) -> ActorProgram:
    """Quicksort of 0 to n - 1, the first number being the pivot."""
    return _tree(tuple(range(n)), _by_pivot, _sorted)


def ms(n: int) -> ActorProgram:
    """Mergesort of n numbers."""
    return _tree(tuple(range(n)), _halves, _sorted)


# Pipesort


def ps(n: int) -> Program:
    """Pipesort: n values go through a chain of n cells, each of which keeps the smallest."""
    program = Program(f"ps({n})", val=[None] * n)
    program.independent("insert", "insert")

    def feed(s: Any) -> Process:
        yield
        for value in range(n):
            s.spawn(emit, value)

    def emit(s: Any, value: int) -> Process:
        yield
        s.spawn(insert, 0, value)

    def insert(s: Any, cell: int, value: int) -> Process:
        yield
        kept = s.val[cell]
        if kept is None:
            s.val[cell] = value
        else:
            s.spawn(insert, cell + 1, max(kept, value))
            s.val[cell] = min(kept, value)

    @program.process
    def main(s: Any) -> Process:
        yield
        s.spawn(feed)

    return program


# Programs whose steps create the same processes in either order


def pi(n: int) -> Program:
    """`n` workers add their part to the sum of their master."""
    program = Program(f"pi({n})", sum=0)

    def start(s: Any) -> Process:
        yield
        for i in range(n):
            s.spawn(work, i)

    def work(s: Any, i: int) -> Process:
        yield
        s.spawn(compute, i)

    def compute(s: Any, i: int) -> Process:
        yield
        s.spawn(add, i + 1)

    def add(s: Any, value: int) -> Process:
        yield
        s.sum += value

    @program.process
    def main(s: Any) -> Process:
        yield
        s.spawn(start)

    program.independent("add", "add")
    return program


def bb(n: int) -> Program:
    """`n` puts into a buffer of n places and n gets, each sent by the one before; none waits."""
    program = Program(f"bb({n})", count=0)

    def put(s: Any, k: int) -> Process:
        yield
        if s.count < n:
            s.count += 1
        if k:
            s.spawn(put, k - 1)

    def get(s: Any, k: int) -> Process:
        yield
        if s.count > 0:
            s.count -= 1
        if k:
            s.spawn(get, k - 1)

    @program.process
    def main(s: Any) -> Process:
        yield
        s.spawn(put, n - 1)
        s.spawn(get, n - 1)

    program.independent("put", "get")(lambda s, _first, _second: 0 < s.count < n)
    return program


def dbp(n: int) -> Program:
    """`n` workers register with a database, which pings each, and ask it for their data."""
    program = Program(f"dbp({n})", clients=0, got=[0] * n)

    def register(s: Any, worker: int) -> Process:
        yield
        pong = s.spawn(ping)
        yield s.join(pong)
        s.clients |= 1 << worker

    def ping(_: Any) -> Process:
        yield

    def work(s: Any, worker: int) -> Process:
        yield
        data = s.spawn(get_data, worker)
        yield s.join(data)

    def get_data(s: Any, worker: int) -> Process:
        yield
        s.got[worker] = s.clients >> worker & 1

    def simulate(s: Any) -> Process:
        yield
        for worker in range(n):
            s.spawn(register, worker)
            s.spawn(work, worker)

    @program.process
    def main(s: Any) -> Process:
        yield
        s.spawn(simulate)

    program.independent("register:2", "register:2")
    program.independent("register:2", "get_data")(
        lambda _, first, second: first.worker != second.worker
    )
    program.independent("register:2", "get_data")(
        lambda s, _first, second: s.clients >> second.worker & 1
    )
    return program


def reg(n: int) -> Program:
    """`n` users register for one of n places, and are told whether they have one."""
    program = Program(f"reg({n})", free=n, confirmed=[None] * n)

    def apply(s: Any, user: int) -> Process:
        yield
        s.spawn(register, user)

    def register(s: Any, user: int) -> Process:
        yield
        if s.free > 0:
            s.free -= 1
            s.spawn(confirm, user, 1)
        else:
            s.spawn(confirm, user, 0)

    def confirm(s: Any, user: int, has_one: int) -> Process:
        yield
        s.confirmed[user] = has_one

    @program.process
    def main(s: Any) -> Process:
        yield
        for user in range(n):
            s.spawn(apply, user)

    program.independent("register", "register")(lambda s, _first, _second: s.free > 1)
    program.independent("register", "register")(lambda s, _first, _second: s.free <= 0)
    return program


# Closed forms


def _fibonacci(n: int) -> int:
    before, here = 0, 1
    for _ in range(n):
        before, here = here, before + here
    return before


def _two_orders(reports: Callable[[int], int]) -> Callable[[int], int]:
    """Return the classes of a tree: two orders of the reports to each actor that splits."""
    return lambda n: int(2 ** reports(n))


def _once(n: int) -> int:
    del n
    return 1


def _zigzags(n: int) -> int:
    return math.prod(zigzag(i) for i in range(1, n + 1))


def _superfactorial(n: int) -> int:
    return math.prod(math.factorial(i) for i in range(1, n + 1))


def _power(n: int) -> int:
    return int(2**n)


_CONTEXT = "context"
_ALGORITHMS = ("source", _CONTEXT, "constrained", "optimal-constrained")


def _sends(
    name: str,
    make: Callable[[int], programs.Program],
    classes: Callable[[int], int],
    context: Callable[[int], int] = _once,
) -> Benchmark:
    """Return a program in which the order of two steps decides which of them creates a process."""
    fewer = {_CONTEXT: context, "constrained": _once, "optimal-constrained": _once}
    return Benchmark(name, make, classes, fewer=fewer, schedule="newest", counts_new_steps=True)


FIB = _sends("fib", fib, _two_orders(lambda n: _fibonacci(n + 1) - 1))
QS = _sends("qs", qs, _two_orders(lambda n: n - 1))
MS = _sends("ms", ms, _two_orders(lambda n: n - 1))
PS = _sends("ps", ps, _superfactorial, _zigzags)
PI = Benchmark(
    "pi",
    pi,
    math.factorial,
    fewer={_CONTEXT: zigzag, "constrained": _once, "optimal-constrained": _once},
    schedule="newest",
    counts_new_steps=True,
)
BB = Benchmark(
    "bb",
    bb,
    lambda n: math.comb(2 * n, n),
    fewer={"constrained": _power, "optimal-constrained": _power},
    schedule="newest",
    counts_new_steps=True,
)
DBP = Benchmark(
    "dbp",
    dbp,
    lambda n: {1: 2, 2: 18, 3: 384}.get(n),
    fewer={"constrained": _power, "optimal-constrained": _power},
    schedule="newest",
    counts_new_steps=True,
    remark="the clients are one location; with one for each there would be 2^n classes",
)
REG = Benchmark(
    "reg",
    reg,
    math.factorial,
    schedule="round-robin",
    counts_new_steps=True,
    remark="how many executions constrained completes depends on the schedule: of reg(4) it is 3 "
    "with round-robin, 4 with the others",
)

# The table

PAPER = Paper(
    "cav18",
    "Constrained Dynamic Partial Order Reduction (CAV 2018)",
    (
        PaperTable(
            "Which step creates a process depends on the order",
            _ALGORITHMS,
            ("executions", "steps", "time"),
            (
                *(Row(FIB, n) for n in (2, 3, 4, 5)),
                *(Row(FIB, n, on_demand=True) for n in (7, 10)),
                Row(QS, 4),
                Row(QS, 8, {_CONTEXT: Printed(states=763)}),
                Row(QS, 13, {"source": Printed(executions=4096)}, on_demand=True),
                *(Row(MS, n) for n in (4, 5)),
                *(Row(PS, n) for n in (3, 4)),
                Row(PS, 5, {_CONTEXT: Printed(executions=8)}, on_demand=True),
            ),
            has_lines=True,
        ),
        PaperTable(
            "Each step creates the same processes in every order",
            _ALGORITHMS,
            ("executions", "steps", "time"),
            (
                *(Row(PI, n) for n in (3, 4, 5, 6)),
                Row(PI, 8, {_CONTEXT: Printed(executions=264)}, on_demand=True),
                Row(BB, 2),
                Row(BB, 3, {_CONTEXT: Printed(executions=11)}),
                Row(BB, 4),
                Row(BB, 5, {_CONTEXT: Printed(executions=80)}),
                *(Row(DBP, n) for n in (2, 3)),
                *(Row(REG, n) for n in (2, 3, 4)),
            ),
            has_lines=True,
        ),
    ),
    (
        "Steps are those that were executed for the first time: a step that is repeated to get "
        "back to a state is not counted, that of main is.",
        "The paper's context-sensitive counts of pi, ps and bb depend on details that are not "
        "printed.",
    ),
)
