"""What context-sensitive checks and observers cost and save, against `optimal`, in one run.

    python benchmarks/coarser.py

Times are CPU time. In the -dif rows no check succeeds: there, the time per execution is the price
of checking. arraywrite is measured with the refined check of section 3.4 and without it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from treadle.api import ALGORITHMS
from treadle.bench import jss23
from treadle.explore.algorithm import Algorithm
from treadle.explore.budget import Budget
from treadle.explore.optimal_context_observers import OptimalContextObservers
from treadle.explore.schedule import SCHEDULES
from treadle.explore.search import Search
from treadle.model import Program

COMPARED = ("optimal", "observers", "context", "optimal-context", "optimal-context-observers")
ROWS: dict[str, Callable[[], Program]] = {
    "lastwrite-dif(6)": lambda: jss23.lastwrite(6, same=False),
    "floatingread-dif(5)": lambda: jss23.floatingread(5, same=False),
    "abs-dif(4)": lambda: jss23.abs_(4, same=False),
    "lastwrite(6)": lambda: jss23.lastwrite(6),
    "floatingread(5)": lambda: jss23.floatingread(5),
    "abs(4)": lambda: jss23.abs_(4),
    "pi(6)": lambda: jss23.pi(6),
    "quicksort(3)": lambda: jss23.quicksort(3),
}


class WithoutRefinement(OptimalContextObservers):
    """Compares whole states."""

    refined = False


def measure(make: Callable[[], Program], algorithm: type[Algorithm]) -> tuple[Any, float]:
    """Explore; return the result and the CPU time."""
    search = Search(
        make(), algorithm, "", budget=Budget(), choose=SCHEDULES["stay"], stop_on_failure=False
    )
    started = time.process_time()
    result = search.explore()
    return result, time.process_time() - started


def main() -> None:
    """Print both tables."""
    print(f"{'program':20} {'algorithm':26} {'complete':>8} {'blocked':>8} {'time':>8} ", end="")
    print(f"{'of optimal':>10} {'per run':>10}")
    for name, make in ROWS.items():
        base = each = 0.0
        for algorithm in COMPARED:
            result, seconds = measure(make, ALGORITHMS[algorithm])
            mine = seconds / (result.executions + result.blocked)
            base, each = base or seconds, each or mine
            print(
                f"{name:20} {algorithm:26} {result.executions:8} {result.blocked:8} "
                f"{seconds:7.3f}s {seconds / base:9.2f}x {mine / each:9.2f}x"
            )
    print("\narraywrite under optimal-context-observers, with and without section 3.4")
    for n in (5, 10, 15, 20, 25, 30):
        _, refined = measure(partial(jss23.arraywrite, n), OptimalContextObservers)
        _, whole = measure(partial(jss23.arraywrite, n), WithoutRefinement)
        print(f"n = {n:2}: {refined:6.3f}s {whole:6.3f}s, {whole / refined:5.2f} times")


if __name__ == "__main__":
    main()
