"""The programs and tables of seed 000: context-sensitive independence and observers (JSS 2023).

What a process does between two `yield`s is one of the paper's atomic blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from treadle.model import Program

Process = Iterator[Any]
Body = Callable[..., Process]


# Examples of the text


def running_example() -> Program:
    """Section 2.1: the second assertion fails if q was faster; 12 classes, 30 interleavings."""
    program = Program("running_example", x=0, y=0)

    @program.process
    def q(s: Any) -> Process:
        yield
        s.x = 2

    @program.process
    def p(s: Any) -> Process:
        yield
        s.y = 1
        yield
        s.x = 1

    @program.process
    def r(s: Any) -> Process:
        yield
        assert s.x < 3
        yield
        assert s.x < 2

    return program


# The second set of benchmarks: synthetic programs


def _in_phases(name: str, phases: int, bodies: list[Body], look: Callable[[Any, int], None] | None,
               **shared: Any) -> Program:  # fmt: skip
    """Return a program that runs processes in phases: starts them, joins them, and looks."""
    program = Program(name, **shared)

    @program.process
    def main(s: Any) -> Process:
        for phase in range(phases):
            yield
            handles = [s.spawn(body, phase, name=body.__name__) for body in bodies]
            for handle in handles:
                yield s.join(handle)
            if look is not None:
                yield
                look(s, phase)

    return program


def lastwrite(n: int, phases: int = 1, *, same: bool = True) -> Program:
    """`n` processes write x; who joined them reads which write was the last."""

    def writer(value: int) -> Body:
        def write(s: Any, phase: int) -> Process:
            yield
            s.x[phase] = value

        return write

    def look(s: Any, phase: int) -> None:
        s.seen[phase] = s.x[phase]

    writers = [writer(1 if same else i + 1) for i in range(n)]
    return _in_phases(f"lastwrite({n})", phases, writers, look, x=[0] * phases, seen=[0] * phases)


def floatingread(n: int, phases: int = 1, *, same: bool = True) -> Program:
    """`n` processes write x while another one reads it, once."""

    def writer(value: int) -> Body:
        def write(s: Any, phase: int) -> Process:
            yield
            s.x[phase] = value

        return write

    def read(s: Any, phase: int) -> Process:
        yield
        s.seen[phase] = s.x[phase]

    bodies = [*(writer(1 if same else i + 2) for i in range(n)), read]
    return _in_phases(f"floatingread({n})", phases, bodies, None, x=[1] * phases, seen=[1] * phases)


def abs_(n: int, phases: int = 1, *, same: bool = True) -> Program:
    """`n` processes write x and then y; who joined them reads both."""

    def writer(value: int) -> Body:
        def write(s: Any, phase: int) -> Process:
            yield
            s.x[phase] = value
            yield
            s.y[phase] = value

        return write

    def look(s: Any, phase: int) -> None:
        s.seen[phase] = (s.x[phase], s.y[phase])

    writers = [writer(1 if same else i + 1) for i in range(n)]
    zeros = [0] * phases
    return _in_phases(f"abs({n})", phases, writers, look, x=zeros, y=zeros, seen=zeros)


def arraywrite(n: int) -> Program:
    """In each of n // 2 rounds a process sets an array of 4n while two others read its beginning.

    That makes 4 classes for each round, as in the paper's table.
    """
    rounds, size = n // 2, 4 * n
    arrays = {f"a{k}": [0] * size for k in range(rounds)}

    def write(s: Any, phase: int) -> Process:
        array = getattr(s, f"a{phase}")
        for i in range(size):
            yield
            array[i] = 0

    def reader(position: int) -> Body:
        def read(s: Any, phase: int) -> Process:
            yield
            assert getattr(s, f"a{phase}")[position] == 0

        return read

    return _in_phases(f"arraywrite({n})", rounds, [write, reader(0), reader(1)], None, **arrays)


# The first set of benchmarks, from their descriptions


def pi(n: int) -> Program:
    """`n` workers add their part to a shared sum."""
    program = Program(f"pi({n})", total=0)

    def worker(s: Any, i: int) -> Process:
        yield
        s.total += i

    for i in range(n):
        program.process(worker, i)
    return program


def boundedbuffer(n: int) -> Program:
    """A producer puts `n` items into a buffer while a consumer takes `n`; neither waits."""
    program = Program(f"boundedbuffer({n})", count=0)

    @program.process
    def producer(s: Any) -> Process:
        for _ in range(n):
            yield
            s.count = min(s.count + 1, n)

    @program.process
    def consumer(s: Any) -> Process:
        for _ in range(n):
            yield
            s.count = max(s.count - 1, 0)

    return program


def pipesort(n: int) -> Program:
    """`n` values go through a pipe of cells; each cell keeps the smallest that it has seen."""
    program = Program(f"pipesort({n})", cell=[n] * n)

    def insert(s: Any, value: int) -> Process:
        for i in range(n):
            yield
            kept = s.cell[i]
            s.cell[i] = min(kept, value)
            value = max(kept, value)
            if value == n:
                return

    for value in range(n):
        program.process(insert, value)
    return program


def _in_a_tree(name: str, root: Any, split: Callable[[Any], tuple[Any, Any] | None]) -> Program:
    """Return a program of tasks that split into two, wait for them, and report to their parent."""
    program = Program(name, finished=[0] * _nodes(root, split))

    def task(s: Any, node: int, work: Any) -> Process:
        yield
        parts = split(work)
        if parts is not None:
            first = s.spawn(task, 2 * node, parts[0])
            second = s.spawn(task, 2 * node + 1, parts[1])
            yield s.join(first)
            yield s.join(second)
        yield
        s.finished[node // 2] += 1

    program.process(task, 1, root, name="task")
    return program


def _nodes(work: Any, split: Callable[[Any], tuple[Any, Any] | None], node: int = 1) -> int:
    """Return one more than the largest number of a task; those of `i` are `2i` and `2i + 1`."""
    parts = split(work)
    if parts is None:
        return node + 1
    return max(_nodes(part, split, 2 * node + i) for i, part in enumerate(parts))


def fib(n: int) -> Program:
    """Fibonacci numbers, a task for each call; a task's two calls report in either order."""
    return _in_a_tree(f"fib({n})", n, lambda i: (i - 1, i - 2) if i > 1 else None)


def quicksort(n: int) -> Program:
    """Quicksort of n + 3 numbers, a task for each part, empty ones too."""

    def split(numbers: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
        if not numbers:
            return None
        pivot, *rest = numbers
        return tuple(i for i in rest if i < pivot), tuple(i for i in rest if i >= pivot)

    numbers = tuple(7 * i % (n + 3) for i in range(n + 3))
    return _in_a_tree(f"quicksort({n})", numbers, split)


def mergesort(n: int) -> Program:
    """Mergesort of `n` numbers, a task for each part."""

    def split(size: int) -> tuple[int, int] | None:
        return (size - size // 2, size // 2) if size > 1 else None

    return _in_a_tree(f"mergesort({n})", n, split)
