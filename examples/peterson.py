"""Peterson's mutual exclusion for two processes.

Each process says that it wants to enter, then gives way to the other, then waits until the other
does not want to or it is its own turn. The order of the first two assignments is all that makes it
work: the broken variant swaps them, and both processes get in.
"""

from collections.abc import Iterator
from typing import Any

from treadle.model import Program


def correct() -> Program:
    """Wish first, then give way."""
    return _two_processes("Peterson", _peterson)


def broken() -> Program:
    """Give way first, then wish."""
    return _two_processes("Peterson, assignments swapped", _swapped)


def _peterson(s: Any, me: int) -> Iterator[Any]:
    s.wants[me] = True
    yield
    s.turn = 1 - me
    yield from _wait_and_enter(s, me)


def _swapped(s: Any, me: int) -> Iterator[Any]:
    s.turn = 1 - me
    yield
    s.wants[me] = True
    yield from _wait_and_enter(s, me)


def _wait_and_enter(s: Any, me: int) -> Iterator[Any]:
    yield s.until(lambda: not s.wants[1 - me] or s.turn == me)
    s.inside = me
    yield
    assert s.inside == me, "two processes are in the critical section"
    yield
    s.wants[me] = False


def _two_processes(name: str, process: Any) -> Program:
    program = Program(name, wants=[False, False], turn=0, inside=None)
    program.process(process, 0, name="p0")
    program.process(process, 1, name="p1")
    return program
