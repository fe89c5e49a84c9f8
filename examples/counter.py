"""A counter that loses an update.

`count += 1` is two steps, a read and a write. Two processes can both read 0 and both write 1. Under
a lock the two steps stay together, and Treadle proves it: no interleaving gives another sum.
"""

from collections.abc import Iterator
from typing import Any

from treadle.model import Lock, Program


def racy() -> Program:
    """Two processes increment without a lock."""
    program = Program("racy counter", count=0)

    def increment(s: Any) -> Iterator[Any]:
        value = s.count
        yield
        s.count = value + 1

    program.process(increment, name="p")
    program.process(increment, name="q")
    program.process(_check, name="check")
    return program


def locked() -> Program:
    """The same with a lock around the increment."""
    program = Program("locked counter", count=0, lock=Lock())

    def increment(s: Any) -> Iterator[Any]:
        yield s.lock.acquire()
        value = s.count
        yield
        s.count = value + 1
        s.lock.release()

    program.process(increment, name="p")
    program.process(increment, name="q")
    program.process(_check, name="check")
    return program


def _check(s: Any) -> Iterator[Any]:
    yield s.join("p")
    yield s.join("q")
    assert s.count == 2, f"the count is {s.count}"
