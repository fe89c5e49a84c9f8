"""The programs and tables of "Source Sets" (Journal of the ACM 64, 2017).

Each statement that touches shared state is one step, as in the paper; what a process does with its
own variables belongs to the step before it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from treadle.model import TIMEOUT, Counter, Lock, Mailbox, Program
from treadle.papers.paper import Benchmark, Paper, PaperTable, Printed, Row

Process = Iterator[Any]

# Programs of the text


def figure2() -> Program:
    """Figure 2: control flow that hides a race; 5 classes."""
    return _groups("figure2", 1)


def _groups(name: str, count: int) -> Program:
    """Return `count` groups like figure 2, of which only the processes p and group 0 are there.

    The figure itself is lost: s must read y only if it read z = 1, for with an unconditional read
    there would be 7 classes, not 5.
    """
    program = Program(name, x=[0] * count, y=[0] * count, z=[0] * count)

    def p(s: Any, i: int) -> Process:
        if s.x[i] == 1 and i + 1 < count:
            yield
            for function in (q, r, s_):
                s.spawn(function, i + 1)

    def q(s: Any, i: int) -> Process:
        yield
        s.y[i] = 1

    def r(s: Any, i: int) -> Process:
        if s.y[i] == 0:
            yield
            s.z[i] = 1

    def s_(s: Any, i: int) -> Process:
        if s.z[i] == 1:
            yield
            if s.y[i] == 0:
                yield
                s.x[i] = 1

    for i in reversed(range(count)):  # with `stay`, source-DPOR then blocks exponentially often
        program.process(p, i)
    for function in (q, r, s_):
        program.process(function, 0)
    return program


def message_passing() -> Program:
    """Section 2, events versus transitions: a receive that finds nothing kills q; 3 classes."""
    program = Program("message_passing", box=Mailbox())

    @program.process
    def p(s: Any) -> Process:
        s.box.send("first")
        yield
        s.box.send("second")

    @program.process
    def q(s: Any) -> Process:
        m1 = yield s.box.receive(timeout=True)
        if m1 is not TIMEOUT:
            yield s.box.receive(timeout=True)

    return program


def figure9() -> Program:
    """Figure 9: s can run only right after r, before p and q; 2 classes.

    The updates of x commute, and s is a daemon because it is blocked for ever in one of them.
    """
    program = Program("figure9", x=Counter(0))

    def change(s: Any, amount: int) -> Process:
        yield
        s.x.add(amount)

    program.process(change, -1, name="p")
    program.process(change, -1, name="q")
    program.process(change, +1, name="r")

    @program.process(daemon=True)
    def s(s: Any) -> Process:
        yield s.until(lambda: s.x.value > 0)

    return program


def writers(n: int) -> Program:
    """`n` writers of one variable; n! classes."""
    program = Program(f"writers({n})", x=0)

    def write(s: Any, i: int) -> Process:
        yield
        s.x = i

    for i in range(1, n + 1):
        program.process(write, i)
    return program


# Programs of the tables


def chain(n: int) -> Program:
    """Figure 10: `n` groups like figure 2; p creates the next one if it saw its own group's x."""
    return _groups(f"chain({n})", n)


def wakeup_stress(n: int) -> Program:
    """Figure 12: `n` processes increment one counter, two more another one, the last after all."""
    program = Program(f"wakeup_stress({n})", counter1=Counter(), counter2=Counter())

    def first(s: Any) -> Process:
        yield
        s.counter1.next()

    def increment(s: Any, i: int) -> Process:
        del i
        yield
        s.counter2.next()

    def last(s: Any) -> Process:
        for i in range(1, n + 1):
            yield s.join(f"increment({i})")
        yield
        s.counter1.next()

    program.process(first)
    for i in range(1, n + 1):
        program.process(increment, i)
    program.process(last)
    return program


