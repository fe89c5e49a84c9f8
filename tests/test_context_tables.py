"""The tables of JSS 2023: every program at a size that takes a moment."""

from __future__ import annotations

from typing import Any

import pytest

from algorithms import coarser
from logbook import counts
from treadle.papers import jss23

# Tables: every program of JSS 2023 at a size that takes a moment

SMALL = [
    (benchmark, n)
    for benchmark in jss23.PAPER.benchmarks.values()
    for n in (2, 3, 4)
    if benchmark.classes(n) <= 600
]


@pytest.mark.parametrize(("benchmark", "n"), SMALL, ids=[f"{b.name}({n})" for b, n in SMALL])
def test_the_exact_counts_of_the_tables(benchmark: Any, n: int) -> None:
    schedule = benchmark.schedule or "stay"
    found = {
        algorithm: counts(lambda: benchmark.make(n), algorithm, schedule=schedule)[0]
        for algorithm in coarser()
    }
    assert found | {a: count(n) for a, count in benchmark.fewer.items()} == found
    assert found["context"] == found["optimal-context"]


def test_the_closed_forms_are_what_the_paper_prints() -> None:
    first, second, _ = jss23.PAPER.tables
    differing = {
        (row.name, algorithm)
        for row in (*first.rows, *second.rows)
        for algorithm, printed in row.printed.items()
        if printed.executions is not None
        and printed.executions
        != (row.expected if algorithm == "optimal" else row.fewer(algorithm) or printed.executions)
    }
    both = "optimal-context-observers"
    assert differing == {
        ("pipesort(3)", "optimal"),  # another program
        ("mergesort(6)", "optimal"),  # the paper's splits into more parts
        ("mergesort(6)", "observers"),
        *((f"quicksort({n})", both) for n in (2, 3, 5)),  # here nothing is explored twice
        ("mergesort(5)", both),
        ("fib(4)", both),
        ("fib(5)", both),
    }


@pytest.mark.parametrize("n", [4, 6, 8])
def test_dont_do_blocked_runs_of_lastwrite(n: int) -> None:
    assert counts(lambda: jss23.lastwrite(n), "optimal-context-observers") == (1, n - 1)


def test_dont_do_blocked_runs_of_pi() -> None:
    assert counts(lambda: jss23.pi(7), "optimal-context-observers") == (272, 750)


def test_bounded_buffer() -> None:
    found = counts(lambda: jss23.boundedbuffer(7), "context", schedule="round-robin")
    assert found[0] == 550


@pytest.mark.slow
@pytest.mark.minutes
@pytest.mark.parametrize(("n", "printed"), [(8, 1487), (9, 4036), (10, 10981)])
def test_larger_bounded_buffers(n: int, printed: int) -> None:
    for algorithm in ("context", "optimal-context", "optimal-context-observers"):
        found = counts(lambda: jss23.boundedbuffer(n), algorithm, schedule="round-robin")
        assert found[0] == printed
