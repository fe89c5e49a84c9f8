"""What context-sensitive checks and observers cost and save, against `optimal`, in one run.

    python benchmarks/coarser.py

Times are CPU time, the best of a few. In the -dif rows no check succeeds: there, the time per
execution is the price of checking. `optimal` is measured twice: to the end, and for as many
executions as the other algorithm takes, so that what each exploration begins with counts alike.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from treadle.explore.budget import Budget
from treadle.explore.choosers import SCHEDULES
from treadle.explore.observers.optimal_context_observers import (
    ObservedContextReversing,
    OptimalContextObservers,
)
from treadle.explore.registry import ALGORITHMS
from treadle.explore.search import Search
from treadle.model import Program
from treadle.papers import jss23

Make = Callable[[], Program]

COARSER = ("observers", "context", "optimal-context", "optimal-context-observers")
ROWS: dict[str, Make] = {
    "lastwrite-dif(6)": partial(jss23.lastwrite, 6, same=False),
    "floatingread-dif(6)": partial(jss23.floatingread, 6, same=False),
    "abs-dif(4)": partial(jss23.abs_, 4, same=False),
    "lastwrite(6)": partial(jss23.lastwrite, 6),
    "floatingread(6)": partial(jss23.floatingread, 6),
    "abs(4)": partial(jss23.abs_, 4),
    "lastwrite-2phases(3)": partial(jss23.lastwrite, 3, phases=3),
    "pi(6)": partial(jss23.pi, 6),
    "quicksort(3)": partial(jss23.quicksort, 3),
    "arraywrite(8)": partial(jss23.arraywrite, 8),
}
REPEATS = 5


def measure(
    make: Make, algorithm: str, executions: int | None = None, *, refined: bool = True
) -> tuple[Search, float]:
    """Explore a few times; return the last search and the shortest CPU time."""
    best = float("inf")
    for _ in range(REPEATS):
        search = Search(
            make(),
            ALGORITHMS[algorithm],
            algorithm,
            budget=Budget(max_executions=executions),
            choose=SCHEDULES["stay"],
            stop_on_failure=False,
            refined=refined,
        )
        started = time.process_time()
        search.explore()
        best = min(best, time.process_time() - started)
    return search, best


def print_rows() -> None:
    """Print each row under each algorithm."""
    print(f"{'program':20} {'algorithm':26} {'complete':>8} {'blocked':>8} {'time':>9} ", end="")
    print(f"{'of optimal':>10} {'per execution':>14}")
    for name, make in ROWS.items():
        found, base = measure(make, "optimal")
        print(f"{name:20} {'optimal':26} {found.result.executions:8} {0:8} {base * 1000:7.1f}ms")
        for algorithm in COARSER:
            search, seconds = measure(make, algorithm)
            result = search.result
            runs = min(result.executions + result.blocked, found.result.executions)
            _, same_number = measure(make, "optimal", runs)
            each = seconds / (result.executions + result.blocked) * runs / same_number
            print(
                f"{name:20} {algorithm:26} {result.executions:8} {result.blocked:8} "
                f"{seconds * 1000:7.1f}ms {seconds / base:9.2f}x {each:13.2f}x"
            )


def print_states() -> None:
    """Print what it costs to recover states by replay, and to record them all."""
    print(
        "\nStates for the checks, in microseconds per execution: each state recorded as it is ",
        end="",
    )
    print("reached,\nagainst the runs for the checks that are not answered otherwise")
    for name, make in ROWS.items():
        search, _ = measure(make, "optimal-context-observers")
        algorithm, result = search.algorithm, search.result
        assert isinstance(algorithm, OptimalContextObservers)
        assert isinstance(algorithm.reversing, ObservedContextReversing)
        contexts = algorithm.reversing.contexts
        runs = result.executions + result.blocked
        program = make()
        processes = _first_execution(program)
        plain = _time_of(partial(_run, program, processes, record=False))
        recorded = _time_of(partial(_run, program, processes, record=True)) - plain
        replayed = plain * contexts.runs / runs
        print(
            f"{name:20} recorded {recorded * 1e6:7.0f}   by replay {replayed * 1e6:7.0f}   "
            f"({contexts.runs} runs for checks in {runs} executions)"
        )


def _first_execution(program: Program) -> list[int]:
    run = program.start()
    processes: list[int] = []
    run.finish(-1, 10_000, processes, [])
    run.close()
    return processes


def _run(program: Program, processes: list[int], *, record: bool) -> None:
    run = program.start()
    for process in processes:
        run.step(process)
        if record:
            run.fingerprint()
    run.close()


def _time_of(work: Callable[[], None], times: int = 30) -> float:
    best = float("inf")
    for _ in range(times):
        started = time.process_time()
        work()
        best = min(best, time.process_time() - started)
    return best


def print_refinement() -> None:
    """Print arraywrite with the refined check of section 3.4 and without it."""
    print("\narraywrite under optimal-context-observers, with and without section 3.4")
    for n in (5, 10, 15, 20, 25, 30):
        make = partial(jss23.arraywrite, n)
        _, refined = measure(make, "optimal-context-observers")
        _, whole = measure(make, "optimal-context-observers", refined=False)
        print(f"n = {n:2}: {refined:6.3f}s {whole:6.3f}s, {whole / refined:5.2f} times")


if __name__ == "__main__":
    print_rows()
    print_states()
    print_refinement()
