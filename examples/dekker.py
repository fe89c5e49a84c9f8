"""Dekker's mutual exclusion, the first correct solution for two processes.

Each process says that it wants to enter and looks whether the other does, too. If so, the one whose
turn it is insists, and the other takes its wish back until the turn is its own. The broken variant
looks before it says that it wants to enter: both can find the way free.
"""

from collections.abc import Iterator
from typing import Any

from treadle.model import Program


def correct() -> Program:
    """Wish, then look."""
    return _two_processes("Dekker", _dekker)


def broken() -> Program:
    """Look, then wish."""
    return _two_processes("Dekker, looking first", _looking_first)


def _dekker(s: Any, me: int) -> Iterator[Any]:
    other = 1 - me
    s.wants[me] = True
    yield
    if s.wants[other]:
        yield
        if s.turn != me:
            yield
            s.wants[me] = False
            yield s.until(lambda: s.turn == me)
            s.wants[me] = True
        yield s.until(lambda: not s.wants[other])
    yield from _critical_section(s, me)


def _looking_first(s: Any, me: int) -> Iterator[Any]:
    yield s.until(lambda: not s.wants[1 - me])
    yield
    s.wants[me] = True
    yield from _critical_section(s, me)


def _critical_section(s: Any, me: int) -> Iterator[Any]:
    yield
    s.inside = me
    yield
    assert s.inside == me, "two processes are in the critical section"
    yield
    s.turn = 1 - me
    yield
    s.wants[me] = False


def _two_processes(name: str, process: Any) -> Program:
    program = Program(name, wants=[False, False], turn=0, inside=None)
    program.process(process, 0, name="p0")
    program.process(process, 1, name="p1")
    return program
