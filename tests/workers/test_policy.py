"""When a part is given up: with few hands after one look, with many at the latest after a while."""

from __future__ import annotations

import pytest

from treadle.session.workers.policy import Looks, Policy


def given_up_after(
    seconds: float, policy: Policy, *, estimate: float, patience: float = 0
) -> float:
    """Return after how long a part is given up that takes so long; 0 if it is finished."""
    looks = Looks(1.0, patience, policy.again)
    for used in looks.moments:
        if used < seconds:
            assert looks.is_due(used)
            if looks.is_too_large(used, min(1.0, used / estimate)):
                return used
    return 0


@pytest.mark.parametrize(
    ("workers", "hands", "after"), [(2, 1, 0), (127, 1, 0), (128, 1, 8), (2, 64, 8)]
)
def test_an_estimate_that_is_too_small(workers: int, hands: int, after: float) -> None:
    """Nobody waits for ever for the last part if there are many who could share it."""
    policy = Policy(workers, hands=hands)
    assert given_up_after(100, policy, estimate=5) == after
    assert given_up_after(7, policy, estimate=5) == 0
    assert given_up_after(100, policy, estimate=100) == 1 / 8


def test_what_is_kept_may_end_before_a_part_does() -> None:
    assert given_up_after(100, Policy(1, is_kept=True), estimate=5) == 8
    assert given_up_after(7, Policy(1, is_kept=True), estimate=5) == 0


def test_where_work_is_scarce_there_are_more_looks() -> None:
    assert given_up_after(100, Policy(2), estimate=2, patience=4) == 4
    assert given_up_after(100, Policy(2), estimate=4.5, patience=4) == 1 / 8
    assert given_up_after(100, Policy(64), estimate=2, patience=4) == 4
