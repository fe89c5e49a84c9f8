"""The counts that papers and other checkers' suites print, for programs that are easily written."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import treadle
from treadle.model import Lock, Program
from treadle.papers import jacm17

Process = Iterator[Any]


def completed(program: Program, algorithm: str, **options: Any) -> int:
    """Return how many executions an algorithm completes of a program that has no failure."""
    result = treadle.explore(program, algorithm, stop_on_failure=False, **options)
    assert result.complete
    assert not result.failures
    assert algorithm != "optimal" or result.blocked == 0
    return result.executions


def deadlocks(program: Program, algorithm: str) -> tuple[int, int]:
    """Return how many classes end well, and how many in a deadlock."""
    result = treadle.explore(program, algorithm, stop_on_failure=False)
    assert result.complete
    assert all(failure.kind == "deadlock" for failure in result.failures)
    assert algorithm != "optimal" or result.blocked == 0
    return result.executions - result.failing, result.failing


both = pytest.mark.parametrize("algorithm", ["optimal", "source"])


# "Source Sets", J. ACM 2017


@both
@pytest.mark.parametrize(
    ("make", "classes"),
    [(jacm17.figure2, 5), (jacm17.message_passing, 3), (jacm17.figure9, 2)],
)
def test_the_programs_of_the_text(
    make: Callable[[], Program], classes: int, algorithm: str
) -> None:
    assert completed(make(), algorithm) == classes


def test_figure_9_lets_s_run_in_one_of_its_two_classes() -> None:
    program = jacm17.figure9()
    s = program.vocabulary.process_number("s")
    for schedule, enabled in [("r", True), ("r p", False), ("p r", False), ("p q r", False)]:
        run = program.start()
        for name in schedule.split():
            run.step(program.vocabulary.process_number(name))
        assert run.is_enabled(s) is enabled, schedule


QUICK_ROWS = [
    (row.benchmark, row.n)
    for table in jacm17.PAPER.tables
    for row in table.rows
    if row.expected <= 300
]


@both
@pytest.mark.parametrize(
    ("benchmark", "n"), QUICK_ROWS, ids=[f"{benchmark.name}-{n}" for benchmark, n in QUICK_ROWS]
)
def test_the_quick_rows_of_the_tables(benchmark: Any, n: int, algorithm: str) -> None:
    assert completed(benchmark.make(n), algorithm) == benchmark.classes(n)


@pytest.mark.parametrize(
    ("benchmark", "n"),
    [("readers", 10), ("lastzero", 9), ("indexer", 14), ("wakeup_stress", 6), ("filesystem", 21)],
)
def test_sizes_between_the_rows_of_the_tables(benchmark: str, n: int) -> None:
    known = jacm17.PAPER.benchmarks[benchmark]
    assert completed(known.make(n), "optimal") == known.classes(n)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("benchmark", "n", "classes"),
    [
        ("readers", 13, 8192),
        ("lastzero", 10, 3328),
        ("indexer", 15, 4096),
        ("wakeup_stress", 7, 10080),
    ],
)
def test_the_longer_rows_of_the_tables(benchmark: str, n: int, classes: int) -> None:
    assert completed(jacm17.PAPER.benchmarks[benchmark].make(n), "optimal") == classes


@pytest.mark.parametrize("n", [1, 2, 3, 6, 8])
def test_classic_explores_three_to_the_n_of_readers(n: int) -> None:
    result = treadle.explore(jacm17.readers(n), "classic")
    assert result.executions == 2**n
    assert result.executions + result.blocked == (3**n + 1) // 2


@pytest.mark.parametrize(
    ("n", "blocked"), [(5, 33), pytest.param(10, 16867, marks=pytest.mark.slow)]
)
def test_source_blocks_on_lastzero_if_the_oldest_runs_first(n: int, blocked: int) -> None:
    result = treadle.explore(jacm17.lastzero(n), "source", schedule="oldest")
    assert (result.executions, result.blocked) == ((n + 3) * 2 ** (n - 2), blocked)


@pytest.mark.parametrize("n", [5, 10])
def test_source_blocks_nothing_on_lastzero_if_the_newest_runs_first(n: int) -> None:
    result = treadle.explore(jacm17.lastzero(n), "source", schedule="newest")
    assert (result.executions, result.blocked) == ((n + 3) * 2 ** (n - 2), 0)


def test_source_blocks_exponentially_often_on_chain() -> None:
    blocked = [treadle.explore(jacm17.chain(n), "source").blocked for n in range(3, 10)]
    assert all(later > 1.7 * earlier for earlier, later in itertools.pairwise(blocked))


@both
@pytest.mark.parametrize("schedule", ["stay", "oldest", "newest", "round-robin"])
@pytest.mark.parametrize("make", [jacm17.chain, jacm17.lastzero, jacm17.wakeup_stress])
def test_no_schedule_changes_what_is_completed(
    make: Callable[[int], Program], schedule: str, algorithm: str
) -> None:
    program = make(4)
    expected = jacm17.PAPER.benchmarks[make.__name__].classes(4)
    assert completed(program, algorithm, schedule=schedule) == expected


def test_the_wakeup_trees_of_wakeup_stress_grow_like_the_papers() -> None:
    nodes = [treadle.explore(jacm17.wakeup_stress(n)).peak_nodes for n in range(1, 7)]
    printed = [7, 21, 79, 374, 2159, 14698]
    assert all(ours <= theirs for ours, theirs in zip(nodes, printed, strict=True))
    assert all(
        later > n * earlier for n, (earlier, later) in enumerate(itertools.pairwise(nodes), 2)
    )


@both
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_writers(n: int, algorithm: str) -> None:
    assert completed(jacm17.writers(n), algorithm) == math.factorial(n)


# Counts that other checkers' suites expect


def locked_increments(n: int) -> Program:
    program = Program(x=0, lock=Lock())

    def increment(s: Any, i: int) -> Process:
        del i
        yield s.lock.acquire()
        value = s.x
        yield
        s.x = value + 1
        yield
        s.lock.release()

    for i in range(n):
        program.process(increment, i)
    return program


def atomic_increments(n: int) -> Program:
    program = Program(x=0)

    def increment(s: Any, i: int) -> Process:
        del i
        yield
        s.x += 1

    for i in range(n):
        program.process(increment, i)
    return program


def racy_increments(n: int, times: int = 1) -> Program:
    program = Program(x=0)

    def increment(s: Any, i: int) -> Process:
        del i
        for time in range(times):
            if time:
                yield
            value = s.x
            yield
            s.x = value + 1

    for i in range(n):
        program.process(increment, i)
    return program


def philosophers(n: int, *, ordered: bool = False) -> Program:
    program = Program(forks=[Lock() for _ in range(n)])

    def philosopher(s: Any, i: int) -> Process:
        forks = [i, (i + 1) % n]
        first, second = sorted(forks) if ordered else forks
        yield s.forks[first].acquire()
        yield s.forks[second].acquire()
        yield
        s.forks[second].release()
        yield
        s.forks[first].release()

    for i in range(n):
        program.process(philosopher, i)
    return program


def two_locks() -> Program:
    program = Program(a=Lock(), b=Lock())

    def both_locks(s: Any, swapped: bool) -> Process:
        first, second = (s.b, s.a) if swapped else (s.a, s.b)
        yield first.acquire()
        yield second.acquire()
        yield
        second.release()
        yield
        first.release()

    program.process(both_locks, False)
    program.process(both_locks, True)
    return program


def store_buffering() -> Program:
    program = Program(x=0, y=0)

    @program.process
    def p(s: Any) -> Process:
        s.x = 1
        yield
        _ = s.y

    @program.process
    def q(s: Any) -> Process:
        s.y = 1
        yield
        _ = s.x

    return program


def compare_and_swaps(n: int) -> Program:
    program = Program(x=0)

    def swap(s: Any, i: int) -> Process:
        yield
        if s.x == 0:
            s.x = i

    for i in range(1, n + 1):
        program.process(swap, i)
    return program


@both
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("make", [locked_increments, atomic_increments])
def test_one_class_per_order(make: Callable[[int], Program], n: int, algorithm: str) -> None:
    assert completed(make(n), algorithm) == math.factorial(n)


@both
@pytest.mark.parametrize(
    ("n", "times", "classes"), [(2, 1, 4), (3, 1, 36), (4, 1, 576), (2, 2, 34), (2, 3, 328)]
)
def test_racy_increments(n: int, times: int, classes: int, algorithm: str) -> None:
    assert completed(racy_increments(n, times), algorithm) == classes


@both
@pytest.mark.parametrize(("n", "classes"), [(2, 2), (3, 6), (4, 14)])
def test_philosophers_who_take_the_left_fork_first(n: int, classes: int, algorithm: str) -> None:
    assert deadlocks(philosophers(n), algorithm) == (classes, 1)


@both
@pytest.mark.parametrize(("n", "classes"), [(3, 6), (4, 14)])
def test_philosophers_who_take_the_lower_fork_first(n: int, classes: int, algorithm: str) -> None:
    assert deadlocks(philosophers(n, ordered=True), algorithm) == (classes, 0)


@both
def test_two_locks_in_opposite_order(algorithm: str) -> None:
    assert deadlocks(two_locks(), algorithm) == (2, 1)


@both
def test_store_buffering(algorithm: str) -> None:
    assert completed(store_buffering(), algorithm) == 3


@both
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
def test_one_compare_and_swap_succeeds(n: int, algorithm: str) -> None:
    assert completed(compare_and_swaps(n), algorithm) == n
