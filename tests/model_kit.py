"""Small model programs, and ways to run them, for the tests of the model kit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import treadle
from treadle.core.program import Run
from treadle.model import Program

Process = Iterator[Any]
Body = Callable[..., Process]


def alone(body: Body, **shared: Any) -> None:
    """Run a process with nobody beside it, and raise what it raises."""
    program = Program(**shared)
    program.process(body)
    result = treadle.explore(program)
    if result.failures:
        raise result.failures[0].exception or AssertionError(result.failures[0].message)


def together(*bodies: Body, **shared: Any) -> Program:
    """Return a program of these processes."""
    program = Program(**shared)
    for body in bodies:
        program.process(body)
    return program


def after(program: Program, schedule: str, *, detail: bool = False) -> Run:
    """Run some steps."""
    run = program.start(detail=detail)
    for name in schedule.split():
        number = program.vocabulary.process_number(name)
        assert number is not None
        assert run.is_enabled(number), f"{name} cannot take a step"
        run.step(number)
    return run


def enabled(program: Program, schedule: str = "") -> str:
    """Return who can take a step after a schedule."""
    run = after(program, schedule)
    return " ".join(program.vocabulary.process_names[number] for number in run.enabled())


def words(program: Program, schedule: str) -> list[str]:
    """Return the steps of a schedule as a report shows them."""
    records = after(program, schedule, detail=True).records()
    return ["; ".join(map(str, record.accesses)) for record in records]


def executions(program: Program) -> int:
    result = treadle.explore(program, stop_on_failure=False)
    assert result.complete
    return result.executions


def refused(*bodies: Body, match: str, **shared: Any) -> None:
    """Expect that a program of these processes is refused."""
    with pytest.raises(treadle.TreadleError, match=match):
        treadle.explore(together(*bodies, **shared))


def two_steps() -> Program:
    def p(s: Any, i: int) -> Process:
        yield
        value = s.x
        yield
        s.a[i] = value

    def q(s: Any) -> Process:
        yield
        s.x = 1

    program = Program(x=0, a=[0, 0])
    program.process(p, 0, name="p")
    program.process(p, 1, name="r")
    program.process(q)
    return program


class Loose:
    def __init__(self, value: Any) -> None:
        self.value = value

    def method(self) -> Any:
        return self.value
