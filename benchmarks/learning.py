"""What learning from unsatisfiable constraint systems saves: `eager` with and without it.

    python benchmarks/learning.py

Without learning, as in "Eager POR", all systems of a section are tried. Times are CPU time, with
and without in one run. Ring Extended is the paper's; in `writers` every two steps are dependent.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import treadle
from treadle.model import Program
from treadle.papers.atva16 import ring, ring_extended


def writers(processes: int, times: int) -> Program:
    """Processes that all write the same variable, several times."""
    program = Program(f"writers({processes}, {times})", x=0)

    def write(s: Any, i: int) -> Iterator[None]:
        for _ in range(times):
            yield
            s.x = i

    for i in range(processes):
        program.process(write, i)
    return program


ROWS: tuple[Callable[[], Program], ...] = (
    lambda: ring(12),
    lambda: ring_extended(3),
    lambda: ring_extended(4),
    lambda: ring_extended(5),
    lambda: writers(3, 2),
    lambda: writers(2, 4),
    lambda: writers(6, 1),
)


def measure(make: Callable[[], Program], *, learn: bool) -> tuple[int, int, float]:
    """Explore; return the numbers of traces and of unsatisfiable systems, and the CPU time."""
    program = make()
    started = time.process_time()
    result = treadle.explore(program, "eager", learn=learn)
    return result.executions, result.unsatisfiable, time.process_time() - started


def main() -> None:
    """Print the table."""
    print(f"{'':20} {'':>8} {'with learning':>20} {'without':>20}")
    print(f"{'program':20} {'traces':>8} {'unsat.':>10} {'time':>9} {'unsat.':>10} {'time':>9}")
    for make in ROWS:
        traces, learned, fast = measure(make, learn=True)
        same, everything, slow = measure(make, learn=False)
        assert same == traces
        print(
            f"{make().name:20} {traces:8,} {learned:10,} {fast:8.3f}s {everything:10,} "
            f"{slow:8.3f}s, {slow / fast:.1f} times"
        )


if __name__ == "__main__":
    main()
