"""The static deadlock analysis on random programs: no deadlock is missed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from judged import judge
from random_deadlocks import source

SCRIPT = Path(__file__).parents[2] / "scripts" / "deadlock_analysis.py"


@pytest.mark.parametrize("plain", [True, False])
def test_no_deadlock_is_missed(plain: bool) -> None:
    found = judge(range(80), plain=plain)
    assert found.missed == []
    assert found.not_understood == []
    assert found.counts["deadlock"] >= 10
    assert found.counts["proved"] >= 40
    assert found.share("proved") >= 0.9


@pytest.mark.slow
@pytest.mark.minutes
@pytest.mark.parametrize("first", range(5000, 7000, 500))
@pytest.mark.parametrize("plain", [True, False])
def test_no_deadlock_of_many_programs_is_missed(first: int, plain: bool) -> None:
    found = judge(range(first, first + 500), plain=plain)
    assert found.missed == []
    assert found.not_understood == []


def test_programs_are_the_same_each_time() -> None:
    assert source(7) == source(7)
    assert source(7) != source(8)
    assert "until" not in "".join(source(seed, conditions=False)[60:] for seed in range(20))


def test_the_script_prints_shares() -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--programs", "10"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "0 missed" in done.stdout
    assert done.stdout.count("proved free") == 2
