"""Budgets of explorations in parts: used up, not exceeded, and in time."""

from __future__ import annotations

import asyncio
import itertools
from pathlib import Path
from typing import Any

import pytest

import treadle
from treadle.core.program import Program
from treadle.explore.cubes.order import EVERYTHING, Cube, Step, split
from treadle.papers import jacm17
from treadle.session.session import opened
from treadle.session.settings import Settings
from treadle.session.workers import spaces, task
from treadle.session.workers.hands import Alone
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


class Two(Alone):
    """Two hands that take turns, so that the same happens in every run."""

    count = 2

    def __init__(self, tasks: Tasks, count: int) -> None:
        super().__init__(tasks)
        assert count == 2


@pytest.mark.parametrize(
    ("program", "executions"),
    [(jacm17.lastzero(8), 704), (jacm17.writers(5), 120), (jacm17.chain(9), 37)],
)
def test_little_is_lost(program: Program, executions: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a budget ends in the middle counts, unless there is nothing else left to explore."""
    monkeypatch.setattr("treadle.session.session.ForkedHands", Two)
    monkeypatch.setattr("treadle.session.workers.policy._EXECUTIONS", 8)
    for most in (9, 20, 36, 37, 60, 119, 120, 300, 600, 703, 704, 800):
        result = treadle.explore(program, workers=2, split_by="executions", max_executions=most)
        assert (result.executions, result.blocked) == (min(most, executions), 0)
        assert result.complete == (most >= executions)
        if result.workers == 2 and most < executions // 2:
            assert result.lost == 0
        if not result.complete:
            assert result.stopped_by == f"max_executions = {most}"


def test_a_budget_that_is_large_enough_covers_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts whose own limit was too small are begun anew, and count once."""
    monkeypatch.setattr("treadle.session.session.ForkedHands", Two)
    monkeypatch.setattr("treadle.session.workers.policy._EXECUTIONS", 8)
    monkeypatch.setattr("treadle.session.workers.coordinator._LAST", 1)
    monkeypatch.setattr("treadle.session.workers.coordinator._FOR_BUDGETS", -2)
    lost = 0
    for most in (704, 720, 800, 1000):
        result = treadle.explore(
            jacm17.lastzero(8), workers=2, split_by="executions", max_executions=most
        )
        assert (result.executions, result.complete, result.stopped_by) == (704, True, "")
        lost += result.lost
    assert lost > 0


@pytest.mark.parametrize("algorithm", ["source", "sleep"])
def test_blocked_executions_are_of_the_budget(
    algorithm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("treadle.session.session.ForkedHands", Two)
    for most in (100, 200):
        result = treadle.explore(
            jacm17.lastzero(7), algorithm, workers=2, split_by="executions", max_executions=most
        )
        assert result.executions + result.blocked + result.elsewhere == most
        assert result.workers == 2


def test_explorations_within_budgets_come_to_an_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a checkpoint, parts that a budget has ended are divided: no budget is too small."""
    monkeypatch.setattr("treadle.session.session.ForkedHands", Two)
    monkeypatch.setattr("treadle.session.workers.policy._EXECUTIONS", 8)
    kept = tmp_path / "kept.json"
    options: dict[str, Any] = {
        "workers": 2, "split_by": "executions", "max_executions": 100, "checkpoint": kept,
    }  # fmt: skip
    result = treadle.explore(program_of_704(), **options)
    sums = [result.executions]
    while not result.complete:
        assert len(sums) < 30
        options["max_executions"] += 100
        result = treadle.explore(program_of_704(), **options, resume=kept)
        sums.append(result.executions)
        assert sums[-1] <= options["max_executions"]
    assert sums[-1] == 704
    assert sums == sorted(sums)


def program_of_704() -> Program:
    return jacm17.lastzero(8)


def test_zones_of_which_a_budget_ends_the_exploration(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is lost of them: others go on where the budget ended it."""
    monkeypatch.setattr("treadle.session.session.ForkedHands", Two)
    monkeypatch.setattr("treadle.session.workers.policy._EXECUTIONS", 2)
    alone = treadle.explore(arriving, order="fifo")
    assert alone.executions > 20
    for most in (3, 10, 20, alone.executions, 1000):
        result = treadle.explore(
            arriving, order="fifo", workers=2, split_by="executions", max_executions=most
        )
        assert result.executions == min(most, alone.executions)
        assert (result.complete, result.lost) == (most >= alone.executions, 0)


async def arriving() -> None:
    box = {"n": 0}

    async def add() -> None:
        for _ in range(2):
            seen = box["n"]
            await treadle.pause()
            box["n"] = seen + 1

    await asyncio.gather(add(), add(), add())


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
