"""No deadlock of a random test with threads is missed by the analysis of its source."""

from __future__ import annotations

from pathlib import Path

import pytest

import treadle
from lock_programs import imported
from treadle.analyses.lock_order import lock_order_of
from treadle.threads.towards_deadlock import is_shown_by

_BLOCK = 20


def _missed(folder: Path, seed: int) -> list[str]:
    """Return the deadlocks of a random test that no candidate stands for."""
    with imported(folder, seed) as (test, source):
        result = treadle.explore(test, stop_on_failure=False)
        assert result.complete, source
        candidates = lock_order_of([folder / f"locks_{seed}.py"]).candidates
        return [
            f"{failure}\n{source}"
            for failure in result.failures
            if failure.kind == "deadlock"
            and not any(is_shown_by(candidate, failure) for candidate in candidates)
        ]


@pytest.mark.parametrize("block", range(3))
def test_every_deadlock_is_a_candidate(tmp_path: Path, block: int) -> None:
    for seed in range(block * _BLOCK, (block + 1) * _BLOCK):
        assert _missed(tmp_path, seed) == []


@pytest.mark.minutes
@pytest.mark.parametrize("block", range(3, 30))
def test_every_deadlock_of_many_programs_is_a_candidate(tmp_path: Path, block: int) -> None:
    for seed in range(block * _BLOCK, (block + 1) * _BLOCK):
        assert _missed(tmp_path, seed) == []


def test_the_random_programs_have_deadlocks_and_have_none(tmp_path: Path) -> None:
    kinds = set()
    for seed in range(_BLOCK):
        with imported(tmp_path, seed) as (test, _):
            kinds.add(bool(treadle.explore(test).failures))
    assert kinds == {False, True}


@pytest.mark.parametrize("block", range(2))
def test_to_be_led_there_changes_no_verdict(tmp_path: Path, block: int) -> None:
    for seed in range(block * _BLOCK, (block + 1) * _BLOCK):
        with imported(tmp_path, seed) as (test, source):
            found = [
                treadle.explore(test, stop_on_failure=False, towards_deadlock=towards)
                for towards in (False, True)
            ]
            plain, led = [
                {frozenset((wait.process, wait.where) for wait in one.waits) for one in r.failures}
                for r in found
            ]
            assert plain == led, source
            assert found[0].executions == found[1].executions, source