def filesystem(n: int) -> Program:
    """Flanagan and Godefroid's file system (2005): inodes and blocks, each with a lock."""
    blocks, inodes = 26, 32
    program = Program(
        f"filesystem({n})",
        inode=[0] * inodes,
        busy=[False] * blocks,
        lock_inode=[Lock() for _ in range(inodes)],
        lock_block=[Lock() for _ in range(blocks)],
    )

    def thread(s: Any, tid: int) -> Process:
        i = tid % inodes
        yield s.lock_inode[i].acquire()
        yield
        if s.inode[i] == 0:
            b = i * 2 % blocks
            yield s.lock_block[b].acquire()
            yield
            while s.busy[b]:
                yield
                s.lock_block[b].release()
                b = (b + 1) % blocks
                yield s.lock_block[b].acquire()
                yield
            yield
            s.busy[b] = True
            yield
            s.inode[i] = b + 1
            yield
            s.lock_block[b].release()
        yield
        s.lock_inode[i].release()

    for tid in range(n):
        program.process(thread, tid)
    return program


def indexer(n: int) -> Program:
    """Flanagan and Godefroid's indexer (2005): `n` threads insert into one hash table by CAS.

    A compare-and-swap is one step: a read if it fails, a write if it succeeds.
    """
    size, messages = 128, 4
    program = Program(f"indexer({n})", table=[0] * size)

    def thread(s: Any, tid: int) -> Process:
        for m in range(1, messages + 1):
            w = m * 11 + tid
            h = w * 7 % size
            yield
            while not s.table.cas(h, 0, w):
                h = (h + 1) % size
                yield

    for tid in range(n):
        program.process(thread, tid)
    return program


def readers(n: int) -> Program:
    """Figures 1 and 13: a writer of x, and `n` readers of a variable of their own, then of x."""
    program = Program(f"readers({n})", x=0, y=[0] * n)

    @program.process
    def writer(s: Any) -> Process:
        yield
        s.x = 1

    def reader(s: Any, i: int) -> Process:
        _ = s.y[i]
        yield
        _ = s.x

    for i in range(n):
        program.process(reader, i)
    return program


def lastzero(n: int) -> Program:
    """Figure 11: process 0 looks for the last zero while the others fill the array."""
    program = Program(f"lastzero({n})", array=[0] * (n + 1))

    @program.process
    def search(s: Any) -> Process:
        i = n
        while s.array[i] != 0:
            i -= 1
            yield

    def fill(s: Any, j: int) -> Process:
        value = s.array[j - 1]
        yield
        s.array[j] = value + 1

    for j in range(1, n + 1):
        program.process(fill, j)
    return program


# Tables


def _rows(
    benchmark: Benchmark,
    algorithms: tuple[str, ...],
    printed: Mapping[int, tuple[Printed, ...]],
    on_demand: frozenset[int] = frozenset(),
) -> tuple[Row, ...]:
    """Return the rows of a benchmark from what is printed for each n and algorithm."""
    return tuple(
        Row(benchmark, n, dict(zip(algorithms, cells, strict=True)), n in on_demand)
        for n, cells in printed.items()
    )


