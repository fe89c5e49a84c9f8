"""Several workers count what one counts, to the last execution."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import treadle
from algorithms import covering
from treadle.core.program import Program
from treadle.core.result import Result
from treadle.explore.registry import ALGORITHMS
from treadle.papers import jacm17
from treadle.session.workers.parts import key_of
from worker_programs import MODELS, THREADS, adding, in_threads, lost_update


def explored(test: Any, workers: int, algorithm: str = "", **options: Any) -> Result:
    """Explore to the end, in parts that executions decide about, not time."""
    options = {"stop_on_failure": False, **options}
    if algorithm:
        options["algorithm"] = algorithm
    return treadle.explore(test, workers=workers, split_by="executions", **options)


def failures_of(result: Result) -> set[Any]:
    return set(map(key_of, result.failures))


@pytest.mark.parametrize(
    ("program", "executions"), MODELS, ids=lambda one: getattr(one, "name", "")
)
def test_models(program: Program, executions: int) -> None:
    result = explored(program, 2)
    assert (result.executions, result.blocked, result.complete) == (executions, 0, True)
    assert not result.failures
    assert (result.workers > 1) == (result.parts > 1) == (executions > 64)


@pytest.mark.parametrize(
    ("test", "executions", "failures"),
    [one[1:] for one in THREADS],
    ids=[one[0] for one in THREADS],
)
def test_threads(test: Any, executions: int, failures: int) -> None:
    result, alone = explored(test, 2), explored(test, 1)
    assert (result.executions, result.blocked, result.complete) == (executions, 0, True)
    assert len(result.failures) == failures
    assert failures_of(result) == failures_of(alone)
    assert result.failing == alone.failing


def test_failures_that_hands_find_are_as_if_found_here() -> None:
    result = treadle.explore(
        wide_lost_update, workers=2, split_by="executions", stop_on_failure=False
    )
    assert result.workers == 2
    (failure,) = result.failures
    assert isinstance(failure.exception, AssertionError)
    assert failure.exception.__traceback__ is not None
    assert failure.trace
    assert failure.cause is not None
    again = treadle.replay(wide_lost_update, failure.token)
    assert again is not None
    assert key_of(again) == key_of(failure)


def wide_lost_update() -> None:
    lost_update()
    adding(2, 2)()


@pytest.mark.parametrize("algorithm", [name for name in covering() if ALGORITHMS[name].divides])
def test_all_algorithms_that_divide(algorithm: str) -> None:
    program = jacm17.lastzero(3 if algorithm == "exhaustive" else 6)
    alone, result = explored(program, 1, algorithm), explored(program, 2, algorithm)
    assert result.executions == alone.executions
    assert result.complete
    assert result.workers == 2


def test_others_are_refused() -> None:
    for name in covering():
        if not ALGORITHMS[name].divides:
            with pytest.raises(treadle.TreadleError) as refused:
                explored(jacm17.readers(3), 4, name)
            assert str(refused.value) == (
                f"workers=4 needs an algorithm whose classes can be divided (optimal, source, "
                f"classic, sleep, exhaustive, random, pct), and {name} merges orders: use optimal, "
                f"or workers=1"
            )


async def arrivals() -> list[int]:
    order: list[int] = []

    async def wait(number: int) -> None:
        await treadle.pause()
        order.append(number)

    await asyncio.gather(*map(wait, range(5)))
    return order  # looked at, so its orders can be told apart


async def ready_tasks() -> list[int]:
    order: list[int] = []

    async def wait(number: int) -> None:
        await asyncio.sleep(0)
        order.append(number)

    await asyncio.gather(*map(wait, range(5)))
    return order


def test_zones_of_arrival_times_are_handed_out() -> None:
    result = explored(arrivals, 2)
    assert (result.executions, result.complete) == (120, True)
    assert result.workers == 2
    assert result.lost == 0


def test_tasks_in_any_order() -> None:
    result = explored(ready_tasks, 2, order="any")
    assert result.executions == explored(ready_tasks, 1, order="any").executions == 120
    assert result.workers == 2


@pytest.mark.parametrize("algorithm", ["random", "pct"])
def test_samples_do_not_depend_on_who_takes_them(algorithm: str) -> None:
    options = {"max_executions": 200, "seed": 3}
    alone = explored(lost_update, 1, algorithm, **options)
    several = explored(lost_update, 2, algorithm, **options)
    assert several.executions == alone.executions == 200
    assert several.stopped_by == alone.stopped_by == "max_executions = 200"
    assert [f.schedule for f in several.failures] == [f.schedule for f in alone.failures]


@pytest.mark.parametrize("algorithm", ["random", "pct"])
def test_the_first_sample_that_fails_is_reported(algorithm: str) -> None:
    """In many samples that pass one fails: wherever it is, and whoever takes it."""
    options = {"max_executions": 2000, "stop_on_failure": True}
    alone = explored(rarely_failing, 1, algorithm, **options)
    several = explored(rarely_failing, 2, algorithm, **options)
    assert alone.failures
    assert several.workers == 2
    assert several.executions == alone.executions > 64
    assert several.failures[0].schedule == alone.failures[0].schedule


def rarely_failing() -> None:
    box = {"n": 0}

    def add(number: int) -> Any:
        def body() -> None:
            if box["n"] == number:
                box["n"] += 1

        return body

    in_threads(*map(add, (2, 1, 0, 3)))
    assert box["n"] < 4


def test_what_is_small_starts_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody pays for workers that are not needed, unless a number of them is asked for."""
    from treadle.session.workers import forked

    def no_fork() -> int:
        raise AssertionError("a process was started")

    monkeypatch.setattr("treadle.session.workers.wanted.processors", lambda: 2)
    alone = treadle.explore(adding(2, 2))
    for workers in (4, "auto"):
        if workers == "auto":
            monkeypatch.setattr(forked, "_fork", no_fork)
        result = treadle.explore(adding(2, 2), workers=workers)
        alone.seconds = result.seconds
        assert result == alone
