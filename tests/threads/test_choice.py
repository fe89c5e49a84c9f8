"""`treadle.atomic`, `treadle.assume` and `treadle.choose`."""

from __future__ import annotations

import threading

import pytest
from together import together

import treadle
from algorithms import covering, reducing

EXHAUSTIVE = covering()


class Box:
    def __init__(self) -> None:
        self.x = 0
        self.y = 0


@pytest.mark.parametrize("algorithm", EXHAUSTIVE)
@pytest.mark.parametrize("sides", [1, 2, 3, 5])
def test_every_option_is_explored_once(algorithm: str, sides: int) -> None:
    def test() -> None:
        chosen = treadle.choose(range(sides))
        raise ValueError(chosen)

    result = treadle.explore(test, algorithm, stop_on_failure=False)
    assert sorted(f.message for f in result.failures) == [f"ValueError: {n}" for n in range(sides)]
    assert result.executions == result.failing == sides
    assert result.complete


@pytest.mark.parametrize("algorithm", EXHAUSTIVE)
def test_choices_multiply_and_may_depend_on_each_other(algorithm: str) -> None:
    def test() -> None:
        first = treadle.choose("ab")
        second = treadle.choose("cd") if first == "a" else "e"
        raise ValueError(first + second)

    result = treadle.explore(test, algorithm, stop_on_failure=False)
    assert sorted(f.message[-2:] for f in result.failures) == ["ac", "ad", "be"]
    if algorithm == "optimal":
        assert (result.executions, result.blocked) == (3, 0)


@pytest.mark.parametrize("algorithm", reducing())
def test_threads_choose_independently(algorithm: str) -> None:
    def test() -> None:
        box = Box()

        def p() -> None:
            box.x = treadle.choose([1, 2])

        def q() -> None:
            box.y = treadle.choose([1, 2, 3])

        together(p, q)
        raise ValueError(f"{box.x}{box.y}")

    result = treadle.explore(test, algorithm, stop_on_failure=False)
    assert len(result.failures) == 6
    if algorithm == "optimal":
        assert (result.executions, result.blocked) == (6, 0)


def test_the_first_option_comes_first_and_outside_of_explorations() -> None:
    def test() -> None:
        assert treadle.choose([False, True])

    assert treadle.explore(test).executions == 1
    assert treadle.choose([7, 8]) == 7


def test_there_must_be_an_option() -> None:
    with pytest.raises(treadle.TreadleError, match="at least one option"):
        treadle.choose([])


def test_a_choice_replays() -> None:
    def test() -> None:
        assert treadle.choose([1, 2, 3]) != 3

    failure = treadle.explore(test).failures[0]
    again = treadle.replay(test, str(failure.schedule))
    assert again is not None
    assert again.kind == "assertion"


@pytest.mark.parametrize("algorithm", EXHAUSTIVE)
def test_what_is_assumed_away_is_counted_and_never_fails(algorithm: str) -> None:
    def test() -> None:
        box = Box()

        def p() -> None:
            box.x = 1

        def q() -> None:
            seen = box.x
            treadle.assume(seen == 1)
            box.y = seen

        together(p, q)
        assert box.y == 1

    result = treadle.explore(test, algorithm)
    assert result.ok
    assert result.cut >= 1
    if algorithm == "optimal":
        assert (result.executions, result.cut) == (1, 1)


def test_if_everything_is_assumed_away_nothing_is_verified() -> None:
    def test() -> None:
        treadle.assume(False)

    result = treadle.explore(test)
    assert (result.executions, result.cut) == (0, 1)
    assert (result.complete, result.stopped_by) == (False, "leaving out every execution")


def test_assume_outside_of_an_exploration() -> None:
    treadle.assume(True)
    with pytest.raises(treadle.TreadleError, match="no exploration is under way"):
        treadle.assume(False)


@pytest.mark.parametrize("algorithm", EXHAUSTIVE)
def test_an_atomic_block_is_one_event(algorithm: str) -> None:
    def test() -> None:
        box = Box()

        def increment() -> None:
            with treadle.atomic():
                box.x += 1
                with treadle.atomic():
                    box.y += 1

        together(increment, increment)
        assert (box.x, box.y) == (2, 2)

    result = treadle.explore(test, algorithm)
    assert result.ok
    if algorithm == "optimal":
        assert (result.executions, result.blocked) == (2, 0)


def test_threads_may_be_started_in_an_atomic_block_and_locks_taken() -> None:
    def test() -> None:
        box = Box()
        lock = threading.Lock()

        def body() -> None:
            with treadle.atomic(), lock:
                box.x += 1

        with treadle.atomic():
            threads = [threading.Thread(target=body) for _ in range(2)]
            for thread in threads:
                thread.start()
        for thread in threads:
            thread.join()
        assert box.x == 2

    assert treadle.explore(test).ok


def test_an_atomic_block_cannot_wait() -> None:
    def test() -> None:
        lock = threading.Lock()

        def body() -> None:
            with treadle.atomic():
                lock.acquire()

        thread = threading.Thread(target=body)
        lock.acquire()
        thread.start()
        thread.join()

    with pytest.raises(treadle.TreadleError, match="cannot wait"):
        treadle.explore(test)


def test_a_choice_in_an_atomic_block_is_refused() -> None:
    def test() -> None:
        with treadle.atomic():
            treadle.choose([1, 2])

    with pytest.raises(treadle.TreadleError, match=r"inside treadle\.atomic"):
        treadle.explore(test)


def test_atomic_outside_of_an_exploration_does_nothing() -> None:
    with treadle.atomic():
        pass
