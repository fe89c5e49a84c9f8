"""The papers' programs as plain threads: as many executions as there are classes, none blocked.

The counts are those of the model kit's programs (`treadle.papers.jacm17`) and of the papers.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

import treadle
from threads.counter import racy_counter
from threads.filesystem import filesystem
from threads.indexer import by_setdefault, indexer
from threads.lastzero import lastzero
from threads.readers import readers
from treadle.papers import PAPERS

Make = Callable[[int], Callable[[], None]]

slow = pytest.mark.slow
PROGRAMS: dict[str, Make] = {
    "readers": readers, "lastzero": lastzero, "indexer": indexer, "filesystem": filesystem,
}  # fmt: skip


def explored(test: Callable[[], None], algorithm: str = "optimal") -> treadle.Result:
    result = treadle.explore(test, algorithm)
    assert result.complete
    assert result.ok
    return result


@pytest.mark.parametrize(
    ("name", "n", "classes"),
    [
        ("readers", 2, 4),
        ("readers", 8, 256),
        pytest.param("readers", 13, 8192, marks=slow),
        ("lastzero", 3, 12),
        ("lastzero", 5, 64),
        pytest.param("lastzero", 10, 3328, marks=slow),
        ("indexer", 11, 1),
        ("indexer", 12, 8),
        ("indexer", 13, 64),
        pytest.param("indexer", 14, 512, marks=slow),
        pytest.param("indexer", 15, 4096, marks=[slow, pytest.mark.minutes]),
        ("filesystem", 13, 1),
        ("filesystem", 14, 2),
        ("filesystem", 16, 8),
        ("filesystem", 18, 32),
        ("filesystem", 19, 64),
    ],
)
def test_optimal_runs_one_execution_per_class(name: str, n: int, classes: int) -> None:
    assert PAPERS["jacm17"].benchmarks[name].classes(n) == classes
    result = explored(PROGRAMS[name](n))
    assert (result.executions, result.blocked) == (classes, 0)


@pytest.mark.parametrize("n", [2, 4])
@pytest.mark.parametrize("name", ["readers", "lastzero"])
def test_the_model_kit_counts_the_same(name: str, n: int) -> None:
    model = treadle.explore(PAPERS["jacm17"].benchmarks[name].make(n))
    assert explored(PROGRAMS[name](n)).executions == model.executions


@pytest.mark.parametrize(
    ("threads", "increments", "classes"),
    [
        (2, 1, 4),
        (3, 1, 36),
        (2, 2, 34),
        (2, 3, 328),
        pytest.param(3, 2, 7134, marks=slow),
    ],
)
def test_a_racy_counter(threads: int, increments: int, classes: int) -> None:
    result = explored(racy_counter(threads, increments))
    assert (result.executions, result.blocked) == (classes, 0)


@pytest.mark.parametrize("n", [2, 6])
def test_other_algorithms_complete_as_many_executions(n: int) -> None:
    for algorithm in ("sleep", "classic", "source"):
        assert explored(readers(n), algorithm).executions == 2**n


@pytest.mark.parametrize(("n", "classes"), [(11, 1), (12, 8), pytest.param(14, 512, marks=slow)])
def test_an_indexer_over_a_dictionary(n: int, classes: int) -> None:
    result = explored(by_setdefault(n))
    assert (result.executions, result.blocked) == (classes, 0)
