"""Samples by number: whoever takes them, they are the same, in the same order."""

from __future__ import annotations

from typing import Any

import pytest

from treadle.explore.budget import Budget
from treadle.explore.choosers import SCHEDULES
from treadle.explore.registry import ALGORITHMS
from treadle.explore.search import Search
from treadle.session.session import opened
from treadle.session.settings import Settings
from worker_programs import adding, deadlock, lost_update


def samples(program: Any, algorithm: str, wanted: range) -> list[tuple[tuple[int, ...], list[str]]]:
    """Return the schedule of each sample, and what failed in it."""
    found: list[tuple[tuple[int, ...], list[str]]] = []
    search = Search(
        program,
        ALGORITHMS[algorithm],
        algorithm,
        budget=Budget(),
        choose=SCHEDULES["stay"],
        stop_on_failure=False,
        seed=5,
        samples=wanted,
    )

    def watch(run: Any, outcome: int) -> None:
        del outcome
        crashes = [str(crash.exception) for crash in run.crashes]
        found.append((tuple(search.trace.processes), crashes))

    search.on_end = watch
    search.explore()
    return found


@pytest.mark.parametrize("algorithm", ["random", "pct"])
@pytest.mark.parametrize("test", [adding(2, 2), lost_update, deadlock])
def test_in_any_number_of_parts(test: Any, algorithm: str) -> None:
    with opened(test, Settings()) as session:
        whole = samples(session.program, algorithm, range(200))
        assert len(whole) == 200
        for parts in (2, 7):
            size = -(-200 // parts)
            ranges = [range(at, min(at + size, 200)) for at in range(0, 200, size)]
            assert len(ranges) == parts
            taken = [samples(session.program, algorithm, one) for one in reversed(ranges)]
            assert [one for part in reversed(taken) for one in part] == whole
    assert len({schedule for schedule, _ in whole}) > 3
