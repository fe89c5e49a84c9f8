"""Budgets of explorations in parts: used up, not exceeded, and in time."""

from __future__ import annotations

import itertools

import pytest

import treadle
from treadle.core.program import Program
from treadle.explore.cubes.order import EVERYTHING, Cube, Step, split
from treadle.papers import jacm17
from treadle.session.session import opened
from treadle.session.settings import Settings
from treadle.session.workers import spaces, task
from treadle.session.workers.parts import Job, Part
from treadle.session.workers.policy import Policy
from treadle.session.workers.task import Tasks
from worker_programs import adding


def test_budgets_end_it() -> None:
    result = treadle.explore(
        jacm17.lastzero(10), workers=2, split_by="executions", max_executions=1000
    )
    assert not result.complete
    assert result.stopped_by == "max_executions = 1000"
    assert result.executions == 1000
    assert result.estimate is not None
    result = treadle.explore(jacm17.writers(9), workers=2, split_by="executions", timeout=1)
    assert result.stopped_by == "timeout = 1 s"
    assert not result.complete


@pytest.mark.parametrize("most", [300, 1000])
def test_nothing_is_begun_beyond_a_budget(most: int) -> None:
    result = treadle.explore(adding(3, 2), workers=2, split_by="executions", max_executions=most)
    assert (result.executions, result.stopped_by) == (most, f"max_executions = {most}")


def test_a_budget_is_used_up_where_nothing_can_be_divided(monkeypatch: pytest.MonkeyPatch) -> None:
    def itself(program: Program, cube: Cube, *_: object) -> dict[Cube, float]:
        del program
        return {cube: 1.0}

    monkeypatch.setattr(spaces, "parts_of", itself)
    for most in (600, 3000):
        result = treadle.explore(
            jacm17.lastzero(9), workers=2, split_by="executions", max_executions=most
        )
        assert (result.executions, result.complete) == (min(most, 1536), most > 1536)


def test_the_budgets_of_a_job_are_for_all_its_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """What one part used up, the next one does not have."""
    now = itertools.count(step=100)
    with opened(jacm17.readers(6), Settings()) as session:
        space = spaces.space_of(session.work(), Policy(2))
        parts = tuple(map(Part, split(EVERYTHING, Step("writer", 0), Step("reader(0)", 1))))
        whole = Tasks(space).done(Job(1, parts, (), 60.0))
        assert (whole.counts["executions"], whole.done, whole.left) == (64, 2, [])
        half = Tasks(space).done(Job(1, parts, (), 60.0, max_executions=32))
        assert (half.counts["executions"], half.done, half.left) == (32, 1, [parts[1]])
        monkeypatch.setattr(task, "_clock", lambda: next(now))
        late = Tasks(space).done(Job(1, parts, (), 60.0, timeout=150.0))
        assert (late.counts["executions"], late.done, late.left) == (32, 1, [parts[1]])
