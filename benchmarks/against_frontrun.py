"""The same small programs explored by Treadle and by frontrun, side by side.

The figures of docs/comparison.md come from here. frontrun is no dependency: install it beside
Treadle, and run this under its command line, which it asks for:

    pip install frontrun
    frontrun python benchmarks/against_frontrun.py

A program is a shared state, some workers and what must hold at the end. Both tools search to the
end of the space and then say whether it held in every execution.
"""

from __future__ import annotations

import importlib
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import treadle

SECONDS = 60.0
"""How long one search may take."""


class Problem(NamedTuple):
    """A program, and what must hold when all its workers are done."""

    name: str
    workers: list[Callable[[State], object]]
    holds: Callable[[State], object] = lambda _: True


@dataclass
class Cell:
    """A number."""

    n: int = 0


@dataclass
class State:
    """What the workers share."""

    n: int = 0
    array: list[int] = field(default_factory=lambda: [0] * 4)
    cell: Cell = field(default_factory=Cell)
    cells: list[Cell] = field(default_factory=lambda: [Cell()])
    lock: Any = field(default_factory=lambda: threading.Lock())  # looked up late: it is patched
    barrier: Any = field(default_factory=lambda: threading.Barrier(2))
    is_acquired: bool = True


def write(state: State) -> None:
    state.n = 1


def read(state: State) -> int:
    return state.n


def increment(state: State) -> None:
    state.n += 1


def increment_thrice(state: State) -> None:
    for _ in range(3):
        state.n += 1


def increment_locked(state: State) -> None:
    with state.lock:
        state.n += 1


def increment_inner(state: State) -> None:
    state.cell.n += 1


def increment_in_list(state: State) -> None:
    state.cells[0].n += 1


def increment_in_two_threads(state: State) -> None:
    threads = [threading.Thread(target=increment, args=[state]) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def increment_in_a_pool(state: State) -> None:
    with ThreadPoolExecutor(2) as pool:
        for future in [pool.submit(increment, state) for _ in range(2)]:
            future.result()


def meet(state: State) -> None:
    state.barrier.wait()


def hold(state: State) -> None:
    with state.lock:
        pass


def acquire_in_time(state: State) -> None:
    state.is_acquired = state.lock.acquire(timeout=5)
    if state.is_acquired:
        state.lock.release()


def search_zero(state: State) -> None:
    index = 3
    while state.array[index] != 0:
        index -= 1


def update(index: int) -> Callable[[State], None]:
    def update_one(state: State) -> None:
        state.array[index] = state.array[index - 1] + 1

    return update_one


PROBLEMS = [
    Problem("1 writer, 5 readers", [write, *[read] * 5]),
    Problem("3 locked increments", [increment_locked] * 3),
    Problem("3 x one increment", [increment] * 3),
    Problem("2 x three increments", [increment_thrice] * 2),
    Problem("lastzero(3) on a list", [search_zero, *[update(index) for index in (1, 2, 3)]]),
    Problem("lost update of state.n", [increment] * 2, lambda state: state.n == 2),
    Problem("... of state.cell.n", [increment_inner] * 2, lambda state: state.cell.n == 2),
    Problem("... of state.cells[0].n", [increment_in_list] * 2, lambda s: s.cells[0].n == 2),
    Problem("... by threads of a worker", [increment_in_two_threads], lambda state: state.n == 2),
    Problem("... by a pool of a worker", [increment_in_a_pool], lambda state: state.n == 2),
    Problem("two meet at a barrier", [meet] * 2),
    Problem("a timeout that may expire", [hold, acquire_in_time], lambda s: s.is_acquired),
]


def with_treadle(problem: Problem) -> tuple[int, str]:
    """Explore with Treadle: executions, and whether it held."""

    def test() -> None:
        state = State()
        threads = [threading.Thread(target=worker, args=[state]) for worker in problem.workers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert problem.holds(state)

    result = treadle.explore(test, stop_on_failure=False, timeout=SECONDS)
    held = "holds" if result.ok else "fails" if result.failures else "unknown"
    return result.executions, held


def with_frontrun(problem: Problem, **options: Any) -> tuple[int, str]:
    """Explore with frontrun: executions, and whether it held."""
    found = importlib.import_module("frontrun").explore(
        setup=State,
        workers=problem.workers,
        invariant=problem.holds,
        stop_on_first=False,
        total_timeout=SECONDS,
        **options,
    )
    return found.num_explored, {True: "holds", False: "fails", None: "unknown"}[
        found.property_holds
    ]


def rows() -> Iterator[tuple[str, ...]]:
    """Yield one row per problem."""
    for problem in PROBLEMS:
        yield (
            problem.name,
            timed(with_treadle, problem),
            timed(with_frontrun, problem, preemption_bound=None),
            timed(with_frontrun, problem),
        )


def timed(explore: Callable[..., tuple[int, str]], problem: Problem, **options: Any) -> str:
    """Explore, and say in words what came out and what it cost."""
    begin = time.process_time()
    executions, held = explore(problem, **options)
    return f"{executions:,} {held} {time.process_time() - begin:.2f} s"


def main() -> None:
    """Print the table."""
    print("| program | Treadle | frontrun, no bound | frontrun, default |\n|---|---|---|---|")
    for row in rows():
        print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
