"""Dining philosophers: three of them, three forks, and each needs two.

If everyone takes the left fork first, all three can hold one and wait for ever for the other. If
the forks are numbered and everyone takes the lower number first, the circle cannot close.
"""

from collections.abc import Iterator
from typing import Any

from treadle.model import Lock, Program

SEATS = 3


def deadlocking() -> Program:
    """Everyone takes the left fork first."""
    return _table("philosophers", [(seat, (seat + 1) % SEATS) for seat in range(SEATS)])


def ordered() -> Program:
    """Everyone takes the fork with the lower number first."""
    pairs = [sorted((seat, (seat + 1) % SEATS)) for seat in range(SEATS)]
    return _table("philosophers, forks in order", [(low, high) for low, high in pairs])


def _table(name: str, pairs: list[tuple[int, int]]) -> Program:
    program = Program(name, forks=[Lock() for _ in range(SEATS)])
    for seat, (first, second) in enumerate(pairs):
        program.process(_philosopher, first, second, name=f"philosopher{seat}")
    return program


def _philosopher(s: Any, first: int, second: int) -> Iterator[Any]:
    yield s.forks[first].acquire()
    yield s.forks[second].acquire()
    yield  # eat
    s.forks[second].release()
    yield
    s.forks[first].release()
