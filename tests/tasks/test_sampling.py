"""`random` and `pct` choose among arrivals; other algorithms are for `order="any"`; shrinking."""

from __future__ import annotations

import asyncio

import pytest
from exploring import explored
from oracles import EXPECTED, programs

import treadle
from treadle.explore.registry import ALGORITHMS


@pytest.mark.parametrize("algorithm", ["random", "pct"])
def test_samples_are_of_the_space(algorithm: str) -> None:
    for name in ("readers(2)", "group", "sleeps(1,1)"):
        test = programs("fifo")[name]
        result, seen = explored(test, "fifo", algorithm=algorithm, max_executions=60)
        assert (result.algorithm, result.executions, result.blocked) == (algorithm, 60, 0)
        assert seen == explored(test, "fifo")[1]
        assert len(seen) == EXPECTED[name][0][1]


@pytest.mark.parametrize("algorithm", sorted(set(ALGORITHMS) - {"random", "pct"}))
def test_other_algorithms_are_for_any_order(algorithm: str) -> None:
    test = programs("fifo")["readers(1)"]
    with pytest.raises(treadle.TreadleError, match='choose random or pct, or order="any"'):
        treadle.explore(test, algorithm)


async def in_order() -> None:
    log: list[int] = []

    async def write(i: int) -> None:
        for _ in range(2):
            await treadle.pause()
        log.append(i)

    async def noise() -> None:
        for _ in range(4):
            await treadle.pause()

    await asyncio.gather(noise(), write(0), write(1), noise())
    assert log == [0, 1]


@pytest.mark.parametrize("seed", range(3))
def test_shrinking_leaves_arrivals_where_they_are(seed: int) -> None:
    """What has to come before its time is one task's; the rest comes when the loop is idle."""
    result = treadle.explore(in_order, "random", seed=seed)
    (failure,) = result.failures
    shrunk = treadle.shrink(failure).failure
    assert (shrunk.kind, shrunk.message) == (failure.kind, failure.message)
    arrivals = [name for name in shrunk.schedule if "/p" in name]
    assert arrivals[:2] == ["main.3/p1", "main.3/p2"]
    assert arrivals[2:4] == ["main.1/p1", "main.2/p1"]
    assert treadle.replay(in_order, shrunk.schedule) is not None


def test_tokens_replay_in_both_orders() -> None:
    for order in ("fifo", "any"):
        (failure,) = treadle.explore(in_order, order=order).failures
        again = treadle.replay(in_order, failure.token)
        assert again is not None
        assert again.message == failure.message