_CHAIN = Benchmark("chain", chain, lambda n: 4 * n + 1)
_WAKEUP_STRESS = Benchmark("wakeup_stress", wakeup_stress, lambda n: 2 * math.factorial(n))
_FILESYSTEM = Benchmark("filesystem", filesystem, lambda n: 2 ** max(0, n - 13), largest=26)
_INDEXER = Benchmark("indexer", indexer, lambda n: 8 ** max(0, n - 11), largest=16)
_READERS = Benchmark("readers", readers, lambda n: 2**n)
_LASTZERO = Benchmark("lastzero", lastzero, lambda n: (n + 3) * 2**n // 4)

_TWO = ("source", "optimal")
_THREE = ("classic", "source", "optimal")

_TABLE_1 = {
    1: (Printed(8, "0.03s"), Printed(5, "0.02s")),
    2: (Printed(20, "0.08s"), Printed(9, "0.04s")),
    3: (Printed(41, "0.20s"), Printed(13, "0.07s")),
    4: (Printed(78, "0.41s"), Printed(17, "0.10s")),
    5: (Printed(145, "0.81s"), Printed(21, "0.17s")),
    6: (Printed(268, "1.56s"), Printed(25, "0.20s")),
    7: (Printed(373, "2.38s"), Printed(29, "0.26s")),
    8: (Printed(674, "4.70s"), Printed(33, "0.34s")),
    9: (Printed(1222, "8.79s"), Printed(37, "0.44s")),
}
_TABLE_2 = {
    1: (Printed(2, "0.01s", "22MB", 2), Printed(2, "0.01s", "22MB", 7)),
    2: (Printed(4, "0.02s", "22MB", 3), Printed(4, "0.02s", "22MB", 21)),
    3: (Printed(12, "0.05s", "22MB", 4), Printed(12, "0.06s", "22MB", 79)),
    4: (Printed(48, "0.24s", "22MB", 5), Printed(48, "0.24s", "23MB", 374)),
    5: (Printed(240, "1.21s", "22MB", 6), Printed(240, "1.23s", "27MB", 2159)),
    6: (Printed(1440, "8.74s", "22MB", 7), Printed(1440, "8.96s", "42MB", 14698)),
    7: (Printed(10080, "1m02s", "22MB", 8), Printed(10080, "1m07s", "114MB", 115091)),
    8: (Printed(80640, "9m30s", "22MB", 9), Printed(80640, "9m48s", "801MB", 1018094)),
    9: (Printed(725760, "89m14s", "22MB", 10), Printed(725760, "99m2s", "8364MB", 9916765)),
}
# The memory of filesystem(19) and indexer(15) is that of table 6.
_FILESYSTEM_ROWS = {
    14: (Printed(4, "0.54s"), Printed(2, "0.36s"), Printed(2, "0.35s")),
    16: (Printed(64, "8.13s"), Printed(8, "1.82s"), Printed(8, "1.78s")),
    18: (Printed(1024, "2m11s"), Printed(32, "8.52s"), Printed(32, "8.86s")),
    19: (
        Printed(4096, "8m33s", "93MB"),
        Printed(64, "18.62s", "66MB"),
        Printed(64, "19.57s", "76MB"),
    ),
}
_INDEXER_ROWS = {
    12: (Printed(78, "0.74s"), Printed(8, "0.11s"), Printed(8, "0.10s")),
    15: (
        Printed(341832, "56m20s", "245MB"),
        Printed(4096, "50.24s", "165MB"),
        Printed(4096, "52.35s", "175MB"),
    ),
}
_READERS_ROWS = {
    2: (Printed(5, "0.02s"), Printed(4, "0.02s"), Printed(4, "0.02s")),
    8: (Printed(3281, "13.98s"), Printed(256, "1.31s"), Printed(256, "1.29s")),
    13: (Printed(797162, "86m7s"), Printed(8192, "1m26s"), Printed(8192, "1m26s")),
}
_LASTZERO_ROWS = {
    5: (Printed(241, "1.08s"), Printed(79, "0.38s"), Printed(64, "0.32s")),
    10: (Printed(53198, "4m47s"), Printed(7204, "45.21s"), Printed(3328, "27.61s")),
    # The paper prints "3,025,87" for source: 302,587.
    15: (Printed(9378091, "1539m11s"), Printed(302587, "55m4s"), Printed(147456, "30m13s")),
}

PAPER = Paper(
    "jacm17",
    "Source Sets: A Foundation for Optimal Dynamic Partial Order Reduction (J. ACM 64, 2017)",
    (
        PaperTable(
            "Table 1. Traces explored for the program in figure 10",
            _TWO,
            ("explored", "blocked", "time", "memory"),
            _rows(_CHAIN, _TWO, _TABLE_1),
        ),
        PaperTable(
            "Table 2. Nodes of the wakeup trees, memory and time for the program in figure 12",
            _TWO,
            ("explored", "nodes", "memory", "time"),
            _rows(_WAKEUP_STRESS, _TWO, _TABLE_2, frozenset({8, 9})),
        ),
        PaperTable(
            "Table 3. Performance on two benchmarks",
            _THREE,
            ("explored", "time", "memory"),
            _rows(_FILESYSTEM, _THREE, _FILESYSTEM_ROWS) + _rows(_INDEXER, _THREE, _INDEXER_ROWS),
        ),
        PaperTable(
            "Table 4. Performance on more benchmarks",
            _THREE,
            ("explored", "time", "memory"),
            _rows(_READERS, _THREE, _READERS_ROWS) + _rows(_LASTZERO, _THREE, _LASTZERO_ROWS),
        ),
    ),
)
"""Tables 1 to 4 with what the paper prints in them."""
