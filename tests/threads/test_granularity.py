"""Two atomicity levels: what the language promises, and what a global interpreter lock allows."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

import treadle

EXHAUSTIVE = ["exhaustive", "sleep", "classic", "source", "optimal"]


class Box:
    def __init__(self) -> None:
        self.x = 0
        self.y = 0


def ident(value: int) -> int:
    return value


def plain(box: Box) -> None:
    box.x += 1


def with_python_call(box: Box) -> None:
    box.x = ident(box.x) + 1


def with_c_call(box: Box) -> None:
    box.x = abs(box.x) + 1


def loop(box: Box) -> None:
    for _ in range(2):
        box.y = box.x
        box.x = box.y + 1


def both(body: Callable[[Box], None], expected: int) -> Callable[[], None]:
    def test() -> None:
        box = Box()
        threads = [threading.Thread(target=body, args=(box,)) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert box.x == expected

    return test


@pytest.mark.parametrize("algorithm", EXHAUSTIVE)
@pytest.mark.parametrize(
    ("body", "loses_under_gil"), [(plain, False), (with_python_call, True), (with_c_call, True)]
)
def test_which_updates_a_global_lock_loses(
    body: Callable[[Box], None], loses_under_gil: bool, algorithm: str
) -> None:
    """The experiment of feasibility B2.5, whose lost updates were measured on real threads."""
    fine = treadle.explore(both(body, 2), algorithm)
    assert [failure.kind for failure in fine.failures] == ["assertion"]
    assert fine.failures[0].granularity == "access"
    coarse = treadle.explore(both(body, 2), algorithm, granularity="gil")
    assert bool(coarse.failures) == loses_under_gil
    if loses_under_gil:
        assert coarse.failures[0].granularity == "gil"
        assert "Granularity: gil" in str(coarse.failures[0])
        again = treadle.replay(both(body, 2), coarse.failures[0].schedule, granularity="gil")
        assert again is not None
    else:
        assert coarse.complete


@pytest.mark.parametrize("algorithm", EXHAUSTIVE)
def test_a_loop_hands_over_between_iterations(algorithm: str) -> None:
    assert treadle.explore(both(loop, 4), algorithm, granularity="gil").ok
    assert treadle.explore(both(loop, 4), algorithm).failures


def test_unknown_granularity() -> None:
    with pytest.raises(treadle.TreadleError, match="choose one of access, gil"):
        treadle.explore(both(plain, 2), granularity="line")
