"""Samples by number: whoever takes them, they are the same, in the same order."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

import treadle
from treadle.core.failure import Failure
from treadle.explore.budget import Budget
from treadle.explore.choosers import SCHEDULES
from treadle.explore.registry import ALGORITHMS
from treadle.explore.search import Search
from treadle.session.session import opened
from treadle.session.settings import Settings
from treadle.session.workers.parts import Job, Part
from treadle.session.workers.policy import Policy
from treadle.session.workers.spaces import SampleSpace, space_of
from treadle.session.workers.taken import Taken
from treadle.session.workers.task import Tasks
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


def spinning() -> treadle.model.Program:
    """Return a model whose executions all reach `max_steps`."""
    model = treadle.model.Program(x=0)
    for name in "pq":

        @model.process(name=name)
        def worker(s: Any) -> Any:
            while True:
                s.x += 1
                yield

    return model


def test_samples_that_are_cut_are_taken_once() -> None:
    """They are no complete executions, but whoever goes on begins behind them."""
    is_over = iter([False, False, False, False, True])  # asked before the first one, too
    settings = {"algorithm": "random", "max_steps": 20, "stop_on_failure": False}
    with opened(spinning(), Settings.asked_for(settings)) as session:
        space = space_of(session.work(), Policy(1))
        space.is_over = lambda: next(is_over)
        answer = Tasks(space).done(Job(1, (Part(range(10)),), (), 60.0))
    assert [part.what for part in answer.left] == [range(4, 10)]


def test_more_samples_come_behind_those_of_an_earlier_exploration() -> None:
    nothing = Counter[str](), list[Failure]()
    taken = [Taken(range(40), *nothing), Taken(range(50, 60), *nothing)]
    with opened(lost_update, Settings.asked_for({"algorithm": "random", "timeout": 60})) as session:
        space = space_of(session.work(), Policy(1))
        assert isinstance(space, SampleSpace)
        waiting = space.untaken(taken) + space.more()
    assert [part.what for part in waiting] == [range(40, 50), range(60, 92)]
