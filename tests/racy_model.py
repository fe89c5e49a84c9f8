"""A model whose two increments can overlap: the smallest failing program."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from treadle.model import Program


def racy(*, bystander: bool = False) -> Program:
    """Return it, with a process that has nothing to do with the failure if that is asked for."""
    program = Program(x=0, y=0)

    def increment(s: Any) -> Iterator[None]:
        value = s.x
        yield
        s.x = value + 1

    def count(s: Any) -> Iterator[None]:
        for _ in range(3):
            s.y = s.y + 1
            yield

    program.process(increment, name="p")
    program.process(increment, name="q")
    if bystander:
        program.process(count, name="bystander")

    @program.process
    def check(s: Any) -> Iterator[Any]:
        yield s.join("p")
        yield s.join("q")
        assert s.x == 2, "an update is lost"

    return program
